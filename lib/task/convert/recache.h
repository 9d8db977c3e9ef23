/*
 * Caches to a cache: copies rows, value by value, as they are stored.
 */
#ifndef SB_TASK_CONVERT_RECACHE_H
#define SB_TASK_CONVERT_RECACHE_H

#include "store/cache/cache.h"
#include "store/cache/writer.h"

struct sb_recache_options {
    const char *key_prefix;    /* prepended to all keys; NULL: none */
    const char *const *arrays; /* only these fields, which must exist */
    size_t array_count;        /* 0: all */
    bool sequence_given;       /* tuples and lists become */
    bool list;                 /* lists, else tuples */
    const struct sb_notify *notify;
    void (*progress)(void *context, int64_t bytes, int64_t total, int64_t rows);
    void *context;
};

struct sb_recache_counts {
    int64_t rows;
    int64_t bytes; /* of values */
};

/*
 * Adds the live rows; does not commit the writer. A damaged row is reported as SB_PROBLEM
 * ("damaged") and left out. Adds to *counts.
 */
enum sb_code sb_recache(struct sb_cache *cache, struct sb_cache_writer *writer,
                        const struct sb_recache_options *options,
                        struct sb_recache_counts *counts) SB_CHECKED;

#endif
