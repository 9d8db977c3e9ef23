/*
 * Positions: bytes in one of several files, and rows in one of several files.
 */
#ifndef SB_CORE_EXTENT_H
#define SB_CORE_EXTENT_H

#include <stdint.h>

struct sb_extent {
    uint32_t shard; /* 0 where there is only one file */
    int64_t offset;
    int64_t size; /* bytes, as stored */
};

struct sb_place {
    uint32_t shard;
    int64_t index; /* of the row in the shard */
};

#endif
