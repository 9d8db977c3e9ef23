/*
 * Parts of upgrade and of defrag.
 */
#ifndef SB_TASK_CHANGE_IMPL_H
#define SB_TASK_CHANGE_IMPL_H

#include "archive/archive.h"
#include "archive/own/hold.h"
#include "task/change/change.h"

#include <sqlite3.h>

struct upgrade {
    const struct sb_upgrade_options *options;
    const struct sb_notify *notify;
    struct sb_upgrade_result *result;
    struct sb_hold hold; /* hold.path: the place of an index of schema 0.3 */
    sqlite3 *db;         /* hold.file; for writing and locked unless this is a dry run */
    bool checksums;      /* they are requested, or due since a killed run */
    bool kept;           /* the note is left to the next writer: not all was settled */
};

/*
 * upgrade_rebuild.c: for schema 0.3, repairs what the index alone determines, in the caller's
 * transaction.
 */
enum sb_code sb_upgrade_repair(struct upgrade *upgrade) SB_CHECKED;

/* From an older schema, up to the removal of the old index. check_kept: with keep_old, is its name
 * free, or does it lead to the old index already? */
enum sb_code sb_upgrade_check_kept(struct upgrade *upgrade) SB_CHECKED;
enum sb_code sb_upgrade_rebuild(struct upgrade *upgrade, enum sb_schema schema) SB_CHECKED;

/*
 * The quick way of defrag.h, on an open mover; the caller frees it, and sets counts->bytes_before.
 * With dry_run nothing is moved: the counts are those without a time limit.
 */
enum sb_code sb_defrag_quick(struct sb_mover *mover, const struct sb_defrag_options *options,
                             struct sb_defrag_counts *counts) SB_CHECKED;

/*
 * The free extents of an archive in the order of their addresses, with search for the first that is
 * large enough (defrag_quick.c).
 *
 * Finding and taking one is O(log n). Memory: 40 bytes per gap, for the first million; later ones
 * are ignored. {0} is empty; belongs to one thread.
 */
#define SB_GAPS_MOST ((size_t)1 << 20)

struct sb_gap {
    uint32_t shard;
    int64_t offset;
    int64_t size;
};

/*
 * largest is a binary tree in an array: node n has the children 2n and 2n+1, the leaves are the
 * gaps from node `leaves` on, and each node holds the largest size below it.
 */
struct sb_gap_table {
    struct sb_gap *gaps;
    size_t count, capacity;
    int64_t *largest;
    size_t leaves;
};

void sb_gap_table_release(struct sb_gap_table *table);

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

#endif
