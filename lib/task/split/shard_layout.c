#include "task/split/shard_layout.h"

#include "archive/shards.h"
#include "core/number.h"

#include <stdbool.h>
#include <stdlib.h>

struct sb_shard_layout {
    int64_t limit;
    int64_t *bytes; /* of each shard */
    uint32_t count;
    size_t capacity;
    uint32_t kept; /* valid once `moved` is set: the shards before the first file that moves */
    bool moved;
};

enum sb_code sb_shard_layout_new(struct sb_shard_layout **out, int64_t limit)
{
    TRY(SB_NEW(out));
    (*out)->limit = limit;
    return SB_OK;
}

void sb_shard_layout_free(struct sb_shard_layout *layout)
{
    if (!layout)
        return;
    free(layout->bytes);
    free(layout);
}

static enum sb_code begin_shard(struct sb_shard_layout *layout)
{
    if (layout->count > SB_SHARD_MAX)
        return sb_fail(SB_LIMIT, "more than %d shards; give a larger shard size", SB_SHARD_MAX + 1);
    TRY(sb_grow(&layout->bytes, &layout->capacity, layout->count, sizeof(*layout->bytes)));
    layout->bytes[layout->count++] = 0;
    return SB_OK;
}

enum sb_code sb_shard_layout_add(struct sb_shard_layout *layout, const struct sb_mover_file *file,
                                 struct sb_shard_place *place)
{
    int64_t *bytes;

    *place = sb_shard_layout_end(layout);
    if (file->size == 0)
        return SB_OK;
    if (layout->count == 0 || file->size > layout->limit - place->offset)
        TRY(begin_shard(layout));
    bytes = &layout->bytes[layout->count - 1];
    *place = (struct sb_shard_place){.shard = layout->count - 1, .offset = *bytes};
    sb_count_up(bytes, file->size);
    if (!layout->moved && (file->shard != place->shard || file->offset != place->offset)) {
        layout->moved = true;
        layout->kept = place->shard;
    }
    return SB_OK;
}

uint32_t sb_shard_layout_count(const struct sb_shard_layout *layout)
{
    return layout->count ? layout->count : 1;
}

int64_t sb_shard_layout_bytes(const struct sb_shard_layout *layout, uint32_t shard)
{
    return shard < layout->count ? layout->bytes[shard] : 0;
}

uint32_t sb_shard_layout_kept(const struct sb_shard_layout *layout)
{
    return layout->moved ? layout->kept : sb_shard_layout_count(layout);
}

struct sb_shard_place sb_shard_layout_end(const struct sb_shard_layout *layout)
{
    uint32_t last = sb_shard_layout_count(layout) - 1;

    return (struct sb_shard_place){.shard = last, .offset = sb_shard_layout_bytes(layout, last)};
}

void sb_shard_layout_back(const struct sb_shard_layout *layout, struct sb_shard_place *place,
                          int64_t size)
{
    if (place->offset == 0 && place->shard > 0 && size > 0) {
        place->shard--;
        place->offset = sb_shard_layout_bytes(layout, place->shard);
    }
    place->offset -= size;
}
