/*
 * Which records of a bag go into which part: slices, few where records that are neighbours stay so.
 */
#ifndef SB_TASK_SPLIT_BAG_PLAN_H
#define SB_TASK_SPLIT_BAG_PLAN_H

#include "store/record_choice.h"
#include "task/split_bag.h"

struct sb_split_bag_part {
    struct sb_slice *slices;
    size_t count, room;
    struct sb_record_run last; /* what the last slice stands for */
    int64_t records;
    int64_t bytes; /* as stored */
};

struct sb_split_bag_plan {
    struct sb_split_bag_part *parts;
    int64_t count, room;
    int64_t records;
    int64_t bytes;
};

/* Reads the limits of the bag. Numbers that are not there are told as SB_PROBLEM ("missing"). */
enum sb_code sb_split_bag_plan_make(struct sb_split_bag_plan *plan,
                                    const struct sb_split_bag_options *options,
                                    const struct sb_notify *notify,
                                    struct sb_error *err) SB_CHECKED;
void sb_split_bag_plan_release(struct sb_split_bag_plan *plan);

#endif
