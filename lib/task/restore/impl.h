/*
 * Shared by the parts of restore.h only.
 */
#ifndef SB_TASK_RESTORE_IMPL_H
#define SB_TASK_RESTORE_IMPL_H

#include "archive/own/hold.h"
#include "core/buf.h"
#include "task/protect/protect.h"
#include "task/restore/copy.h"
#include "task/restore/list.h"
#include "task/restore/restore.h"
#include "task/restore/target.h"
#include "task/verify/verify.h"

struct sqlite3;

struct sb_restore_unit {
    uint32_t shard;
    int64_t number;
};

/* Parity files that are to be made again. */
struct sb_restore_again {
    const char *parity_dir;
    const struct sb_notify *notify;
    unsigned threads;
    bool dry_run;
    struct sb_protect_result *result;
    struct sb_restore_parity_file {
        char *path;      /* of its file */
        const char *why; /* it is to be made again */
    } * files;
    size_t count, capacity;
};

struct sb_restore {
    struct sb_archive *archive;
    const struct sb_restore_options *options;
    const struct sb_notify *notify;
    const struct sb_verify_events *events; /* the caller's */
    struct sb_restore_result *result;
    struct sb_restore_copy *copy;
    struct sb_restore_list *list;
    struct sb_restore_target *target;
    struct sb_error failed;        /* in a callback of verify */
    struct sb_restore_unit *units; /* that were read, in the order of reading */
    size_t unit_count, unit_capacity;
    int64_t gone;         /* defects of files that no longer exist, or are no longer damaged */
    int64_t wanted_bytes; /* of all items */
    int64_t done_bytes;   /* of the items processed */

    struct sb_hold hold;
    bool locked; /* and settled after earlier runs */
    struct sqlite3 *db;
    struct sb_restore_again again;
};

/* restore/plan.c: adds to the list those damaged names that can be restored at all. */
enum sb_code sb_restore_plan(struct sb_restore *restore) SB_CHECKED;

/* restore/parity.c: makes what can be made by parity files, and writes it. */
enum sb_code sb_restore_parity(struct sb_restore *restore) SB_CHECKED;

/*
 * restore/tend.c: what no file with a checksum has, by the parity files of shards, and the parity
 * files themselves: those that are missing, or damaged, are marked, to be made again. by_units:
 * only sections with bytes of units that were read.
 */
enum sb_code sb_restore_tend(struct sb_restore *restore, bool by_units) SB_CHECKED;

/* Makes those parity files again, when the archive is not held any more. */
enum sb_code sb_restore_remake_parity(struct sb_restore_again *again) SB_CHECKED;

/*
 * Keeps other writers out, and settles what a killed one has left, unless that is done. The index
 * is not changed and remains open for reading meanwhile, so it keeps its journal mode.
 */
enum sb_code sb_restore_lock(struct sb_restore *restore) SB_CHECKED;

/* Makes missing shards that no file uses: Barecat finds later ones only by counting. */
enum sb_code sb_restore_holes(struct sb_restore *restore) SB_CHECKED;

/* restore/from_copy.c: finds the items in the copy, and writes them. */
enum sb_code sb_restore_from_copy(struct sb_restore *restore) SB_CHECKED;

/* One more item was processed: for progress. */
void sb_restore_passed(struct sb_restore *restore, int64_t size);

#endif
