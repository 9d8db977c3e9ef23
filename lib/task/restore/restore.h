/*
 * Restores damaged files of an archive by the parity files of its shards (task/protect), and from
 * another copy of them: verify --repair and --repair-from.
 *
 * A file is damaged if its bytes do not match their CRC32C or cannot be read, because the shard is
 * missing or ends before them. It is restored if its bytes as they were protected match that
 * CRC32C, or if the copy has a file of its name and size whose bytes do: these are written to their
 * place in the shard, and nothing else there is
 * touched. A missing shard that no file uses is made anew, empty. The index is not changed. Only
 * the name counts: the same bytes under another name are not searched for.
 *
 * Order on disk, so that a kill at any moment loses nothing that was there: the bytes of a file are
 * read from the copy and checked before the first of them is written (in memory or, for large
 * files, in a temporary file); a missing shard is made empty first, under its own name, and grows
 * as files are written. Shards are synced and the written bytes are read back before a file is
 * reported as restored. A kill leaves files as damaged as they were, or restored.
 *
 * Not restored, and reported as SB_PROBLEM with the reason:
 *   index       everything, if the index itself is damaged: addresses cannot be trusted then
 *   linked      files of a shard that is a link, or has several: it may be another archive's
 *   overlap     a file that shares bytes with another one
 *   unchecked   a file without a checksum to compare with; and a file without a checksum past the
 *               end of its shard that growing the shard would fill with undetectable zeros
 *   place       a file whose place is past what the file system of the shards could hold
 *   empty       an empty file: its checksum is wrong
 *   lost        no parity file can make it, and there is no copy
 *   changed     its shard changed after the index, and was not protected since
 *   missing     the copy has no file of the name
 *   other       it has one, but with other bytes
 *   unreadable  it was written, but cannot be read back
 *
 * With a state (verify/verify.h) the units of restored files stay bad until a run has read them
 * again; the state of the others remains valid, though their shard has another mtime. After a kill,
 * or if the state cannot be written, all of these count as never read.
 *
 * Holds the locks of a writer in place (hold.h) while it writes. Memory is bounded, whatever the
 * number of files: they are kept in a temporary database.
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

struct sb_restore_result {
    int64_t damaged;  /* files that verify found */
    int64_t restored; /* how many of them; in a dry run: could be */
    int64_t bytes;    /* of the restored files */
    int64_t missing;  /* the copy has no file of the name */
    int64_t other;    /* it has one, but with other bytes */
    int64_t left;     /* remaining defects, of any kind */
};

struct sb_protect_result;

struct sb_restore_options {
    /* NULL, or what was found of parity files, which come first: counted, not cleared. */
    struct sb_protect_result *protect;
    const char *parity_dir; /* where these files are; NULL: beside the shards */
    const char *
        copy; /* NULL, or an archive, a directory, a tar or cpio (also compressed, or "-"), a zip */
    const char *prefix; /* NULL; or the directory of the copy that has the files, as in a tar made
                           one directory higher */
    bool files_only;    /* with checksums; what comes after them is left as it is */
    bool trust;         /* what no checksum confirms is as its parity file has it */
    bool dry_run;       /* nothing is locked or written; what could be restored is reported as
                           "would-restore" */
    unsigned threads;
    const struct sb_notify *notify;
};

/*
 * Verifies the archive with the options `verify`, and then restores what is damaged: reports
 * restored files as SB_NOTE ("restored"), others as above. What events->result counts is from
 * before. SB_OK if it reached its end, whatever could be restored. A copy that cannot be opened, or
 * is the archive itself, is an error before anything is read. SB_INVALID with verify->quick.
 *
 * Takes over the archive and frees it, also on failure: if its connection stayed open until the
 * end, a WAL would remain.
 */
enum sb_code sb_verify_and_restore(struct sb_archive *archive,
                                   const struct sb_verify_options *verify,
                                   const struct sb_verify_events *events,
                                   const struct sb_restore_options *options,
                                   struct sb_restore_result *result) SB_CHECKED;

/*
 * Before files of an archive are moved about: repairs it by the parity files beside it, if there
 * are any, since they cannot help what remains damaged then. SB_DAMAGED: some of that cannot be
 * repaired.
 */
enum sb_code sb_restore_first(const char *path, const struct sb_notify *notify) SB_CHECKED;

#endif
