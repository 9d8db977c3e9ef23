/*
 * The hashes of all records of a bag, sorted: 16 bytes per record, for keys that are not known
 * beforehand.
 *
 * Records longer than any possible key are omitted. Belongs to one thread.
 */
#ifndef SB_TASK_INDEX_RECORD_TABLE_H
#define SB_TASK_INDEX_RECORD_TABLE_H

#include "task/index/record_index.h"

struct sb_record_table;

enum sb_code sb_record_table_new(struct sb_record_table **out, struct sb_bag *bag,
                                 const struct sb_record_index_options *options,
                                 const struct sb_notify *notify) SB_CHECKED;
void sb_record_table_free(struct sb_record_table *table); /* NULL is allowed */
FREEP(sb_record_table_free, struct sb_record_table)

/* Replaces numbers (int64_t each) by those of the records with these bytes: the first one, or all,
 * ascending. */
enum sb_code sb_record_table_find(struct sb_record_table *table, const void *key, size_t size,
                                  bool all, struct sb_buf *numbers) SB_CHECKED;

#endif
