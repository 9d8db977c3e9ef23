/*
 * How much is in the shards of a bag, as stored and as written: from the headers of frames, and
 * where records are stored as they are, from the size of the file alone.
 */
#ifndef SB_TASK_TABLE_BAG_USAGE_H
#define SB_TASK_TABLE_BAG_USAGE_H

#include "store/bag/bag.h"

struct sb_shard_usage {
    int64_t records;
    int64_t stored; /* bytes */
    int64_t bytes; /* of the records as they were written; at most INT64_MAX, whatever is claimed */
};

struct sb_bag_usage_options {
    unsigned threads;
    void (*progress)(void *context, int64_t bytes, int64_t total, int64_t records); /* or NULL */
    void *context;
    const struct sb_notify *notify;
};

/* One for each shard, by its number. Records whose size cannot be known are told as SB_PROBLEM
 * ("damaged"), and count as none of the bytes. */
enum sb_code sb_bag_usage(struct sb_bag *bag, const struct sb_bag_usage_options *options,
                          struct sb_shard_usage *shards, struct sb_error *err) SB_CHECKED;

/* Adds one to the other. */
void sb_shard_usage_add(struct sb_shard_usage *sum, const struct sb_shard_usage *more);

#endif
