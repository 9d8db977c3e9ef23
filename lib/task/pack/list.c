#include "task/pack/list.h"

#include "core/buf.h"
#include "core/list.h"
#include "core/pipeline.h"

#include <fcntl.h>
#include <stdlib.h>

#define SLOT_PATHS 32
#define SLOT_BYTES ((size_t)64 << 10) /* or one path that is longer */

struct slot {
    struct sb_buf paths;
    size_t count;
    struct listed {
        size_t at;
        size_t size;
        bool found;
        struct stat stat;
    } listed[SLOT_PATHS];
};

struct run {
    const struct sb_pack_list *options;
    struct sb_list *list;
};

static enum sb_code fill(void *context, void *filled, struct sb_error *err)
{
    const struct run *run = context;
    struct slot *slot = filled;
    enum sb_code code = SB_OK;
    const char *path;
    size_t size;

    slot->count = 0;
    sb_buf_clear(&slot->paths);
    while (slot->count < SLOT_PATHS && slot->paths.size < SLOT_BYTES) {
        code = sb_list_next(run->list, &path, &size, err);
        if (code)
            break;
        if (size == 0)
            continue;
        slot->listed[slot->count++] = (struct listed){.at = slot->paths.size, .size = size};
        if (sb_buf_add(&slot->paths, path, size + 1))
            return sb_fail_memory(err);
    }
    return code == SB_END && slot->count > 0 ? SB_OK : code;
}

static enum sb_code work(void *context, void *worked, struct sb_pipeline *turns,
                         struct sb_error *err)
{
    const struct run *run = context;
    struct slot *slot = worked;

    (void)turns, (void)err;
    for (size_t i = 0; i < slot->count; i++) {
        struct listed *listed = &slot->listed[i];

        listed->found = fstatat(run->options->base_fd, slot->paths.data + listed->at, &listed->stat,
                                AT_SYMLINK_NOFOLLOW) == 0;
    }
    return SB_OK;
}

static enum sb_code drain(void *context, void *drained, struct sb_error *err)
{
    const struct sb_pack_list *options = ((const struct run *)context)->options;
    struct slot *slot = drained;
    enum sb_code code = SB_OK;

    for (size_t i = 0; !code && i < slot->count; i++) {
        const struct listed *listed = &slot->listed[i];

        code = options->each(options->context, slot->paths.data + listed->at, listed->size,
                             listed->found ? &listed->stat : NULL, err);
    }
    return code;
}

enum sb_code sb_pack_list_read(const struct sb_pack_list *list, struct sb_error *err)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work, .drain = drain};
    unsigned count = list->threads > 1 ? 2 * list->threads : 1;
    struct run run = {.options = list};
    struct slot *slots;
    enum sb_code code = sb_list_open(&run.list, list->path, list->end, err);

    if (code)
        return code;
    if (list->must_name)
        sb_list_must_name(run.list);
    slots = calloc(count, sizeof(*slots));
    if (slots)
        code = sb_pipeline_run(&ops, &run, slots, sizeof(*slots), count, list->threads, err);
    else
        code = sb_fail_memory(err);
    for (unsigned i = 0; slots && i < count; i++)
        sb_buf_release(&slots[i].paths);
    free(slots);
    sb_list_free(run.list);
    return code;
}
