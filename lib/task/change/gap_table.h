/*
 * The free extents of an archive in the order of their addresses, with search for the first that is
 * large enough.
 *
 * Finding and taking one is O(log n). Memory: 40 bytes per gap, for the first million; later ones
 * are ignored. Belongs to one thread.
 */
#ifndef SB_TASK_CHANGE_GAP_TABLE_H
#define SB_TASK_CHANGE_GAP_TABLE_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

#define SB_GAPS_MOST ((size_t)1 << 20)

struct sb_gap {
    uint32_t shard;
    int64_t offset;
    int64_t size;
};

struct sb_gap_table;

enum sb_code sb_gap_table_new(struct sb_gap_table **out) SB_CHECKED;
void sb_gap_table_free(struct sb_gap_table *table); /* NULL is allowed */

/* The next gap by address. Empty ones, and those after the first million, are ignored. */
enum sb_code sb_gap_table_add(struct sb_gap_table *table, const struct sb_gap *gap) SB_CHECKED;

/* After the last add, before the first of the calls below. */
enum sb_code sb_gap_table_finish(struct sb_gap_table *table) SB_CHECKED;

/*
 * Takes size bytes (more than 0) from the front of the first gap that has so many, if it begins
 * before the address `before`; false: there is none.
 */
bool sb_gap_table_take(struct sb_gap_table *table, int64_t size, const struct sb_gap *before,
                       struct sb_gap *taken);

/* The first nonempty gap; false: there is none. */
bool sb_gap_table_first(const struct sb_gap_table *table, struct sb_gap *first);

/* Does a's address come before b's? */
bool sb_gap_is_before(const struct sb_gap *a, const struct sb_gap *b);

#endif
