#include "store/syrah/waiting.h"

#include <endian.h>
#include <stdlib.h>

#define BLOCK_BYTES ((size_t)4 << 20)

void sb_syrah_waiting_release(struct sb_syrah_waiting *waiting)
{
    sb_spool_release(&waiting->blocks);
    free(waiting->held);
}

static size_t block_bytes(const struct sb_syrah_waiting *waiting)
{
    return waiting->block_items * waiting->arrays * 2 * sizeof(*waiting->held);
}

enum sb_code sb_syrah_waiting_begin(struct sb_syrah_waiting *waiting, size_t arrays)
{
    waiting->arrays = arrays;
    waiting->block_items = BLOCK_BYTES / (arrays * 2 * sizeof(*waiting->held)) + 1;
    free(waiting->held);
    waiting->held = malloc(block_bytes(waiting));
    return waiting->held ? SB_OK : sb_fail_memory();
}

enum sb_code sb_syrah_waiting_add(struct sb_syrah_waiting *waiting, const struct sb_extent *extents,
                                  size_t stride)
{
    const char *at = (const char *)extents;
    int64_t *held;

    if (waiting->held_items == waiting->block_items) {
        TRY(sb_spool_add(&waiting->blocks, waiting->held, block_bytes(waiting)));
        waiting->held_items = 0;
    }
    held = waiting->held + waiting->held_items;
    for (size_t i = 0; i < waiting->arrays; i++, at += stride) {
        const struct sb_extent *extent = (const void *)at;

        held[0] = (int64_t)htole64((uint64_t)extent->offset);
        held[waiting->block_items] = (int64_t)htole64((uint64_t)extent->size);
        held += 2 * waiting->block_items;
    }
    waiting->held_items++;
    return SB_OK;
}

enum sb_code sb_syrah_waiting_feed(struct sb_syrah_waiting *waiting, size_t array, bool sizes,
                                   sb_each_block *each, void *context)
{
    size_t column = (2 * array + sizes) * waiting->block_items;

    for (int64_t at = 0; at < sb_spool_size(&waiting->blocks); at += (int64_t)block_bytes(waiting))
        TRY(sb_spool_feed(&waiting->blocks, at + (int64_t)(column * sizeof(*waiting->held)),
                          (int64_t)(waiting->block_items * sizeof(*waiting->held)), each, context));
    if (waiting->held_items == 0)
        return SB_OK;
    return each(context, waiting->held + column, waiting->held_items * sizeof(*waiting->held));
}
