/*
 * Records of a bag to an output, in the order asked for, read and decoded ahead on threads.
 *
 * Records that lie one behind the other are read together. Memory is some MB a thread; records
 * larger than that are streamed. Once numbers have to be waited for, everything asked so far is
 * given out first.
 */
#ifndef SB_TASK_TABLE_RECORD_FETCH_H
#define SB_TASK_TABLE_RECORD_FETCH_H

#include "store/bag/bag.h"
#include "store/bag/record_names.h"
#include "store/frames/framing.h"
#include "store/record_choice.h"
#include "task/fetch/fetch.h"

struct sb_record_fetch_options {
    enum sb_framing framing;
    char line_end;                 /* of SB_FRAMING_BATCH */
    struct sb_record_names *names; /* for framings that have names; NULL: the record's number, but
                                      for SB_FRAMING_JSONL, which has that already */
    bool more_follows; /* in the same output, by another call: its end is not written yet */
    unsigned threads;
};

struct sb_record_fetch_counts {
    int64_t records;
    int64_t bytes;   /* given out, with what frames them */
    int64_t missing; /* numbers that are not there */
    int64_t damaged;
};

/*
 * What cannot be given out is told as SB_PROBLEM ("missing", "damaged"), and the rest is done; of a
 * batch, what is missing is only answered so. A record that is streamed and shows its damage after
 * bytes of it were framed ends the run with SB_DAMAGED. SB_INVALID where the framing cannot hold a
 * record, or a list has a line that is no slice: what comes before was given out. Records that come
 * again and again for ever end the run where not a byte comes of any of them.
 */
enum sb_code sb_record_fetch(struct sb_bag *bag, struct sb_record_choice *choice,
                             const struct sb_record_fetch_options *options,
                             const struct sb_fetch_output *output, const struct sb_notify *notify,
                             struct sb_record_fetch_counts *counts,
                             struct sb_error *err) SB_CHECKED;

#endif
