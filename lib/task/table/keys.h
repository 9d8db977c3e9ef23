/*
 * Cells that are requested by name: all of a row, or one cell of it.
 *
 * A name is first looked up as that of a row, unchanged. If there is none, it is cut at its last
 * '/': before it is the row, and after it the name of one of its columns; or it is the file name of
 * a cell (array/array.h), with its suffix. Names that are available without waiting are looked up
 * together, at most SB_TABLE_KEYS_MOST. Belongs to one thread.
 */
#ifndef SB_TASK_TABLE_KEYS_H
#define SB_TASK_TABLE_KEYS_H

#include "task/table/fetch.h"

#define SB_TABLE_KEYS_MOST ((size_t)65536)

struct sb_table_keys;

struct sb_table_keys_options {
    struct sb_fetch_names names;
    const char *const *arrays; /* for rows requested as a whole: only these; not copied */
    size_t array_count;        /* 0: all of them, in the order of the row's columns */
    bool none_is_fine;         /* a row may have none of these: its run has no columns then */
    const char *advice;        /* ends the message about a missing column */
};

/* Waits for the first names, and looks them up. The table must have find_rows. */
enum sb_code sb_table_keys_new(struct sb_table_keys **out, struct sb_table *table,
                               const struct sb_table_keys_options *options) SB_CHECKED;
void sb_table_keys_free(struct sb_table_keys *keys); /* NULL is allowed */
FREEP(sb_table_keys_free, struct sb_table_keys)

/* The names as input of sb_table_fetch. */
struct sb_cell_feed sb_table_keys_feed(struct sb_table_keys *keys);

#endif
