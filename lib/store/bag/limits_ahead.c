#include "store/bag/impl.h"

#include "core/pace.h"
#include "core/pipeline.h"

#include <stdlib.h>

struct ahead {
    struct sb_bag *bag;
    const int64_t *records;
    size_t next, count;
};

struct slot {
    size_t from, to;
};

static enum sb_code fill(void *context, void *slot_)
{
    struct ahead *ahead = context;
    struct slot *slot = slot_;

    if (ahead->next == ahead->count)
        return SB_END;
    slot->from = ahead->next;
    slot->to = ahead->count - slot->from < SB_PACE_FEW ? ahead->count : slot->from + SB_PACE_FEW;
    ahead->next = slot->to;
    return SB_OK;
}

static enum sb_code work(void *context, void *slot_, struct sb_pipeline *turns)
{
    const struct ahead *ahead = context;
    const struct slot *slot = slot_;

    (void)turns;
    for (size_t i = slot->from; i < slot->to; i++) {
        struct sb_place place = sb_bag_place_of(ahead->bag, ahead->records[i]);
        int64_t first = place.index > 0 ? place.index - 1 : 0;
        uint64_t limits[2];

        if (IGNORED(sb_bag_pick_limits(ahead->bag, place.shard, first, limits,
                                       (size_t)(place.index - first) + 1)))
            break;
    }
    return SB_OK;
}

enum sb_code sb_bag_limits_ahead(struct sb_bag *bag, const int64_t *records, size_t count,
                                 unsigned threads)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work};
    struct ahead ahead = {.bag = bag, .records = records, .count = count};
    CLEANUP(sb_freep) struct slot *slots = calloc(threads, sizeof(*slots));

    if (!slots)
        return sb_fail_memory();
    return sb_pipeline_run(&ops, &ahead, slots, sizeof(*slots), threads, threads);
}
