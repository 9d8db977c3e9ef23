/*
 * Where things lie: bytes in one of several files, and rows among those of one of them.
 */
#ifndef SB_CORE_EXTENT_H
#define SB_CORE_EXTENT_H

#include <stdint.h>

struct sb_extent {
    uint32_t shard; /* 0 where there is but one file */
    int64_t offset;
    int64_t size; /* bytes, as they are stored */
};

struct sb_place {
    uint32_t shard;
    int64_t index; /* of the row in it */
};

#endif
