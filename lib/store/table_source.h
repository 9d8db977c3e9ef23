/*
 * Any table of numbered rows that all have the same columns, as a sequence: each member is a cell,
 * ROW/COLUMN.npy.
 *
 * Rows come in their order, or as options->records chooses; the columns of each are all, or those
 * that options->arrays names. Reports SB_PROBLEM "damaged" for a cell that cannot be found,
 * "missing" for a chosen row that does not exist. The loaders use only entry.size and place[] of a
 * member.
 */
#ifndef SB_STORE_TABLE_SOURCE_H
#define SB_STORE_TABLE_SOURCE_H

#include "store/kind.h"
#include "store/table.h"

/* The source owns the table, also on failure. SB_INVALID: the table has no such column. */
enum sb_code sb_source_of_table(struct sb_source **out, struct sb_table *table,
                                const struct sb_source_options *options,
                                const struct sb_notify *notify) SB_CHECKED;

/* The source of the input's table, for kinds without a faster one. Values that are given as they
 * are stored are located, if the input is one seekable file. */
sb_source_opener sb_source_open_rows SB_CHECKED;

#endif
