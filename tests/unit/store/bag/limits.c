/* lib/store/bag/limits.c */
#include "check.h"
#include "store/bag/impl.h"

static void keep(struct sb_limit_cache *cache, uint32_t shard, int64_t block, uint64_t first,
                 size_t count)
{
    uint64_t limits[SB_LIMIT_BLOCK];

    for (size_t i = 0; i < count; i++)
        limits[i] = first + i;
    sb_limit_cache_keep(cache, shard, block, limits, count);
}

static void what_was_kept_is_there(void)
{
    struct sb_limit_cache *cache;
    uint64_t got[2] = {0};

    CHECK(!sb_limit_cache_new(&cache));
    CHECK(!sb_limit_cache_get(cache, 0, 0, 0, got, 1));
    keep(cache, 0, 0, 1000, SB_LIMIT_BLOCK);
    keep(cache, 3, 7, 5000, 10);
    CHECK(sb_limit_cache_get(cache, 0, 0, SB_LIMIT_BLOCK - 2, got, 2));
    CHECK(got[0] == 1000 + SB_LIMIT_BLOCK - 2 && got[1] == 1000 + SB_LIMIT_BLOCK - 1);
    CHECK(sb_limit_cache_get(cache, 3, 7, 8, got, 2));
    CHECK(got[0] == 5008 && got[1] == 5009);
    sb_limit_cache_free(cache);
}

static void another_shard_block_or_place_is_not(void)
{
    struct sb_limit_cache *cache;
    uint64_t got[2] = {0};

    CHECK(!sb_limit_cache_new(&cache));
    keep(cache, 1, 5, 1, 10);
    CHECK(!sb_limit_cache_get(cache, 2, 5, 0, got, 1));
    CHECK(!sb_limit_cache_get(cache, 1, 6, 0, got, 1));
    CHECK(!sb_limit_cache_get(cache, 1, 5, 9, got, 2));
    CHECK(!sb_limit_cache_get(cache, 1, 5 + 2048, 0, got, 1));
    sb_limit_cache_free(cache);
}

static void the_last_one_takes_the_place(void)
{
    struct sb_limit_cache *cache;
    uint64_t got = 0;

    CHECK(!sb_limit_cache_new(&cache));
    keep(cache, 0, 1, 100, SB_LIMIT_BLOCK);
    keep(cache, 0, 1 + 2048, 200, 4);
    CHECK(!sb_limit_cache_get(cache, 0, 1, 0, &got, 1));
    CHECK(sb_limit_cache_get(cache, 0, 1 + 2048, 0, &got, 1) && got == 200);
    sb_limit_cache_free(cache);
}

int main(void)
{
    RUN(what_was_kept_is_there);
    RUN(another_shard_block_or_place_is_not);
    RUN(the_last_one_takes_the_place);
    return check_end();
}
