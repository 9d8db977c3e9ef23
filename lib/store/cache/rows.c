#include "store/cache/impl.h"

#include "core/interrupt.h"

void sb_cache_seek(struct sb_cache *cache, uint32_t segment)
{
    sb_cache_leave(cache, cache->map);
    cache->map = NULL;
    cache->touched = 0;
    cache->segment = segment;
    cache->row = 0;
}

void sb_cache_rewind(struct sb_cache *cache)
{
    sb_cache_seek(cache, 0);
}

/* Goes on to the next segment that has rows; SB_END: there is none. */
static enum sb_code next_segment(struct sb_cache *cache)
{
    for (; cache->segment < cache->segment_count; cache->segment++, cache->row = 0) {
        const struct sb_cache_file *file = &cache->segments[cache->segment];
        enum sb_code code;

        if (cache->row >= file->rows)
            continue;
        if (cache->map && cache->map->segment == cache->segment)
            return SB_OK;
        sb_cache_leave(cache, cache->map);
        cache->map = NULL;
        cache->touched = 0;
        code = sb_cache_hold(cache, cache->segment, &cache->map);
        if (code != SB_END)
            return code;
    }
    return SB_END;
}

/* SB_END: the segment is given up. */
static enum sb_code take_row(struct sb_cache *cache, struct sb_cache_row *row)
{
    const struct sb_cache_file *file = &cache->segments[cache->segment];

    if (sb_cache_key(cache->map, file, cache->row, &row->key))
        return sb_cache_give_up(cache, cache->segment);
    if (cache->row + 1 == file->rows && sb_mapping_check(cache->map->mapping))
        return sb_cache_give_up(cache, cache->segment);
    row->place = (struct sb_cache_place){.segment = cache->segment, .row = cache->row};
    row->superseded = sb_cache_is_superseded(file, cache->row);
    cache->row++;
    return SB_OK;
}

enum sb_code sb_cache_next(struct sb_cache *cache, struct sb_cache_row *row)
{
    enum sb_code code = SB_OK;

    TRY(sb_heed_interrupt());
    TRY(sb_cache_find_superseded(cache));
    do {
        /* What was returned lives until now. */
        if (cache->touched > SB_CACHE_TOUCHED_MOST) {
            sb_cache_map_forget(cache->map);
            cache->touched = 0;
        }
        TRY(next_segment(cache));
        code = take_row(cache, row);
    } while (code == SB_END);
    if (!code)
        cache->touched += (int64_t)row->key.size;
    return code;
}
