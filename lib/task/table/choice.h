/*
 * The choice of rows of a table, of their cells, and of the order: rows by their numbers.
 *
 * The choice comes as runs, for sb_table_fetch. Belongs to one thread.
 */
#ifndef SB_TASK_TABLE_CHOICE_H
#define SB_TASK_TABLE_CHOICE_H

#include "core/share.h"
#include "task/table/fetch.h"

/* Slices, one after the other, that name the same column, or none. */
struct sb_row_group {
    const char *words; /* as they were requested */
    size_t slice_count;
    const char *column; /* its name, or its name as a file; NULL: those chosen for all */
};

struct sb_table_choice_options {
    /*
     * For rows: its slices are those of all groups; no group and no list: all. Lines of its list
     * are slices, optionally with '/' and a column. A random or endless choice needs groups of one
     * column, and no list.
     */
    struct sb_record_choice_options rows;
    const struct sb_row_group *groups;
    size_t group_count;

    const char *const *columns; /* those of rows that name none, in the order of the table */
    size_t column_count;        /* 0: all */

    struct sb_share share; /* rows of a list, and of different columns, are counted first */
};

struct sb_table_choice;

/*
 * Options and what they point to must live as long. SB_INVALID: one of options->columns, or the
 * column of a random choice, does not exist; a random choice with a list, or of different columns.
 * Missing rows found while a share is counted are reported to notify.
 */
enum sb_code sb_table_choice_new(struct sb_table_choice **out, struct sb_table *table,
                                 const struct sb_table_choice_options *options,
                                 const struct sb_notify *notify) SB_CHECKED;
void sb_table_choice_free(struct sb_table_choice *choice); /* NULL is allowed */
FREEP(sb_table_choice_free, struct sb_table_choice)

/* The choice as input of sb_table_fetch. */
struct sb_cell_feed sb_table_choice_feed(struct sb_table_choice *choice);

/* The number of rows in the slices, before any drawing or dividing; -1: with a list. */
int64_t sb_table_choice_rows(const struct sb_table_choice *choice);

#endif
