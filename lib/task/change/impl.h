/*
 * Parts of upgrade and of defrag.
 */
#ifndef SB_TASK_CHANGE_IMPL_H
#define SB_TASK_CHANGE_IMPL_H

#include "archive/archive.h"
#include "archive/own/hold.h"
#include "task/change/defrag.h"
#include "task/change/upgrade.h"

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

/* upgrade_repair.c. In the caller's transaction on db, whose tables have schema 0.3. */
enum sb_code sb_upgrade_objects(struct upgrade *upgrade, sqlite3 *db) SB_CHECKED;
enum sb_code sb_upgrade_statistics(struct upgrade *upgrade, sqlite3 *db,
                                   bool count_only) SB_CHECKED;
enum sb_code sb_upgrade_config(struct upgrade *upgrade) SB_CHECKED;

/* upgrade_rebuild.c: from an older schema, up to the removal of the old index. check_kept: with
 * keep_old, is its name free, or does it lead to the old index already? */
enum sb_code sb_upgrade_check_kept(struct upgrade *upgrade) SB_CHECKED;
enum sb_code sb_upgrade_rebuild(struct upgrade *upgrade, enum sb_schema schema) SB_CHECKED;

/* upgrade_sums.c: opens the archive at upgrade->hold.path again. */
enum sb_code sb_upgrade_sums(struct upgrade *upgrade) SB_CHECKED;

/*
 * The quick way of defrag.h, on an open mover; the caller frees it, and sets counts->bytes_before.
 * With dry_run nothing is moved: the counts are those without a time limit.
 */
enum sb_code sb_defrag_quick(struct sb_mover *mover, const struct sb_defrag_options *options,
                             struct sb_defrag_counts *counts) SB_CHECKED;

#endif
