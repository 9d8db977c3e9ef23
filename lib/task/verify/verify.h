/*
 * Verifies an archive.
 *
 * First the preflight: SQLite's own check of the index (in a thread of its own, in parallel),
 * configuration, every row's types and ranges, names, parents, tree statistics, shards and the
 * bounds of every extent, overlaps. Then every byte against its CRC32C. A defect does not end it.
 *
 * Memory is bounded. No lock is held while shards are read or `found` is called, except by SQLite's
 * own check while it runs. What SQLite finds is reported last. If the index changes meanwhile, a
 * row is looked up again before its bytes are reported as damaged; where rows of several moments
 * cannot be compared (tree statistics, duplicate names) it ends with SB_CHANGED.
 */
#ifndef SB_TASK_VERIFY_VERIFY_H
#define SB_TASK_VERIFY_VERIFY_H

#include "archive/archive.h"
#include "core/error.h"
#include "task/verify/choice.h"

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

/* Counts a defect, and passes it on; the second makes it, of a kind, a place and a text. */
void sb_verify_found(const struct sb_verify_events *events, enum sb_remedy remedy,
                     const struct sb_defect *defect);
void sb_verify_defect(const struct sb_verify_events *events, enum sb_remedy remedy,
                      const char *kind, struct sb_defect place, const char *format, ...)
    SB_PRINTF(5, 6);

/* SB_OK if it reached its end, whatever was found. */
enum sb_code sb_verify(struct sb_archive *archive, const struct sb_verify_options *options,
                       const struct sb_verify_events *events) SB_CHECKED;

#endif
