/*
 * .npy files: one array each, behind a header that says its type and shape.
 *
 * The format: numpy/lib/format.py, versions 1.0 to 3.0. What is written is byte for byte what
 * numpy.save writes. Thread-safe.
 */
#ifndef SB_STORE_ARRAY_NPY_H
#define SB_STORE_ARRAY_NPY_H

#include "core/buf.h"
#include "store/array/dtype.h"

#define SB_NPY_DIMS_MOST   64                 /* NumPy 2 has 64 */
#define SB_NPY_HEADER_MOST ((size_t)64 << 10) /* of one that is read */

struct sb_npy {
    enum sb_dtype dtype; /* never SB_DTYPE_STR */
    size_t dims;         /* 0: a single value */
    int64_t shape[SB_NPY_DIMS_MOST];
    size_t header_size; /* bytes before the values */
    int64_t data_size;  /* bytes of values */
};

#define SB_NPY_MAGIC      "\x93NUMPY" /* what one begins with */
#define SB_NPY_MAGIC_SIZE (sizeof(SB_NPY_MAGIC) - 1)

/* Bytes of values that a shape comes to. SB_DAMAGED: a dimension is negative, or they are more than
 * 2^63. */
enum sb_code sb_npy_data_size(enum sb_dtype dtype, const int64_t *shape, size_t dims, int64_t *size,
                              struct sb_error *err) SB_CHECKED;

/* Appends the header for npy->dtype, dims and shape. */
enum sb_code sb_npy_add_header(struct sb_buf *out, const struct sb_npy *npy,
                               struct sb_error *err) SB_CHECKED;

/* The header of a row of values that was made last: neighbours are often of one size. {0} at first.
 */
struct sb_npy_row {
    enum sb_dtype dtype;
    int64_t size;
    struct sb_buf header; /* the caller's to release */
};

/* Of so many bytes of values. SB_DAMAGED: these are no whole ones. */
enum sb_code sb_npy_row_header(struct sb_npy_row *row, enum sb_dtype dtype, int64_t size,
                               struct sb_error *err) SB_CHECKED;

/*
 * Reads the header that `data` begins with. SB_FORMAT: it is no .npy, or cut short. SB_INVALID: it
 * is one of a type or an order of bytes or values that is not held here (big-endian, Fortran order
 * of several dimensions, records, complex, texts), and the text says which.
 */
enum sb_code sb_npy_parse(struct sb_npy *out, const void *data, size_t size,
                          struct sb_error *err) SB_CHECKED;

#endif
