/*
 * Which cells of which rows of a table, in which order: rows by their numbers.
 *
 * What is chosen comes as runs, for sb_table_fetch. Belongs to one thread.
 */
#ifndef SB_TASK_TABLE_CHOICE_H
#define SB_TASK_TABLE_CHOICE_H

#include "core/share.h"
#include "task/table/fetch.h"

/* Slices, one behind the other, that name the same column, or none. */
struct sb_row_group {
    const char *words; /* by which they were asked for */
    size_t slice_count;
    const char *column; /* as it is, or as a file is called; NULL: those that are chosen for all */
};

struct sb_table_choice_options {
    /* Of rows: its slices are those of all groups; no group and no list: all. Lines of its list
     * are slices, each with a column behind a '/' where it names one. What is random, or comes for
     * ever, wants groups of one column, and no list. */
    struct sb_record_choice_options rows;
    const struct sb_row_group *groups;
    size_t group_count;

    const char *const *columns; /* those of rows that name none, in the order of the table */
    size_t column_count;        /* 0: all */

    struct sb_share share; /* rows of a list, and of different columns, are counted first */
};

struct sb_table_choice;

/* Options and what they point at are kept. SB_INVALID: one of options->columns is not there, or
 * that of what is random; what is random with a list, or of different columns. What is missing when
 * a share is counted is told to notify. */
enum sb_code sb_table_choice_new(struct sb_table_choice **out, struct sb_table *table,
                                 const struct sb_table_choice_options *options,
                                 const struct sb_notify *notify, struct sb_error *err) SB_CHECKED;
void sb_table_choice_free(struct sb_table_choice *choice); /* NULL is allowed */

/* The choice as what is fetched. */
struct sb_cell_feed sb_table_choice_feed(struct sb_table_choice *choice);

/* How many rows slices come to, before anything is drawn or cut; -1: with a list. */
int64_t sb_table_choice_rows(const struct sb_table_choice *choice);

#endif
