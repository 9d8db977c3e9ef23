/*
 * Cells of a table, many at once, given out in the order in which they are chosen.
 *
 * They are looked up and read in batches on threads, whose bytes do not depend on their number:
 * cells that lie one behind the other are read together. Memory is some MB a thread; cells larger
 * than that are streamed. Once a choice has to be waited for, everything chosen so far is given out
 * first.
 */
#ifndef SB_TASK_TABLE_FETCH_H
#define SB_TASK_TABLE_FETCH_H

#include "store/frames/framing.h"
#include "store/record_choice.h"
#include "store/table.h"
#include "task/fetch/fetch.h"

/* Some columns of some rows, row by row. */
struct sb_cell_run {
    struct sb_record_run rows;
    const uint32_t *columns; /* live until the next run; NULL: the first ones */
    uint32_t column_count;
    bool as_file; /* they were named so, with a suffix */
};

/* Where cells to be fetched come from. */
struct sb_cell_feed {
    /*
     * The next run; SB_END after the last. SB_INVALID, and the next call goes on behind it: what is
     * not there, with rows.count 0, which `missing` has the word for; or a line of a list that says
     * nothing, with rows.count -1.
     */
    enum sb_code (*next)(void *context, struct sb_cell_run *run, struct sb_error *err);

    /* Would next return without waiting? */
    bool (*ready)(void *context);

    /* Among so many cells in a row is every one that may come at all; 0: they end. NULL: they do.
     */
    int64_t (*round)(void *context);

    /* How many in all, -1: that is not known. */
    int64_t (*total)(void *context);

    /* The word that asked for what is missing, until the next call of next. */
    const char *(*missing)(void *context);
    void *context;
};

struct sb_table_fetch_options {
    enum sb_framing framing;
    char line_end;       /* of SB_FRAMING_BATCH */
    enum sb_array_as as; /* texts and blobs are as they are */
    bool more_follows;   /* in the same output, by another call: its end is not written yet */
    unsigned threads;
};

struct sb_table_fetch_counts {
    int64_t cells;
    int64_t bytes;   /* given out, with what frames them */
    int64_t missing; /* what was asked for and is not there */
    int64_t damaged;
};

/*
 * What cannot be given out is told as SB_PROBLEM ("missing", "damaged"), and the rest is done; of a
 * batch, what is missing is only answered so. A cell that is streamed and shows its damage after
 * bytes of it were framed ends the run with SB_DAMAGED. SB_INVALID where the framing cannot hold a
 * cell, or a list has a line that says nothing: what comes before was given out. Cells that come
 * again and again for ever end the run where not a byte comes of any of them.
 */
enum sb_code sb_table_fetch(struct sb_table *table, const struct sb_cell_feed *feed,
                            const struct sb_table_fetch_options *options,
                            const struct sb_fetch_output *output, const struct sb_notify *notify,
                            struct sb_table_fetch_counts *counts, struct sb_error *err) SB_CHECKED;

#endif
