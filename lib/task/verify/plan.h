/*
 * Which units of an archive a run of verify reads, in which order, with their results.
 *
 * One pass over the index makes the table of units, in a temporary file; the state, if there is
 * one, adds what is known of them (verify/choice.h defines both). Memory is bounded. Belongs to one
 * thread.
 */
#ifndef SB_TASK_VERIFY_PLAN_H
#define SB_TASK_VERIFY_PLAN_H

#include "archive/entry.h"
#include "task/verify/verify.h"

#include <sys/stat.h>

struct sb_shards;
struct sqlite3;
struct sb_verify_plan;

struct sb_verify_unit {
    uint32_t shard;
    int64_t number; /* its addresses begin at number * SB_VERIFY_UNIT */
    bool was_bad;   /* at its last reading */
};

/* How many rows of the index are read between two looks at the clock. */
#define SB_VERIFY_ROWS_AT_ONCE 64

/* Milliseconds of a monotonic clock. */
int64_t sb_verify_plan_clock(void);

/* Does the choice exclude something, or use a state? */
bool sb_verify_chooses(const struct sb_verify_choice *choice);

/* Has this file bytes to verify, and a checksum? Others are in no unit. */
bool sb_verify_counts(const struct sb_entry *entry);

/* A file's contribution to the digest of its unit; their order does not matter. */
uint64_t sb_verify_row_digest(const struct sb_entry *entry);

/*
 * Opens the state, before anything else that takes time; max_seconds counts from here. The caller
 * keeps the choice as long as the plan.
 */
enum sb_code sb_verify_plan_open(struct sb_verify_plan **out, const struct sb_verify_choice *choice,
                                 struct sb_archive *archive) SB_CHECKED;
void sb_verify_plan_free(struct sb_verify_plan *plan); /* NULL is allowed */

/*
 * The pass over the index. SB_DAMAGED if that ends it: then the plan has the units before.
 * SB_INVALID if the index has no order of addresses.
 */
enum sb_code sb_verify_plan_make(struct sb_verify_plan *plan, struct sb_archive *archive,
                                 struct sb_shards *shards) SB_CHECKED;

/* Was the time over before the pass had ended? Then there are no units, and the state is as before.
 */
bool sb_verify_plan_is_unknown(const struct sb_verify_plan *plan);

/* Bytes of the files in the units to read, and number of the files in the share. */
int64_t sb_verify_plan_bytes(const struct sb_verify_plan *plan);
int64_t sb_verify_plan_files(const struct sb_verify_plan *plan);

/* The next unit; SB_END after the last, and when the time is over. */
enum sb_code sb_verify_plan_next(struct sb_verify_plan *plan,
                                 struct sb_verify_unit *unit) SB_CHECKED;

/* Records that a unit was just read: its digest, and whether it is bad. */
enum sb_code sb_verify_plan_read(struct sb_verify_plan *plan, const struct sb_verify_unit *unit,
                                 uint64_t digest, bool bad) SB_CHECKED;

/* Records a defect in a unit that is being read, whether the unit is read to its end or not. */
enum sb_code sb_verify_plan_found(struct sb_verify_plan *plan, const struct sb_verify_unit *unit,
                                  const struct sb_defect *defect) SB_CHECKED;

/* Commits the rest, and sets the progress. */
enum sb_code sb_verify_plan_end(struct sb_verify_plan *plan,
                                struct sb_verify_progress *progress) SB_CHECKED;

/*
 * verify/state.c: the file of verify --state: which units of an archive were read, when, and with
 * which result.
 *
 * verify/choice.h defines what it guarantees. It is an SQLite file with four tables:
 *
 *     about    one row: the archive (its index, links resolved), the index's generation and the
 * time when the state was last opened shards   for each shard its stat at that time: a shard that
 * has changed since was not read units    for each unit the digest of its files' rows when it was
 * read, the time of that (checked; 0: its shard has changed since), and whether it was found bad
 *     defects  for bad units, what was found, when it was first found and when last
 *
 * A digest depends on the machine's byte order: on one of the other order, units count as unread.
 * Times are seconds since the epoch. Belongs to one thread.
 */

/* The table of units, also for runs without a state. */
#define SB_VERIFY_STATE_UNITS                                                                      \
    "CREATE TABLE units(shard INTEGER NOT NULL, unit INTEGER NOT NULL, digest INTEGER NOT NULL,"   \
    " checked INTEGER NOT NULL, bad INTEGER NOT NULL, PRIMARY KEY (shard, unit)) WITHOUT ROWID"

struct sb_verify_state {
    struct sqlite3 *db; /* NULL: none */
    int fd;             /* holds the lock */
    char *file;         /* links resolved */
    int64_t generation; /* of the index, when it was last opened */
};

/*
 * Opens the state of this archive, makes it if it is missing or empty, locks it until it is closed,
 * and writes to it once, so that write errors show now. Leaves no transaction open. SB_FORMAT for a
 * file that is not ours, or is damaged; SB_INVALID for another archive's; SB_LOCKED while another
 * run has it. The caller closes *state, also after an error.
 */
enum sb_code sb_verify_state_open(struct sb_verify_state *state, const char *file,
                                  struct sb_archive *archive) SB_CHECKED;
void sb_verify_state_close(struct sb_verify_state *state);

/* For a later error of the database: damage becomes SB_FORMAT, with what to do. */
enum sb_code sb_verify_state_failed(const struct sb_verify_state *state) SB_CHECKED;

/* In the caller's transaction: remembers the index's generation, after all shards were checked. */
enum sb_code sb_verify_state_see_index(struct sb_verify_state *state,
                                       struct sb_archive *archive) SB_CHECKED;

/*
 * In the caller's transaction: marks all units of a shard unread if it is not the same, and was not
 * just appended to. index_changed: since the last time.
 */
enum sb_code sb_verify_state_see_shard(struct sb_verify_state *state, uint32_t shard,
                                       const struct stat *now, bool index_changed) SB_CHECKED;

#endif
