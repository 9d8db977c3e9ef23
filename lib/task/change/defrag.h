/*
 * Gives back the space of removed files.
 *
 * Full: every shard is compacted by itself, files in the order of their addresses; no file changes
 * its shard; shards without gaps are not touched. An emptied last shard is removed; any other
 * emptied shard stays with 0 bytes, because shards are numbered without gaps.
 *
 * Quick: files from the end of the archive move into the first gap that fits them, until the time
 * is up; then the last shards are shortened.
 *
 * Both keep the guarantees of archive/mover.h: nothing is lost whenever they end, and they need no
 * more free space than SB_MOVER_BYTES and the largest file.
 */
#ifndef SB_TASK_CHANGE_DEFRAG_H
#define SB_TASK_CHANGE_DEFRAG_H

#include "archive/mover/mover.h"

struct sb_defrag_options {
    bool quick;
    int64_t max_seconds;  /* quick; 0: no limit */
    int64_t keep_through; /* quick: shards up to this number are not changed; -1: none */
    int64_t first, last;  /* full: only shards of these numbers; last -1: all from `first` on */
    bool dry_run;         /* only counts what would be moved, and given back */
    struct sb_mover_options mover;

    /* Optional; called for each shard that has space to give back, or had. */
    void (*shard_done)(void *context, uint32_t shard, int64_t before, int64_t after);
};

struct sb_defrag_counts {
    int64_t bytes_before, bytes_after; /* of all shards */
    int64_t moved_files, moved_bytes;
    uint32_t shards_removed;
    bool out_of_time; /* quick */
};

/*
 * SB_DAMAGED and SB_INVALID as sb_mover_open and sb_mover_may_write; SB_INVALID also if `first` is
 * not a shard's number.
 */
enum sb_code sb_defrag(const char *archive, const struct sb_defrag_options *options,
                       struct sb_defrag_counts *counts) SB_CHECKED;

#endif
