/*
 * .npy files: one array each, after a header with its type and shape.
 *
 * The format: numpy/lib/format.py, versions 1.0 to 3.0. Output is byte for byte that of numpy.save.
 * Thread-safe.
 */
#ifndef SB_STORE_ARRAY_NPY_H
#define SB_STORE_ARRAY_NPY_H

#include "core/buf.h"
#include "store/array/array.h"

#define SB_NPY_DIMS_MOST   64                 /* as NumPy 2 */
#define SB_NPY_HEADER_MOST ((size_t)64 << 10) /* of a file that is read */

struct sb_npy {
    enum sb_dtype dtype; /* never SB_DTYPE_STR */
    size_t dims;         /* 0: a single value */
    int64_t shape[SB_NPY_DIMS_MOST];
    size_t header_size; /* bytes before the values */
    int64_t data_size;  /* bytes of values */
};

#define SB_NPY_MAGIC      "\x93NUMPY" /* the first bytes of a .npy file */
#define SB_NPY_MAGIC_SIZE (sizeof(SB_NPY_MAGIC) - 1)

/* Bytes of the values of an array. SB_DAMAGED: a dimension is negative, or the size is above 2^63.
 */
enum sb_code sb_npy_data_size(enum sb_dtype dtype, const int64_t *shape, size_t dims,
                              int64_t *size) SB_CHECKED;

/* Appends the header for npy->dtype, dims and shape. */
enum sb_code sb_npy_add_header(struct sb_buf *out, const struct sb_npy *npy) SB_CHECKED;

/* Keeps the last header of a row of values, because neighbours often have the same size. {0} at
 * first. */
struct sb_npy_row {
    enum sb_dtype dtype;
    int64_t size;
    struct sb_buf header; /* the caller releases it */
};

/* For `size` bytes of values. SB_DAMAGED: not a multiple of a value's size. */
enum sb_code sb_npy_row_header(struct sb_npy_row *row, enum sb_dtype dtype,
                               int64_t size) SB_CHECKED;

/*
 * Parses the header at the beginning of `data`. SB_FORMAT: it is no .npy file, or cut short.
 * SB_INVALID: the type, byte order or order of values is not supported (big-endian, Fortran order
 * with several dimensions, records, complex, texts); the text says which.
 */
enum sb_code sb_npy_parse(struct sb_npy *out, const void *data, size_t size) SB_CHECKED;

#endif
