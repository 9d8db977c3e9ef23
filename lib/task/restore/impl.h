/*
 * What the parts of restore.h share. Not for others.
 */
#ifndef SB_TASK_RESTORE_IMPL_H
#define SB_TASK_RESTORE_IMPL_H

#include "archive/own/hold.h"
#include "core/buf.h"
#include "task/restore/copy.h"
#include "task/restore/list.h"
#include "task/restore/restore.h"
#include "task/restore/target.h"
#include "task/verify/state.h"
#include "task/verify/verify.h"

struct sqlite3;

struct sb_restore {
    struct sb_archive *archive;
    const struct sb_restore_options *options;
    const struct sb_notify *notify;
    const struct sb_verify_events *events; /* the caller's */
    struct sb_restore_result *result;
    struct sb_restore_copy *copy;
    struct sb_restore_list *list;
    struct sb_restore_target *target;
    struct sb_error failed; /* in a callback of verify */
    uint32_t generation;    /* of the index, before it was verified */
    int64_t gone;           /* defects of files that are no more, or are sound by now */
    int64_t wanted_bytes;   /* of all items, and */
    int64_t done_bytes;     /* of those that were looked for */

    struct sb_hold hold;
    bool locked; /* and nothing of an earlier run is left */
    struct sqlite3 *db;
    const char *state_file; /* of verify --state; NULL: none */
    struct sb_verify_state state;
};

/* restore/plan.c: what of the names that are damaged can be restored at all goes to the list. */
enum sb_code sb_restore_plan(struct sb_restore *restore, struct sb_error *err) SB_CHECKED;

/* Makes shards that are missing and that no file uses: Barecat finds others only by counting. */
enum sb_code sb_restore_holes(struct sb_restore *restore, struct sb_error *err) SB_CHECKED;

/* restore/named.c and restore/sequence.c: finds the items in the copy, and writes them. */
enum sb_code sb_restore_named(struct sb_restore *restore, struct sb_error *err) SB_CHECKED;
enum sb_code sb_restore_sequence(struct sb_restore *restore, struct sb_error *err) SB_CHECKED;

/* restore/check.c: reads items of one state where they are; those that are right, or are not, get
 * another one. */
enum sb_code sb_restore_check(struct sb_restore *restore, enum sb_restore_state state,
                              enum sb_restore_state right, enum sb_restore_state wrong,
                              struct sb_error *err) SB_CHECKED;

/*
 * restore/state.c: what the state remembers of the sound rest of a shard still holds after a
 * repair, though size and mtime are others. `begin` once the shards are known and before one is
 * written, with the writer's locks held until `end`, when they are synced. What fails there is
 * told.
 */
void sb_restore_state_begin(struct sb_restore *restore);
void sb_restore_state_end(struct sb_restore *restore);

/* Another item was looked for: for progress. */
void sb_restore_passed(struct sb_restore *restore, int64_t size);

#endif
