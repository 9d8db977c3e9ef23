/*
 * The shards of an archive whose damaged files are rewritten in place.
 *
 * Writing is thread-safe; all else belongs to one thread.
 */
#ifndef SB_TASK_RESTORE_TARGET_H
#define SB_TASK_RESTORE_TARGET_H

#include "core/error.h"
#include "core/open_files.h"

#include <stdbool.h>
#include <stdint.h>

struct sqlite3;
struct sb_restore_target;

/* Bits of the state of a shard. */
enum {
    SB_SHARD_WANTED = 1 << 0, /* files of it are damaged */
    SB_SHARD_DEFECT = 1 << 1, /* verify found it missing, or not a shard */
    SB_SHARD_READY = 1 << 2,  /* exists, and may be written */
};

/*
 * base: the shards are BASE-shard-NNNNN; db: the index, which shows the shards that are another
 * archive's; it must be open as long. What is replaced is kept in parity_dir, or beside them.
 */
enum sb_code sb_restore_target_new(struct sb_restore_target **out, const char *base,
                                   const char *parity_dir, struct sqlite3 *db) SB_CHECKED;
void sb_restore_target_free(struct sb_restore_target *target); /* NULL is allowed */
FREEP(sb_restore_target_free, struct sb_restore_target)

const char *sb_restore_target_base(const struct sb_restore_target *target);

/* Shards up to SB_SHARD_MAX. */
void sb_restore_target_mark(struct sb_restore_target *target, uint32_t shard, unsigned bits);
bool sb_restore_target_is(const struct sb_restore_target *target, uint32_t shard, unsigned bit);

/* The next shard from this number on that has the bit; false: none. */
bool sb_restore_target_next(const struct sb_restore_target *target, unsigned bit, uint32_t *shard);

/*
 * May a shard be written, or made? SB_INVALID, without its name, if it is a link or has several, is
 * not a regular file, or is not writable. *size: its length, 0 if it is missing.
 */
enum sb_code sb_restore_target_look(struct sb_restore_target *target, uint32_t shard,
                                    int64_t *size) SB_CHECKED;

/* Is it missing, and to be made here, not to be brought back from another archive? */
bool sb_restore_target_is_missing(struct sb_restore_target *target, uint32_t shard);

/* The largest possible shard: the size of the file system. INT64_MAX if that is unknown. */
int64_t sb_restore_target_limit(const struct sb_restore_target *target);

/* Makes a missing shard, empty, under its final name, and syncs its directory. */
enum sb_code sb_restore_target_ready(struct sb_restore_target *target, uint32_t shard) SB_CHECKED;

/* Where the next block goes, in a shard that is ready. */
struct sb_restore_put {
    struct sb_restore_target *target;
    uint32_t shard;
    int64_t offset;
};

/* An sb_each_block, whose context is a struct sb_restore_put: writes by task/protect/rewrite.h. */
enum sb_code sb_restore_put_block(void *context, const void *data, size_t size) SB_CHECKED;

/* All that was written is on disk. */
enum sb_code sb_restore_target_sync(struct sb_restore_target *target) SB_CHECKED;

#endif
