/*
 * The bytes of an archive whose index was made over something else than shard files: a tar, a zip
 * (store/catalog.h).
 *
 * Rows refer to them by shard and offset, as always. Shard 0 is the other file, with its offsets.
 * Content that is not a plain range of that file (compressed, or in pieces) has the number
 * SB_SHARD_APART, and an offset with a meaning only here.
 */
#ifndef SB_ARCHIVE_BYTES_H
#define SB_ARCHIVE_BYTES_H

#include "archive/shards.h"
#include "core/buf.h"
#include "core/error.h"

#include <stdint.h>
#include <sys/stat.h>

#define SB_SHARD_APART SB_SHARD_MAX

struct sb_bytes;

/* As the functions of the same names in shards.h; all but free may be called from any thread. */
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
