#include "store/tree/sink_workers.h"

#include "core/name.h"
#include "core/pipeline.h"

#include <stdlib.h>

#define SLOT_DIRS 8 /* neighbours share the way to them */

struct slot {
    struct sb_buf paths;
    size_t count;
    struct slot_item {
        struct sb_entry entry;
        size_t path_at;
        enum sb_code code;
        unsigned change;
        struct sb_error error;
    } items[SLOT_DIRS];
};

struct run {
    const struct sb_tree_workers *workers;
    bool ended;
};

static enum sb_code fill(void *context, void *filled)
{
    struct run *run = context;
    const struct sb_tree_workers *workers = run->workers;
    struct slot *slot = filled;
    enum sb_code code = run->ended ? SB_END : SB_OK;

    slot->count = 0;
    sb_buf_clear(&slot->paths);
    while (!code && slot->count < SLOT_DIRS) {
        struct slot_item *item = &slot->items[slot->count];

        code = workers->next(workers->context, &item->entry);
        if (code)
            break;
        item->path_at = slot->paths.size;
        if (sb_buf_add(&slot->paths, item->entry.path, item->entry.path_size + 1))
            return sb_fail_memory();
        slot->count++;
    }
    for (size_t i = 0; i < slot->count; i++)
        slot->items[i].entry.path = slot->paths.data + slot->items[i].path_at;
    run->ended = code == SB_END;
    return run->ended && slot->count > 0 ? SB_OK : code;
}

static enum sb_code work(void *context, void *worked, struct sb_pipeline *turns)
{
    const struct sb_tree_workers *workers = ((const struct run *)context)->workers;
    struct slot *slot = worked;
    struct sb_walk walk;

    (void)turns;
    sb_walk_init(&walk, workers->root);
    walk.own = workers->own;
    for (size_t i = 0; i < slot->count; i++) {
        struct slot_item *item = &slot->items[i];

        item->code =
            INTO(&item->error, workers->work(workers->context, &walk, &item->entry, &item->change));
    }
    sb_walk_release(&walk);
    return SB_OK;
}

static enum sb_code drain(void *context, void *drained)
{
    const struct sb_tree_workers *workers = ((const struct run *)context)->workers;
    struct slot *slot = drained;

    for (size_t i = 0; i < slot->count; i++) {
        struct slot_item *item = &slot->items[i];

        if (item->code)
            *sb_error() = item->error;
        TRY(workers->done(workers->context, &item->entry, item->code, item->change));
    }
    return SB_OK;
}

enum sb_code sb_tree_workers_run(const struct sb_tree_workers *workers)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work, .drain = drain};
    unsigned threads = workers->most / SLOT_DIRS < workers->threads
                           ? (unsigned)(workers->most / SLOT_DIRS + 1)
                           : workers->threads;
    unsigned count = threads > 1 ? 2 * threads : 1;
    struct run run = {.workers = workers};
    struct slot *slots = calloc(count, sizeof(*slots));
    enum sb_code code;

    if (!slots)
        return sb_fail_memory();
    code = sb_pipeline_run(&ops, &run, slots, sizeof(*slots), count, threads);
    for (unsigned i = 0; i < count; i++)
        sb_buf_release(&slots[i].paths);
    free(slots);
    return code;
}

/* Waves */

struct sb_tree_wave_item {
    struct sb_entry entry;
    size_t path_at;
    size_t depth;
};

void sb_tree_wave_release(struct sb_tree_wave *wave)
{
    sb_buf_release(&wave->paths);
    free(wave->items);
    *wave = (struct sb_tree_wave){0};
}

enum sb_code sb_tree_wave_add(struct sb_tree_wave *wave, const struct sb_entry *entry)
{
    struct sb_tree_wave_item *items = wave->items;

    /* Space for a whole one: as long as it is short, its pages are not touched. */
    if (!items)
        items = malloc(SB_TREE_WAVE_MAX * sizeof(*items));
    if (!items)
        return sb_fail_memory();
    wave->items = items;
    items[wave->count] = (struct sb_tree_wave_item){
        .entry = *entry,
        .path_at = wave->paths.size,
        .depth = sb_name_depth(entry->path, entry->path_size) + 1,
    };
    if (sb_buf_add(&wave->paths, entry->path, entry->path_size + 1))
        return sb_fail_memory();
    wave->count++;
    return SB_OK;
}

enum sb_code sb_tree_wave_next(struct sb_tree_wave *wave, struct sb_entry *entry)
{
    while (wave->next < wave->count) {
        const struct sb_tree_wave_item *item = &wave->items[wave->next++];

        if (item->depth != wave->depth)
            continue;
        *entry = item->entry;
        entry->path = wave->paths.data + item->path_at;
        return SB_OK;
    }
    wave->next = 0;
    return SB_END;
}

bool sb_tree_wave_deeper(struct sb_tree_wave *wave)
{
    size_t deeper = SIZE_MAX;

    wave->here = 0;
    for (size_t i = 0; i < wave->count; i++) {
        size_t depth = wave->items[i].depth;

        if (depth > wave->depth && depth < deeper) {
            deeper = depth;
            wave->here = 0;
        }
        wave->here += depth == deeper;
    }
    wave->depth = deeper;
    if (deeper < SIZE_MAX)
        return true;
    wave->count = 0;
    wave->depth = 0;
    sb_buf_clear(&wave->paths);
    return false;
}
