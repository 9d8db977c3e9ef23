/*
 * How many items go into one slot of a pipeline (pipeline.h), by how long the last ones took.
 *
 * Where each item is waited for, few of them fill a slot, so that all threads wait at once and not
 * one of them for a thousand items in a row. Where they take no time, or with one thread, a slot
 * has as many as its user allows. It begins with few, as nothing is known then. Belongs to the
 * calling thread.
 */
#ifndef SB_CORE_PACE_H
#define SB_CORE_PACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SB_PACE_FEW     ((size_t)64) /* items */
#define SB_PACE_SLOW_NS 50000        /* for an item: more than that is waiting */

struct sb_pace {
    size_t items; /* of the next slot */
};

/* Did so many items, which took so many nanoseconds, have to be waited for? */
static inline bool sb_pace_is_slow(size_t count, int64_t took)
{
    return took > SB_PACE_SLOW_NS * (int64_t)count;
}

static inline struct sb_pace sb_pace_of(unsigned threads)
{
    return (struct sb_pace){.items = threads > 1 ? SB_PACE_FEW : SIZE_MAX};
}

/* After a slot of `count` items, which took so many nanoseconds. */
static inline void sb_pace_follow(struct sb_pace *pace, size_t count, int64_t took)
{
    if (pace->items == SIZE_MAX)
        return;
    if (sb_pace_is_slow(count, took))
        pace->items = SB_PACE_FEW;
    else if (count >= pace->items && pace->items < SIZE_MAX / 4)
        pace->items *= 4;
}

static inline size_t sb_pace_limit(const struct sb_pace *pace, size_t most)
{
    return pace->items < most ? pace->items : most;
}

#endif
