#include "core/pipeline.h"
#include "task/restore/impl.h"

#include <stdlib.h>

#define THREADS_MOST 16 /* each uses memory for a piece */

struct slot {
    struct sb_restore_item item;
    struct sb_buf path; /* the item's */
    struct sb_restore_found found;
    struct sb_restore_piece piece;
};

struct named {
    struct sb_restore *restore;
    int64_t after; /* the last item that was begun */
};

static enum sb_code fill(void *context, void *slot, struct sb_error *err)
{
    struct named *named = context;
    struct sb_restore *restore = named->restore;
    struct slot *this = slot;
    struct sb_restore_item *item = &this->item;
    enum sb_code code;

    do {
        code = sb_restore_list_next(restore->list, named->after, SB_RESTORE_WANTED,
                                    SB_RESTORE_WANTED, item, err);
        if (code)
            return code;
        named->after = item->id;
        code = sb_restore_copy_find(restore->copy, item, &this->found, err);
        if (code == SB_NOENT)
            sb_restore_passed(restore, item->size);
    } while (code == SB_NOENT);
    if (code == SB_OK && sb_buf_set(&this->path, item->path, item->path_size))
        code = sb_fail_memory(err);
    if (code == SB_OK && !restore->options->dry_run)
        code = sb_restore_target_ready(restore->target, item->shard, err);
    item->path = this->path.data;
    return code;
}

/* Does it end the work, and not only concern this file? */
static bool is_fatal(enum sb_code code, const struct sb_restore_piece *piece)
{
    return piece->lost || code == SB_NOMEM || code == SB_INTERRUPT;
}

static enum sb_code work(void *context, void *slot, struct sb_pipeline *turns, struct sb_error *err)
{
    const struct named *named = context;
    struct sb_restore *restore = named->restore;
    struct slot *this = slot;
    struct sb_restore_item *item = &this->item;
    enum sb_code code;

    (void)turns;
    code = sb_restore_copy_read(restore->copy, item, &this->found, &this->piece, err);
    if (code && is_fatal(code, &this->piece))
        return code;
    if (code == SB_NOENT)
        return SB_OK;
    item->state = SB_RESTORE_OTHER;
    if (code || !sb_restore_piece_is(&this->piece, item->size, item->crc32c))
        return SB_OK;
    item->state = SB_RESTORE_WRITTEN;
    if (restore->options->dry_run)
        return SB_OK;
    return sb_restore_target_put(restore->target, item->shard, item->offset, &this->piece, err);
}

static enum sb_code drain(void *context, void *slot, struct sb_error *err)
{
    const struct named *named = context;
    struct sb_restore *restore = named->restore;
    const struct slot *this = slot;
    const struct sb_restore_item *item = &this->item;

    sb_restore_passed(restore, item->size);
    if (item->state == SB_RESTORE_WANTED)
        return SB_OK;
    return sb_restore_list_set(restore->list, item->id, item->state, err);
}

enum sb_code sb_restore_named(struct sb_restore *restore, struct sb_error *err)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work, .drain = drain};
    unsigned threads =
        restore->options->threads < THREADS_MOST ? restore->options->threads : THREADS_MOST;
    unsigned count = threads > 1 ? 2 * threads : 1;
    struct named named = {.restore = restore};
    struct slot *slots = calloc(count, sizeof(*slots));
    enum sb_code code;

    if (!slots)
        return sb_fail_memory(err);
    for (unsigned i = 0; i < count; i++)
        slots[i].piece = SB_RESTORE_PIECE(restore->hold.path);
    code = sb_pipeline_run(&ops, &named, slots, sizeof(*slots), count, threads, err);
    for (unsigned i = 0; i < count; i++) {
        sb_buf_release(&slots[i].path);
        sb_buf_release(&slots[i].found.path);
        sb_restore_piece_release(&slots[i].piece);
    }
    free(slots);
    return code;
}
