/*
 * What is to be known of records without reading them: where they are, how large, one row each.
 *
 * Limits and frame headers are read in runs, on threads; rows come in the order asked for.
 */
#ifndef SB_TASK_TABLE_RECORD_ROWS_H
#define SB_TASK_TABLE_RECORD_ROWS_H

#include "store/bag/bag.h"
#include "store/record_choice.h"

struct sb_record_row {
    int64_t record;
    struct sb_extent extent; /* its shard always; size is -1 where its limits are wrong */
    int64_t size;            /* as it was written; -1: not to be known */
    const char *defect;      /* NULL, or why it is not, as a message has it ("record 7: ..."); lives
                                during the call */
};

struct sb_record_rows_options {
    unsigned threads;

    /* Calling thread: some rows, at least one. A code other than SB_OK ends the run. */
    enum sb_code (*each)(void *context, const struct sb_record_row *rows, size_t count,
                         struct sb_error *err);

    /* Calling thread: all rows so far were given out, and numbers have to be waited for. */
    void (*waits)(void *context);
    void *context;

    const struct sb_notify *notify;
};

/* Numbers that are not there are told as SB_PROBLEM ("missing"); defects are not told. */
enum sb_code sb_record_rows(struct sb_bag *bag, struct sb_record_choice *choice,
                            const struct sb_record_rows_options *options,
                            struct sb_error *err) SB_CHECKED;

/* One row; its defect, if any, stands in `why`. */
enum sb_code sb_record_row(struct sb_bag *bag, struct sb_bag_reader *reader, int64_t record,
                           struct sb_record_row *row, struct sb_error *why,
                           struct sb_error *err) SB_CHECKED;

#endif
