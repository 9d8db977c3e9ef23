/*
 * Shared by the files of the mover and renumber.c only.
 */
#ifndef SB_ARCHIVE_MOVER_PRIVATE_H
#define SB_ARCHIVE_MOVER_PRIVATE_H

#include "archive/mover/mover.h"
#include "archive/own/hold.h"
#include "archive/own/state.h"
#include "core/buf.h"
#include "core/open_files.h"

#include <sqlite3.h>
#include <sys/stat.h>

struct sb_shards;

/* A queued move. */
struct move {
    struct sb_mover_file from;
    uint32_t shard; /* the target */
    int64_t offset;
};

/* An existing shard. */
struct mover_shard {
    dev_t device; /* identifies the file, through links */
    ino_t inode;
    int64_t size; /* as it was committed */
    int64_t used; /* bytes of files */
    bool dirty;   /* written to since the last commit */
};

/* Shards that are open for writing at once. */
#define TARGETS_MOST 8

struct sb_mover {
    struct sb_mover_options options;
    struct sb_hold hold;      /* only found, not taken, with dry_run */
    struct sb_buf by_address; /* the name of its index on shard and offset */

    sqlite3 *db;     /* in a write transaction from open to free, except just after a commit */
    int64_t version; /* PRAGMA data_version: changes when another connection commits */
    bool settled;    /* the note is this run's own */
    bool may_free;   /* result of sb_mover_may_free, since the last commit */
    bool broken; /* the lock may be lost, or the state on disk is unknown: nothing may be undone */

    struct mover_shard *shards;
    uint32_t shard_count;
    uint32_t counted; /* how many of these the committed index counts */
    struct sb_shards *reading;
    struct sb_open_files targets; /* open for writing; there is only one generation */

    struct move *queue;
    size_t queued, queue_capacity;
    int64_t moved; /* bytes, for progress */

    size_t stop; /* the first of the queue that is damaged, and stays with those after it */

    sqlite3_stmt *next[2], *last[2]; /* rows at an address, and those after or before it */
    sqlite3_stmt *end_before; /* the end of the last file of a shard that begins before ... */
    sqlite3_stmt *path_of;
    sqlite3_stmt *update;
};

/* mover.c: the file name of a shard; the caller frees it. */
enum sb_code sb_mover_shard_path(const struct sb_mover *mover, uint32_t shard,
                                 char **out) SB_CHECKED;

/* Forgets what is known of the shards' files; called when they have changed. */
enum sb_code sb_mover_reopen_shards(struct sb_mover *mover) SB_CHECKED;

/*
 * The end of the last file of the shard that begins before `limit`, 0 if there is none. Empty files
 * do not count.
 */
enum sb_code sb_mover_end_before(struct sb_mover *mover, uint32_t shard, int64_t limit,
                                 int64_t *end) SB_CHECKED;

/* The path of a row, for messages. */
enum sb_code sb_mover_name(struct sb_mover *mover, int64_t row, struct sb_buf *out) SB_CHECKED;

/* mover/commit.c: the shard, open for writing; the caller frees it. */
enum sb_code sb_mover_target(struct sb_mover *mover, uint32_t shard,
                             struct sb_file **out) SB_CHECKED;
void sb_mover_close_targets(struct sb_mover *mover);

/* Replaces a shard by an empty file; *file is its stat. Not synced. */
enum sb_code sb_mover_put_empty(const struct sb_hold *hold, const char *path,
                                struct stat *file) SB_CHECKED;

/*
 * Records in the note that the shards from this number on are removed once the index no longer
 * counts them. Not synced.
 */
enum sb_code sb_mover_note_surplus(struct sb_mover *mover, uint32_t count) SB_CHECKED;

/* mover/copy.c: copies the bytes of the queue. */
enum sb_code sb_mover_copy(struct sb_mover *mover) SB_CHECKED;

/*
 * Commits the write transaction and starts the next. SB_CHANGED if another
 * connection committed in between.
 */
enum sb_code sb_mover_commit_index(struct sb_mover *mover) SB_CHECKED;

#endif
