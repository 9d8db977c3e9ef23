/*
 * What split does without -o: the shards of an archive itself get another size.
 */
#ifndef SB_CMD_SPLIT_IN_PLACE_H
#define SB_CMD_SPLIT_IN_PLACE_H

#include <stdbool.h>
#include <stdint.h>

struct in_place {
    const char *path;
    int64_t shard_size; /* 0: no limit */
    bool follow;
    bool force;
    bool dry_run;
    bool json;
};

/* Prints what comes of it. */
void split_in_place(const struct in_place *wanted);

#endif
