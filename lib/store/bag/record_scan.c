#include "store/bag/record_scan.h"

#include "core/pipeline.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define READ_MOST    ((int64_t)1 << 20) /* bytes of one read */
#define SPARSE_STORE ((int64_t)1 << 15) /* of a record: more is not read for a header */

#define SLOTS_PER_THREAD 4

/* Takes neighbours of one shard, at least one and at most SB_RECORD_BLOCK_MAX, and no more bytes
 * than one read is to have. Returns how many. */
static size_t take_block(struct sb_record_block *block, const struct sb_bag *bag,
                         const struct sb_extent *extents, size_t count)
{
    int64_t sum = extents[0].size;
    size_t taken = 0;

    do {
        block->extents[taken] = extents[taken];
        taken++;
        if (taken == count || taken == SB_RECORD_BLOCK_MAX)
            break;
    } while (!__builtin_add_overflow(sum, extents[taken].size, &sum) && sum <= READ_MOST);
    block->count = taken;
    block->stored_size = extents[taken - 1].offset + extents[taken - 1].size - extents[0].offset;
    block->zstd = sb_bag_shard(bag, extents[0].shard)->zstd;
    block->tried = block->read = false;
    return taken;
}

/* Reads all of the block, unless it is one record that is too large. What is wrong shows again when
 * a record is read by itself. */
static enum sb_code read_stored(struct sb_record_block *block)
{
    size_t size = (size_t)block->stored_size;

    if (block->tried || block->stored_size > READ_MOST)
        return SB_OK;
    block->tried = true;
    sb_buf_clear(&block->stored);
    TRY(sb_buf_reserve(&block->stored, size));
    block->read = !IGNORED(sb_bag_read(block->reader, block->extents[0].shard,
                                       block->extents[0].offset, block->stored.data, size));
    return SB_OK;
}

static const char *stored_at(const struct sb_record_block *block, size_t i)
{
    return block->stored.data + (block->extents[i].offset - block->extents[0].offset);
}

enum sb_code sb_record_block_declared(struct sb_record_block *block, size_t i, int64_t *size)
{
    const struct sb_extent *extent = &block->extents[i];
    size_t header_size =
        extent->size < SB_FRAME_HEADER_MAX ? (size_t)extent->size : SB_FRAME_HEADER_MAX;
    char read[SB_FRAME_HEADER_MAX];
    const char *header = read;

    *size = extent->size;
    if (!block->zstd || extent->size == 0)
        return SB_OK;
    if (block->stored_size / (int64_t)block->count <= SPARSE_STORE)
        TRY(read_stored(block));
    if (block->read)
        header = stored_at(block, i);
    else if (IGNORED(sb_bag_read(block->reader, extent->shard, extent->offset, read, header_size)))
        header_size = 0;
    if (header_size == 0 || IGNORED(sb_frame_size(header, header_size, extent->size, size)))
        *size = -1;
    return SB_OK;
}

enum sb_code sb_record_block_size(struct sb_record_block *block, size_t i, int64_t *size)
{
    TRY(sb_record_block_declared(block, i, size));
    if (*size < 0)
        TRY(sb_bag_record_size(block->reader, &block->extents[i], size));
    return SB_OK;
}

enum sb_code sb_record_block_bytes(struct sb_record_block *block, size_t i, size_t capacity,
                                   const void **data, size_t *size)
{
    const struct sb_extent *extent = &block->extents[i];
    enum sb_code code;

    *data = "";
    *size = 0;
    if (extent->size == 0)
        return SB_OK;
    if (!block->zstd && (uint64_t)extent->size > capacity)
        return SB_LIMIT;
    TRY(read_stored(block));
    if (block->read && !block->zstd) {
        *data = stored_at(block, i);
        *size = (size_t)extent->size;
        return SB_OK;
    }
    sb_buf_clear(&block->record);
    TRY(sb_buf_reserve(&block->record, capacity));
    *data = block->record.data;
    code = block->read ? sb_bag_decode(block->reader, extent->shard, stored_at(block, i),
                                       (size_t)extent->size, block->record.data, capacity, size)
                       : SB_DAMAGED;
    /* Read by itself, it is reported with its place. */
    if (code == SB_DAMAGED)
        code = sb_bag_load(block->reader, extent, block->record.data, capacity, size);
    return code;
}

/* The pass over all of them */

struct scanning {
    struct sb_bag *bag;
    const struct sb_scan *scan;
    struct sb_bag_reader *reader;
    struct sb_scan_slot *slots;
    unsigned slot_count;
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
    if (scanning->at == scanning->count)
        TRY(look_ahead(scanning));
    slot->first = scanning->window_first;
    slot->first.index += (int64_t)scanning->at;
    scanning->at += take_block(&slot->block, scanning->bag, scanning->window + scanning->at,
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

static void end_scanning(struct scanning **pointer)
{
    struct scanning *scanning = *pointer;

    if (!scanning)
        return;
    for (unsigned i = 0; scanning->slots && i < scanning->slot_count; i++) {
        struct sb_scan_slot *slot = &scanning->slots[i];

        if (scanning->scan->release && slot->own)
            scanning->scan->release(slot->own);
        free(slot->own);
        sb_bag_reader_free(slot->block.reader);
        sb_buf_release(&slot->block.stored);
        sb_buf_release(&slot->block.record);
        sb_buf_release(&slot->damage);
    }
    free(scanning->slots);
    sb_bag_reader_free(scanning->reader);
    free(scanning);
}

enum sb_code sb_record_scan(struct sb_bag *bag, const struct sb_scan *scan)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work, .drain = drain};
    unsigned count = scan->threads > 1 ? scan->threads * SLOTS_PER_THREAD : 1;
    CLEANUP(end_scanning) struct scanning *scanning = NULL;
    struct sb_scan_slot *slots;

    TRY(SB_NEW(&scanning));
    scanning->bag = bag;
    scanning->scan = scan;
    scanning->slot_count = count;
    TRY(SB_NEW_ARRAY(&scanning->slots, count));
    slots = scanning->slots;
    for (uint32_t i = 0; i < sb_bag_shard_count(bag); i++) {
        if (__builtin_add_overflow(scanning->total, sb_bag_shard(bag, i)->bytes, &scanning->total))
            scanning->total = 0;
    }
    TRY(sb_bag_reader_new(&scanning->reader, bag));
    sb_bag_reader_goes_far(scanning->reader);
    for (unsigned i = 0; i < count; i++) {
        TRY(sb_bag_reader_new(&slots[i].block.reader, bag));
        TRY(sb_alloc_zeroed(&slots[i].own, 1, scan->own_size ? scan->own_size : 1));
    }
    return sb_pipeline_run(&ops, scanning, slots, sizeof(*slots), count, scan->threads);
}

enum sb_code sb_scan_damaged(struct sb_scan_slot *slot, const struct sb_bag *bag, size_t i)
{
    struct sb_place place = slot->first;

    place.index += (int64_t)i;
    TRY(sb_buf_add_format(&slot->damage, "record %" PRId64 ": %s", sb_bag_record_at(bag, place),
                          sb_error()->text));
    TRY(sb_buf_add(&slot->damage, "", 1));
    return SB_OK;
}
