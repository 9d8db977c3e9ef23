/*
 * Damaged files of an archive from another copy of them: verify --repair-from.
 *
 * A file is damaged when its bytes do not match their CRC32C or cannot be read, because the shard
 * ends before them or is not there. It is restored when the copy has a file of its name and size
 * whose bytes match that CRC32C: these are written to their place in the shard, and nothing else of
 * it is touched. A shard that is missing and that no file uses is made anew, empty. The index is
 * not changed. Only the name counts: the same bytes under another one are not looked for.
 *
 * Order on disk, so that a kill at any moment loses nothing that was there: the bytes of a file are
 * read from the copy and checked before the first of them is written (in memory, or, of large ones,
 * in a temporary file); a shard that is missing is made empty first, under its own name, and grows
 * as files are written. Shards are synced and what was written is read back before it is called
 * restored. A kill leaves files as damaged as they were, or restored.
 *
 * Not restored, as SB_PROBLEM that says why:
 * index       all of it, where the index itself is damaged: addresses cannot be trusted then
 * linked      files of a shard that is a link, or has several: the bytes may be another archive's
 * overlap     a file that shares bytes with another one
 * unchecked   a file without a checksum, which nothing can be held against; and behind such a one
 *             that its shard ended before: it would be zeros, with nothing to tell that by
 * place       a file whose place lies beyond what the file system of the shards could hold
 * empty       a file of no bytes: it is its checksum that is wrong
 * missing     the copy has no file of the name
 * other       it has one, but with other bytes
 * unreadable  it was written, but cannot be read back
 *
 * With a state (verify/choice.h) the units of what was restored stay bad until a run has read them
 * again, and what is known of the others holds, though their shard has another mtime. A kill, or a
 * state that cannot be written, means that all of these count as never read.
 *
 * Holds the locks of a writer in place (lock.h) while it writes. Memory is bounded, whatever
 * the number of files: they wait in a temporary database.
 */
#ifndef SB_TASK_RESTORE_RESTORE_H
#define SB_TASK_RESTORE_RESTORE_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_archive;
struct sb_verify_events;
struct sb_verify_options;
struct sb_verify_result;

struct sb_restore_result {
    int64_t damaged;  /* files, as verify found them */
    int64_t restored; /* of those; when it was a dry run: that could be */
    int64_t bytes;    /* of those */
    int64_t missing;  /* the copy has no file of the name */
    int64_t other;    /* it has one, but with other bytes */
    int64_t left;     /* defects, of whatever kind, that are there still */
};

struct sb_restore_options {
    const char *copy; /* an archive, a directory, a tar or cpio (also compressed, or "-"), a zip */
    const char *prefix; /* NULL; or the directory of the copy that has the files, as in a tar made
                           one directory higher */
    bool dry_run;       /* nothing is locked or written; what could be restored is told as
                           "would-restore" */
    unsigned threads;
    const struct sb_notify *notify;
};

/*
 * Verifies the archive as `verify` says, and then restores what is damaged: what was restored is
 * told as SB_NOTE ("restored"), what could not be as above. `verified` is of before. SB_OK when it
 * came to its end, whatever could be restored. A copy that cannot be opened, or is the archive
 * itself, is an error before anything is read. SB_INVALID with verify->quick.
 *
 * Takes the archive and frees it, also when it fails: with a connection of its own to the end, a
 * WAL would be left behind.
 */
enum sb_code
sb_verify_and_restore(struct sb_archive *archive, const struct sb_verify_options *verify,
                      const struct sb_verify_events *events,
                      const struct sb_restore_options *options, struct sb_verify_result *verified,
                      struct sb_restore_result *result, struct sb_error *err) SB_CHECKED;

#endif
