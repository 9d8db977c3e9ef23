/*
 * The number of an archive's own shards.
 *
 * Normally it follows from the highest shard of any file. If files of the last shards were removed,
 * or shards were made before any file is in them, the config row shardbox_shard_count (value_int)
 * has it: the bytes in those shards are then garbage, not foreign data. Every transaction after
 * which the row is needed writes it, and one after which it is not needed drops it.
 *
 * Belongs to the thread of the connection.
 */
#ifndef SB_ARCHIVE_OWN_SHARDCOUNT_H
#define SB_ARCHIVE_OWN_SHARDCOUNT_H

#include "core/error.h"

#include <stdint.h>

struct sqlite3;

/*
 * The number in the row, -1 without one (or without a table config). SB_DAMAGED if it cannot be a
 * number of shards: then nothing may be removed or truncated because of it. name is for messages.
 */
enum sb_code sb_shard_count_stated(struct sqlite3 *db, const char *name, int64_t *count) SB_CHECKED;

/* One more than the highest shard of any file. SB_DAMAGED if that is impossible. */
enum sb_code sb_shard_count_filled(struct sqlite3 *db, const char *name,
                                   uint32_t *count) SB_CHECKED;

/*
 * The larger of the number in the row and one more than the highest shard of any file; 0 for an
 * archive without files. SB_DAMAGED if either makes no sense.
 */
enum sb_code sb_shard_count_in_use(struct sqlite3 *db, const char *name,
                                   uint32_t *count) SB_CHECKED;

/*
 * The same for the archive at `path`, whose shards have their final names, without missing shards
 * at the end that have no file: a program that does not know the row has removed those.
 */
enum sb_code sb_shard_count_existing(struct sqlite3 *db, const char *path,
                                     uint32_t *count) SB_CHECKED;

/*
 * Records the number: writes the row or drops it. Inside the transaction that changes `files`,
 * after its changes.
 */
enum sb_code sb_shard_count_record(struct sqlite3 *db, uint32_t count) SB_CHECKED;

#endif
