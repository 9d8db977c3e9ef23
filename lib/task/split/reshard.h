/*
 * Changes the shard size of an existing archive, in place.
 *
 * Files stay in the order of their addresses and are distributed anew over shards of at most that
 * size (a larger file has a shard to itself). Leading shards that are right already are not
 * touched. It needs no more free space than SB_MOVER_BYTES and the largest file; a killed run is
 * continued by the next. What is on disk after each step is in shardbox-archive(5).
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
                        struct sb_reshard_counts *counts) SB_CHECKED;

#endif
