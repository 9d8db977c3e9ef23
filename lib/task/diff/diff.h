/*
 * Compares an archive with a tree of files or with another container.
 */
#ifndef SB_TASK_DIFF_DIFF_H
#define SB_TASK_DIFF_DIFF_H

#include "archive/archive.h"
#include "store/hierarchy.h"

enum sb_difference_kind {
    SB_DIFF_MISSING, /* only in the archive */
    SB_DIFF_EXTRA,   /* only in the other */
    SB_DIFF_TYPE,
    SB_DIFF_SIZE,
    SB_DIFF_MODE,  /* permission, set-id and sticky bits */
    SB_DIFF_OWNER, /* numbers of user and group */
    SB_DIFF_TIME,
    SB_DIFF_BYTES,
    SB_DIFF_TARGET,  /* of links */
    SB_DIFF_DAMAGED, /* the archive's row or bytes cannot be used */
    SB_DIFF_KINDS,
};

#define SB_DIFF_BIT(kind) (1u << (kind))

struct sb_difference {
    enum sb_difference_kind kind;
    const char *path;
    size_t path_size;
    const struct sb_child *ours;   /* in the archive; all zero for SB_DIFF_EXTRA */
    const struct sb_child *theirs; /* in the other; all zero for SB_DIFF_MISSING */
    const char *our_target;        /* SB_DIFF_TARGET */
    const char *their_target;
    const char *damage; /* SB_DIFF_DAMAGED: what is wrong */
};

struct sb_diff_options {
    char *const *paths; /* PATH and GLOB arguments; none: everything */
    size_t path_count;
    unsigned ignored; /* SB_DIFF_BITs: not reported, nor are bytes read for it; not of _DAMAGED */

    /* Each name once: the first difference found, and nothing below a directory that is reported.
     * Bytes are read only where there is no other difference. */
    bool brief;

    const char *prefix; /* what of the archive is compared is below this directory; NULL: all */
    unsigned threads;

    /*
     * Nanoseconds: a time that is a multiple of this may have been rounded to it, and equals any
     * time that is nearer than this. The same holds for whole seconds, whatever this is.
     */
    int64_t time_grain;

    /* In order of the walk: sorted within each directory. From the calling thread. */
    void (*report)(void *context, const struct sb_difference *difference);
    void (*progress)(void *context, int64_t bytes, int64_t files);
    void *context;

    /*
     * Events that keep names from being compared, as SB_PROBLEM: "unreadable", "changed", "missing"
     * (a PATH that neither has), "damaged" (bytes of the other container).
     */
    const struct sb_notify *notify;
};

/*
 * Compares names, types, sizes, modes, owners, times, bytes (by CRC32C; if they can be read only in
 * sequence, with the one in the index) and targets of links. Values that the index does not have
 * are not compared, nor is the metadata of the top directory. Reported names are without the
 * prefix; SB_NOENT if the archive has no such directory. The archive's bytes are read, and checked
 * against their checksum, wherever there is something to compare them with.
 */
enum sb_code sb_diff(struct sb_archive *archive, struct sb_shards *shards,
                     struct sb_hierarchy *other, const struct sb_diff_options *options) SB_CHECKED;

#endif
