/*
 * Arrays: the types of their values, and the names that they have as members: ITEM/NAME.npy, and
 * other files of an item.
 *
 * Types are known by their NumPy names; all are little-endian. Sources of items (Syrah, caches)
 * make names, and sinks of items parse them.
 */
#ifndef SB_STORE_ARRAY_ARRAY_H
#define SB_STORE_ARRAY_ARRAY_H

#include "core/buf.h"

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

enum sb_array_form {
    SB_FORM_NPY,    /* .npy: with type and shape */
    SB_FORM_TEXT,   /* .txt: UTF-8 text, SB_DTYPE_STR */
    SB_FORM_PICKLE, /* .pkl: any bytes */
    SB_FORM_RAW,    /* .float32, ...: plain values, as the container stores them */
    SB_FORM_SHAPE,  /* .shape: int64 values, for a raw array of the same name */
    SB_FORM_BYTES,  /* any bytes; the name includes its suffix, if any */
};

/* How to give an array that was requested by name. */
enum sb_array_as {
    SB_ARRAY_AS_NAMED, /* as a file if it is named like one (17/image.npy); else (17/image, or 17)
                          its plain values */
    SB_ARRAY_AS_NPY,
    SB_ARRAY_AS_VALUES,
};

struct sb_array_name {
    const char *item; /* the part before the last '/', or "" */
    size_t item_size;
    const char *array; /* the part after it, without suffix */
    size_t array_size;
    enum sb_array_form form;
    enum sb_dtype dtype; /* for SB_FORM_RAW and SB_FORM_TEXT; else SB_DTYPE_NONE */
};

/* Replaces out by the name. item_size 0: no '/'. array_size 0: the suffix directly follows the
 * item, "KEY.npy". */
enum sb_code sb_array_name_make(struct sb_buf *out, const struct sb_array_name *name) SB_CHECKED;

/* Is it given as a .npy file? as_file: it was named like one. */
bool sb_array_is_npy(enum sb_array_as as, bool as_file);

/* Is the array one of `names`? Without names: true. */
bool sb_array_is_among(const char *array, const char *const *names, size_t count);

/* Splits a member's name; the parts point into `path`. False: it has no suffix of an array. */
bool sb_array_name_parse(struct sb_array_name *out, const char *path, size_t size);

/* Does this failure only say that an array cannot be used? Others end the work. */
static inline bool sb_concerns_array(enum sb_code code)
{
    return code == SB_FORMAT || code == SB_INVALID || code == SB_DAMAGED;
}

#endif
