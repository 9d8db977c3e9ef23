/*
 * Shared by the parts of verify only.
 */
#ifndef SB_TASK_VERIFY_IMPL_H
#define SB_TASK_VERIFY_IMPL_H

#include "archive/archive.h"
#include "archive/entry.h"
#include "archive/select.h"
#include "archive/shards.h"
#include "archive/writer/linked.h"
#include "task/verify/verify.h"

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
    const struct sb_notify *notify;
    struct sb_verify_result *result;
    struct shard_info *shard_info; /* of shards 0 to shard_count - 1 */
    size_t shard_count;
    int64_t data_version;          /* of the index when it began */
    bool by_shard;                 /* incomplete shards are reported, not each file in them */
    struct sb_verify_units *units; /* NULL: everything is read */
    bool apart;                    /* extents were found in order of address, without overlaps */
    bool rows_are_sound;           /* all rows were read, and no value of one is wrong */
    struct integrity *integrity;
    int64_t started; /* by sb_verify_plan_clock */
    uint64_t rows;   /* of passes over the index, so far */
};

/* How often a file that keeps being moved is looked up again. */
#define SB_VERIFY_MOVES_MOST 32

/* Is the time of the choice over? */
bool sb_verify_is_over(const struct verify *verify);

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

/* Reports it, even if the index was rewritten. */
void sb_verify_report_always(struct verify *verify, enum sb_remedy remedy, const char *kind,
                             struct sb_defect place, const char *format, ...) SB_PRINTF(5, 6);

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

/* verify/overlaps.c: every extent, in order of address. */
enum sb_code sb_verify_overlaps(struct verify *verify) SB_CHECKED;

/*
 * verify/units.c: the chosen units of an archive while their files are read: returns the files, and
 * records the result of a unit as soon as all of its files were read.
 *
 * Files come in the order of their units, and their results are reported in the same order, many
 * files later. If results cannot be recorded the reading continues, and that is reported at the
 * end. Belongs to one thread.
 */
struct sb_verify_units;

/* Opens what verify->options->choice needs, see verify/plan.h. Free *out also after an error. */
enum sb_code sb_verify_units_open(struct sb_verify_units **out, struct verify *verify) SB_CHECKED;
void sb_verify_units_free(struct sb_verify_units *units); /* NULL is allowed */

/* Which units there are; to be made after the preflight. */
struct sb_verify_plan *sb_verify_units_plan(const struct sb_verify_units *units);

/* The next file; SB_END after the last. The entry's strings live until the next call. */
enum sb_code sb_verify_units_next(struct sb_verify_units *units, struct sb_entry *entry) SB_CHECKED;

/* The unit of the last file. */
int64_t sb_verify_units_current(const struct sb_verify_units *units);

/* All files of the units before this one were read. */
void sb_verify_units_settle(struct sb_verify_units *units, int64_t unit);

/* Defects that are reported from here on belong to a file in this unit; -1: to none. */
void sb_verify_units_watch(struct sb_verify_units *units, int64_t unit);

/* A defect was reported: the watched unit is bad. */
void sb_verify_units_found(struct sb_verify_units *units, const struct sb_defect *defect);

/*
 * The last file cannot be read, which was reported: its unit is bad. Or it was skipped, because its
 * shard has not arrived: its unit is not read.
 */
void sb_verify_units_unreadable(struct sb_verify_units *units, const struct sb_entry *entry);
void sb_verify_units_pass_over(struct sb_verify_units *units);

/* whole: all files so far were read. Sets the progress. */
void sb_verify_units_end(struct sb_verify_units *units, bool whole);

/* verify/data.c: every byte. */
enum sb_code sb_verify_data(struct verify *verify, struct sb_select *select) SB_CHECKED;

#endif
