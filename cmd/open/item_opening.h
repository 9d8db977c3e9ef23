/*
 * Syrah files for commands that read their items, and which of these: ITEM[/ARRAY], --records, -T
 * and --array.
 */
#ifndef SB_CMD_OPEN_ITEM_OPENING_H
#define SB_CMD_OPEN_ITEM_OPENING_H

#include "open/chosen_records.h"
#include "open/opening.h"
#include "task/table/item_choice.h"

struct chosen_items {
    struct sb_item_choice_options options;

    struct chosen_records records;
    struct sb_item_group *groups;
    const char **arrays;
};

/* What the options parsed last say, and then the operands: numbers and slices, ',' between several,
 * behind them '/' and an array where only that is wanted. As chosen_records_open; path is for
 * messages. */
enum sb_code chosen_items_open(struct chosen_items *out, const char *path, const char *files_from,
                               char end, char *const *operands, size_t count,
                               struct sb_error *err) SB_CHECKED;
void chosen_items_close(struct chosen_items *items);

#endif
