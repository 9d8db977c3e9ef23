/*
 * Is an archive sound?
 *
 * First the preflight: SQLite's own check of the index (in a thread of its own, beside the rest),
 * configuration, every row's types and ranges, names, parents, tree statistics, shards and the
 * bounds of every extent, overlaps. Then every byte against its CRC32C. Nothing found ends it.
 *
 * Memory is bounded. No lock is held while shards are read or `found` is called, but for that of
 * SQLite's own check while it runs. While the index changes, what a row says of its bytes is looked
 * up again before they are called damaged; where rows of several moments cannot be held against
 * each other (tree statistics, a name that stands twice) it ends with SB_CHANGED.
 */
#ifndef SB_TASK_VERIFY_VERIFY_H
#define SB_TASK_VERIFY_VERIFY_H

#include "archive/archive.h"
#include "core/error.h"
#include "task/verify/choice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What helps against a defect. */
enum sb_remedy {
    SB_REMEDY_UPGRADE = 1 << 0,   /* sb_upgrade puts it right */
    SB_REMEDY_INDEX = 1 << 1,     /* the index must come from a copy */
    SB_REMEDY_SHARDS = 1 << 2,    /* shards must come from a copy, or files be packed anew */
    SB_REMEDY_ENTRIES = 1 << 3,   /* entries must be removed or packed anew */
    SB_REMEDY_FETCH = 1 << 4,     /* shards have not arrived yet */
    SB_REMEDY_SUMS = 1 << 5,      /* files have no checksum; sb_upgrade computes them */
    SB_REMEDY_SOURCES = 1 << 6,   /* linked shards must be brought back, or linked anew */
    SB_REMEDY_REPAIR = 1 << 7,    /* what is sound can be written anew */
    SB_REMEDY_LEFTOVERS = 1 << 8, /* what a killed writer left; records are not concerned */
};

struct sb_defect {
    /*
     * A stable word:
     * integrity   what SQLite's check says of the index
     * config      a row of config is missing or wrong
     * triggers    config.use_triggers is not 1
     * schema      a standard index or trigger is missing
     * row         a value has a type or range that it must not have
     * name        a name that must not be unpacked or that no archive can hold
     * duplicate   a name that stands twice
     * conflict    a name that is both a file and a directory
     * parent      a directory with something in it has no row
     * statistics  the tree statistics of a directory are wrong
     * shard       a shard is not there, or not a regular file, or, as a share of the work but the
     *             first sees it, shorter than its files need
     * source      a linked shard is shorter than it was when it was linked
     * bounds      bytes of a file lie beyond the end of a shard, or in one that is not there
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
    const char *text;
    bool has_record;
    int64_t record; /* of a bag: its number */
};

struct sb_verify_options {
    bool quick;   /* the preflight alone, with SQLite's quick check; where a shard lacks something
                     that is told, not each file in it */
    bool strict;  /* a file without a checksum is a defect */
    bool present; /* shards that have not arrived are listed, and their files passed over */
    unsigned threads;
    int64_t max_size; /* of a tar, cpio or zip: bytes that may come out of it; 0: any number. Then
                         SB_LIMIT */

    /*
     * Only what these name or match (select.h). Then only the checks of single entries are made;
     * overlaps, tree statistics and SQLite's own check are of the whole and left out. What matches
     * nothing is told to notify as "missing".
     */
    char *const *paths;
    size_t path_count;

    struct sb_verify_choice choice; /* which bytes are read; not with quick or paths */
};

struct sb_verify_events {
    void *context;
    void (*found)(void *context, const struct sb_defect *defect);
    /* Optional: bytes checked, of how many in all (0: not known), and files. */
    void (*progress)(void *context, int64_t done, int64_t total, int64_t files);
};

struct sb_verify_result {
    int64_t defects;
    unsigned remedies; /* of enum sb_remedy, for what was found */
    int64_t files;     /* and links */
    int64_t dirs;
    int64_t bytes;
    int64_t files_read; /* whose bytes were held against a checksum, and */
    int64_t bytes_read;
    int64_t unchecked; /* files without a checksum */
    int64_t absent;    /* files passed over, as their shard has not arrived */
    int64_t shared;    /* files whose bytes are, lawfully, those of another one in a linked shard */
    int64_t raw_names; /* names that are not UTF-8 */
    bool selected;     /* paths left something out */
    struct sb_verify_progress progress;
    int64_t index_ms;     /* with a choice: milliseconds until the first byte could be read */
    int64_t integrity_ms; /* that SQLite's own check took; 0: there was none */
};

/* SB_OK when it came to its end, whatever was found. `notify` may be NULL. */
enum sb_code sb_verify(struct sb_archive *archive, const struct sb_verify_options *options,
                       const struct sb_verify_events *events, const struct sb_notify *notify,
                       struct sb_verify_result *result, struct sb_error *err) SB_CHECKED;

#endif
