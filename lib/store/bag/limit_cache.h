/*
 * Limits of a bag that were read at random, kept for the next time.
 *
 * A reader of single records at random needs two system calls for each, for its limits and for its
 * bytes; with up to 8 MB of limits kept in blocks, it soon needs one. Used by any number of
 * threads.
 */
#ifndef SB_STORE_BAG_LIMIT_CACHE_H
#define SB_STORE_BAG_LIMIT_CACHE_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

#define SB_LIMIT_BLOCK ((size_t)512)

struct sb_limit_cache;

enum sb_code sb_limit_cache_new(struct sb_limit_cache **out) SB_CHECKED;
void sb_limit_cache_free(struct sb_limit_cache *cache); /* NULL is allowed */

/* Copies `count` of the limits of a block, from its place `at` on; false: they are not kept. */
bool sb_limit_cache_get(struct sb_limit_cache *cache, uint32_t shard, int64_t block, size_t at,
                        uint64_t *out, size_t count);

/* Keeps a copy of the first `count` limits of a block; without memory for it, it does not. */
void sb_limit_cache_keep(struct sb_limit_cache *cache, uint32_t shard, int64_t block,
                         const uint64_t *limits, size_t count);

#endif
