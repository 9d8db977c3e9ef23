/*
 * Giving back the space of files that were removed.
 *
 * Full: every shard is closed up by itself, files in the order of their addresses, none changes its
 * shard; shards without gaps are not touched. An emptied last shard goes, an emptied other one
 * stays with 0 bytes, since shards are numbered without a break.
 *
 * Quick: files from the end of the archive move into the earliest gap that fits them, until the
 * time is up; then the last shards are shortened.
 *
 * Both keep the promises of archive/mover.h: nothing is lost whenever they end, and no more free
 * space is needed than SB_MOVER_BYTES and the largest file.
 */
#ifndef SB_TASK_CHANGE_DEFRAG_H
#define SB_TASK_CHANGE_DEFRAG_H

#include "archive/mover/mover.h"

struct sb_defrag_options {
    bool quick;
    int64_t max_seconds;  /* quick; 0: no limit */
    int64_t keep_through; /* quick: shards up to this number stay as they are; -1: none */
    int64_t first, last;  /* full: shards of these numbers only; last -1: all from `first` on */
    bool dry_run;         /* only counts: what would be moved, and given back */
    struct sb_mover_options mover;

    /* Optional, for each shard that has something to give back, or had. */
    void (*shard_done)(void *context, uint32_t shard, int64_t before, int64_t after);
};

struct sb_defrag_counts {
    int64_t bytes_before, bytes_after; /* of all shards */
    int64_t moved_files, moved_bytes;
    uint32_t shards_removed;
    bool out_of_time; /* quick */
};

/* SB_DAMAGED and SB_INVALID as sb_mover_open and sb_mover_may_write, SB_INVALID also for a `first`
 * that is no shard's number. */
enum sb_code sb_defrag(const char *archive, const struct sb_defrag_options *options,
                       struct sb_defrag_counts *counts, struct sb_error *err) SB_CHECKED;

#endif
