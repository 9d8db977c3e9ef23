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

struct sb_linker;
struct sb_shards;
struct sb_writer;
struct sqlite3;

struct sb_linked {
    bool recorded; /* there is a row */
    bool watched;  /* it has a length and a time */
    int64_t size;
    int64_t mtime_ns; /* as of the linking */
};

/* SB_OK also without a row. A row that makes no sense is not watched. */
enum sb_code sb_linked_get(struct sqlite3 *db, uint32_t shard, struct sb_linked *out) SB_CHECKED;

/* The shard is about to be written into: length and time no longer hold. */
enum sb_code sb_linked_unwatch(struct sqlite3 *db, uint32_t shard) SB_CHECKED;

/* Removes the records of the shards from this number on, which are removed or made anew. */
enum sb_code sb_linked_drop_from(struct sqlite3 *db, uint32_t shard) SB_CHECKED;

/*
 * Makes shards of other archives shards of the archive that is written: nothing is copied.
 *
 * Each shard is linked at its first use, to the final target, so that links of the other archive
 * are not followed through it. A file that has a number already, by whatever name, gets no second
 * link. Belongs to the writer's thread.
 */

enum sb_link_kind {
    SB_LINK_RELATIVE, /* symbolic, relative to the archive's directory */
    SB_LINK_ABSOLUTE, /* symbolic */
    SB_LINK_HARD,     /* SB_SYSTEM if it is on another file system */
    SB_LINK_REFLINK,  /* a file of its own that shares its blocks; SB_SYSTEM if the file system
                         cannot do that */
};

/* The writer is a new archive's, or one of SB_APPEND. Free the linker before it. */
enum sb_code sb_linker_new(struct sb_linker **out, struct sb_writer *writer,
                           enum sb_link_kind kind) SB_CHECKED;
void sb_linker_free(struct sb_linker *linker); /* NULL is allowed */
FREEP(sb_linker_free, struct sb_linker)

/*
 * The number of this shard in the writer's archive. Cheap from the second time on, if `shards`
 * lives as long as the linker. SB_NOENT, SB_FORMAT as sb_shards_stat; SB_LOCKED while the shard
 * does not have its final name; SB_INVALID as sb_writer_link_shard.
 */
enum sb_code sb_linker_map(struct sb_linker *linker, struct sb_shards *shards, uint32_t shard,
                           uint32_t *number) SB_CHECKED;

/* The length of a shard from sb_linker_map: rows may point past it. */
int64_t sb_linker_size(const struct sb_linker *linker, uint32_t number);

#endif
