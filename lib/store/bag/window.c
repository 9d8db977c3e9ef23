#include "store/bag/window.h"

#include "store/bag/impl.h"

#include <stdlib.h>

#define READ_THROUGH ((int64_t)16 << 10) /* a gap that is read rather than skipped */

/* Larger ones are not worth a copy. */
#define LOAD_MAX (SB_BAG_WINDOW / 4)

void sb_bag_window_release(struct sb_bag_window *window)
{
    free(window->data);
    *window = (struct sb_bag_window){0};
}

static bool holds(const struct sb_bag_window *window, const struct sb_extent *extent, size_t size)
{
    int64_t skip = extent->offset - window->at;

    return window->shard == extent->shard && skip >= 0 &&
           skip + (int64_t)size <= (int64_t)window->held;
}

static bool goes_on(const struct sb_bag_window *window, const struct sb_extent *extent)
{
    return window->held > 0 && window->shard == extent->shard && extent->offset >= window->at &&
           extent->offset <= window->at + (int64_t)window->held + READ_THROUGH;
}

/* The first `size` of its stored bytes, at most SB_BAG_WINDOW; they live until the next call. */
static enum sb_code look(struct sb_bag_window *window, struct sb_bag_reader *reader,
                         const struct sb_extent *extent, size_t size, const void **data)
{
    int64_t left = sb_bag_shard(sb_bag_of(reader), extent->shard)->bytes - extent->offset;
    size_t take = size;

    if (!window->data)
        window->data = malloc(SB_BAG_WINDOW);
    if (!window->data)
        return sb_fail_memory();
    if (!holds(window, extent, size)) {
        if (goes_on(window, extent))
            take = left < (int64_t)SB_BAG_WINDOW ? (size_t)left : SB_BAG_WINDOW;
        window->held = 0;
        TRY(sb_bag_read(reader, extent->shard, extent->offset, window->data, take));
        window->shard = extent->shard;
        window->at = extent->offset;
        window->held = take;
    }
    *data = window->data + (extent->offset - window->at);
    return SB_OK;
}

enum sb_code sb_bag_window_load(struct sb_bag_window *window, struct sb_bag_reader *reader,
                                const struct sb_extent *extent, void *data, size_t capacity,
                                size_t *size)
{
    size_t stored_size = (size_t)extent->size;
    const void *stored = NULL;
    enum sb_code code;

    if (extent->size == 0 || extent->size > (int64_t)LOAD_MAX)
        return sb_bag_load(reader, extent, data, capacity, size);
    code = look(window, reader, extent, stored_size, &stored);
    if (!code)
        code = sb_bag_decode(reader, extent->shard, stored, stored_size, data, capacity, size);
    /* Once more by itself: a file that was cut still has what comes before the cut, and the error
     * names the place of the damage. */
    return code == SB_DAMAGED ? sb_bag_load(reader, extent, data, capacity, size) : code;
}

enum sb_code sb_bag_window_size(struct sb_bag_window *window, struct sb_bag_reader *reader,
                                const struct sb_extent *extent, int64_t *size)
{
    size_t take = extent->size < SB_FRAME_HEADER_MAX ? (size_t)extent->size : SB_FRAME_HEADER_MAX;
    const void *head = NULL;

    *size = extent->size;
    if (extent->size == 0 || !sb_bag_shard(sb_bag_of(reader), extent->shard)->zstd)
        return SB_OK;
    if (!look(window, reader, extent, take, &head) &&
        !sb_frame_size(head, take, extent->size, size) && *size >= 0)
        return SB_OK;
    return sb_bag_record_size(reader, extent, size);
}
