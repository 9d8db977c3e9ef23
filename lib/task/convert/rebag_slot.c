#include "core/array.h"
#include "task/convert/rebag.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool sb_rebag_moves(const struct sb_rebag_work *work, uint32_t shard)
{
    bool zstd = sb_bag_shard(work->bag, shard)->zstd;

    if (zstd != work->encodes)
        return false;
    return !zstd || (work->options->same_dictionary && !work->options->decode);
}

enum sb_code sb_rebag_coder_make(struct sb_rebag_coder *coder, const struct sb_rebag_work *work)
{
    const struct sb_rebag_options *options = work->options;

    if (coder->scratch)
        return SB_OK;
    if (!coder->reader)
        TRY(sb_bag_reader_new(&coder->reader, work->bag));
    if (work->encodes && !coder->encoder)
        TRY(sb_encoder_new(&coder->encoder, options->dictionary, options->level));
    if (!(coder->scratch = malloc(SB_REBAG_CAPACITY)))
        return sb_fail_memory();
    return SB_OK;
}

void sb_rebag_coder_release(struct sb_rebag_coder *coder)
{
    sb_bag_reader_free(coder->reader);
    sb_encoder_free(coder->encoder);
    free(coder->scratch);
    *coder = (struct sb_rebag_coder){0};
}

/* Appends the record in the writer's form. SB_LIMIT, without text: it must be streamed. */
static enum sb_code encode(struct sb_rebag_coder *coder, const struct sb_rebag_work *work,
                           uint32_t shard, const void *stored, size_t stored_size,
                           struct sb_buf *out)
{
    const void *record = stored;
    size_t size = stored_size;

    if (sb_bag_shard(work->bag, shard)->zstd) {
        TRY(sb_bag_decode(coder->reader, shard, stored, stored_size, coder->scratch,
                          SB_REBAG_CAPACITY, &size));
        record = coder->scratch;
    }
    if (size > SB_REBAG_CAPACITY)
        return SB_LIMIT;
    if (work->encodes)
        return sb_encode(coder->encoder, record, size, out);
    return sb_buf_add(out, record, size);
}

void sb_rebag_slot_clear(struct sb_rebag_slot *slot)
{
    slot->count = 0;
    slot->ready = 0;
    slot->damaged = 0;
    sb_buf_clear(&slot->stored);
    sb_buf_clear(&slot->out);
}

void sb_rebag_slot_release(struct sb_rebag_slot *slot)
{
    sb_rebag_coder_release(&slot->coder);
    sb_buf_release(&slot->stored);
    sb_buf_release(&slot->out);
    sb_events_release(&slot->events);
}

void sb_rebag_name_record(int64_t record)
{
    char text[sizeof(sb_error()->text)];

    if (strncmp(sb_error()->text, "record ", strlen("record ")) == 0)
        return;
    memcpy(text, sb_error()->text, sizeof(text));
    (void)sb_fail(sb_error()->code, "record %" PRId64 ": %s", record, text);
}

/* Damage affects only this record; any other error is returned. */
static enum sb_code leave_out(struct sb_rebag_slot *slot, const struct sb_rebag_work *work,
                              struct sb_rebag_record *record)
{
    if (sb_error()->code != SB_DAMAGED)
        return sb_error()->code;
    record->state = SB_REBAG_LEFT;
    slot->damaged++;
    sb_rebag_name_record(record->number);
    return sb_events_add(&slot->events, SB_PROBLEM, "damaged", sb_bag_name(work->bag),
                         sb_error()->text);
}

static int compare_places(const void *a, const void *b, void *context)
{
    const struct sb_rebag_record *records = context;
    const struct sb_place *first = &records[*(const uint16_t *)a].place;
    const struct sb_place *second = &records[*(const uint16_t *)b].place;
    int shards = COMPARE(first->shard, second->shard);

    return shards ? shards : COMPARE(first->index, second->index);
}

/* How many records, by place from `from` on, follow each other in one shard. */
static size_t neighbours(const struct sb_rebag_slot *slot, size_t from)
{
    const struct sb_place *first = &slot->records[slot->order[from]].place;
    size_t count = 1;

    while (from + count < slot->count) {
        const struct sb_place *next = &slot->records[slot->order[from + count]].place;

        if (next->shard != first->shard || next->index != first->index + (int64_t)count)
            break;
        count++;
    }
    return count;
}

static enum sb_code locate_neighbours(struct sb_rebag_slot *slot, const struct sb_rebag_work *work,
                                      size_t from, size_t count)
{
    struct sb_extent extents[SB_REBAG_RECORDS];

    while (count > 0) {
        const struct sb_rebag_record *first = &slot->records[slot->order[from]];
        size_t good = 0;
        enum sb_code code = sb_bag_extents(slot->coder.reader, first->place, count, extents, &good);

        if (!code)
            good = count;
        for (size_t i = 0; i < good; i++)
            slot->records[slot->order[from + i]].extent = extents[i];
        from += good;
        count -= good;
        if (!code || count == 0)
            return code;
        TRY(leave_out(slot, work, &slot->records[slot->order[from]]));
        from++;
        count--;
    }
    return SB_OK;
}

/* In the order of the output: the last ones are those that do not fit. */
static void choose_those_that_fit(struct sb_rebag_slot *slot)
{
    size_t capacity = SB_REBAG_BYTES;

    for (size_t i = 0; i < slot->count; i++) {
        struct sb_rebag_record *record = &slot->records[i];

        if (record->state != SB_REBAG_NEW)
            continue;
        if (record->extent.size > (int64_t)capacity) {
            record->state = SB_REBAG_LATE;
            continue;
        }
        capacity -= (size_t)record->extent.size;
        record->state = SB_REBAG_READ;
    }
}

/* How many records, by place from `from` on, have adjacent bytes, and how many bytes. */
static size_t adjoining(const struct sb_rebag_slot *slot, size_t from, size_t *bytes)
{
    const struct sb_extent *first = &slot->records[slot->order[from]].extent;
    size_t count = 0;

    *bytes = 0;
    while (from + count < slot->count) {
        const struct sb_rebag_record *next = &slot->records[slot->order[from + count]];

        if (next->state != SB_REBAG_READ || next->extent.shard != first->shard ||
            next->extent.offset != first->offset + (int64_t)*bytes)
            break;
        *bytes += (size_t)next->extent.size;
        count++;
    }
    return count;
}

static enum sb_code read_adjoining(struct sb_rebag_slot *slot, const struct sb_rebag_work *work,
                                   size_t from, size_t count, size_t bytes)
{
    const struct sb_extent *first = &slot->records[slot->order[from]].extent;
    size_t at = slot->stored.size;
    enum sb_code code;

    TRY(sb_buf_reserve(&slot->stored, bytes + 1));
    code =
        sb_bag_read(slot->coder.reader, first->shard, first->offset, slot->stored.data + at, bytes);
    for (size_t i = 0; i < count; i++) {
        struct sb_rebag_record *record = &slot->records[slot->order[from + i]];

        record->stored_at = at;
        at += (size_t)record->extent.size;
        if (code == SB_DAMAGED && record->extent.size > 0 && leave_out(slot, work, record))
            return sb_error()->code;
    }
    slot->stored.size = at;
    return code == SB_DAMAGED ? SB_OK : code;
}

static enum sb_code read_stored(struct sb_rebag_slot *slot, const struct sb_rebag_work *work)
{
    size_t count, bytes;

    for (size_t from = 0; from < slot->count; from += count) {
        count = adjoining(slot, from, &bytes);
        if (count > 0)
            TRY(read_adjoining(slot, work, from, count, bytes));
        else
            count = 1;
    }
    return SB_OK;
}

static enum sb_code make_ready(struct sb_rebag_slot *slot, const struct sb_rebag_work *work,
                               struct sb_rebag_record *record)
{
    size_t before = slot->out.size, size = (size_t)record->extent.size;
    const char *stored = slot->stored.data + record->stored_at;
    enum sb_code code = SB_OK;

    if (before >= SB_REBAG_BYTES) {
        record->state = SB_REBAG_LATE;
        return SB_OK;
    }
    if (!sb_rebag_moves(work, record->place.shard))
        code = encode(&slot->coder, work, record->place.shard, stored, size, &slot->out);
    else if (sb_buf_add(&slot->out, stored, size))
        code = sb_fail_memory();
    if (code)
        sb_buf_cut(&slot->out, before);
    if (code == SB_LIMIT) {
        record->state = SB_REBAG_LATE;
        return SB_OK;
    }
    if (code)
        return leave_out(slot, work, record);
    record->state = SB_REBAG_READY;
    slot->sizes[slot->ready++] = slot->out.size - before;
    return SB_OK;
}

enum sb_code sb_rebag_slot_work(struct sb_rebag_slot *slot, const struct sb_rebag_work *work)
{
    TRY(sb_rebag_coder_make(&slot->coder, work));
    for (size_t i = 0; i < slot->count; i++)
        slot->order[i] = (uint16_t)i;
    qsort_r(slot->order, slot->count, sizeof(*slot->order), compare_places, slot->records);
    for (size_t from = 0, count; from < slot->count; from += count) {
        count = neighbours(slot, from);
        TRY(locate_neighbours(slot, work, from, count));
    }
    choose_those_that_fit(slot);
    TRY(read_stored(slot, work));
    for (size_t i = 0; i < slot->count; i++) {
        if (slot->records[i].state == SB_REBAG_READ)
            TRY(make_ready(slot, work, &slot->records[i]));
    }
    return SB_OK;
}
