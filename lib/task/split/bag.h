/*
 * Splits a bag, or the spec of several, into bags: each part has the records of some slices, copied
 * as sb_convert does.
 */
#ifndef SB_TASK_SPLIT_BAG_H
#define SB_TASK_SPLIT_BAG_H

#include "task/split/split.h"

#define SB_SPLIT_BAG_PARTS 1000000 /* at most */

enum sb_split_bag_rule {
    SB_SPLIT_BAG_PARTS_OF, /* `amount` parts, of equally many records */
    SB_SPLIT_BAG_COUNT,    /* parts of `amount` records */
    SB_SPLIT_BAG_SIZE, /* of at most `amount` stored bytes; a larger record has a part to itself */
};

struct sb_split_bag_options {
    const char *input;
    enum sb_split_bag_rule rule;
    int64_t amount;

    /*
     * "{}" is replaced by the number of the part; or "NAME@16.bagz", "NAME@*.bagz": parts are the
     * shards of one bag, which appears complete or not at all.
     */
    const char *output;
    enum sb_existing existing;

    /*
     * How it is read and written: to, records, level, transfer.threads and, for all parts together,
     * transfer.progress and context. With records.write.layout interleaved, a part has every N-th
     * record. The rest is set by sb_split_bag.
     */
    struct sb_convert_options convert;

    bool dry_run;
    const struct sb_notify *notify;
    void (*part_done)(void *context,
                      const struct sb_split_part *part); /* files: number of records */
    void *context;
};

/* As sb_split. */
enum sb_code sb_split_bag(const struct sb_split_bag_options *options,
                          struct sb_split_result *result) SB_CHECKED;

#endif
