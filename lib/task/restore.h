/*
 * Damaged files of an archive from another copy of them: verify --repair-from.
 *
 * A file is damaged when its bytes do not match their CRC32C or cannot be read, because the shard
 * ends before them or is not there. It is restored when the copy has a file of its name and size
 * whose bytes match that CRC32C: these are written to their place in the shard, and nothing else of
 * it is touched. The index is not changed.
 *
 * Order on disk, so that a kill at any moment loses nothing that was there: the bytes of a file are
 * read from the copy and checked before the first of them is written (in memory, or, of large ones,
 * in a second pass over the copy); a shard is made or made longer first; it is synced before its
 * files are called restored. A kill leaves files as damaged as they were, or restored.
 *
 * Holds the locks of a writer in place (standing.h) while it writes. Shards that are links to
 * another archive's are not written: SB_PROBLEM "linked" names where to repair.
 */
#ifndef SB_TASK_RESTORE_H
#define SB_TASK_RESTORE_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

struct sb_verify_events;
struct sb_verify_options;
struct sb_verify_result;

struct sb_restore_result {
    int64_t damaged;  /* files, as verify found them */
    int64_t restored; /* of those */
    int64_t bytes;    /* of those */
    int64_t missing;  /* the copy has no file of the name */
    int64_t other;    /* it has one, but with other bytes */
};

struct sb_restore_options {
    const char *copy;         /* an archive, a directory, a tar (also compressed), a zip */
    const char *strip_prefix; /* NULL; or what names in the copy begin with, as in a tar made
                                 one directory higher */
    unsigned threads;
    const struct sb_notify *notify;
};

/*
 * Verifies the archive as `verify` says, and then restores what is damaged: what was restored is
 * told as SB_NOTE ("restored"), what could not be as SB_PROBLEM. `verified` is of before. SB_OK
 * when it came to its end, whatever could be restored.
 */
enum sb_code sb_verify_and_restore(const char *path, const struct sb_verify_options *verify,
                                   const struct sb_verify_events *events,
                                   const struct sb_restore_options *options,
                                   struct sb_verify_result *verified,
                                   struct sb_restore_result *result,
                                   struct sb_error *err) SB_CHECKED;

#endif
