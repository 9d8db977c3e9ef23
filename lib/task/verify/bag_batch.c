#include "task/verify/bag_batch.h"

#include "core/interrupt.h"
#include "core/number.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DECODED_BYTES ((size_t)256 << 10) /* longer records are decoded in blocks */
#define CHECKSUM_FLAG 0x04                /* of a frame's descriptor (RFC 8878, 3.1.1.1.1) */
#define DESCRIPTOR_AT 4

enum sb_code sb_bag_batch_init(struct bag_batch *batch, struct bag_check *check)
{
    batch->check = check;
    batch->items = malloc(BAG_BATCH_ITEMS * sizeof(*batch->items));
    batch->sizes = malloc(BAG_BATCH_ITEMS * sizeof(*batch->sizes));
    if (!batch->items || !batch->sizes)
        return sb_fail_memory();
    if (check->options->quick)
        return SB_OK;
    batch->stored = malloc((size_t)BAG_READ_BYTES);
    batch->decoded = malloc(DECODED_BYTES);
    if (!batch->stored || !batch->decoded)
        return sb_fail_memory();
    return sb_decoder_new(&batch->decoder, check->options->bag.dictionary);
}

void sb_bag_batch_close(struct bag_batch *batch)
{
    sb_file_free(batch->records);
    sb_file_free(batch->separate);
    batch->records = batch->separate = NULL;
    batch->limits.file = NULL;
    batch->limits.count = 0;
}

void sb_bag_batch_release(struct bag_batch *batch)
{
    if (!batch->check)
        return;
    sb_bag_batch_close(batch);
    sb_decoder_free(batch->decoder);
    sb_buf_release(&batch->text);
    free(batch->decoded);
    free(batch->stored);
    free(batch->sizes);
    free(batch->items);
}

enum sb_code sb_bag_batch_open(struct bag_batch *batch, uint32_t number)
{
    const struct bag_file *file = &batch->check->files[number];
    struct sb_buf name = {0};
    enum sb_code code;

    if (batch->limits.file == file)
        return SB_OK;
    sb_bag_batch_close(batch);
    code = sb_file_open(&batch->records, file->path, "bag");
    if (!code && file->separate && !file->walked) {
        code = sb_limits_name(file->path, &name);
        code = code ? sb_fail_memory() : sb_file_open(&batch->separate, name.data, "limits file");
        sb_buf_release(&name);
    }
    if (code)
        return code;
    batch->limits.file = file;
    batch->limits.bytes = file->walked     ? batch->check->walked_limits
                          : file->separate ? batch->separate
                                           : batch->records;
    return SB_OK;
}

/* Marks the item as damaged; returns only errors that end the work as a whole. */
static enum sb_code spoil(struct bag_batch *batch, struct bag_item *item, const char *text)
{
    item->state = BAG_ITEM_DAMAGED;
    item->text = batch->text.size + 1;
    if (sb_buf_add(&batch->text, text, strlen(text) + 1))
        return SB_NOMEM;
    return SB_OK;
}

static enum sb_code spoil_by(struct bag_batch *batch, struct bag_item *item)
{
    if (sb_error()->code == SB_NOMEM || sb_error()->code == SB_INTERRUPT)
        return sb_error()->code;
    return spoil(batch, item, sb_error()->text) ? sb_fail_memory() : SB_OK;
}

/* From limits to the extent, or to their defect. */

static enum sb_code spoil_by_limits(struct bag_batch *batch, struct bag_item *item,
                                    const struct bag_extent *extent)
{
    uint64_t bytes = (uint64_t)batch->limits.file->bytes;
    char text[160];

    item->state = BAG_ITEM_DAMAGED;
    item->limits = true;
    if (extent->bad_end && extent->end > bytes)
        snprintf(text, sizeof(text),
                 "its limit, %" PRIu64 ", lies beyond the records, which end at "
                 "%" PRIu64,
                 extent->end, bytes);
    else if (extent->bad_end)
        snprintf(text, sizeof(text), "its limit, %" PRIu64 ", is out of order with those beside it",
                 extent->end);
    else if (batch->check->result->selected)
        snprintf(text, sizeof(text), "the limit before its own, %" PRIu64 ", is wrong",
                 extent->start);
    else
        return SB_OK; /* that limit has a line of its own */
    return spoil(batch, item, text) ? sb_fail_memory() : SB_OK;
}

static enum sb_code locate(struct bag_batch *batch, struct bag_item *item)
{
    struct bag_extent extent;
    uint64_t bytes = (uint64_t)batch->limits.file->bytes;

    item->offset = -1;
    if (sb_bag_limits_extent(&batch->limits, item->index, &extent)) {
        item->limits = true;
        return spoil_by(batch, item);
    }
    if (extent.start <= extent.end && extent.end <= bytes) {
        item->offset = (int64_t)extent.start;
        item->size = (int64_t)(extent.end - extent.start);
    }
    if (extent.bad_start || extent.bad_end)
        return spoil_by_limits(batch, item, &extent);
    return SB_OK;
}

/* Reading. */

enum sb_code sb_bag_batch_read(struct bag_batch *batch, int64_t offset, size_t size, size_t *got)
{
    return sb_interrupted() ? sb_fail_interrupt()
                            : sb_file_read(batch->records, batch->stored, size, offset, got);
}

static enum sb_code pass_over(void *context, const void *data, size_t size)
{
    (void)context;
    (void)data;
    (void)size;
    return sb_heed_interrupt();
}

static void note_checksum(const struct bag_batch *batch, struct bag_item *item,
                          const unsigned char *stored)
{
    item->unchecked = item->size > DESCRIPTOR_AT &&
                      !(batch->limits.file->zstd && (stored[DESCRIPTOR_AT] & CHECKSUM_FLAG));
    item->unchecked |= item->size > 0 && !batch->limits.file->zstd;
}

/* A record whose stored bytes are in memory. */
static enum sb_code check_stored(struct bag_batch *batch, struct bag_item *item,
                                 const unsigned char *stored)
{
    size_t size;
    enum sb_code code;

    note_checksum(batch, item, stored);
    if (!batch->limits.file->zstd || item->size == 0)
        return SB_OK;
    code =
        sb_decode(batch->decoder, stored, (size_t)item->size, batch->decoded, DECODED_BYTES, &size);
    if (code != SB_LIMIT)
        return code;
    code = sb_decode_begin(batch->decoder);
    if (!code)
        code = sb_decode_more(batch->decoder, stored, (size_t)item->size, pass_over, NULL);
    if (!code)
        code = sb_decode_end(batch->decoder);
    return code;
}

static enum sb_code cut_short(int64_t at)
{
    return sb_fail(SB_DAMAGED, "the file ends at %lld, before it does", (long long)at);
}

/* A record that is larger than one read. */
static enum sb_code check_large(struct bag_batch *batch, struct bag_item *item)
{
    bool zstd = batch->limits.file->zstd;
    int64_t done = 0;
    size_t got;
    enum sb_code code = zstd ? sb_decode_begin(batch->decoder) : SB_OK;

    while (!code && done < item->size) {
        int64_t left = item->size - done;
        size_t size = (size_t)(left < BAG_READ_BYTES ? left : BAG_READ_BYTES);

        code = sb_bag_batch_read(batch, item->offset + done, size, &got);
        if (!code && got < size)
            code = cut_short(item->offset + done + (int64_t)got);
        if (!code && done == 0)
            note_checksum(batch, item, batch->stored);
        if (!code && zstd)
            code = sb_decode_more(batch->decoder, batch->stored, got, pass_over, NULL);
        done += (int64_t)size;
    }
    if (!code && zstd)
        code = sb_decode_end(batch->decoder);
    return code;
}

size_t sb_bag_batch_adjacent(const struct bag_batch *batch, size_t first, int64_t *bytes)
{
    const struct bag_item *items = batch->items;
    size_t i = first + 1;

    *bytes = items[first].size;
    while (i < batch->count && items[i].state == BAG_ITEM_SOUND &&
           items[i].file == items[first].file && items[i].offset == items[first].offset + *bytes &&
           *bytes + items[i].size <= BAG_READ_BYTES)
        *bytes += items[i++].size;
    return i - first;
}

static enum sb_code check_run(struct bag_batch *batch, struct bag_item *items, size_t count,
                              int64_t bytes)
{
    int64_t at = 0;
    size_t got = 0;
    enum sb_code code = SB_OK, failed;

    failed = bytes > 0 ? sb_bag_batch_read(batch, items[0].offset, (size_t)bytes, &got) : SB_OK;
    for (size_t i = 0; i < count && !code; at += items[i++].size) {
        if (!failed && at + items[i].size > (int64_t)got)
            code = cut_short(items[0].offset + (int64_t)got);
        else
            code = failed ? failed : check_stored(batch, &items[i], batch->stored + at);
        if (code)
            code = spoil_by(batch, &items[i]);
    }
    return code;
}

/* After a wrong limit a record is nevertheless sound if a frame ends exactly at the next limit. */
static enum sb_code look_again(struct bag_batch *batch, struct bag_item *item)
{
    size_t got;
    enum sb_code code;

    if (!batch->limits.file->zstd || item->offset < 0 || item->size == 0 ||
        item->size > BAG_READ_BYTES)
        return SB_OK;
    code = sb_bag_batch_read(batch, item->offset, (size_t)item->size, &got);
    if (!code && (int64_t)got == item->size) {
        code = check_stored(batch, item, batch->stored);
        item->state = code ? BAG_ITEM_DAMAGED : BAG_ITEM_SOUND;
    }
    return code == SB_NOMEM || code == SB_INTERRUPT ? code : SB_OK;
}

static enum sb_code read_items(struct bag_batch *batch, size_t first, size_t end)
{
    enum sb_code code = SB_OK;
    size_t count = 1;

    for (size_t i = first; i < end && !code; i += count) {
        struct bag_item *item = &batch->items[i];
        int64_t bytes;

        count = 1;
        if (item->state == BAG_ITEM_ABSENT)
            continue;
        if (item->state == BAG_ITEM_DAMAGED) {
            code = item->limits ? look_again(batch, item) : SB_OK;
        } else if (item->size > BAG_READ_BYTES) {
            code = check_large(batch, item);
            if (code)
                code = spoil_by(batch, item);
        } else {
            count = sb_bag_batch_adjacent(batch, i, &bytes);
            code = check_run(batch, item, count, bytes);
        }
    }
    return code;
}

/* The items of one file. If it cannot be opened, that is reported once for all of them. */
static enum sb_code check_file(struct bag_batch *batch, size_t first, size_t end)
{
    enum sb_code code;

    if (!batch->check->files[batch->items[first].file].usable)
        return SB_OK;
    code = sb_bag_batch_open(batch, batch->items[first].file);
    if (code) {
        for (size_t i = first; i < end; i++)
            batch->items[i].state = BAG_ITEM_DAMAGED;
        return spoil_by(batch, &batch->items[first]);
    }
    for (size_t i = first; i < end && !code; i++) {
        if (batch->items[i].state != BAG_ITEM_ABSENT)
            code = locate(batch, &batch->items[i]);
    }
    if (!code && !batch->check->options->quick)
        code = read_items(batch, first, end);
    return code;
}

static int by_place(const void *a, const void *b)
{
    const struct bag_item *one = a, *other = b;

    if (one->file != other->file)
        return one->file < other->file ? -1 : 1;
    return (one->index > other->index) - (one->index < other->index);
}

static int by_sequence(const void *a, const void *b)
{
    const struct bag_item *one = a, *other = b;

    return (one->sequence > other->sequence) - (one->sequence < other->sequence);
}

/* Sorts the items, which usually are in order already. */
static void sort(struct bag_batch *batch, int (*order)(const void *, const void *))
{
    const struct bag_item *items = batch->items;
    size_t i = 1;

    while (i < batch->count && order(&items[i - 1], &items[i]) <= 0)
        i++;
    if (i < batch->count)
        qsort(batch->items, batch->count, sizeof(*batch->items), order);
}

static void count_bytes(struct bag_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct bag_item *item = &batch->items[i];

        sb_count_up(&batch->bytes_passed, item->offset >= 0 ? item->size : 0);
        if (item->state == BAG_ITEM_SOUND && !batch->check->options->quick)
            sb_count_up(&batch->bytes_read, item->size);
    }
}

enum sb_code sb_bag_batch_check(struct bag_batch *batch)
{
    size_t end;
    enum sb_code code = SB_OK;

    sb_buf_clear(&batch->text);
    batch->bytes_read = batch->bytes_passed = batch->written = batch->emptied = 0;
    sort(batch, by_place);
    for (size_t i = 0; i < batch->count && !code; i = end) {
        for (end = i + 1; end < batch->count && batch->items[end].file == batch->items[i].file;)
            end++;
        code = check_file(batch, i, end);
    }
    if (!batch->check->writer)
        sb_bag_batch_close(batch);
    if (code)
        return code;
    sort(batch, by_sequence);
    count_bytes(batch);
    return SB_OK;
}
