#include "store/cache/impl.h"

#include <stdlib.h>
#include <string.h>

void sb_cache_free(struct sb_cache *cache)
{
    if (!cache)
        return;
    sb_cache_unpin(cache, cache->map);
    sb_cache_free_maps(cache);
    while (cache->layouts) {
        struct sb_cache_layout *next = cache->layouts->next;

        sb_cache_layout_free(cache->layouts);
        cache->layouts = next;
    }
    for (uint32_t i = 0; i < cache->segment_count; i++) {
        free(cache->segments[i].path);
        free(cache->segments[i].superseded);
    }
    free(cache->segments);
    for (size_t i = 0; i < cache->dir_count; i++)
        free(cache->dirs[i]);
    free(cache->dirs);
    (void)pthread_mutex_destroy(&cache->lock);
    free(cache);
}

enum sb_code sb_cache_open(struct sb_cache **out, const char *const *dirs, size_t count,
                           const struct sb_notify *notify)
{
    CLEANUP(sb_cache_freep) struct sb_cache *cache = calloc(1, sizeof(*cache));

    *out = NULL;
    if (!cache)
        return sb_fail_memory();
    cache->notify = notify;
    (void)pthread_mutex_init(&cache->lock, NULL);
    TRY(SB_NEW_ARRAY(&cache->dirs, count + 1));
    for (size_t i = 0; i < count; i++) {
        TRY(sb_copy_text(&cache->dirs[i], dirs[i]));
        TRY(sb_cache_list_segments(cache, cache->dir_count++));
    }
    *out = TAKE(cache);
    return SB_OK;
}

uint32_t sb_cache_segment_count(const struct sb_cache *cache)
{
    return cache->segment_count;
}

enum sb_code sb_cache_segment(struct sb_cache *cache, uint32_t segment,
                              struct sb_cache_segment *out)
{
    const struct sb_cache_file *file = &cache->segments[segment];
    struct sb_cache_map *map;

    if (file->state == CACHE_UNSEEN) {
        enum sb_code code = sb_cache_hold(cache, segment, &map);

        if (code && code != SB_END)
            return code;
        sb_cache_unpin(cache, map);
    }
    *out = (struct sb_cache_segment){
        .path = file->path,
        .dir = file->dir,
        .number = file->number,
        .bytes = file->bytes,
        .rows = file->rows,
        .damaged = file->state == CACHE_DAMAGED,
    };
    if (file->layout) {
        out->structure = file->layout->structure;
        out->fields = file->layout->fields;
        out->field_count = file->layout->field_count;
    }
    return SB_OK;
}

enum sb_code sb_cache_count(struct sb_cache *cache, int64_t *rows, int64_t *live)
{
    TRY(sb_cache_find_superseded(cache));
    *rows = cache->rows;
    *live = cache->live;
    return SB_OK;
}

enum sb_code sb_cache_need_array(struct sb_cache *cache, const char *name, const char *subject)
{
    const struct sb_cache_field *last = NULL;
    struct sb_cache_segment segment;

    for (uint32_t i = 0; i < sb_cache_segment_count(cache); i++) {
        TRY(sb_cache_segment(cache, i, &segment));
        if (segment.fields == last)
            continue;
        last = segment.fields;
        for (size_t field = 0; field < segment.field_count; field++) {
            if (strcmp(segment.fields[field].name, name) == 0)
                return SB_OK;
        }
    }
    return sb_fail(SB_INVALID, "%s: has no array '%s'; ls shows which it has", subject, name);
}
