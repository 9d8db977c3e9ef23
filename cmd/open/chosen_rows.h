/*
 * The cells of a table that a command reads: ROW[/COLUMN], by number or, if the table finds rows by
 * name, by name; --records, -T and --array.
 */
#ifndef SB_CMD_OPEN_CHOSEN_ROWS_H
#define SB_CMD_OPEN_CHOSEN_ROWS_H

#include "open/chosen_records.h"
#include "open/given_names.h"
#include "task/table/choice.h"
#include "task/table/keys.h"

struct chosen_rows {
    /* May be added to until the feed. */
    struct sb_table_choice_options options;
    struct sb_table_keys_options named;

    struct sb_table_choice *choice; /* NULL: rows were named */

    struct chosen_records records;
    struct sb_row_group *groups;
    const char **arrays;
    struct given_names names;
    struct sb_table_keys *keys;
};

/* What the options parsed last say, and then the operands: names; or numbers and slices, separated
 * by ','; followed by '/' and a column if only that is wanted. As chosen_records_open.
 */
enum sb_code chosen_rows_open(struct chosen_rows *out, const struct sb_table *table,
                              const char *files_from, char end, char *const *operands,
                              size_t count) SB_CHECKED;
void chosen_rows_close(struct chosen_rows *rows);

/* The chosen rows; waits for the first names. It lives as long as rows. */
enum sb_code chosen_rows_feed(struct chosen_rows *rows, struct sb_table *table,
                              struct sb_cell_feed *out) SB_CHECKED;

#endif
