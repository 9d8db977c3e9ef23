/*
 * Which records of a bag go into which part: slices, few if adjacent records stay together; or, for
 * a list, positions in a spool of its numbers.
 */
#ifndef SB_TASK_SPLIT_BAG_PLAN_H
#define SB_TASK_SPLIT_BAG_PLAN_H

#include "store/record_choice.h"
#include "task/split/bag.h"

struct sb_split_bag_part {
    struct sb_slice *slices;
    size_t count, capacity;
    struct sb_record_run last; /* the run of the last slice */
    int64_t first, step;       /* for a list: positions in plan->numbers, `records` of them */
    int64_t records;
    int64_t bytes; /* as stored */
};

struct sb_split_bag_plan {
    struct sb_split_bag_part *parts;
    int64_t count;
    size_t capacity;
    int64_t records;
    int64_t bytes;
    bool listed;
    struct sb_limit_spool numbers; /* those numbers of the list that exist */
};

/* The choice for a part; it points into the plan. */
struct sb_record_choice_options sb_split_bag_plan_choice(const struct sb_split_bag_plan *plan,
                                                         int64_t number);

/* Reads the limits of the bag. Missing numbers are reported as SB_PROBLEM ("missing"). */
enum sb_code sb_split_bag_plan_make(struct sb_split_bag_plan *plan,
                                    const struct sb_split_bag_options *options,
                                    const struct sb_notify *notify) SB_CHECKED;
void sb_split_bag_plan_release(struct sb_split_bag_plan *plan);

#endif
