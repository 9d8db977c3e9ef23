/*
 * Cells that are asked for by names: of a row, or of one cell of it.
 *
 * A name is looked for as that of a row, as it stands. Where there is none, it is cut at its last
 * '/': what stands before is the row, and the rest the name of one of its columns; or it is the
 * name that a cell has as a file (array/name.h), with its suffix. Names that can be had without
 * waiting are looked up together, at most SB_TABLE_KEYS_MOST. Belongs to one thread.
 */
#ifndef SB_TASK_TABLE_KEYS_H
#define SB_TASK_TABLE_KEYS_H

#include "task/table/fetch.h"

#define SB_TABLE_KEYS_MOST ((size_t)65536)

struct sb_table_keys;

struct sb_table_keys_options {
    struct sb_fetch_names names;
    const char *const *arrays; /* of rows that are asked for as a whole: only these; kept */
    size_t array_count;        /* 0: all of them, in the order of the row's columns */
    bool none_is_fine;         /* of these a row may have none: its run has no columns then */
    const char *advice;        /* what a message of a column that is missing ends with */
};

/* The first of the names are waited for, and looked up. The table finds rows (find_rows). */
enum sb_code sb_table_keys_new(struct sb_table_keys **out, struct sb_table *table,
                               const struct sb_table_keys_options *options,
                               struct sb_error *err) SB_CHECKED;
void sb_table_keys_free(struct sb_table_keys *keys); /* NULL is allowed */

/* The names as what is fetched. */
struct sb_cell_feed sb_table_keys_feed(struct sb_table_keys *keys);

#endif
