/*
 * How much is in each segment of a cache, and how much of it is superseded.
 */
#ifndef SB_TASK_TABLE_CACHE_USAGE_H
#define SB_TASK_TABLE_CACHE_USAGE_H

#include "store/cache/cache.h"

struct sb_cache_usage {
    int64_t rows;
    int64_t keys;       /* rows that count */
    int64_t bytes;      /* of their values, as they are given out */
    int64_t superseded; /* bytes of the others' values */
    int64_t stored;     /* bytes of the file */
};

struct sb_cache_usage_options {
    const char *const *arrays; /* only these count */
    size_t array_count;        /* 0: all */
    const struct sb_notify *notify;
};

/* Fills in one for each segment. Rows that cannot be read are told as SB_PROBLEM ("damaged"), and
 * what is sound of them counts. */
enum sb_code sb_cache_usage(struct sb_cache *cache, const struct sb_cache_usage_options *options,
                            struct sb_cache_usage *segments, struct sb_error *err) SB_CHECKED;

void sb_cache_usage_add(struct sb_cache_usage *sum, const struct sb_cache_usage *usage);

#endif
