/*
 * Moving files to other places in an archive's own shards, while it stays whole and readable.
 *
 * Moves are queued, then committed together: the bytes are copied and synced, then one transaction,
 * synced with its directory, gives the rows their new addresses. From then on, and not before, the
 * old places are free: no move may go to a place that a file holds, in the index or in the queue.
 * A run that ends at any point thus leaves an archive that is whole, with gaps elsewhere; bytes
 * that were copied for nothing lie in a gap, or behind the last file of a shard.
 *
 * From open to free no other command of ours writes: ARCHIVE.new is held as a lock. What another
 * program changes between two commits is SB_CHANGED. Belongs to one thread.
 */
#ifndef SB_ARCHIVE_MOVER_MOVER_H
#define SB_ARCHIVE_MOVER_MOVER_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3;
struct sb_mover;

/* A caller commits when the queue holds so much: this is what a run needs of free space and
 * memory, beside the largest single file. The tests of faults are built with a few bytes. */
#ifndef SB_MOVER_BYTES
#define SB_MOVER_BYTES ((int64_t)64 << 20)
#endif
#define SB_MOVER_FILES 16384

/* The bytes of one file or link. */
struct sb_mover_file {
    int64_t row; /* of its row in `files` */
    uint32_t shard;
    int64_t offset;
    int64_t size; /* may be 0: then the address means nothing */
    bool has_crc;
    uint32_t crc32c;
};

struct sb_mover_options {
    /* Write into shards that are symbolic links or have more than one link: other archives may have
     * their bytes in them. */
    bool follow;

    /* Shards behind the last one in use may hold something: they are the archive's, although
     * nothing says so (Barecat removes files without leaving a trace). Else SB_EXISTS. */
    bool force;

    /* Only looks: nothing is locked, made right or written, no permission to write is needed. Then
     * only the queries below may be called: up to sb_mover_fetch. SB_LOCKED where a killed run left
     * shards to be renamed. */
    bool dry_run;

    const struct sb_notify *notify; /* SB_PROBLEM "checksum" for files that are damaged already */

    void (*progress)(void *context, int64_t bytes); /* moved so far; may be NULL */
    void *context;
};

/*
 * Opens for writing, finishes or undoes what a killed run left, and takes the locks. Errors as
 * sb_writer_open of SB_APPEND. Then every row and extent is looked at: SB_DAMAGED names one that
 * cannot be used, lies beyond its shard's end, or shares bytes with another.
 */
enum sb_code sb_mover_open(struct sb_mover **out, const char *archive,
                           const struct sb_mover_options *options, struct sb_error *err) SB_CHECKED;
void sb_mover_free(struct sb_mover *mover); /* NULL is allowed; what is queued is forgotten */

/* The index, for queries; read only. No statement may stand between two rows at a commit. */
struct sqlite3 *sb_mover_database(struct sb_mover *mover);

/* Shards that stand; the length of one as it is now, and how much of that belongs to files. */
uint32_t sb_mover_shard_count(const struct sb_mover *mover);
int64_t sb_mover_shard_size(const struct sb_mover *mover, uint32_t shard);
int64_t sb_mover_shard_used(const struct sb_mover *mover, uint32_t shard);

/* Of these, how many there are up to the last one that a file is in; at least one. */
enum sb_code sb_mover_shards_filled(struct sb_mover *mover, uint32_t *count,
                                    struct sb_error *err) SB_CHECKED;

/*
 * SB_INVALID, with the reason, when a shard may not be written into: a symbolic link, a file with
 * several links, one without permission. To be asked before anything is moved into or out of it.
 */
enum sb_code sb_mover_may_write(struct sb_mover *mover, uint32_t shard,
                                struct sb_error *err) SB_CHECKED;

/*
 * Extents in order of (shard, offset, row), up to `room` of them, that come behind `after`, or with
 * `backwards` those before it, the nearest first; NULL: from the beginning, or the end. Of the
 * index as it was committed. *count 0: no more.
 */
enum sb_code sb_mover_fetch(struct sb_mover *mover, const struct sb_mover_file *after,
                            bool backwards, struct sb_mover_file *extents, size_t capacity,
                            size_t *count, struct sb_error *err) SB_CHECKED;

/* Queues a move. Extents that follow each other here and there are copied in large blocks. */
enum sb_code sb_mover_move(struct sb_mover *mover, const struct sb_mover_file *from, uint32_t shard,
                           int64_t offset, struct sb_error *err) SB_CHECKED;

/* See above. Every byte is held against its checksum; what is damaged is told, moved as it is, and
 * keeps its old checksum. With nothing queued it does nothing. */
enum sb_code sb_mover_commit(struct sb_mover *mover, struct sb_error *err) SB_CHECKED;

/* Makes the next `count` shards, empty. How many stand then is recorded in the index, with 0 too,
 * before they can hold anything. */
enum sb_code sb_mover_add_shards(struct sb_mover *mover, uint32_t count,
                                 struct sb_error *err) SB_CHECKED;

/*
 * Cuts off what lies behind `size`, where no file is, and syncs. Nothing may be queued. A shard
 * that is emptied and is not a file of the archive's own alone is replaced by an empty file: of
 * what it was linked to nothing is lost, and no leave is needed.
 */
enum sb_code sb_mover_shorten(struct sb_mover *mover, uint32_t shard, int64_t size,
                              struct sb_error *err) SB_CHECKED;

/* Removes the last shards, down to but not with the last one that a file is in, or `keep` of them.
 * One always stays. Nothing may be queued. Of links only the link goes. */
enum sb_code sb_mover_drop_empty_shards(struct sb_mover *mover, uint32_t keep,
                                        struct sb_error *err) SB_CHECKED;

#endif
