#include "store/bag/record_scan.h"

#include "core/pipeline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_PER_THREAD 4

struct scanning {
    struct sb_bag *bag;
    const struct sb_scan *scan;
    struct sb_bag_reader *reader;
    struct sb_place next; /* after the window */

    /* Extents that no block has taken yet: window[at] to window[count - 1]. */
    struct sb_extent window[SB_RECORD_BLOCK_MAX];
    struct sb_place window_first;
    size_t at, count;

    int64_t bytes, total, records;
};

/* How many records of the shard that is read are left. */
static int64_t left_of_shard(const struct scanning *scanning)
{
    const struct sb_scan *scan = scanning->scan;
    uint32_t shard = scanning->next.shard;

    if (scan->takes && !scan->takes(scan->context, shard))
        return 0;
    return sb_bag_shard(scanning->bag, shard)->records - scanning->next.index;
}

/* Fills the window. What comes after a record whose limits are wrong is in the next window. */
static enum sb_code look_ahead(struct scanning *scanning)
{
    struct sb_place *next = &scanning->next;
    enum sb_code code = SB_OK;

    scanning->at = scanning->count = 0;
    while (scanning->count == 0 && next->shard < sb_bag_shard_count(scanning->bag)) {
        int64_t left = left_of_shard(scanning);
        size_t wanted = left < SB_RECORD_BLOCK_MAX ? (size_t)left : SB_RECORD_BLOCK_MAX;

        if (wanted == 0) {
            *next = (struct sb_place){.shard = next->shard + 1};
            continue;
        }
        scanning->window_first = *next;
        code = sb_bag_extents(scanning->reader, *next, wanted, scanning->window, &scanning->count);
        if (code && (code != SB_DAMAGED || sb_ends_work(sb_error())))
            return code;
        next->index += (int64_t)scanning->count;
        if (code) {
            sb_report(scanning->scan->notify, SB_PROBLEM, "damaged", sb_bag_name(scanning->bag),
                      "%s", sb_error()->text);
            next->index++;
        }
    }
    return scanning->count > 0 ? SB_OK : SB_END;
}

static enum sb_code fill(void *context, void *slot_pointer)
{
    struct scanning *scanning = context;
    const struct sb_scan *scan = scanning->scan;
    struct sb_scan_slot *slot = slot_pointer;

    if (scan->goes_on && !scan->goes_on(scan->context))
        return SB_END;
    if (scanning->at == scanning->count) {
        TRY(look_ahead(scanning));
    }
    slot->first = scanning->window_first;
    slot->first.index += (int64_t)scanning->at;
    scanning->at +=
        sb_record_block_set(&slot->block, scanning->bag, scanning->window + scanning->at,
                            scanning->count - scanning->at);
    sb_buf_clear(&slot->damage);
    return SB_OK;
}

static enum sb_code work(void *context, void *slot, struct sb_pipeline *turns)
{
    struct scanning *scanning = context;

    (void)turns;
    return scanning->scan->work(scanning->scan->context, slot);
}

static enum sb_code drain(void *context, void *slot_pointer)
{
    struct scanning *scanning = context;
    const struct sb_scan *scan = scanning->scan;
    struct sb_scan_slot *slot = slot_pointer;
    const char *text = slot->damage.data, *end = text + slot->damage.size;

    for (; text < end; text += strlen(text) + 1)
        sb_report(scan->notify, SB_PROBLEM, "damaged", sb_bag_name(scanning->bag), "%s", text);
    scanning->bytes += slot->block.stored_size;
    scanning->records += (int64_t)slot->block.count;
    if (scan->progress)
        scan->progress(scan->progress_context, scanning->bytes, scanning->total, scanning->records);
    return scan->drain ? scan->drain(scan->context, slot) : SB_OK;
}

static enum sb_code begin_slots(struct scanning *scanning, struct sb_scan_slot *slots,
                                unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        TRY(sb_record_block_begin(&slots[i].block, scanning->bag));
        slots[i].own = calloc(1, scanning->scan->own_size ? scanning->scan->own_size : 1);
        if (!slots[i].own)
            return sb_fail_memory();
    }
    return SB_OK;
}

static void release_slots(const struct sb_scan *scan, struct sb_scan_slot *slots, unsigned count)
{
    for (unsigned i = 0; slots && i < count; i++) {
        if (scan->release && slots[i].own)
            scan->release(slots[i].own);
        free(slots[i].own);
        sb_record_block_release(&slots[i].block);
        sb_buf_release(&slots[i].damage);
    }
    free(slots);
}

enum sb_code sb_record_scan(struct sb_bag *bag, const struct sb_scan *scan)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work, .drain = drain};
    unsigned count = scan->threads > 1 ? scan->threads * SLOTS_PER_THREAD : 1;
    struct scanning *scanning = calloc(1, sizeof(*scanning));
    struct sb_scan_slot *slots = calloc(count, sizeof(*slots));
    enum sb_code code = SB_OK;

    if (!scanning || !slots) {
        code = sb_fail_memory();
        goto out;
    }
    scanning->bag = bag;
    scanning->scan = scan;
    for (uint32_t i = 0; i < sb_bag_shard_count(bag); i++) {
        if (__builtin_add_overflow(scanning->total, sb_bag_shard(bag, i)->bytes, &scanning->total))
            scanning->total = 0;
    }
    code = sb_bag_reader_new(&scanning->reader, bag);
    if (!code)
        sb_bag_reader_goes_far(scanning->reader);
    if (!code)
        code = begin_slots(scanning, slots, count);
    if (!code)
        code = sb_pipeline_run(&ops, scanning, slots, sizeof(*slots), count, scan->threads);
    sb_bag_reader_free(scanning->reader);
out:
    release_slots(scan, slots, count);
    free(scanning);
    return code;
}

enum sb_code sb_scan_damaged(struct sb_scan_slot *slot, const struct sb_bag *bag, size_t i)
{
    struct sb_place place = slot->first;

    place.index += (int64_t)i;
    if (sb_buf_add_format(&slot->damage, "record %" PRId64 ": %s", sb_bag_record_at(bag, place),
                          sb_error()->text) ||
        sb_buf_add(&slot->damage, "", 1))
        return sb_fail_memory();
    return SB_OK;
}
