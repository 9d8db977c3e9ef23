/*
 * What split does with bags that become bags: no record is named, and frames are moved as they are.
 */
#ifndef SB_CMD_SPLIT_BAGS_H
#define SB_CMD_SPLIT_BAGS_H

#include "convert/records.h"
#include "task/split/bag.h"

struct bag_split {
    const char *input;
    int64_t parts, size, count; /* one of them */
    const char *output;
    enum sb_split_existing existing;
    int64_t level; /* 0: the usual one */
    unsigned threads;
    bool dry_run;
    const struct sb_convert_records *records;
    void (*part_done)(void *context, const struct sb_split_part *part);
    void *context;
};

enum sb_code split_bags(const struct bag_split *wanted, struct sb_split_result *result,
                        struct sb_error *err) SB_CHECKED;

/* What is wrong with the options of bags, or NULL: where a bag is read, and written. */
const char *misused_bag_split(const struct record_settings *settings, bool from_bag, bool to_bag,
                              bool by_size);

#endif
