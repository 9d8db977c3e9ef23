/*
 * How the bytes of each shard are used, from the index and, where the shards are there, their
 * sizes.
 */
#ifndef SB_TASK_FETCH_OCCUPANCY_H
#define SB_TASK_FETCH_OCCUPANCY_H

#include "archive/archive.h"
#include "archive/shards.h"

struct sb_shard_use {
    uint32_t shard;
    bool present; /* its file is there */
    int64_t size; /* of the file; else the end of the last bytes that the index knows of */
    int64_t used; /* bytes that some file owns, each counted once */
    int64_t gaps; /* bytes that no file owns */
    int64_t files;
};

/*
 * Calls `each` for every shard that holds files or stands in their row, in order of number. A code
 * from `each` ends it. Rows that cannot be used are passed to `defect`, which may be NULL. Of an
 * archive that changes all the time the figures are of no single moment.
 */
enum sb_code sb_occupancy(struct sb_archive *archive, struct sb_shards *shards,
                          enum sb_code (*each)(void *context, const struct sb_shard_use *use,
                                               struct sb_error *err),
                          void (*defect)(void *context, const struct sb_entry *entry),
                          void *context, struct sb_error *err) SB_CHECKED;

#endif
