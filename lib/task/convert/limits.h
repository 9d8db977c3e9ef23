/*
 * The shards of an archive as bags: a limits file beside each, and not a byte copied.
 *
 * The files of a shard without gaps, back to back, are the records section of a bag. What it lacks
 * of one goes to limits.SHARD (bag.h: separate placement): the end of each file and link, in order
 * of their addresses; of those that share an offset, which are empty but for one, in that of their
 * rows. The archive is only read.
 *
 * What is on disk: nothing at all, where any shard cannot be described; else one limits file after
 * the other, each whole and synced, and the bag of names last. A run that was killed in between is
 * made good by the next one with `force`.
 */
#ifndef SB_TASK_CONVERT_LIMITS_H
#define SB_TASK_CONVERT_LIMITS_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

struct sb_limits_options {
    const char *archive;
    bool force;       /* limits files that are there are replaced; else SB_EXISTS */
    const char *keys; /* bags that the names go to, a record each; NULL: none */
    bool dry_run;
    const struct sb_notify *notify;
};

struct sb_limits_counts {
    int64_t shards;
    int64_t records;
};

/*
 * SB_INVALID names the first place where bytes belong to no file, or to two, and what helps;
 * SB_CHANGED when the archive was changed meanwhile.
 */
enum sb_code sb_limits_write(const struct sb_limits_options *options,
                             struct sb_limits_counts *counts, struct sb_error *err) SB_CHECKED;

#endif
