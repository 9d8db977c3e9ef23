/*
 * Arrays of items of Syrah files to an output, in the order asked for, read ahead on threads: as
 * record_fetch.h has it of records, each array being one.
 *
 * In frames that have names it is called as the member that convert makes of it:
 * 00000005/x.float32, 00000005/x.npy, of texts 00000005/x.txt; what is not there by the words that
 * asked for it.
 */
#ifndef SB_TASK_TABLE_ITEM_FETCH_H
#define SB_TASK_TABLE_ITEM_FETCH_H

#include "store/array/name.h"
#include "task/table/item_choice.h"
#include "task/table/record_fetch.h"

struct sb_item_fetch_options {
    struct sb_record_fetch_options records; /* without names */
    enum sb_array_as as;                    /* texts are as they are */
};

enum sb_code sb_item_fetch(const struct sb_syrah_set *set, struct sb_item_choice *choice,
                           const struct sb_item_fetch_options *options,
                           const struct sb_fetch_output *output, const struct sb_notify *notify,
                           struct sb_record_fetch_counts *counts, struct sb_error *err) SB_CHECKED;

#endif
