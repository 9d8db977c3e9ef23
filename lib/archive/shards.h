/*
 * The shard files of an archive, for reading: ARCHIVE-shard-00000 and on.
 *
 * Shards are opened when first needed, and at most 24 at once. While a replaced or grown archive
 * still has shards under their temporary names (config.shardbox_shard_prefix, see
 * shardbox-archive(5)) those are found there. That may begin and end while they are in use: it is
 * known as soon as a row of such an index is fetched, through the archive or content.h. Only
 * regular files, also through symbolic links, are opened: anything else fails at once. Thread-safe.
 */
#ifndef SB_ARCHIVE_SHARDS_H
#define SB_ARCHIVE_SHARDS_H

#include "archive/own/own_names.h"
#include "core/buf.h"
#include "core/error.h"
#include "core/io.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct sb_archive;
struct sb_shards;

/* SB_LOCKED for the path of a shard that waits for its writer to give it its lasting name. */
enum sb_code sb_shard_refuse_unnamed(const char *path, struct sb_error *err) SB_CHECKED;

/* May outlive the archive, but for one that was adopted (archive.h), whose bytes it has in its
 * keeping: then freed before it. */
enum sb_code sb_shards_open(struct sb_shards **out, struct sb_archive *archive,
                            struct sb_error *err) SB_CHECKED;

/* Those of an archive that is being made: BASE-shard-NNNNN. */
enum sb_code sb_shards_open_at(struct sb_shards **out, const char *base,
                               struct sb_error *err) SB_CHECKED;
void sb_shards_free(struct sb_shards *shards);

/*
 * Reads exactly size bytes. SB_DAMAGED when the shard ends before them, SB_NOENT when it is not
 * there, SB_FORMAT when it is not a regular file (or a link to one).
 */
enum sb_code sb_shards_read(struct sb_shards *shards, uint32_t shard, int64_t offset, void *data,
                            size_t size, struct sb_error *err) SB_CHECKED;

/* As sb_run_length, of what reads as bytes of a shard. What is wrong with it is for those who read
 * it. */
int64_t sb_shards_run(struct sb_shards *shards, uint32_t shard, int64_t offset, bool *hole);

/* stat of the shard through links; SB_NOENT and SB_FORMAT as above. */
enum sb_code sb_shards_stat(struct sb_shards *shards, uint32_t shard, struct stat *out,
                            struct sb_error *err) SB_CHECKED;

/* Are offsets in this shard places in a file? In an archive's own shards they are; of an adopted
 * one see bytes.h. */
bool sb_shards_hold(const struct sb_shards *shards, uint32_t shard);

/* The file name of a shard as it stands now. */
enum sb_code sb_shards_path(struct sb_shards *shards, uint32_t shard,
                            struct sb_buf *out) SB_CHECKED;

/*
 * Feeds the bytes of an extent, in blocks of at most 1 MiB, to `each`, and holes (core/io.h) unless
 * the archive was adopted, and checks the whole against
 * *crc32c unless that is NULL: SB_DAMAGED when they differ, after all blocks were fed. A code from
 * `each` ends it.
 */
enum sb_code sb_shards_stream(struct sb_shards *shards, uint32_t shard, int64_t offset,
                              int64_t size, const uint32_t *crc32c, sb_each_block *each,
                              void *context, struct sb_error *err) SB_CHECKED;

#endif
