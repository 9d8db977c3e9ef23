/*
 * The shards of an archive as bags: writes a limits file beside each, without copying a byte.
 *
 * The files of a shard without gaps, back to back, are the records section of a bag. The missing
 * rest goes to limits.SHARD (bag.h: separate placement): the end of each file and link, in order of
 * their addresses; those at the same offset (at most one is nonempty) in that of their rows. The
 * archive is only read.
 *
 * On disk: nothing at all if any shard cannot be described; else one limits file after the other,
 * each complete and synced, and the bag of names last. If a run is killed in between, run it again
 * with `force`.
 */
#ifndef SB_TASK_CONVERT_LIMITS_H
#define SB_TASK_CONVERT_LIMITS_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

struct sb_limits_options {
    const char *archive;
    bool force;       /* replaces existing limits files; else SB_EXISTS */
    const char *keys; /* bags for the names, a record each; NULL: none */
    bool dry_run;
    const struct sb_notify *notify;
};

struct sb_limits_counts {
    int64_t shards;
    int64_t records;
};

/*
 * SB_INVALID names the first position where bytes belong to no file, or to two, and what to do;
 * SB_CHANGED if the archive was changed meanwhile.
 */
enum sb_code sb_limits_write(const struct sb_limits_options *options,
                             struct sb_limits_counts *counts) SB_CHECKED;

#endif
