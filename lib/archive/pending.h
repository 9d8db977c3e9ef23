/*
 * What a writer has under way beside an archive, and what one that was killed left behind.
 *
 * A writer of ARCHIVE makes ARCHIVE.new (an index; also its lock) and ARCHIVE.new-shard-NNNNN.
 * While config has the row shardbox_shard_prefix (value_text: the prefix; value_int: the number of
 * shards), shards that still stand under the prefix belong to the archive. The prefix is
 * ARCHIVE.new, or ARCHIVE.part (part.h). The whole protocol is in shardbox-archive(5).
 */
#ifndef SB_ARCHIVE_PENDING_H
#define SB_ARCHIVE_PENDING_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3;

/*
 * Writes the row that says so, inside the caller's transaction: shards with numbers below count may
 * stand under the prefix that is the last component of the path `prefix`.
 */
enum sb_code sb_pending_record(struct sqlite3 *db, const char *prefix, uint32_t count,
                               struct sb_error *err) SB_CHECKED;

/*
 * Renames the shards that still stand under the prefix and drops the row that says so, in
 * transactions of its own (none may be open). Nothing to do is SB_OK. Also called by the run that
 * made them. Then does what renumber.h says of a run that was killed. SB_INVALID where there is
 * something to do and the index has several hard links.
 */
enum sb_code sb_pending_finish(struct sqlite3 *db, const char *archive, const char *file,
                               struct sb_error *err) SB_CHECKED;

/* The same behind a commit of the caller's: SB_OK also where another writer got in first, for it
 * begins with this. */
enum sb_code sb_pending_finish_own(struct sqlite3 *db, const char *archive, const char *file,
                                   struct sb_error *err) SB_CHECKED;

/*
 * What stands behind the archive's own name in a prefix that we may have written: ".new", ".part",
 * or "" in the index of a part that waits for its renames; NULL for any other prefix.
 */
const char *sb_pending_suffix(const char *prefix, const char *base, size_t base_size);

/* sb_pending_finish_own on the index that was just renamed to `archive`. */
enum sb_code sb_pending_tidy_up(const char *archive, struct sb_error *err) SB_CHECKED;

/*
 * SB_LOCKED when a journal or WAL that says something stands beside the index `file`: SQLite would
 * play it into another index renamed to that name.
 */
enum sb_code sb_pending_refuse_journal(const char *file, struct sb_error *err) SB_CHECKED;

/*
 * Whether db, a left-over ARCHIVE.new, is a complete index that only waited for its renames. An
 * error where db cannot be read as one.
 */
enum sb_code sb_pending_is_complete(struct sqlite3 *db, const char *archive, bool *complete,
                                    struct sb_error *err) SB_CHECKED;

/* Renames ARCHIVE.new-shard-* to ARCHIVE-shard-*, and syncs the directory. */
enum sb_code sb_pending_rename_shards(const char *archive, struct sb_error *err) SB_CHECKED;

/* Removes ARCHIVE.new-shard-*. Only under the lock. */
enum sb_code sb_pending_remove_shards(const char *archive, struct sb_error *err) SB_CHECKED;

/*
 * Removes ARCHIVE.new and ARCHIVE.new-shard-*: a run that was killed left them, while it made
 * another archive of this name or more shards for this one, or rearranged it. SB_LOCKED where it is
 * still at work. Only under the index's lock, with nothing pending.
 */
enum sb_code sb_pending_clear(const char *archive, struct sb_error *err) SB_CHECKED;

/* Removes ARCHIVE-shard-* from number `from` on. Only where it is known whose they are. */
enum sb_code sb_pending_remove_from(const char *archive, uint32_t from,
                                    struct sb_error *err) SB_CHECKED;

/* SB_EXISTS, naming one, when there are ARCHIVE-shard-* files that hold something, from number
 * `from` on. */
enum sb_code sb_pending_refuse_shards(const char *archive, uint32_t from,
                                      struct sb_error *err) SB_CHECKED;

#endif
