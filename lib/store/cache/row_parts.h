/*
 * The row of a cache as it is put together of files that come one after the other: .npy files and
 * pickles.
 *
 * For each file begin, its bytes, end; then the row is written. Bytes are kept as core/spool.h
 * says. Belongs to one thread. {.bytes.fd = -1} is an empty one, which the holder releases in the
 * end.
 */
#ifndef SB_STORE_CACHE_ROW_PARTS_H
#define SB_STORE_CACHE_ROW_PARTS_H

#include "core/spool.h"
#include "store/array/name.h"
#include "store/cache/writer.h"

struct sb_row_part; /* its name, type and place */

struct sb_row_parts {
    struct sb_spool bytes; /* its `beside` is set by the holder */
    int64_t begin;         /* of the present file in them */
    struct sb_buf names;
    struct sb_row_part *parts;
    size_t count, capacity;
    struct sb_cache_field *fields; /* of the form, */
    size_t *numbers;               /* and which parts they are */
    struct sb_buf head;            /* of a .npy */
};

void sb_row_parts_clear(struct sb_row_parts *row);
void sb_row_parts_release(struct sb_row_parts *row);

/* SB_INVALID: there are too many. */
enum sb_code sb_row_parts_begin(struct sb_row_parts *row,
                                const struct sb_array_name *name) SB_CHECKED;

/* SB_FORMAT: it is no .npy, or its bytes are not as many as it says; SB_INVALID: of a type that is
 * not held here. The text does not name it, and the row must be cleared. */
enum sb_code sb_row_parts_end(struct sb_row_parts *row) SB_CHECKED;

/* A row of these parts: alone, it is a tensor or a blob without a name; item0, item1, ... are a
 * tuple, or a list; else a dict. Errors are those of the writer. */
enum sb_code sb_row_parts_write(struct sb_row_parts *row, bool alone, bool list,
                                const struct sb_row_key *key,
                                struct sb_cache_writer *writer) SB_CHECKED;

#endif
