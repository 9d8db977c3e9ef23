/*
 * How much is in Syrah files: what each array takes, from the metadata alone.
 */
#ifndef SB_TASK_TABLE_ITEM_USAGE_H
#define SB_TASK_TABLE_ITEM_USAGE_H

#include "store/syrah/set.h"

/* Of arrays that can be read; at most INT64_MAX, whatever is claimed. */
struct sb_array_usage {
    bool passed_over; /* set by the caller: it is not looked at */
    int64_t items;
    int64_t bytes;
};

/* Adds to one for each array, by its number. Those that lie where they cannot are told as
 * SB_PROBLEM ("damaged"), and left out. SB_INTERRUPT. */
enum sb_code sb_item_usage(const struct sb_syrah_set *set, struct sb_array_usage *arrays,
                           const struct sb_notify *notify, struct sb_error *err) SB_CHECKED;

#endif
