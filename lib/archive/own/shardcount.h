/*
 * How many shards are an archive's.
 *
 * As a rule that shows by the highest number that a file has. Where files of the last shards were
 * removed, or shards were made before there is a file in them, the config row shardbox_shard_count
 * (value_int) says it: what lies in those shards is garbage, not a stranger's data. Every
 * transaction after which the row is needed writes it, and one after which it is not drops it.
 *
 * Belongs to the thread of the connection.
 */
#ifndef SB_ARCHIVE_OWN_SHARDCOUNT_H
#define SB_ARCHIVE_OWN_SHARDCOUNT_H

#include "core/error.h"

#include <stdint.h>

struct sqlite3;

/*
 * The number in the row, -1 without one (or without a table config). SB_DAMAGED for what is no
 * number of shards: nothing may be removed or cut because of it. name is for messages.
 */
enum sb_code sb_shard_count_stated(struct sqlite3 *db, const char *name, int64_t *count,
                                   struct sb_error *err) SB_CHECKED;

/* One more than the highest shard that a file is in. SB_DAMAGED where that cannot be. */
enum sb_code sb_shard_count_filled(struct sqlite3 *db, const char *name, uint32_t *count,
                                   struct sb_error *err) SB_CHECKED;

/*
 * The larger of the number in the row and one more than the highest shard that a file is in; 0 for
 * an archive without files. SB_DAMAGED where either makes no sense.
 */
enum sb_code sb_shard_count_in_use(struct sqlite3 *db, const char *name, uint32_t *count,
                                   struct sb_error *err) SB_CHECKED;

/*
 * The same of the archive at `path`, whose shards have their lasting names: without those at the
 * end that are not there and that no file is in, which a program that does not know the row has
 * removed.
 */
enum sb_code sb_shard_count_existing(struct sqlite3 *db, const char *path, uint32_t *count,
                                     struct sb_error *err) SB_CHECKED;

/* Records that so many are the archive's: writes the row or drops it. Inside the transaction that
 * changes `files`, behind its changes. */
enum sb_code sb_shard_count_record(struct sqlite3 *db, uint32_t count,
                                   struct sb_error *err) SB_CHECKED;

#endif
