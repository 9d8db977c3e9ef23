#include "store/tar/sparse.h"

#include "core/io.h"
#include "store/tar/header.h"

#include <inttypes.h>
#include <stdlib.h>

#define EXTENTS_MOST ((size_t)1 << 16)

static int64_t end_of(const struct sb_extent *extent)
{
    return extent->offset + extent->size;
}

void sb_tar_map_release(struct sb_tar_map *map)
{
    free(map->extents);
    *map = (struct sb_tar_map){0};
}

/* The last extent gets longer where the hole before the new one is too small. */
static void append(struct sb_tar_map *map, int64_t offset, int64_t size)
{
    size_t last = map->count - 1;

    if (map->count > 0 && offset - end_of(&map->extents[last]) < map->least)
        map->extents[last].size = offset + size - map->extents[last].offset;
    else
        map->extents[map->count++] = (struct sb_extent){.offset = offset, .size = size};
}

/* Holes have to be larger until there are only half as many. */
static void thin_out(struct sb_tar_map *map)
{
    while (map->count > EXTENTS_MOST / 2) {
        size_t count = map->count;

        map->count = 0;
        map->least *= 2;
        for (size_t i = 0; i < count; i++)
            append(map, map->extents[i].offset, map->extents[i].size);
    }
}

static enum sb_code grow(struct sb_tar_map *map)
{
    if (map->count == EXTENTS_MOST)
        thin_out(map);
    return sb_grow(&map->extents, &map->capacity, map->count, sizeof(*map->extents));
}

enum sb_code sb_tar_map_add(void *context, const void *data, size_t size)
{
    struct sb_tar_map *map = context;

    if (map->least == 0)
        map->least = SB_HOLE_LEAST;
    if (data) {
        TRY(grow(map));
        append(map, map->size, (int64_t)size);
    }
    map->size += (int64_t)size;
    return SB_OK;
}

enum sb_code sb_tar_map_write(struct sb_tar_map *map, struct sb_buf *out)
{
    static const char zeros[SB_TAR_BLOCK];
    size_t start = out->size;
    bool failed;

    TRY(grow(map));
    if (map->count == 0 || end_of(&map->extents[map->count - 1]) < map->size)
        map->extents[map->count++] = (struct sb_extent){.offset = map->size};
    failed = sb_buf_add_format(out, "%zu\n", map->count) != SB_OK;
    map->stored = 0;
    for (size_t i = 0; i < map->count && !failed; i++) {
        map->stored += map->extents[i].size;
        failed = sb_buf_add_format(out, "%" PRId64 "\n%" PRId64 "\n", map->extents[i].offset,
                                   map->extents[i].size) != SB_OK;
    }
    failed = failed || sb_buf_add(out, zeros, sb_tar_padding((int64_t)(out->size - start)));
    return failed ? sb_fail_memory() : SB_OK;
}

int64_t sb_tar_map_run(const struct sb_tar_map *map, size_t *next, int64_t at, int64_t size,
                       bool *stored)
{
    const struct sb_extent *extent;
    int64_t end;

    while (*next < map->count && end_of(&map->extents[*next]) <= at)
        ++*next;
    *stored = false;
    if (*next == map->count)
        return size;
    extent = &map->extents[*next];
    *stored = extent->offset <= at;
    end = *stored ? end_of(extent) : extent->offset;
    return end - at < size ? end - at : size;
}
