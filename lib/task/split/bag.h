/*
 * A bag, or the spec of several, cut into bags: each part the records of some slices, moved as
 * sb_convert moves them.
 */
#ifndef SB_TASK_SPLIT_BAG_H
#define SB_TASK_SPLIT_BAG_H

#include "task/split/split.h"

#define SB_SPLIT_BAG_PARTS 1000000 /* at most */

enum sb_split_bag_rule {
    SB_SPLIT_BAG_PARTS_OF, /* so many parts, of as many records each */
    SB_SPLIT_BAG_COUNT,    /* parts of so many records */
    SB_SPLIT_BAG_SIZE,     /* of so many stored bytes at most; a larger record has one to itself */
};

struct sb_split_bag_options {
    const char *input;
    enum sb_split_bag_rule rule;
    int64_t amount;

    /* "{}" stands for the number of a part; or "NAME@16.bagz", "NAME@*.bagz": parts are the shards
     * of one bag, which appears whole or not at all. */
    const char *output;
    enum sb_split_existing existing;

    /*
     * How it is read and written: to, records, level, transfer.threads and, for all parts together,
     * transfer.progress and context. With records.write.layout interleaved, a part has every N-th
     * record. The rest is filled in.
     */
    struct sb_convert_options convert;

    bool dry_run;
    const struct sb_notify *notify;
    void (*part_done)(void *context, const struct sb_split_part *part); /* files are records */
    void *context;
};

/* As sb_split. */
enum sb_code sb_split_bag(const struct sb_split_bag_options *options,
                          struct sb_split_result *result, struct sb_error *err) SB_CHECKED;

#endif
