/*
 * Which cells of which rows of a table, for commands that read them: ROW[/COLUMN], --records, -T
 * and --array.
 */
#ifndef SB_CMD_OPEN_CHOSEN_ROWS_H
#define SB_CMD_OPEN_CHOSEN_ROWS_H

#include "open/chosen_records.h"
#include "task/table/choice.h"

struct chosen_rows {
    struct sb_table_choice_options options;

    struct chosen_records records;
    struct sb_row_group *groups;
    const char **arrays;
};

/* What the options parsed last say, and then the operands: numbers and slices, ',' between several,
 * behind them '/' and a column where only that is wanted. As chosen_records_open. */
enum sb_code chosen_rows_open(struct chosen_rows *out, const struct sb_table *table,
                              const char *files_from, char end, char *const *operands, size_t count,
                              struct sb_error *err) SB_CHECKED;
void chosen_rows_close(struct chosen_rows *rows);

#endif
