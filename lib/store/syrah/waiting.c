#include "store/syrah/waiting.h"

#include <endian.h>
#include <stdlib.h>
#include <unistd.h>

#define BLOCK_BYTES ((size_t)4 << 20)
#define FILE_NAME   "temporary file (see TMPDIR)"

void sb_syrah_waiting_release(struct sb_syrah_waiting *waiting)
{
    if (waiting->fd >= 0)
        close(waiting->fd);
    free(waiting->held);
    *waiting = (struct sb_syrah_waiting){.fd = -1};
}

static size_t block_bytes(const struct sb_syrah_waiting *waiting)
{
    return waiting->block_items * waiting->arrays * 2 * sizeof(*waiting->held);
}

enum sb_code sb_syrah_waiting_begin(struct sb_syrah_waiting *waiting, size_t arrays,
                                    struct sb_error *err)
{
    waiting->arrays = arrays;
    waiting->block_items = BLOCK_BYTES / (arrays * 2 * sizeof(*waiting->held)) + 1;
    free(waiting->held);
    waiting->held = malloc(block_bytes(waiting));
    return waiting->held ? SB_OK : sb_fail_memory(err);
}

static enum sb_code spill(struct sb_syrah_waiting *waiting, struct sb_error *err)
{
    enum sb_code code = SB_OK;

    if (waiting->fd < 0)
        code = sb_temp_file(&waiting->fd, waiting->beside, err);
    if (!code)
        code = sb_pwrite_full(waiting->fd, waiting->held, block_bytes(waiting),
                              waiting->blocks * (int64_t)block_bytes(waiting), FILE_NAME, err);
    if (code)
        return code;
    waiting->blocks++;
    waiting->held_items = 0;
    return SB_OK;
}

enum sb_code sb_syrah_waiting_add(struct sb_syrah_waiting *waiting, const struct sb_extent *extents,
                                  size_t stride, struct sb_error *err)
{
    const char *at = (const char *)extents;
    int64_t *held;

    if (waiting->held_items == waiting->block_items && spill(waiting, err))
        return err->code;
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

static enum sb_code feed_spilled(const struct sb_syrah_waiting *waiting, size_t column,
                                 sb_each_block *each, void *context, struct sb_error *err)
{
    size_t size = waiting->block_items * sizeof(*waiting->held), got;
    void *run = malloc(size);
    enum sb_code code = run ? SB_OK : sb_fail_memory(err);

    for (int64_t block = 0; !code && block < waiting->blocks; block++) {
        code = sb_pread_full(waiting->fd, run, size,
                             block * (int64_t)block_bytes(waiting) + (int64_t)(column * size), &got,
                             FILE_NAME, err);
        if (!code && got < size)
            code = sb_fail(err, SB_CHANGED, FILE_NAME ": became shorter");
        if (!code)
            code = each(context, run, size, err);
    }
    free(run);
    return code;
}

enum sb_code sb_syrah_waiting_feed(const struct sb_syrah_waiting *waiting, size_t array, bool sizes,
                                   sb_each_block *each, void *context, struct sb_error *err)
{
    size_t column = 2 * array + sizes;
    enum sb_code code =
        waiting->blocks > 0 ? feed_spilled(waiting, column, each, context, err) : SB_OK;

    if (code || waiting->held_items == 0)
        return code;
    return each(context, waiting->held + column * waiting->block_items,
                waiting->held_items * sizeof(*waiting->held), err);
}
