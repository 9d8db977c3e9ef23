/*
 * Shared by the parts of verify that are about archives.
 */
#ifndef SB_TASK_VERIFY_IMPL_H
#define SB_TASK_VERIFY_IMPL_H

#include "archive/archive.h"
#include "archive/entry.h"
#include "archive/select.h"
#include "archive/shards.h"
#include "archive/writer/linked.h"
#include "task/verify/verify.h"

#include <sys/stat.h>

struct sqlite3;
struct sb_verify_plan;
struct sb_verify_units;

enum shard_state {
    SHARD_UNSEEN, /* not looked up yet */
    SHARD_THERE,
    SHARD_MISSING,
    SHARD_UNUSABLE, /* a directory, a device, or unreadable */
};

struct shard_info {
    enum shard_state state;
    bool reported;       /* that it is unusable */
    uint32_t generation; /* of the index when it was looked up */
    bool linked;         /* a symbolic link, or recorded as another archive's */
    bool cut;            /* shorter than when it was linked, which was reported */
    int64_t size;        /* of the file */
    int64_t needed; /* the highest end of an extent in it or, under `present`, its recorded length,
                       if that is more; 0: no file uses it */
};

struct verify {
    struct sb_archive *archive;
    struct sb_shards *shards;
    struct sb_content *content;
    const struct sb_verify_options *options;
    const struct sb_verify_events *events;
    struct sb_verify_events own; /* for defects: passes them on to the units, too */
    const struct sb_notify *notify;
    struct sb_verify_result *result;
    struct shard_info *shard_info; /* of shards 0 to shard_count - 1 */
    size_t shard_count, shard_capacity;
    int64_t data_version;          /* of the index when it began */
    bool by_shard;                 /* incomplete shards are reported, not each file in them */
    struct sb_verify_units *units; /* NULL: everything is read */
    bool apart;                    /* extents were found in order of address, without overlaps */
    bool rows_are_sound;           /* all rows were read, and no value of one is wrong */
    struct integrity *integrity;
    int64_t started; /* by sb_verify_clock */
    uint64_t rows;   /* of passes over the index, so far */
};

/* How often a file that keeps being moved is looked up again. */
#define SB_VERIFY_MOVES_MOST 32

/* Milliseconds of a monotonic clock; and has what began then had the time of the choice? */
int64_t sb_verify_clock(void);
bool sb_verify_is_over(const struct sb_verify_choice *choice, int64_t began);

/* How many rows of the index are read between two looks at the clock. */
#define SB_VERIFY_ROWS_AT_ONCE 64

/*
 * For each row of a pass over the index; looks at the clock now and then. True: the time is over,
 * and the pass ends without a verdict on the whole.
 */
bool sb_verify_gives_up(struct verify *verify);

/* Where a defect is: path, and the extent of a file; or the path alone. */
struct sb_defect sb_verify_place(const struct sb_entry *entry);
struct sb_defect sb_verify_name(const struct sb_entry *entry);

/* Reports a defect. SB_CHANGED instead if the index was rewritten since the beginning. */
enum sb_code sb_verify_report(struct verify *verify, enum sb_remedy remedy, const char *kind,
                              struct sb_defect place, const char *format, ...)
    SB_PRINTF(5, 6) SB_CHECKED;

/*
 * As sb_verify_report, for a defect of one row, which holds whatever the index says by now.
 * SB_CHANGED only if the archive was replaced.
 */
enum sb_code sb_verify_report_row(struct verify *verify, enum sb_remedy remedy, const char *kind,
                                  struct sb_defect place, const char *format, ...)
    SB_PRINTF(5, 6) SB_CHECKED;

/* An error that ends a pass over the index, but not the run, is a defect: then SB_OK. */
enum sb_code sb_verify_index_failed(struct verify *verify, enum sb_code code);

/* Was the index rewritten since the beginning? */
enum sb_code sb_verify_index_moved(struct verify *verify, bool *moved) SB_CHECKED;

/* verify/index.c: configuration, standard objects, and SQLite's own check in its thread. */
enum sb_code sb_verify_config(struct verify *verify) SB_CHECKED;
enum sb_code sb_verify_objects(struct verify *verify) SB_CHECKED;
enum sb_code sb_verify_integrity_start(struct verify *verify) SB_CHECKED;

/*
 * Reports its results if it has ended; with `wait` waits for that, but not longer than there is
 * time. Later calls do nothing.
 */
enum sb_code sb_verify_integrity_collect(struct verify *verify, bool wait) SB_CHECKED;

/* Has it ended with an error? Then that, so that no more is read in vain. */
enum sb_code sb_verify_integrity_failure(struct verify *verify) SB_CHECKED;
void sb_verify_integrity_free(struct integrity *check); /* stops it; NULL is allowed */

/* verify/shards.c: looks each shard up once. *out is NULL for a number that no shard can have. */
enum sb_code sb_verify_shard_look(struct verify *verify, uint32_t shard,
                                  struct shard_info **out) SB_CHECKED;

/* Reports a shard that is missing or not a file, once. */
enum sb_code sb_verify_shard_report(struct verify *verify, uint32_t shard) SB_CHECKED;

/*
 * Can a file's bytes be read: are they within an existing shard (under present: a complete one)?
 * Looks again if they are not and the index changed since the last look-up.
 */
enum sb_code sb_verify_shard_holds(struct verify *verify, const struct sb_entry *entry,
                                   bool *holds) SB_CHECKED;

/* After all rows: missing shards among those in use and, by_shard, incomplete ones; and linked ones
 * that changed since. */
enum sb_code sb_verify_shards(struct verify *verify) SB_CHECKED;

/*
 * Instead of all this, for a share that reads only its own rows: does each shard exist, and reach
 * the end of its last file? A few look-ups for each.
 */
enum sb_code sb_verify_shard_ends(struct verify *verify) SB_CHECKED;

/* verify/rows.c: every row, in order of path. */
enum sb_code sb_verify_rows(struct verify *verify, struct sb_select *select) SB_CHECKED;

/* Reports that a file's bytes are not within its shard, after looking again. */
enum sb_code sb_verify_bounds(struct verify *verify, const struct sb_entry *entry) SB_CHECKED;

/* And every extent, in order of address. */
enum sb_code sb_verify_overlaps(struct verify *verify) SB_CHECKED;

/*
 * verify/data.c: every byte; with a choice, of its units, whose results are recorded as soon as all
 * of their files were read. If results cannot be recorded the reading continues, and that is
 * reported at the end. What verify->options->choice needs is opened before all else. Belongs to one
 * thread.
 */
enum sb_code sb_verify_units_open(struct verify *verify) SB_CHECKED;
void sb_verify_units_free(struct sb_verify_units *units); /* NULL is allowed */

/* A defect was reported: the unit that is judged, if one is, is bad. */
void sb_verify_units_found(struct sb_verify_units *units, const struct sb_defect *defect);

/* After the preflight. */
enum sb_code sb_verify_data(struct verify *verify) SB_CHECKED;

/* The names that the run is limited to; *out is NULL for all. */
enum sb_code sb_verify_select(struct verify *verify, struct sb_select **out) SB_CHECKED;

/*
 * verify/plan.c: which units of an archive are read, in which order, with their results.
 *
 * One pass over the index makes the table of units, in a temporary file; the state, if there is
 * one, adds what is known of them (verify.h defines both). Memory is bounded. Belongs to one
 * thread.
 */
struct sb_verify_unit {
    uint32_t shard;
    int64_t number; /* its addresses begin at number * SB_VERIFY_UNIT */
    bool was_bad;   /* at its last reading */
};

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

/* What a plan has. */
struct sb_verify_planned {
    int64_t files; /* in the share */
    int64_t bytes; /* of the files in the units to read */
    bool unknown;  /* the time was over before the pass had ended: then there are no units, and the
                      state is as before */
};

/*
 * The pass over the index. SB_DAMAGED if that ends it: then the plan has the units before.
 * SB_INVALID if the index has no order of addresses.
 */
enum sb_code sb_verify_plan_make(struct sb_verify_plan *plan, struct sb_archive *archive,
                                 struct sb_shards *shards,
                                 struct sb_verify_planned *planned) SB_CHECKED;

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
 * verify.h says what it guarantees. It is an SQLite file with four tables. "about" has one row: the
 * archive (its index, links resolved), the index's generation and the time when the state was last
 * opened. "shards" has the stat of each shard at that time: one that has changed since was not
 * read. "units" has for each unit the digest of its files' rows when it was read, the time of that
 * (checked; 0: its shard has changed since), and whether it was found bad. "defects" has for bad
 * units what was found, when it was first found and when last.
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

/*
 * verify/agreement.c: do the indexes of an archive's SQLite file have the entries that its rows
 * need, and no others?
 *
 * PRAGMA integrity_check looks up each row in each index, which takes most of its time. This reads
 * each table and each index once, in the order in which they are stored. An index agrees if its
 * entries ascend, none comes twice that must not, and the keyed hashes of all keys with their row
 * numbers add up to the same sum as those of the rows.
 *
 * It proves and does not describe: false means that only integrity_check can say.
 *
 * True: integrity_check would report nothing that quick_check does not. For that every path is text
 * and every indexed value text, an integer or NULL. False also after any failure, as by an
 * interrupt. The caller has begun a read transaction, which quick_check shares.
 */
bool sb_verify_indexes_agree(struct sqlite3 *db);

/*
 * After that: on this connection the expression of `parent` yields only NULL or an empty text. It
 * is NULL where it was before, and quick_check compares it with nothing else.
 */
bool sb_verify_blank_parents(struct sqlite3 *db);

#endif
