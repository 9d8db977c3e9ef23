#include "store/bag/limit_cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BLOCKS 2048

struct block {
    uint32_t shard;
    int64_t number;
    size_t count;
    uint64_t *limits; /* SB_LIMIT_BLOCK; NULL: never used */
};

struct sb_limit_cache {
    pthread_mutex_t mutex;
    struct block blocks[BLOCKS]; /* each where its shard and number lead */
};

enum sb_code sb_limit_cache_new(struct sb_limit_cache **out)
{
    struct sb_limit_cache *cache = calloc(1, sizeof(*cache));

    *out = cache;
    if (!cache)
        return sb_fail_memory();
    pthread_mutex_init(&cache->mutex, NULL);
    return SB_OK;
}

void sb_limit_cache_free(struct sb_limit_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < BLOCKS; i++)
        free(cache->blocks[i].limits);
    pthread_mutex_destroy(&cache->mutex);
    free(cache);
}

/* Shards of one set are alike in size, so that their blocks are spread by an odd stride. */
static struct block *place_of(struct sb_limit_cache *cache, uint32_t shard, int64_t number)
{
    return &cache->blocks[((uint64_t)number + (uint64_t)shard * 37) % BLOCKS];
}

bool sb_limit_cache_get(struct sb_limit_cache *cache, uint32_t shard, int64_t block, size_t at,
                        uint64_t *out, size_t count)
{
    const struct block *place = place_of(cache, shard, block);
    bool kept;

    pthread_mutex_lock(&cache->mutex);
    kept = place->limits && place->shard == shard && place->number == block &&
           at + count <= place->count;
    if (kept)
        memcpy(out, place->limits + at, count * sizeof(*out));
    pthread_mutex_unlock(&cache->mutex);
    return kept;
}

void sb_limit_cache_keep(struct sb_limit_cache *cache, uint32_t shard, int64_t block,
                         const uint64_t *limits, size_t count)
{
    struct block *place = place_of(cache, shard, block);

    pthread_mutex_lock(&cache->mutex);
    if (!place->limits)
        place->limits = malloc(SB_LIMIT_BLOCK * sizeof(*limits));
    if (place->limits) {
        memcpy(place->limits, limits, count * sizeof(*limits));
        place->shard = shard;
        place->number = block;
        place->count = count;
    }
    pthread_mutex_unlock(&cache->mutex);
}
