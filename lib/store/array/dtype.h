/* Types of array values, by their NumPy names. All are little-endian. */
#ifndef SB_STORE_ARRAY_DTYPE_H
#define SB_STORE_ARRAY_DTYPE_H

#include <stddef.h>

enum sb_dtype {
    SB_DTYPE_NONE,
    SB_DTYPE_BOOL, /* one byte: 0 or 1 */
    SB_DTYPE_INT8,
    SB_DTYPE_INT16,
    SB_DTYPE_INT32,
    SB_DTYPE_INT64,
    SB_DTYPE_UINT8,
    SB_DTYPE_UINT16,
    SB_DTYPE_UINT32,
    SB_DTYPE_UINT64,
    SB_DTYPE_FLOAT16,
    SB_DTYPE_FLOAT32,
    SB_DTYPE_FLOAT64,
    SB_DTYPE_FLOAT128, /* 16 bytes: the long double of the machine that wrote it */
    SB_DTYPE_STR,      /* UTF-8 text, in Syrah files; never in a .npy file */
};

/* "float32", "str", ...; "none". */
const char *sb_dtype_word(enum sb_dtype dtype);

/* The words of all types but SB_DTYPE_NONE, in their order; then NULL. */
extern const char *const sb_dtype_words[];

/* SB_DTYPE_NONE: no type has this word. */
enum sb_dtype sb_dtype_named(const char *word, size_t size);

/* Bytes of a value; 1 for a text. */
size_t sb_dtype_size(enum sb_dtype dtype);

#endif
