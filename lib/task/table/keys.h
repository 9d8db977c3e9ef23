/*
 * Cells of a cache that are asked for by name: a key, or one array of a key.
 *
 * Keys that can be had without waiting are looked up together (cache_ask.h). Belongs to one thread.
 */
#ifndef SB_TASK_TABLE_KEYS_H
#define SB_TASK_TABLE_KEYS_H

#include "task/table/fetch.h"

struct sb_table_keys;

struct sb_table_keys_options {
    struct sb_fetch_names names;
    const char *const *arrays; /* of keys that are asked for as a whole: only these; kept */
    size_t array_count;        /* 0: all of them, in the order of the segment's columns */
};

/* The first of the names are waited for, and looked up. */
enum sb_code sb_table_keys_new(struct sb_table_keys **out, struct sb_table *table,
                               const struct sb_table_keys_options *options,
                               struct sb_error *err) SB_CHECKED;
void sb_table_keys_free(struct sb_table_keys *keys); /* NULL is allowed */

/* The names as what is fetched. */
struct sb_cell_feed sb_table_keys_feed(struct sb_table_keys *keys);

#endif
