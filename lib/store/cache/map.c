#include "store/cache/impl.h"

#include "core/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* What stays mapped although nobody needs it at the moment. Mapping a segment again, and its pages,
 * takes as long as a hundred values, and keys come in any order. */
#define UNPINNED_MOST       1024
#define UNPINNED_BYTES_MOST ((int64_t)256 << 20)

static void free_map(struct sb_cache_map *map)
{
    if (!map)
        return;
    sb_arrow_free(map->arrow);
    sb_mapping_free(map->mapping);
    free(map);
}

/* The text begins with the path already, where it is of a mapping. */
static enum sb_code name_segment(const struct sb_cache_file *file)
{
    struct sb_error inner = *sb_error();

    if (inner.code == SB_NOMEM)
        return inner.code;
    return sb_fail(inner.code, "%s: %s", file->as.path, inner.text);
}

/* Nobody else sees the map yet. */
static enum sb_code open_map(const struct sb_cache_file *file, struct sb_cache_map *map)
{
    enum sb_code code = SB_OK;

    TRY(sb_file_map_path(&map->mapping, file->as.path));
    if (sb_arrow_open(&map->arrow, map->mapping->data, map->mapping->size))
        code = name_segment(file);
    return sb_mapping_check(map->mapping) ? sb_error()->code : code;
}

/* A cache is one, whatever a segment of it is. */
static enum sb_code judge(void)
{
    if (sb_error()->code == SB_FORMAT || sb_error()->code == SB_NOENT)
        sb_error()->code = SB_DAMAGED;
    return sb_error()->code;
}

static struct sb_cache_layout *find_layout(const struct sb_cache *cache, size_t dir,
                                           const struct sb_buf *columns)
{
    struct sb_cache_layout *layout = cache->layouts;

    while (layout && (layout->dir != dir || layout->columns.size != columns->size ||
                      memcmp(layout->columns.data, columns->data, columns->size) != 0))
        layout = layout->next;
    return layout;
}

/* Takes the columns' description over. NULL: it failed. */
static const struct sb_cache_layout *add_layout(struct sb_cache *cache,
                                                const struct sb_cache_file *file,
                                                const struct sb_cache_map *map,
                                                struct sb_buf *columns)
{
    struct sb_cache_layout *layout;

    if (SB_NEW(&layout))
        return NULL;
    layout->dir = file->as.dir;
    if (sb_cache_layout_make(map->arrow, cache->dirs[file->as.dir], layout)) {
        sb_cache_layout_free(layout);
        (void)name_segment(file);
        return NULL;
    }
    layout->columns = *columns;
    *columns = (struct sb_buf){0};
    layout->next = cache->layouts;
    cache->layouts = layout;
    return layout;
}

/* What the segment is by this map; or is it what it was by an earlier one? */
static enum sb_code settle(struct sb_cache *cache, struct sb_cache_file *file,
                           struct sb_cache_map *map)
{
    CLEANUP(sb_buf_release) struct sb_buf columns = {0};

    if (sb_cache_layout_describe(map->arrow, &columns))
        return sb_fail_memory();
    map->layout = find_layout(cache, file->as.dir, &columns);
    if (!map->layout)
        map->layout = add_layout(cache, file, map, &columns);
    if (!map->layout)
        return sb_error()->code;
    if (!file->seen) {
        file->as.rows = map->arrow->rows;
        file->as.bytes = map->mapping->size;
        file->as.structure = map->layout->structure;
        file->as.fields = map->layout->fields;
        file->as.field_count = map->layout->field_count;
        file->layout = map->layout;
        file->seen = true;
    }
    if (file->as.rows != map->arrow->rows || file->layout != map->layout)
        return sb_fail(SB_DAMAGED, "%s: has been changed meanwhile", file->as.path);
    return SB_OK;
}

/* Among those that nobody has pinned. */
static void take_out(struct sb_cache *cache, struct sb_cache_map *map)
{
    *(map->older ? &map->older->newer : &cache->oldest) = map->newer;
    *(map->newer ? &map->newer->older : &cache->newest) = map->older;
    map->older = map->newer = NULL;
    cache->unpinned--;
    cache->unpinned_bytes -= map->mapping->size;
}

static void put_in(struct sb_cache *cache, struct sb_cache_map *map)
{
    map->older = cache->newest;
    *(cache->newest ? &cache->newest->newer : &cache->oldest) = map;
    cache->newest = map;
    cache->unpinned++;
    cache->unpinned_bytes += map->mapping->size;
}

/* The one that waits longest, when there are too many; to be freed. */
static struct sb_cache_map *take_surplus(struct sb_cache *cache)
{
    struct sb_cache_map *map = cache->oldest;

    if (!map || (cache->unpinned <= UNPINNED_MOST &&
                 (cache->unpinned_bytes <= UNPINNED_BYTES_MOST || map == cache->newest)))
        return NULL;
    take_out(cache, map);
    cache->segments[map->segment].map = NULL;
    return map;
}

static struct sb_cache_map *pin_mapped(struct sb_cache *cache, uint32_t segment)
{
    struct sb_cache_map *map = cache->segments[segment].map;

    if (map && map->pins++ == 0)
        take_out(cache, map);
    return map;
}

/* Another thread may have been quicker: then its map is the one. */
static enum sb_code install(struct sb_cache *cache, struct sb_cache_map *map,
                            struct sb_cache_map **out)
{
    struct sb_cache_file *file = &cache->segments[map->segment];
    enum sb_code code = SB_OK;

    (void)pthread_mutex_lock(&cache->lock);
    *out = pin_mapped(cache, map->segment);
    if (!*out) {
        code = settle(cache, file, map);
        if (!code) {
            map->pins = 1;
            file->map = *out = map;
        }
    }
    (void)pthread_mutex_unlock(&cache->lock);
    if (*out != map)
        free_map(map);
    return code;
}

enum sb_code sb_cache_pin(struct sb_cache *cache, uint32_t segment, struct sb_cache_map **out)
{
    struct sb_cache_file *file = &cache->segments[segment];
    struct sb_cache_map *map;
    bool damaged;

    (void)pthread_mutex_lock(&cache->lock);
    damaged = file->as.damaged;
    *out = damaged ? NULL : pin_mapped(cache, segment);
    (void)pthread_mutex_unlock(&cache->lock);
    if (damaged)
        return sb_fail(SB_DAMAGED, "%s: is damaged", file->as.path);
    if (*out)
        return SB_OK;
    TRY(SB_NEW(&map));
    map->segment = segment;
    if (open_map(file, map)) {
        free_map(map);
        return judge();
    }
    return install(cache, map, out) ? judge() : SB_OK;
}

void sb_cache_unpin(struct sb_cache *cache, struct sb_cache_map *map)
{
    struct sb_cache_map *surplus = NULL;

    if (!map)
        return;
    (void)pthread_mutex_lock(&cache->lock);
    if (--map->pins == 0) {
        put_in(cache, map);
        surplus = take_surplus(cache);
    }
    (void)pthread_mutex_unlock(&cache->lock);
    free_map(surplus);
}

void sb_cache_free_maps(struct sb_cache *cache)
{
    for (uint32_t i = 0; i < cache->segment_count; i++)
        free_map(cache->segments[i].map);
}

void sb_cache_map_forget(const struct sb_cache_map *map)
{
    if (map->mapping->data)
        (void)madvise((void *)map->mapping->data, (size_t)map->mapping->size, MADV_DONTNEED);
}

void sb_cache_map_touch(const struct sb_cache_map *map, int64_t *touched, size_t size)
{
    *touched += (int64_t)size;
    if (*touched <= SB_CACHE_TOUCHED_MOST)
        return;
    sb_cache_map_forget(map);
    *touched = 0;
}

void sb_cache_leave(struct sb_cache *cache, struct sb_cache_map *map)
{
    if (map)
        sb_cache_map_forget(map);
    sb_cache_unpin(cache, map);
}

enum sb_code sb_cache_give_up(struct sb_cache *cache, uint32_t segment)
{
    struct sb_cache_file *file = &cache->segments[segment];
    size_t size = strlen(file->as.path);
    const char *text = sb_error()->text;
    bool reported;

    if (sb_error()->code == SB_NOMEM || sb_error()->code == SB_INTERRUPT ||
        sb_error()->code == SB_LIMIT ||
        (sb_error()->code == SB_SYSTEM &&
         (sb_error()->sys_errno == EMFILE || sb_error()->sys_errno == ENFILE)))
        return sb_error()->code;
    (void)pthread_mutex_lock(&cache->lock);
    reported = file->as.damaged;
    file->as.damaged = true;
    file->as.rows = 0;
    (void)pthread_mutex_unlock(&cache->lock);
    if (strncmp(text, file->as.path, size) == 0 && strncmp(text + size, ": ", 2) == 0)
        text += size + 2;
    if (!reported)
        sb_report(cache->notify, SB_PROBLEM, "damaged", file->as.path, "%s; left out", text);
    return SB_END;
}

enum sb_code sb_cache_hold(struct sb_cache *cache, uint32_t segment, struct sb_cache_map **out)
{
    if (sb_cache_pin(cache, segment, out))
        return sb_cache_give_up(cache, segment);
    return SB_OK;
}

enum sb_code sb_cache_key(const struct sb_cache_map *map, const struct sb_cache_file *file,
                          int64_t row, struct sb_row_key *out)
{
    struct sb_arrow_value value;

    if (sb_arrow_value(map->arrow, map->layout->key, row, &value))
        return name_segment(file);
    *out = (struct sb_row_key){.text = value.data, .size = (size_t)value.count};
    return SB_OK;
}
