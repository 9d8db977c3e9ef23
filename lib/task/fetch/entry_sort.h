/*
 * Sorts any number of entries into another order than the index has: they are kept in a temporary
 * SQLite file, so memory is bounded.
 *
 * Order of calls: new; then begin, add for each, next until SB_END, any number of times; free.
 * Belongs to one thread.
 */
#ifndef SB_TASK_FETCH_ENTRY_SORT_H
#define SB_TASK_FETCH_ENTRY_SORT_H

#include "archive/entry.h"
#include "core/error.h"

struct sb_entry_sort;

/* Ascending by key, then second key, then bytewise by path; all three descending when reversed. */
enum sb_code sb_entry_sort_new(struct sb_entry_sort **out, bool reversed) SB_CHECKED;
void sb_entry_sort_free(struct sb_entry_sort *sort);
FREEP(sb_entry_sort_free, struct sb_entry_sort)

/* Drops the entries of the previous round. */
enum sb_code sb_entry_sort_begin(struct sb_entry_sort *sort) SB_CHECKED;

/* Copies the entry. */
enum sb_code sb_entry_sort_add(struct sb_entry_sort *sort, int64_t key, int64_t second_key,
                               const struct sb_entry *entry) SB_CHECKED;

/* The entry's strings live until the next call. */
enum sb_code sb_entry_sort_next(struct sb_entry_sort *sort, struct sb_entry *entry) SB_CHECKED;

#endif
