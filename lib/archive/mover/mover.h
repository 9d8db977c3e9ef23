/*
 * Moves files to other positions in an archive's own shards, while the archive stays complete and
 * readable.
 *
 * Moves are queued, then committed together: the bytes are copied and synced, then one transaction,
 * synced with its directory, changes the addresses of the rows. Only then are the old positions
 * free: no move may go to a position that a file occupies, in the index or in the queue. A run that
 * ends at any point thus leaves a complete archive, with gaps elsewhere; bytes that were copied in
 * vain are in a gap, or after the last file of a shard.
 *
 * From open to free no other command of ours writes: ARCHIVE.new is held as a lock. A change by
 * another program between two commits is SB_CHANGED. Belongs to one thread.
 */
#ifndef SB_ARCHIVE_MOVER_MOVER_H
#define SB_ARCHIVE_MOVER_MOVER_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3;
struct sb_mover;

/*
 * The caller commits when the queue reaches either limit: this is what a run needs of free space
 * and memory, beside the largest single file. The fault tests are built with a few bytes.
 */
#ifndef SB_MOVER_BYTES
#define SB_MOVER_BYTES ((int64_t)64 << 20)
#endif
#define SB_MOVER_FILES 16384

/* The bytes of one file or link. */
struct sb_mover_file {
    int64_t row; /* of its row in `files` */
    uint32_t shard;
    int64_t offset;
    int64_t size; /* may be 0: then the address is meaningless */
    bool has_crc;
    uint32_t crc32c;
};

struct sb_mover_options {
    /*
     * Write into shards that are symbolic links or have more than one link: they may hold bytes of
     * other archives.
     */
    bool follow;

    /*
     * Shards after the last one in use may be nonempty: they count as the archive's without proof
     * (Barecat removes files without a trace). Otherwise SB_EXISTS.
     *
     * Bytes are moved although other archives have links to the shards, which is SB_INVALID
     * otherwise (own/linked_by.h).
     */
    bool force;

    /*
     * Only reads: nothing is locked, settled or written, and no write permission is needed. Then
     * only the queries below may be called, up to sb_mover_fetch. SB_LOCKED if a killed run left
     * shards to be renamed.
     */
    bool dry_run;

    const struct sb_notify *notify; /* SB_PROBLEM "checksum" for files that were damaged before */

    void (*progress)(void *context, int64_t bytes); /* moved so far; may be NULL */
    void *context;
};

/*
 * Opens for writing, finishes or undoes what a killed run left, and takes the locks. Errors as
 * sb_writer_open of SB_APPEND. Then checks every row and extent: SB_DAMAGED names one that cannot
 * be used, lies past its shard's end, or shares bytes with another.
 */
enum sb_code sb_mover_open(struct sb_mover **out, const char *archive,
                           const struct sb_mover_options *options) SB_CHECKED;
void sb_mover_free(struct sb_mover *mover); /* NULL is allowed; the queue is dropped */
FREEP(sb_mover_free, struct sb_mover)

/* The index, for read-only queries. No statement may be between two rows at a commit. */
struct sqlite3 *sb_mover_database(struct sb_mover *mover);

/*
 * Number of existing shards; the current length of one, and how many of its bytes belong to files.
 */
uint32_t sb_mover_shard_count(const struct sb_mover *mover);
int64_t sb_mover_shard_size(const struct sb_mover *mover, uint32_t shard);
int64_t sb_mover_shard_used(const struct sb_mover *mover, uint32_t shard);

/* The number of shards up to the last one with a file; at least one. */
enum sb_code sb_mover_shards_filled(struct sb_mover *mover, uint32_t *count) SB_CHECKED;

/*
 * SB_INVALID, with the reason, if a shard may not be written into: a symbolic link, a file with
 * several links, one without permission; or sb_mover_may_free. To be called before anything is
 * moved into or out of it.
 */
enum sb_code sb_mover_may_write(struct sb_mover *mover, uint32_t shard) SB_CHECKED;

/* SB_INVALID, with the reason, if none may be emptied, since other archives have links to them. */
enum sb_code sb_mover_may_free(struct sb_mover *mover) SB_CHECKED;

/*
 * Up to `capacity` extents in order of (shard, offset, row) that come after `after`, or with
 * `backwards` those before it, the nearest first; NULL: from the beginning, or the end. As of the
 * last commit. *count 0: no more.
 */
enum sb_code sb_mover_fetch(struct sb_mover *mover, const struct sb_mover_file *after,
                            bool backwards, struct sb_mover_file *extents, size_t capacity,
                            size_t *count) SB_CHECKED;

/* Queues a move. Extents that are adjacent in both positions are copied in large blocks. */
enum sb_code sb_mover_move(struct sb_mover *mover, const struct sb_mover_file *from, uint32_t shard,
                           int64_t offset) SB_CHECKED;

/*
 * See above. Every byte is checked against its checksum. The right bytes of a damaged file are made
 * by the parity file of its shard, if that can; else it and what comes after it in the queue stay
 * where they are: SB_DAMAGED, after the commit. Both are reported. Does nothing with an empty
 * queue.
 */
enum sb_code sb_mover_commit(struct sb_mover *mover) SB_CHECKED;

/*
 * Makes the next `count` shards, empty. Their number is recorded in the index, with 0 too, before
 * they can hold anything.
 */
enum sb_code sb_mover_add_shards(struct sb_mover *mover, uint32_t count) SB_CHECKED;

/*
 * Cuts off the bytes after `size`, where no file is, and syncs. The queue must be empty. A shard
 * that is emptied, and is a link or has other links, is replaced by an empty file: the other file
 * loses nothing, and `follow` is not needed.
 */
enum sb_code sb_mover_shorten(struct sb_mover *mover, uint32_t shard, int64_t size) SB_CHECKED;

/*
 * Removes the last shards, down to the last one with a file, or to the first `keep` of them. One
 * always remains. The queue must be empty. Of links only the link is removed.
 */
enum sb_code sb_mover_drop_empty_shards(struct sb_mover *mover, uint32_t keep) SB_CHECKED;

#endif
