/*
 * What an index records of shards that are other archives' files: length and time of change when
 * they were linked, by which verify tells a file that was changed since.
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
    bool watched;  /* and it has a length and a time */
    int64_t size;
    int64_t mtime_ns;
};

/* Is it as old, or as new, as it was when it was linked? */
bool sb_linked_same_time(const struct sb_linked *linked, const struct stat *st);

/* Inside the caller's transaction; st NULL: a file of the archive's own. Replaces a row. */
enum sb_code sb_linked_record(struct sqlite3 *db, uint32_t shard, const struct stat *st,
                              struct sb_error *err) SB_CHECKED;

/* SB_OK also without a row. One that makes no sense is not watched. */
enum sb_code sb_linked_get(struct sqlite3 *db, uint32_t shard, struct sb_linked *out,
                           struct sb_error *err) SB_CHECKED;

/* The shard is about to be written into: length and time mean nothing any more. */
enum sb_code sb_linked_unwatch(struct sqlite3 *db, uint32_t shard, struct sb_error *err) SB_CHECKED;

/* Forgets the shards from this number on: they are gone, or begun anew. */
enum sb_code sb_linked_drop_from(struct sqlite3 *db, uint32_t shard,
                                 struct sb_error *err) SB_CHECKED;

#endif
