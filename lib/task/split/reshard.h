/*
 * Another size of shard for an archive that stands, in place.
 *
 * Files stay in the order of their addresses and are cut anew into shards of at most that size (one
 * larger file has a shard to itself). Leading shards that are so already are not touched. No more
 * free space is needed than SB_MOVER_BYTES and the largest file; a run that was killed goes on
 * where it was. What is on disk after each step is in shardbox-archive(5).
 */
#ifndef SB_TASK_SPLIT_RESHARD_H
#define SB_TASK_SPLIT_RESHARD_H

#include "archive/mover/mover.h"

struct sb_reshard_options {
    int64_t shard_size; /* bytes */
    bool dry_run;       /* only counts */
    struct sb_mover_options mover;
};

struct sb_reshard_counts {
    uint32_t shards_before, shards_after;
    int64_t moved_files, moved_bytes;
};

/* SB_DAMAGED and SB_INVALID as sb_mover_open and sb_mover_may_write. */
enum sb_code sb_reshard(const char *archive, const struct sb_reshard_options *options,
                        struct sb_reshard_counts *counts, struct sb_error *err) SB_CHECKED;

#endif
