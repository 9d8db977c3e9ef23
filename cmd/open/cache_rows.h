/*
 * Rows of a cache as ls shows them: a row for each key, or each array of it, in columns; or JSON.
 *
 * For the sake of columns rows wait until there are some; cache_rows_flush writes them.
 */
#ifndef SB_CMD_OPEN_CACHE_ROWS_H
#define SB_CMD_OPEN_CACHE_ROWS_H

#include "core/buf.h"
#include "store/cache/cache.h"

#define CACHE_ROW_CELLS 9

/* One field of the row at hand. */
struct cache_shown {
    bool damaged; /* else: */
    struct sb_npy array;
    int64_t offset;
};

/* Zeros but for the first part, which is the caller's. */
struct cache_rows {
    bool details; /* a row for each array */
    bool human, json;
    bool all; /* superseded rows are marked */
    const char *const *arrays;
    size_t array_count;
    struct sb_cache_reader *reader;

    struct cache_shown *shown; /* of the last row, as many as its fields */
    size_t room;
    const struct sb_cache_field *fields;
    size_t first, count;
    struct sb_buf text; /* these in one cell */

    struct sb_buf cells; /* of rows that wait: texts with NULs behind, then the key and its size */
    size_t waiting;
    size_t widths[CACHE_ROW_CELLS];
    struct sb_buf line;
};

void cache_rows_release(struct cache_rows *rows); /* but for the reader */

/* Of the fields of its segment, those from `first` on, as far as they are among the arrays. What is
 * wrong with the row is printed. */
enum sb_code cache_rows_add(struct cache_rows *rows, const struct sb_cache_segment *segment,
                            const struct sb_cache_row *row, size_t first, size_t count,
                            struct sb_error *err) SB_CHECKED;

void cache_rows_flush(struct cache_rows *rows);

#endif
