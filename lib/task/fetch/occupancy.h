/*
 * How the bytes of each shard are used, from the index and, for existing shards, their sizes.
 */
#ifndef SB_TASK_FETCH_OCCUPANCY_H
#define SB_TASK_FETCH_OCCUPANCY_H

#include "archive/archive.h"
#include "archive/shards.h"

struct sb_shard_use {
    uint32_t shard;
    bool present; /* its file exists */
    int64_t size; /* of the file; else the end of the last extent in the index */
    int64_t used; /* bytes that belong to files, each counted once */
    int64_t gaps; /* bytes that belong to no file */
    int64_t files;
};

/*
 * Calls `each` for every shard that has files or is within the number of shards, in order of
 * number. A code from `each` ends it. Rows that cannot be used are passed to `defect`, which may be
 * NULL. If the archive keeps changing, the figures are of no single moment.
 */
enum sb_code sb_occupancy(struct sb_archive *archive, struct sb_shards *shards,
                          enum sb_code (*each)(void *context, const struct sb_shard_use *use),
                          void (*defect)(void *context, const struct sb_entry *entry),
                          void *context) SB_CHECKED;

#endif
