#include "core/array.h"
#include "core/interrupt.h"
#include "core/number.h"
#include "task/verify/bag_impl.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DECODED_BYTES ((size_t)256 << 10) /* longer records are decoded in blocks */
#define CHECKSUM_FLAG 0x04                /* of a frame's descriptor (RFC 8878, 3.1.1.1.1) */
#define DESCRIPTOR_AT 4
#define LIMITS_BEFORE 2 /* before the requested one, which are looked at too */

/* Where a record begins and ends, and whether those limits are credible. */
struct bag_extent {
    uint64_t start, end;
    bool bad_start, bad_end;
};

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

static void close_files(struct bag_batch *batch)
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
    close_files(batch);
    sb_decoder_free(batch->decoder);
    sb_buf_release(&batch->text);
    free(batch->decoded);
    free(batch->stored);
    free(batch->sizes);
    free(batch->items);
}

/* Both files of a shard have a number of their own among those that are open. */
static enum sb_code open_file(struct bag_batch *batch, uint32_t number, const char *path,
                              const char *what, struct sb_file **out)
{
    struct sb_open_files *files = &batch->check->open_files;

    *out = sb_open_files_find(files, number, 0);
    if (*out)
        return SB_OK;
    TRY(sb_file_open(out, path, what));
    sb_open_files_keep(files, number, 0, *out);
    return SB_OK;
}

static enum sb_code open_files(struct bag_batch *batch, uint32_t number)
{
    const struct bag_file *file = &batch->check->files[number];
    CLEANUP(sb_buf_release) struct sb_buf name = {0};

    if (batch->limits.file == file)
        return SB_OK;
    close_files(batch);
    TRY(open_file(batch, 2 * number, file->path, "bag", &batch->records));
    if (file->separate && !file->walked) {
        TRY(sb_limits_name(file->path, &name));
        TRY(open_file(batch, 2 * number + 1, name.data, "limits file", &batch->separate));
    }
    batch->limits.file = file;
    batch->limits.bytes = file->walked     ? batch->check->walked_limits
                          : file->separate ? batch->separate
                                           : batch->records;
    return SB_OK;
}

/* Limits. */

enum blame { NEITHER, FIRST, SECOND, BOTH };

static enum sb_code load_limits(struct bag_limits *limits, int64_t index)
{
    const struct bag_file *file = limits->file;
    int64_t first = index > LIMITS_BEFORE ? index - LIMITS_BEFORE : 0;
    size_t count = ARRAY_SIZE(limits->values), got;

    if ((int64_t)count > file->records - first)
        count = (size_t)(file->records - first);
    limits->count = 0;
    TRY(sb_file_read(limits->bytes, limits->values, count * sizeof(uint64_t),
                     file->limits_at + first * (int64_t)sizeof(uint64_t), &got));
    if (got < count * sizeof(uint64_t))
        return sb_fail(SB_DAMAGED, "%s: its limits end early", file->path);
    limits->first = first;
    limits->count = count;
    return SB_OK;
}

/* Is the limit fixed? The last limit at a tail is, because the file was opened by it. */
static bool is_set(const struct bag_file *file, int64_t index)
{
    return index < 0 || index >= file->records - (file->separate && !file->walked ? 0 : 1);
}

/* Records begin at 0, and end where the file says. */
static enum sb_code limit(struct bag_limits *limits, int64_t index, uint64_t *out)
{
    if (is_set(limits->file, index)) {
        *out = index < 0 ? 0 : (uint64_t)limits->file->bytes;
        return SB_OK;
    }
    if (index < limits->first || index - limits->first >= (int64_t)limits->count)
        TRY(load_limits(limits, index));
    *out = le64toh(limits->values[index - limits->first]);
    return SB_OK;
}

/*
 * The limits `at` and the next one are out of order: which of them is wrong? The one without which
 * the others are in order; both, if that does not decide.
 */
static enum sb_code blame(struct bag_limits *limits, int64_t at, enum blame *out)
{
    uint64_t around[4], end = (uint64_t)limits->file->bytes;
    bool without_first, without_second;

    for (int i = 0; i < 4; i++) {
        TRY(limit(limits, at - 1 + i, &around[i]));
    }
    if (around[1] <= around[2] || around[1] > end) {
        *out = NEITHER;
        return SB_OK;
    }
    without_first = around[0] <= around[2] || around[0] > end;
    without_second = around[1] <= around[3];
    *out = without_first == without_second ? BOTH : without_first ? FIRST : SECOND;
    return SB_OK;
}

static enum sb_code is_bad(struct bag_limits *limits, int64_t index, uint64_t value, bool *bad)
{
    enum blame before = NEITHER, after = NEITHER;

    *bad = false;
    if (is_set(limits->file, index))
        return SB_OK;
    *bad = value > (uint64_t)limits->file->bytes;
    if (*bad)
        return SB_OK;
    TRY(blame(limits, index - 1, &before));
    TRY(blame(limits, index, &after));
    *bad = before == SECOND || before == BOTH || after == FIRST || after == BOTH;
    return SB_OK;
}

/* Two limits and their neighbours, in the window and in order. */
static bool is_in_order(const struct bag_limits *limits, int64_t index, struct bag_extent *out)
{
    int64_t at = index - limits->first;
    uint64_t around[4];

    if (at < 2 || at + 1 >= (int64_t)limits->count)
        return false;
    for (int i = 0; i < 4; i++)
        around[i] = le64toh(limits->values[at - 2 + i]);
    *out = (struct bag_extent){.start = around[1], .end = around[2]};
    return around[0] <= around[1] && around[1] <= around[2] && around[2] <= around[3] &&
           around[3] <= (uint64_t)limits->file->bytes;
}

static enum sb_code find_extent(struct bag_limits *limits, int64_t index, struct bag_extent *out)
{
    if (is_in_order(limits, index, out))
        return SB_OK;
    TRY(limit(limits, index - 1, &out->start));
    TRY(limit(limits, index, &out->end));
    TRY(is_bad(limits, index - 1, out->start, &out->bad_start));
    return is_bad(limits, index, out->end, &out->bad_end);
}

/* Marks the item as damaged; returns only errors that end the work as a whole. */
static enum sb_code spoil(struct bag_batch *batch, struct bag_item *item, const char *text)
{
    item->state = BAG_ITEM_DAMAGED;
    item->text = batch->text.size + 1;
    return sb_buf_add(&batch->text, text, strlen(text) + 1);
}

static enum sb_code spoil_by(struct bag_batch *batch, struct bag_item *item)
{
    if (sb_error()->code == SB_NOMEM || sb_error()->code == SB_INTERRUPT)
        return sb_error()->code;
    return spoil(batch, item, sb_error()->text);
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
    return spoil(batch, item, text);
}

static enum sb_code locate(struct bag_batch *batch, struct bag_item *item)
{
    struct bag_extent extent;
    uint64_t bytes = (uint64_t)batch->limits.file->bytes;

    item->offset = -1;
    if (find_extent(&batch->limits, item->index, &extent)) {
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

static enum sb_code read_stored(struct bag_batch *batch, int64_t offset, size_t size, size_t *got)
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
    TRY(sb_decode_begin(batch->decoder));
    TRY(sb_decode_more(batch->decoder, stored, (size_t)item->size, pass_over, NULL));
    return sb_decode_end(batch->decoder);
}

static enum sb_code cut_short(int64_t at)
{
    return sb_fail(SB_DAMAGED, "the file ends at %lld, before it does", (long long)at);
}

/* A record that is larger than one read. */
static enum sb_code check_large(struct bag_batch *batch, struct bag_item *item)
{
    bool zstd = batch->limits.file->zstd;
    size_t got;

    if (zstd)
        TRY(sb_decode_begin(batch->decoder));
    for (int64_t done = 0; done < item->size; done += BAG_READ_BYTES) {
        int64_t left = item->size - done;
        size_t size = (size_t)(left < BAG_READ_BYTES ? left : BAG_READ_BYTES);

        TRY(read_stored(batch, item->offset + done, size, &got));
        if (got < size)
            return cut_short(item->offset + done + (int64_t)got);
        if (done == 0)
            note_checksum(batch, item, batch->stored);
        if (zstd)
            TRY(sb_decode_more(batch->decoder, batch->stored, got, pass_over, NULL));
    }
    return zstd ? sb_decode_end(batch->decoder) : SB_OK;
}

static size_t count_adjacent(const struct bag_batch *batch, size_t first, int64_t *bytes)
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

    failed = bytes > 0 ? read_stored(batch, items[0].offset, (size_t)bytes, &got) : SB_OK;
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
    code = read_stored(batch, item->offset, (size_t)item->size, &got);
    if (!code && (int64_t)got == item->size) {
        code = check_stored(batch, item, batch->stored);
        item->state = code ? BAG_ITEM_DAMAGED : BAG_ITEM_SOUND;
    }
    return code == SB_NOMEM || code == SB_INTERRUPT ? code : SB_OK;
}

static enum sb_code read_items(struct bag_batch *batch, size_t first, size_t end)
{
    size_t count;

    for (size_t i = first; i < end; i += count) {
        struct bag_item *item = &batch->items[i];
        int64_t bytes;

        count = 1;
        if (item->state == BAG_ITEM_ABSENT)
            continue;
        if (item->state == BAG_ITEM_DAMAGED) {
            if (item->limits)
                TRY(look_again(batch, item));
        } else if (item->size > BAG_READ_BYTES) {
            if (check_large(batch, item))
                TRY(spoil_by(batch, item));
        } else {
            count = count_adjacent(batch, i, &bytes);
            TRY(check_run(batch, item, count, bytes));
        }
    }
    return SB_OK;
}

/* The items of one file. If it cannot be opened, that is reported once for all of them. */
static enum sb_code check_file(struct bag_batch *batch, size_t first, size_t end)
{
    if (!batch->check->files[batch->items[first].file].usable)
        return SB_OK;
    if (open_files(batch, batch->items[first].file)) {
        for (size_t i = first; i < end; i++)
            batch->items[i].state = BAG_ITEM_DAMAGED;
        return spoil_by(batch, &batch->items[first]);
    }
    for (size_t i = first; i < end; i++) {
        if (batch->items[i].state != BAG_ITEM_ABSENT)
            TRY(locate(batch, &batch->items[i]));
    }
    return batch->check->options->quick ? SB_OK : read_items(batch, first, end);
}

static int by_place(const void *a, const void *b)
{
    const struct bag_item *one = a, *other = b;

    return one->file != other->file ? COMPARE(one->file, other->file)
                                    : COMPARE(one->index, other->index);
}

static int by_sequence(const void *a, const void *b)
{
    const struct bag_item *one = a, *other = b;

    return COMPARE(one->sequence, other->sequence);
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
        close_files(batch);
    if (code)
        return code;
    sort(batch, by_sequence);
    for (size_t i = 0; i < batch->count; i++) {
        const struct bag_item *item = &batch->items[i];

        sb_count_up(&batch->bytes_passed, item->offset >= 0 ? item->size : 0);
        if (item->state == BAG_ITEM_SOUND && !batch->check->options->quick)
            sb_count_up(&batch->bytes_read, item->size);
    }
    return SB_OK;
}

/* Repair. */

/* The file shrank since it was checked. */
static enum sb_code became_short(const struct bag_batch *batch)
{
    return sb_fail(SB_CHANGED, "%s: became shorter while it was read", batch->limits.file->path);
}

static enum sb_code write_large(struct bag_batch *batch, const struct bag_item *item)
{
    size_t got;

    for (int64_t done = 0; done < item->size; done += BAG_READ_BYTES) {
        int64_t left = item->size - done;
        size_t size = (size_t)(left < BAG_READ_BYTES ? left : BAG_READ_BYTES);

        TRY(read_stored(batch, item->offset + done, size, &got));
        if (got < size)
            return became_short(batch);
        TRY(sb_bag_writer_piece(batch->check->writer, batch->stored, size));
    }
    return sb_bag_writer_end_record(batch->check->writer);
}

static enum sb_code write_run(struct bag_batch *batch, const struct bag_item *items, size_t count,
                              int64_t bytes)
{
    size_t got = 0;

    if (bytes > 0)
        TRY(read_stored(batch, items[0].offset, (size_t)bytes, &got));
    if ((int64_t)got < bytes)
        return became_short(batch);
    for (size_t i = 0; i < count; i++)
        batch->sizes[i] = (size_t)items[i].size;
    return sb_bag_writer_add(batch->check->writer, batch->stored, batch->sizes, count);
}

static enum sb_code write_items(struct bag_batch *batch)
{
    size_t count, nothing = 0;
    int64_t bytes;

    for (size_t i = 0; i < batch->count; i += count) {
        const struct bag_item *item = &batch->items[i];
        bool sound = item->state == BAG_ITEM_SOUND;

        count = 1;
        if (!sound && !batch->check->options->keep_numbers)
            continue;
        if (sound)
            TRY(open_files(batch, item->file));
        if (!sound) {
            TRY(sb_bag_writer_add(batch->check->writer, "", &nothing, 1));
            batch->emptied++;
        } else if (item->size > BAG_READ_BYTES) {
            TRY(write_large(batch, item));
        } else {
            count = count_adjacent(batch, i, &bytes);
            TRY(write_run(batch, item, count, bytes));
        }
        batch->written += (int64_t)count;
    }
    return SB_OK;
}

enum sb_code sb_bag_batch_repair(struct bag_batch *batch)
{
    enum sb_code code = write_items(batch);

    close_files(batch);
    return code;
}
