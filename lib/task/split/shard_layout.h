/*
 * Distributes files, in the order of their addresses, over shards of at most some size: as many
 * consecutive files as fit make a shard, and a larger file is alone in one. Empty files are
 * ignored.
 *
 * Memory: 8 bytes per shard. Belongs to one thread.
 */
#ifndef SB_TASK_SPLIT_SHARD_LAYOUT_H
#define SB_TASK_SPLIT_SHARD_LAYOUT_H

#include "archive/mover/mover.h"
#include "core/error.h"

#include <stdint.h>

struct sb_shard_layout;

struct sb_shard_place {
    uint32_t shard;
    int64_t offset;
};

/* limit: bytes in a shard, more than 0. */
enum sb_code sb_shard_layout_new(struct sb_shard_layout **out, int64_t limit) SB_CHECKED;
void sb_shard_layout_free(struct sb_shard_layout *layout); /* NULL is allowed */

/* The next file, and its new position. SB_LIMIT if there would be too many shards. */
enum sb_code sb_shard_layout_add(struct sb_shard_layout *layout, const struct sb_mover_file *file,
                                 struct sb_shard_place *place) SB_CHECKED;

/* After the last file: the number of shards, at least one, and the bytes of one. */
uint32_t sb_shard_layout_count(const struct sb_shard_layout *layout);
int64_t sb_shard_layout_bytes(const struct sb_shard_layout *layout, uint32_t shard);

/* The number of leading shards that contain only files that are already in their new positions. */
uint32_t sb_shard_layout_kept(const struct sb_shard_layout *layout);

/*
 * The same files again, from the last to the first: begin at sb_shard_layout_end, then step back
 * over one file after the other.
 */
struct sb_shard_place sb_shard_layout_end(const struct sb_shard_layout *layout);
void sb_shard_layout_back(const struct sb_shard_layout *layout, struct sb_shard_place *place,
                          int64_t size);

#endif
