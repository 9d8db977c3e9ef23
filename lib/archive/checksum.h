/*
 * CRC32C of many extents, on several threads.
 *
 * Extents come from `next` and go to `done` in the same order, both on the calling thread. Adjacent
 * extents of a shard are read together, and long ones in parts, so that reads are few and memory is
 * bounded. Fastest in order of address.
 */
#ifndef SB_ARCHIVE_CHECKSUM_H
#define SB_ARCHIVE_CHECKSUM_H

#include "archive/shards.h"
#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

struct sb_checksum_extent {
    uint32_t shard;
    int64_t offset;
    int64_t size; /* more than 0; offset + size fits */

    /* Passed through for the caller: a name (copied) and two numbers. */
    const char *name;
    size_t name_size;
    int64_t id;
    uint32_t expected;
};

struct sb_checksum_ops {
    /* SB_END after the last. The name lives until the next call. */
    enum sb_code (*next)(void *context, struct sb_checksum_extent *extent);

    /*
     * failure is NULL, or why the bytes could not be read (SB_DAMAGED: the shard ends before them);
     * then crc is undefined.
     */
    enum sb_code (*done)(void *context, const struct sb_checksum_extent *extent, uint32_t crc,
                         const struct sb_error *failure);

    /* Optional: `size` more bytes were processed, for progress within long extents. */
    void (*passed)(void *context, int64_t size);
};

/*
 * Ends at the first code from next or done other than SB_OK and SB_END; SB_INTERRUPT after a
 * signal.
 */
enum sb_code sb_checksum(struct sb_shards *shards, const struct sb_checksum_ops *ops, void *context,
                         unsigned threads) SB_CHECKED;

#endif
