/*
 * An Arrow IPC file of one uncompressed record batch, of the kinds of columns that a torchcachex
 * cache has: texts, binaries, and lists of numbers.
 *
 * The format: arrow.apache.org/docs/format/Columnar.html and format/{File,Message,Schema}.fbs. Its
 * metadata are flatbuffers (flatbuffer.h), each of which is held against its bounds before it is
 * used; offsets within columns are held against theirs whenever they are used. Nothing is copied
 * but names. What is read here is in memory (a mapping); it must stay. May be used by any number of
 * threads.
 */
#ifndef SB_STORE_ARROW_ARROW_H
#define SB_STORE_ARROW_ARROW_H

#include "core/error.h"
#include "store/array/dtype.h"

#include <stdbool.h>
#include <stddef.h>

enum sb_arrow_type {
    SB_ARROW_TEXT, /* utf8 */
    SB_ARROW_BINARY,
    SB_ARROW_LIST, /* of numbers */
};

struct sb_arrow_column {
    const char *name; /* any bytes without a NUL */
    enum sb_arrow_type type;
    enum sb_dtype dtype; /* of a list's values; SB_DTYPE_BOOL: they are bits */
};

/* Key and value of the schema's metadata. */
struct sb_arrow_pair {
    const char *key;
    const char *value;
    size_t value_size;
};

struct sb_arrow;

/* SB_FORMAT: it is none, or of a kind that is not read here (compressed, other columns, nulls
 * within a list, no batch or several, messages framed as before Arrow 0.15); SB_DAMAGED: it is one
 * whose metadata lead out of it. Texts name neither the file nor the like. */
enum sb_code sb_arrow_open(struct sb_arrow **out, const void *data, int64_t size,
                           struct sb_error *err) SB_CHECKED;
void sb_arrow_free(struct sb_arrow *arrow); /* NULL is allowed */

/* Of the first batch: those of others are not seen here. */
int64_t sb_arrow_rows(const struct sb_arrow *arrow);

size_t sb_arrow_column_count(const struct sb_arrow *arrow);
const struct sb_arrow_column *sb_arrow_column(const struct sb_arrow *arrow, size_t column);
size_t sb_arrow_pair_count(const struct sb_arrow *arrow);
const struct sb_arrow_pair *sb_arrow_pair(const struct sb_arrow *arrow, size_t pair);

/* One value of a column. */
struct sb_arrow_value {
    bool null;        /* then count is 0 */
    const void *data; /* its first byte, aligned to nothing; of bits, the byte that has the first */
    unsigned bit;     /* of bits: which one of that byte is the first, from the lowest */
    int64_t count;    /* of bytes, or of a list's values */
    int64_t offset;   /* of data in the file */
};

/* The row must be there. SB_DAMAGED: its offsets decrease, or lead out of the column. */
enum sb_code sb_arrow_value(const struct sb_arrow *arrow, size_t column, int64_t row,
                            struct sb_arrow_value *out, struct sb_error *err) SB_CHECKED;

/* Copies `count` bits to bytes of 0 and 1. */
void sb_arrow_unpack_bits(const struct sb_arrow_value *value, unsigned char *out);

#endif
