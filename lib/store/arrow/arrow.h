/*
 * An Arrow IPC file of one uncompressed record batch, of the kinds of columns that a torchcachex
 * cache has: texts, binaries, and lists of numbers.
 *
 * The format: arrow.apache.org/docs/format/Columnar.html and format/{File,Message,Schema}.fbs. Its
 * metadata are flatbuffers (flatbuffer.h). Each of them is checked against its bounds before it is
 * used, and offsets within columns whenever they are used. Only names are copied. What is read here
 * is in memory (a mapping), and must stay. May be used by any number of threads.
 */
#ifndef SB_STORE_ARROW_ARROW_H
#define SB_STORE_ARROW_ARROW_H

#include "core/extent.h"
#include "store/array/array.h"

enum sb_arrow_type {
    SB_ARROW_TEXT, /* utf8 */
    SB_ARROW_BINARY,
    SB_ARROW_LIST, /* of numbers */
};

struct sb_arrow_column {
    const char *name; /* any bytes but NUL */
    enum sb_arrow_type type;
    enum sb_dtype dtype; /* type of a list's values; SB_DTYPE_BOOL: they are bits */
};

/* A key and value of the schema's metadata. */
struct sb_arrow_pair {
    const char *key;
    const char *value;
    size_t value_size;
};

/* The extents of a column. */
struct sb_arrow_place {
    struct sb_extent validity; /* of the validity bits; size 0: none (as for the other extents) */
    struct sb_extent offsets;
    struct sb_extent values;
    int64_t most; /* limit for offsets: bytes or values in the column */
};

/* Fields are read-only for users. */
struct sb_arrow {
    int64_t rows; /* in the first batch; any other is an error of sb_arrow_open */
    struct sb_arrow_column *columns;
    size_t column_count;
    struct sb_arrow_pair *pairs;
    size_t pair_count;

    /* Of arrow.c alone: */
    const unsigned char *data;
    int64_t size;
    unsigned char *footer; /* a copy; names point into it */
    struct sb_arrow_place *places;
};

/* SB_FORMAT: it is no such file, or of a kind that is not supported (compressed, other columns,
 * nulls within a list, no batch or several, messages framed as before Arrow 0.15). SB_DAMAGED: its
 * metadata point outside of the file. Texts do not name the file. */
enum sb_code sb_arrow_open(struct sb_arrow **out, const void *data, int64_t size) SB_CHECKED;
void sb_arrow_free(struct sb_arrow *arrow); /* NULL is allowed */
FREEP(sb_arrow_free, struct sb_arrow)

/* One value of a column. */
struct sb_arrow_value {
    bool null;        /* the value is null; count is 0 */
    const void *data; /* its first byte, unaligned; for bits, the byte that has the first one */
    unsigned bit;     /* for bits: number of the first bit in that byte, the lowest is 0 */
    int64_t count;    /* bytes, or values of a list */
    int64_t offset;   /* offset of data in the file */
};

/* The row must exist. SB_DAMAGED: its offsets decrease, or point outside of the column. */
enum sb_code sb_arrow_value(const struct sb_arrow *arrow, size_t column, int64_t row,
                            struct sb_arrow_value *out) SB_CHECKED;

/* Copies `count` bits to bytes of 0 and 1. */
void sb_arrow_unpack_bits(const struct sb_arrow_value *value, unsigned char *out);

#endif
