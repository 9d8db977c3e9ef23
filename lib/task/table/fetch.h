/*
 * Fetches cells of a table, many at once, and writes them in the order of the choice: framed, or as
 * records of a bag. Or says what is known of them without reading them whole.
 *
 * Worker threads look cells up and read them in batches; the output does not depend on the number
 * of threads. Adjacent cells are read together. Memory is some MB per thread; larger cells are
 * streamed. Before it waits for more of the choice, it writes everything chosen so far.
 */
#ifndef SB_TASK_TABLE_FETCH_H
#define SB_TASK_TABLE_FETCH_H

#include "store/bag/writer.h"
#include "store/facts.h"
#include "store/frames/framing.h"
#include "store/record_choice.h"
#include "store/table.h"
#include "task/fetch/fetch.h"

/* Some columns of some rows, row by row. */
struct sb_cell_run {
    struct sb_record_run rows;
    const uint32_t *columns; /* live until the next run; NULL: the first ones */
    uint32_t column_count;
    bool as_file; /* they were named as files, with a suffix */
};

/* The source of cells to fetch. */
struct sb_cell_feed {
    /*
     * The next run; SB_END after the last. SB_INVALID, after which the next call continues: a
     * missing row or column, with rows.count 0, whose name `missing` returns; or an invalid line of
     * a list, with rows.count -1.
     */
    enum sb_code (*next)(void *context, struct sb_cell_run *run);

    /* Would next return without waiting? */
    bool (*ready)(void *context);

    /*
     * For an endless choice: any so many consecutive cells include every one that can occur; 0: it
     * ends. NULL: it ends.
     */
    int64_t (*round)(void *context);

    /* The number of cells, -1: unknown. */
    int64_t (*total)(void *context);

    /* The name that was missing, until the next call of next. NULL: nothing is ever missing. */
    const char *(*missing)(void *context);
    void *context;
};

/* A bag to which the records of another one are added; the writer's owner commits it. How a record
 * is encoded depends only on its bytes and its own size. */
struct sb_cell_bag {
    struct sb_bag_writer *writer;
    struct sb_bag_reader *reader;     /* of the table's bag */
    bool as_stored;                   /* compressed records fit into the new bag as they are */
    struct sb_dictionary *dictionary; /* for encoding */
    int level;

    /* Calling thread: so many stored bytes of the table's bag are done. */
    void (*progress)(void *context, int64_t bytes);
    void *context;
};

/* What is known of the cells of a table that has extents and parts: place and size. */
struct sb_cell_facts {
    /* Calling thread; defects are not reported, and the facts live during the call. A code other
     * than SB_OK ends the run. */
    enum sb_code (*each)(void *context, const struct sb_facts *facts);

    /* Calling thread: all cells so far were passed, and the next ones must be waited for. */
    void (*waits)(void *context);
    void *context;
};

struct sb_table_fetch_options {
    const struct sb_cell_bag *bag;     /* instead of framing and output; NULL: none */
    const struct sb_cell_facts *facts; /* likewise; invalid lines are as missing rows */
    enum sb_framing framing;
    char line_end;       /* of SB_FRAMING_BATCH */
    enum sb_array_as as; /* texts and blobs are never converted */
    bool more_follows;   /* another call continues the same output: its end is not written yet */
    unsigned threads;
};

struct sb_table_fetch_counts {
    int64_t cells;
    int64_t bytes;   /* written, including frames */
    int64_t missing; /* requested cells that do not exist */
    int64_t damaged;
};

/*
 * Cells that cannot be written are reported as SB_PROBLEM ("missing", "damaged"), and the rest is
 * done; in batch a missing cell is only answered as such. If a streamed cell is found damaged after
 * bytes of it were framed, the run ends with SB_DAMAGED. SB_INVALID if the framing cannot hold a
 * cell, or for an invalid line of a list: the cells before it were written. An endless choice ends
 * the run if none of its cells yields a byte.
 */
enum sb_code sb_table_fetch(struct sb_table *table, const struct sb_cell_feed *feed,
                            const struct sb_table_fetch_options *options,
                            const struct sb_fetch_output *output, const struct sb_notify *notify,
                            struct sb_table_fetch_counts *counts) SB_CHECKED;

#endif
