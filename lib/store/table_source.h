/*
 * Any table of numbered rows that all have the same columns, as a sequence: a member is a cell,
 * ROW/COLUMN.npy.
 *
 * Rows come in their order, or as options->records has it; and of each its columns, or those that
 * options->arrays names. A cell that cannot be found is told as SB_PROBLEM ("damaged"), one that
 * was chosen and is not there as SB_PROBLEM ("missing"). Of a member, its loaders look at
 * entry.size and place[] only.
 */
#ifndef SB_STORE_TABLE_SOURCE_H
#define SB_STORE_TABLE_SOURCE_H

#include "store/kind.h"
#include "store/table.h"

/* The table becomes the source's, also when it fails. SB_INVALID: it has no such column. */
enum sb_code sb_source_of_table(struct sb_source **out, struct sb_table *table,
                                const struct sb_source_options *options,
                                const struct sb_notify *notify, struct sb_error *err) SB_CHECKED;

/* Of the input's table, for kinds that have no faster one. Values that are given out as they are
 * stored are located, of an input that is one file which can be seeked. */
sb_source_opener sb_source_open_rows SB_CHECKED;

#endif
