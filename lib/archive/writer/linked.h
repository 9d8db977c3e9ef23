/*
 * What an index records of shards that are other archives' files: their length and modification
 * time when they were linked, by which verify detects later changes.
 *
 * A config row for each: key shardbox_source_NNNNN (the shard's number), value_int the length in
 * bytes, value_text the time in nanoseconds since 1970. Both are NULL for a shard that has become a
 * file of the archive's own. In any shard with a row, as in one that is a symbolic link, files may
 * have the same extent. Barecat does not know the rows.
 */
#ifndef SB_ARCHIVE_WRITER_LINKED_H
#define SB_ARCHIVE_WRITER_LINKED_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct sqlite3;

struct sb_linked {
    bool recorded; /* there is a row */
    bool watched;  /* it has a length and a time */
    int64_t size;
    int64_t mtime_ns;
};

/* Has it the modification time of the linking? */
bool sb_linked_same_time(const struct sb_linked *linked, const struct stat *st);

/*
 * Inside the caller's transaction; st NULL: a file of the archive's own. Replaces an existing row.
 */
enum sb_code sb_linked_record(struct sqlite3 *db, uint32_t shard, const struct stat *st) SB_CHECKED;

/* SB_OK also without a row. A row that makes no sense is not watched. */
enum sb_code sb_linked_get(struct sqlite3 *db, uint32_t shard, struct sb_linked *out) SB_CHECKED;

/* The shard is about to be written into: length and time no longer hold. */
enum sb_code sb_linked_unwatch(struct sqlite3 *db, uint32_t shard) SB_CHECKED;

/* Removes the records of the shards from this number on, which are removed or made anew. */
enum sb_code sb_linked_drop_from(struct sqlite3 *db, uint32_t shard) SB_CHECKED;

#endif
