/*
 * The shard files of an archive, for reading: ARCHIVE-shard-00000 and on.
 *
 * Shards are opened on demand, at most 24 at once. While shards of a replaced or grown archive
 * still have temporary names (config.shardbox_shard_prefix, see shardbox-archive(5)) they are found
 * under those. That may begin and end while they are in use; it is noticed when a row of such an
 * index is fetched, through the archive or content.h. Only regular files, also through symbolic
 * links, are opened: anything else fails at once. Thread-safe.
 */
#ifndef SB_ARCHIVE_SHARDS_H
#define SB_ARCHIVE_SHARDS_H

#include "archive/shards.h"

#include "archive/own/own_names.h"
#include "core/buf.h"
#include "core/error.h"
#include "core/io.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct sb_archive;
struct sb_bytes;
struct sb_shards;

/* SB_LOCKED for the path of a shard that its writer has not yet renamed to its final name. */
enum sb_code sb_shard_refuse_unnamed(const char *path) SB_CHECKED;

/*
 * May outlive the archive, unless that was adopted (archive.h): then the archive owns the bytes,
 * and is freed after this.
 */
enum sb_code sb_shards_open(struct sb_shards **out, struct sb_archive *archive) SB_CHECKED;

/* Those of an archive that is being made: BASE-shard-NNNNN. */
enum sb_code sb_shards_open_at(struct sb_shards **out, const char *base) SB_CHECKED;
void sb_shards_free(struct sb_shards *shards);
FREEP(sb_shards_free, struct sb_shards)

/*
 * Reads exactly size bytes. SB_DAMAGED if the shard ends before them, SB_NOENT if it is missing,
 * SB_FORMAT if it is not a regular file (or a link to one).
 */
enum sb_code sb_shards_read(struct sb_shards *shards, uint32_t shard, int64_t offset, void *data,
                            size_t size) SB_CHECKED;

/* As sb_run_length, for a shard. Errors count as data: reading reports them. */
int64_t sb_shards_run(struct sb_shards *shards, uint32_t shard, int64_t offset, bool *hole);

/* stat of the shard through links; SB_NOENT and SB_FORMAT as above. */
enum sb_code sb_shards_stat(struct sb_shards *shards, uint32_t shard, struct stat *out) SB_CHECKED;

/* The shard is opened anew when it is read next: another file may have its name by now. */
void sb_shards_reopen(struct sb_shards *shards, uint32_t shard);

/*
 * Are offsets in this shard positions in a file? True for an archive's own shards; for an adopted
 * archive see below.
 */
bool sb_shards_hold(const struct sb_shards *shards, uint32_t shard);

/* The current file name of a shard. */
enum sb_code sb_shards_path(struct sb_shards *shards, uint32_t shard,
                            struct sb_buf *out) SB_CHECKED;

/*
 * Passes the bytes of an extent to `each`, in blocks of at most 1 MiB, and holes as such
 * (core/io.h) unless the archive was adopted. Compares the checksum of the whole with *crc32c
 * unless that is NULL: SB_DAMAGED if they differ, after all blocks were passed. A code from `each`
 * ends it.
 */
enum sb_code sb_shards_stream(struct sb_shards *shards, uint32_t shard, int64_t offset,
                              int64_t size, const uint32_t *crc32c, sb_each_block *each,
                              void *context) SB_CHECKED;

/*
 * The bytes of an archive whose index was made over something else than shard files: a tar, a zip
 * (store/catalog.h).
 *
 * Rows refer to them by shard and offset, as always. Shard 0 is the other file, with its offsets.
 * Content that is not a plain range of that file (compressed, or in pieces) has the number
 * SB_SHARD_APART, and an offset with a meaning only here.
 */

#define SB_SHARD_APART SB_SHARD_MAX

/* As the functions of the same names above; all but free may be called from any thread. */
struct sb_bytes_ops {
    void (*free)(struct sb_bytes *bytes);
    enum sb_code (*read)(struct sb_bytes *bytes, uint32_t shard, int64_t offset, void *data,
                         size_t size);
    enum sb_code (*stream)(struct sb_bytes *bytes, uint32_t shard, int64_t offset, int64_t size,
                           sb_each_block *each, void *context);
    enum sb_code (*stat)(struct sb_bytes *bytes, uint32_t shard, struct stat *out);
    enum sb_code (*path)(struct sb_bytes *bytes, uint32_t shard, struct sb_buf *out);
};

/* The first member of each implementation. */
struct sb_bytes {
    const struct sb_bytes_ops *ops;
};

#endif
