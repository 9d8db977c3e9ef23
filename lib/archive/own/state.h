/*
 * What rows of config say of an archive as a whole. Belongs to the thread of the connection.
 *
 * The number of its own shards normally follows from the highest shard of any file. If files of the
 * last shards were removed, or shards were made before any file is in them, the row
 * shardbox_shard_count (value_int) has it: the bytes in those shards are then garbage, not foreign
 * data. Every transaction after which the row is needed writes it, and one after which it is not
 * needed drops it.
 *
 * While there is the row shardbox_shard_prefix (value_text: the prefix; value_int: the number of
 * shards), shards that still have names with the prefix belong to the archive: readers look there
 * first, and the next writer renames them (settle.h). The prefix is ARCHIVE.new, or ARCHIVE.part
 * (part.h). The whole protocol is in shardbox-archive(5).
 *
 * An index that was lost, and made again as it was when it was protected, has the row
 * shardbox_remade (value_int: the time of its state, in seconds since 1970): its shards may have
 * files that it does not know, and nothing is removed or moved in the archive.
 */
#ifndef SB_ARCHIVE_OWN_STATE_H
#define SB_ARCHIVE_OWN_STATE_H

#include "core/error.h"

#include <stddef.h>
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

/*
 * Writes that row, inside the caller's transaction: shards with numbers below count may have names
 * with the prefix, which is the last component of the path `prefix`.
 */
enum sb_code sb_pending_record(struct sqlite3 *db, const char *prefix, uint32_t count) SB_CHECKED;

/* The content of the row. */
struct sb_pending {
    uint32_t count;     /* of shards */
    const char *suffix; /* as sb_pending_suffix, but NULL also if no shard is pending */
};

/*
 * SB_DAMAGED for a row that is not as we write it. Files may be in more shards: Barecat adds some.
 */
enum sb_code sb_pending_read(struct sqlite3 *db, const char *archive,
                             struct sb_pending *pending) SB_CHECKED;

/*
 * The part after the archive's own name of a prefix that we may have written: ".new", ".part", or
 * "" in the index of a part that waits for its renames; NULL for any other prefix.
 */
const char *sb_pending_suffix(const char *prefix, const char *base, size_t base_size);

/*
 * SB_EXISTS, naming it, if a nonempty file has the name of the shard `from`, of the one after it,
 * or of one that follows these without a gap. The archive needs those names, or Barecat, which
 * counts the shards that it finds, would treat the file as a shard.
 */
enum sb_code sb_pending_refuse_shards(const char *archive, uint32_t from) SB_CHECKED;

/* Writes the row into an index that nobody else knows yet. */
enum sb_code sb_remade_record(const char *index, int64_t time) SB_CHECKED;

/* *time: 0 without the row. */
enum sb_code sb_remade_read(struct sqlite3 *db, int64_t *time) SB_CHECKED;

/* For what removes or moves files: SB_INVALID, and what to do, if there is the row. */
enum sb_code sb_remade_refuse(struct sqlite3 *db, const char *path) SB_CHECKED;

#endif
