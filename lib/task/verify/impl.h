/*
 * What the parts of verify share. Not for others.
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
    SHARD_UNSEEN, /* not asked for yet */
    SHARD_THERE,
    SHARD_MISSING,
    SHARD_UNUSABLE, /* a directory, a device, or what cannot be read */
};

struct shard_info {
    enum shard_state state;
    bool reported;       /* that it cannot be used */
    uint32_t generation; /* of the index when it was asked for */
    bool linked;         /* a symbolic link, or recorded as another archive's */
    bool cut;            /* shorter than when it was linked, which was told */
    int64_t size;        /* of the file */
    int64_t needed;      /* the highest end of an extent in it, or under `present` what is recorded
                            of it, if that is more; 0: no file uses it */
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
    bool by_shard;                 /* shards that lack something are told, not each file in them */
    struct sb_verify_units *units; /* NULL: all is read */
    bool apart; /* extents were seen in order of address, none touching another */
    struct integrity *integrity;
    int64_t started; /* by sb_verify_plan_clock */
};

/* How often a file is looked up again that is moved while it is looked at. */
#define SB_VERIFY_MOVES_MOST 32

/* Where a defect is; zero-initialise with NOWHERE. */
struct place {
    const char *path;
    size_t path_size;
    int64_t shard;
    int64_t offset;
};
#define NOWHERE ((struct place){.shard = -1, .offset = -1})

struct place sb_verify_place(const struct sb_entry *entry); /* path, and the extent of a file */
struct place sb_verify_name(const struct sb_entry *entry);

/* Hands a defect on. SB_CHANGED instead when the index was rewritten since the beginning. */
enum sb_code sb_verify_report(struct verify *verify, enum sb_remedy remedy, const char *kind,
                              struct place place, struct sb_error *err, const char *format, ...)
    SB_PRINTF(6, 7) SB_CHECKED;

/*
 * As sb_verify_report, of what one row says: that it said so is true whatever the index says by
 * now. SB_CHANGED only when the archive was replaced.
 */
enum sb_code sb_verify_report_row(struct verify *verify, enum sb_remedy remedy, const char *kind,
                                  struct place place, struct sb_error *err, const char *format, ...)
    SB_PRINTF(6, 7) SB_CHECKED;

/* Says it, whatever became of the index. */
void sb_verify_report_always(struct verify *verify, enum sb_remedy remedy, const char *kind,
                             struct place place, const char *format, ...) SB_PRINTF(5, 6);

/* An error that ends a pass over the index, but not the run, is a defect: then SB_OK. */
enum sb_code sb_verify_index_failed(struct verify *verify, enum sb_code code, struct sb_error *err);

/* Has the index been rewritten since the beginning? */
enum sb_code sb_verify_index_moved(struct verify *verify, bool *moved,
                                   struct sb_error *err) SB_CHECKED;

/* verify/index.c: configuration, standard objects, and SQLite's own check in its thread. */
enum sb_code sb_verify_config(struct verify *verify, struct sb_error *err) SB_CHECKED;
enum sb_code sb_verify_objects(struct verify *verify, struct sb_error *err) SB_CHECKED;
enum sb_code sb_verify_integrity_start(struct verify *verify, struct sb_error *err) SB_CHECKED;

/* Reports what it found once it has ended; with `wait` waits for that. Later calls do nothing. */
enum sb_code sb_verify_integrity_collect(struct verify *verify, bool wait,
                                         struct sb_error *err) SB_CHECKED;
void sb_verify_integrity_free(struct integrity *check); /* stops it; NULL is allowed */

/* verify/shards.c: one look at each shard. *out is NULL for a number that no shard can have. */
enum sb_code sb_verify_shard_look(struct verify *verify, uint32_t shard, struct shard_info **out,
                                  struct sb_error *err) SB_CHECKED;

/* Reports a shard that is not there or no file, once. */
enum sb_code sb_verify_shard_report(struct verify *verify, uint32_t shard,
                                    struct sb_error *err) SB_CHECKED;

/*
 * Whether a file's bytes can be read: within a shard that is there (and whole, under present).
 * Looks again where they cannot and the index changed since the last look.
 */
enum sb_code sb_verify_shard_holds(struct verify *verify, const struct sb_entry *entry, bool *holds,
                                   struct sb_error *err) SB_CHECKED;

/* After all rows: shards between those in use, and, by_shard, those that lack something. */
enum sb_code sb_verify_shards(struct verify *verify, struct sb_error *err) SB_CHECKED;

/* In place of all this, for a share that reads no rows but its own: is each shard there, and does
 * it reach as far as its last file? A few look-ups for each. */
enum sb_code sb_verify_shard_ends(struct verify *verify, struct sb_error *err) SB_CHECKED;

/* verify/rows.c: every row, in order of path. */
enum sb_code sb_verify_rows(struct verify *verify, struct sb_select *select,
                            struct sb_error *err) SB_CHECKED;

/* Reports that a file's bytes are not within its shard, if they are not by now either. */
enum sb_code sb_verify_bounds(struct verify *verify, const struct sb_entry *entry,
                              struct sb_error *err) SB_CHECKED;

/* verify/sources.c: linked shards that are in use, after all rows; and what is recorded of one. */
enum sb_code sb_verify_sources(struct verify *verify, struct sb_error *err) SB_CHECKED;
enum sb_code sb_verify_source_record(struct verify *verify, uint32_t shard, struct sb_linked *out,
                                     struct sb_error *err) SB_CHECKED;

/* verify/overlaps.c: every extent, in order of address. */
enum sb_code sb_verify_overlaps(struct verify *verify, struct sb_error *err) SB_CHECKED;

/* verify/data.c: every byte. */
enum sb_code sb_verify_data(struct verify *verify, struct sb_select *select,
                            struct sb_error *err) SB_CHECKED;

#endif
