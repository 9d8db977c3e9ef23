/*
 * Metadata of records without reading them: position, size.
 *
 * Limits and frame headers are read in runs, on threads; rows come in the requested order.
 */
#ifndef SB_TASK_TABLE_RECORD_ROWS_H
#define SB_TASK_TABLE_RECORD_ROWS_H

#include "store/facts.h"
#include "task/table/fetch.h"

struct sb_record_rows_options {
    unsigned threads;

    /*
     * Calling thread: some rows, at least one, which live during the call. A code other than SB_OK
     * ends the run.
     */
    enum sb_code (*each)(void *context, const struct sb_facts *rows, size_t count);

    /* Calling thread: all rows so far were passed, and the next numbers must be waited for. */
    void (*waits)(void *context);
    void *context;

    const struct sb_notify *notify;
};

/*
 * For a table whose rows are records (sb_table_ops.records). Missing numbers, and invalid lines of
 * a list, are reported as SB_PROBLEM ("missing"); defects are not reported.
 */
enum sb_code sb_record_rows(struct sb_table *table, const struct sb_cell_feed *feed,
                            const struct sb_record_rows_options *options) SB_CHECKED;

#endif
