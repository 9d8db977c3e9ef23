/*
 * Shards that do not have their final names yet, and files that are in the way of those names.
 *
 * While config has the row shardbox_shard_prefix (value_text: the prefix; value_int: the number of
 * shards), shards that still have names with the prefix belong to the archive: readers look there
 * first, and the next writer renames them (settle.h). The prefix is ARCHIVE.new, or ARCHIVE.part
 * (part.h). The whole protocol is in shardbox-archive(5).
 */
#ifndef SB_ARCHIVE_OWN_PENDING_H
#define SB_ARCHIVE_OWN_PENDING_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

struct sqlite3;

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

#endif
