/*
 * What is damaged, in a container of any kind. A defect does not end a run.
 */
#ifndef SB_TASK_VERIFY_VERIFY_H
#define SB_TASK_VERIFY_VERIFY_H

#include "archive/archive.h"
#include "core/error.h"
#include "core/share.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What to do about a defect. */
enum sb_remedy {
    SB_REMEDY_UPGRADE = 1 << 0,   /* sb_upgrade repairs it */
    SB_REMEDY_INDEX = 1 << 1,     /* the index must be replaced by a copy */
    SB_REMEDY_SHARDS = 1 << 2,    /* shards must be replaced by a copy, or files packed anew */
    SB_REMEDY_ENTRIES = 1 << 3,   /* entries must be removed or packed anew */
    SB_REMEDY_FETCH = 1 << 4,     /* shards have not arrived yet */
    SB_REMEDY_SUMS = 1 << 5,      /* files have no checksum; sb_upgrade computes them */
    SB_REMEDY_SOURCES = 1 << 6,   /* linked shards must be brought back, or linked anew */
    SB_REMEDY_REPAIR = 1 << 7,    /* the undamaged rest can be written anew */
    SB_REMEDY_LEFTOVERS = 1 << 8, /* left-overs of a killed writer; records are not affected */
};

struct sb_file;
struct sb_store;

struct sb_defect {
    /*
     * A stable word:
     * integrity   SQLite's check reports a defect of the index
     * config      a row of config is missing or wrong
     * triggers    config.use_triggers is not 1
     * schema      a standard index or trigger is missing
     * row         a value has a type or range that it must not have
     * name        a name that must not be unpacked or that no archive can hold
     * duplicate   a name that occurs twice
     * conflict    a name that is both a file and a directory
     * parent      a directory with something in it has no row
     * statistics  the tree statistics of a directory are wrong
     * shard       a shard is missing, or not a regular file, or, in a share of the work but the
     *             first sees it, shorter than its files need
     * source      a linked shard is shorter than it was when it was linked
     * bounds      bytes of a file are past the end of a shard, or in a missing one
     * overlap     two files share bytes
     * checksum    bytes do not match their CRC32C
     * unreadable  bytes cannot be read
     * unchecked   a file has no checksum (strict)
     * missing     a shard has not arrived, or only a part of it (present, quick)
     */
    const char *kind;
    const char *path; /* NULL when it is not about one entry */
    size_t path_size;
    int64_t shard;  /* -1 when it is not about one shard */
    int64_t offset; /* in the shard; -1 likewise */
    int64_t record; /* of a bag or a Syrah file: its number; -1 likewise */
    const char *text;
    bool follows; /* from that its shard is missing, which is reported as well */
};

#define SB_NOWHERE ((struct sb_defect){.shard = -1, .offset = -1, .record = -1})

/* The place of a defect that has no other than this path, which may be NULL. */
struct sb_defect sb_defect_of(const char *path, size_t path_size);

/*
 * The part of an archive that a run of verify reads: a subset, what is due, as much as there is
 * time for.
 *
 * The bytes of an archive are divided into units: SB_VERIFY_UNIT bytes of one shard's addresses,
 * with the files that begin there. Units depend only on the archive: they are the same in each run
 * and on each machine, and adding files changes only the last one of a shard.
 *
 * The choice concerns only the reading of bytes: each run checks the whole index, which takes
 * seconds, unless max_seconds are over before (sb_verify_result.index_unfinished): then no unit is
 * known, none is read, and the state stays as it was. With shares only the first does so for all;
 * the others check only that all shards exist, and are long enough. Files that are moved meanwhile
 * may be skipped; no state counts them as read.
 *
 * An index without an index by address (sb_archive_is_addressed) is refused: SB_INVALID.
 */
#define SB_VERIFY_UNIT (INT64_C(4) << 20)

/* All zero: everything. All conditions that are set must hold, and are applied in this order. */
struct sb_verify_choice {
    bool has_shards; /* only shards first_shard to last_shard */
    int64_t first_shard, last_shard;
    struct sb_share share; /* --part, or --subset=I/N: units are dealt out in turn; all shares have
                              about as many bytes */
    const char *state;     /* NULL, or the file of the state, see below */
    int64_t
        max_age; /* with state: seconds; what was found undamaged since then is skipped. 0: all */
    double percent; /* above 0: so much of the bytes of those shards and that share, */
    int64_t bytes;  /* or so many bytes; at least one unit, and all that were bad. 0: no limit */
    int64_t max_seconds; /* no unit is begun later, and the checks of the index end; 0: no limit */
};

/* Does the choice exclude something, or use a state? */
bool sb_verify_chooses(const struct sb_verify_choice *choice);

/*
 * The state is an SQLite file of its own (application_id SB_VERIFY_STATE_ID). For each unit it
 * records when it was read, the result, and a digest of the rows of its files. A unit whose files,
 * addresses or checksums have changed since counts as never read; so do all units of a shard that
 * was replaced or changed in place. (Size, mtime and inode are remembered; a shard that grew while
 * its index changed was appended to, and a repair keeps its mtime.) Units that
 * were never read come first, then those unread for longest, each by address; without a state,
 * percent and bytes choose by a hash, the same units in each run.
 *
 * Results are committed every few seconds: a killed run loses at most those. A state of another
 * archive (by the path of its index, links resolved) is refused: SB_INVALID; so is a damaged one
 * (SB_FORMAT, which says to remove it); SB_LOCKED while another run has it. If it can no longer be
 * written, the reading continues, and that is reported as SB_PROBLEM "state".
 */
#define SB_VERIFY_STATE_ID 0x73627673 /* "sbvs" */

/* Progress of a run; part of sb_verify_result. */
struct sb_verify_progress {
    bool chosen;          /* a choice excluded something */
    bool out_of_time;     /* max_seconds ended it */
    int64_t units;        /* all units of those shards and that share */
    int64_t units_read;   /* by this run */
    int64_t units_due;    /* to be read by this run, or would have been, had there been time */
    int64_t bytes_in_all; /* of files in all those units */
    int64_t oldest; /* with state: when the unit unread for longest was read, in seconds since the
                       epoch; 0: one was never read; -1: there is no unit */
    int64_t known_bad; /* with state: units that an earlier run found damaged, and that this run did
                          not read */
};

struct sb_verify_options {
    bool quick;   /* only the preflight, with SQLite's quick check; reports incomplete shards, not
                     each file in them */
    bool strict;  /* a file without a checksum is a defect */
    bool present; /* shards that have not arrived are listed, and their files skipped */
    unsigned threads;
    int64_t
        max_size; /* for a tar, cpio or zip: limit on the bytes from it, then SB_LIMIT; 0: none */

    /*
     * Only entries that these name or match (select.h). Then only the checks of single entries are
     * made; overlaps, tree statistics and SQLite's own check concern the whole and are left out.
     * Arguments without a match are reported to notify as "missing".
     */
    char *const *paths;
    size_t path_count;

    struct sb_verify_choice choice; /* which bytes are read; not with quick or paths */
};

/* What was counted, of any container; of what a kind does not have, 0. */
struct sb_verify_result {
    int64_t defects;
    unsigned remedies; /* of enum sb_remedy, for what was found */
    int64_t files;     /* and links; records of a bag, arrays of all items, keys of a cache */
    int64_t dirs;
    int64_t bytes;
    int64_t files_read; /* whose bytes were read, and compared with a checksum if there is one */
    int64_t bytes_read;
    int64_t unchecked; /* files without a checksum */
    int64_t absent;    /* files skipped, because their shard has not arrived */
    int64_t shared;    /* files that rightly share their bytes with another one in a linked shard */
    int64_t raw_names; /* names that are not UTF-8 */
    bool selected;     /* something was excluded */
    struct sb_verify_progress progress;
    bool index_unfinished; /* max_seconds ended its checks */
    int64_t index_ms;      /* with a choice: milliseconds until the first byte could be read */
    int64_t integrity_ms;  /* duration of SQLite's own check; 0: there was none */

    int64_t shards;     /* of bags; segments of a cache */
    int64_t damaged;    /* records that cannot be read */
    int64_t bad_frames; /* how many of those because of their frames, not their limits */
    int64_t written;    /* to the repaired bag: records */
    int64_t emptied;    /* how many of those are empty in place of damaged ones */
    bool incomplete; /* chosen records were not read: a shard is missing, and with it the numbers */
    int64_t items;   /* of a Syrah file */
    int64_t arrays;  /* of each of them */
    int64_t rows;    /* of a cache, the superseded ones too */
    int64_t repairable; /* defects of a cache that repair can correct */
    int64_t repaired;   /* corrected, or in a dry run would be */

    const char *unproved; /* what a clean result does not prove, as a phrase; NULL: nothing */
};

#define SB_VERIFY_NOTHING ((struct sb_verify_result){.progress = {.oldest = -1}})

/* Where a run of any kind says what it finds. */
struct sb_verify_events {
    void *context;
    const struct sb_notify *notify;  /* may be NULL */
    struct sb_verify_result *result; /* what the run counts is added; the caller begins with
                                        SB_VERIFY_NOTHING */
    void (*found)(void *context, const struct sb_defect *defect);
    /* Optional: bytes checked, the total (0: unknown), and files. */
    void (*progress)(void *context, int64_t done, int64_t total, int64_t files);
    /* Optional: a unit (choice.h) was read; only of a run with a choice. */
    void (*unit_read)(void *context, uint32_t shard, int64_t unit);
};

/* Makes a defect, of a kind, a place and a text, counts it and passes it on. */
void sb_verify_defect(const struct sb_verify_events *events, enum sb_remedy remedy,
                      const char *kind, struct sb_defect place, const char *format, ...)
    SB_PRINTF(5, 6);

/*
 * Verifies an archive.
 *
 * First the preflight: SQLite's own check of the index (in a thread of its own, in parallel),
 * configuration, every row's types and ranges, names, parents, tree statistics, shards and the
 * bounds of every extent, overlaps. Then every byte against its CRC32C.
 *
 * Memory is bounded. No lock is held while shards are read or `found` is called, except by SQLite's
 * own check while it runs. What SQLite finds is reported last. If the index changes meanwhile, a
 * row is looked up again before its bytes are reported as damaged; where rows of several moments
 * cannot be compared (tree statistics, duplicate names) it ends with SB_CHANGED.
 *
 * SB_OK if it reached its end, whatever was found.
 */
enum sb_code sb_verify(struct sb_archive *archive, const struct sb_verify_options *options,
                       const struct sb_verify_events *events) SB_CHECKED;

/*
 * Verifies a tar, a cpio or a zip, in so far as these can be verified.
 *
 * Of a zip: its central directory, that members do not overlap, and every member against its own
 * header and its CRC-32, on threads. Of a tar or cpio: headers, sizes, the end mark, and that all
 * bytes can be read; if it is compressed, the checks of its compression. Of all: names, and targets
 * of hard links.
 *
 * The store is the caller's, just opened. Options: quick (structure only), strict, threads, and
 * paths, which select the members whose names and bytes are checked. Further kinds of defects:
 * "damaged" (structure), "truncated", "encrypted" and "method" (cannot be checked), "link" (a hard
 * link to nothing). SB_FORMAT if it is not such a container at all.
 */
enum sb_code sb_verify_container(struct sb_store *store, const struct sb_verify_options *options,
                                 const struct sb_verify_events *events) SB_CHECKED;

/*
 * Verifies a Syrah file: header, metadata, every array within the data section, none overlapping
 * another, each a multiple of its type, all of equal count; and, unless quick, that all bytes can
 * be read.
 *
 * Kinds of defects: "damaged" (the metadata as a whole), "bounds", "overlap",
 * "unreadable", "unchecked" (strict: there are no checksums), and "size" (not a multiple of its
 * type). Their path is ITEM/ARRAY, their record the item. Memory does not grow with the number of
 * items: extents that do not follow each other are sorted on disk.
 *
 * Of the options, quick and strict apply; in the result, files are arrays of items. SB_OK if it
 * reached its end; SB_FORMAT, with the reason, if it is not a Syrah file at all, or was never
 * closed; SB_CHANGED if it became shorter meanwhile.
 */
enum sb_code sb_verify_syrah(struct sb_file *file, const struct sb_verify_options *options,
                             const struct sb_verify_events *events) SB_CHECKED;

struct sb_verify_cache_options {
    bool quick;  /* only keys, schemas and indexes */
    bool strict; /* report as a defect that a cache has no checksums */
    unsigned threads;

    /*
     * Repair what is possible: index.pkl is rewritten, also if it is missing, and left-overs are
     * removed, each atomically. The format has no locks. So nothing is done if a file of the cache
     * was written less than min_age seconds ago, or has a time in the future, unless force: a job
     * may be writing it, which is reported as SB_PROBLEM ("young"). What a job writes meanwhile is
     * never touched: SB_PROBLEM ("changed").
     */
    bool repair;
    bool dry_run;
    bool force;
    int64_t min_age;
};

/*
 * Verifies a torchcachex cache, and repairs it.
 *
 * Checks that every segment can be read, lists and shapes agree, keys exist, schema.json agrees
 * with the segments, index.pkl with their keys (else it is stale), and no left-overs are beside
 * them. Superseded keys are counted, but are no defect; neither is a missing schema.json or
 * index.pkl. Kinds of defects: "damaged" (a segment), "value" (a key's lists and shapes), "key",
 * "schema", "stale", "leftover", "unchecked" (strict). Their paths are keys for "value", else
 * files, relative to the cache's directory.
 *
 * Memory is some bytes for each segment and left-over, two bits for each row, and at most 64 MiB
 * for keys that have a wrong position in index.pkl. The cache's segments, rows, keys and bytes are
 * counted, and what was repaired.
 */
enum sb_code sb_verify_cache(const char *dir, const struct sb_verify_cache_options *options,
                             const struct sb_verify_events *events) SB_CHECKED;

#endif
