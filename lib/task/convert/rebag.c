#include "task/convert/rebag.h"

#include "core/pace.h"
#include "core/pipeline.h"
#include "core/time.h"

#include <inttypes.h>
#include <stdlib.h>

/* A shorter run is not worth a call of its own. */
#define RUN_RECORDS 256

#define SLOTS_AHEAD 2 /* beside one for each thread */

/* Bytes copied between two reports of progress. */
#define MOVE_BYTES ((int64_t)64 << 20)

struct rebag {
    struct sb_rebag_work work;
    struct sb_record_choice *choice; /* NULL: all, once */
    bool given_all;
    struct sb_record_run run; /* count 0: another one is needed */
    struct sb_rebag_counts *counts;
    int64_t start_records;           /* of the writer */
    int64_t done_bytes, total_bytes; /* as stored in the bag */
    int64_t move_records;            /* about MOVE_BYTES in total */
    size_t slot_records;             /* for a slot of a good size */
    struct sb_pace pace;
    struct sb_rebag_coder coder; /* of the calling thread */
    struct sb_buf frame;         /* likewise */
    struct sb_rebag_slot *slots; /* NULL until they are needed */
};

static void report_progress(const struct rebag *rebag)
{
    const struct sb_rebag_options *options = rebag->work.options;

    if (options->progress)
        options->progress(options->context, rebag->done_bytes, rebag->total_bytes,
                          sb_bag_writer_records(rebag->work.writer) - rebag->start_records);
}

static void leave_out(struct rebag *rebag, int64_t record)
{
    sb_rebag_name_record(record);
    sb_report(rebag->work.options->notify, SB_PROBLEM, "damaged", sb_bag_name(rebag->work.bag),
              "%s", sb_error()->text);
    rebag->counts->damaged++;
}

/* SB_END when there are no more. */
static enum sb_code need_run(struct rebag *rebag)
{
    int64_t all = sb_bag_count(rebag->work.bag);
    enum sb_code code;

    if (rebag->run.count > 0)
        return SB_OK;
    if (!rebag->choice) {
        if (rebag->given_all || all == 0)
            return SB_END;
        rebag->given_all = true;
        rebag->run = (struct sb_record_run){.step = 1, .count = all};
        return SB_OK;
    }
    while ((code = sb_record_choice_next(rebag->choice, &rebag->run)) == SB_INVALID)
        sb_report(rebag->work.options->notify, SB_PROBLEM, "missing", sb_bag_name(rebag->work.bag),
                  "%s", sb_error()->text);
    return code;
}

/* How many records, from the next one on, are adjacent in a shard that is copied unchanged. */
static int64_t movable_records(const struct rebag *rebag)
{
    const struct sb_record_run *run = &rebag->run;
    struct sb_bag *bag = rebag->work.bag;
    struct sb_place place = sb_bag_place_of(bag, run->first);
    int64_t left = sb_bag_shard(bag, place.shard)->records - place.index;
    bool follow = run->step == 1 && (sb_bag_shard_count(bag) == 1 ||
                                     sb_bag_options_of(bag)->layout == SB_LAYOUT_CONCATENATED);

    if (!follow || !sb_rebag_moves(&rebag->work, place.shard))
        return 0;
    return run->count < left ? run->count : left;
}

static void pass_over(struct sb_record_run *run, int64_t count)
{
    run->first += run->step * count;
    run->count -= count;
}

/* Copies adjacent records unchanged. */
static enum sb_code move_run(struct rebag *rebag, int64_t count)
{
    struct sb_bag_writer *writer = rebag->work.writer;

    TRY(sb_rebag_coder_make(&rebag->coder, &rebag->work));
    while (count > 0) {
        int64_t before = sb_bag_writer_records(writer), bytes = sb_bag_writer_bytes(writer);
        struct sb_place place = sb_bag_place_of(rebag->work.bag, rebag->run.first);
        int64_t wanted = count < rebag->move_records ? count : rebag->move_records, moved;
        enum sb_code code = sb_bag_writer_add_run(writer, rebag->coder.reader, place, wanted);

        moved = sb_bag_writer_records(writer) - before;
        pass_over(&rebag->run, moved);
        count -= moved;
        rebag->done_bytes += sb_bag_writer_bytes(writer) - bytes;
        report_progress(rebag);
        if (code == SB_DAMAGED) {
            leave_out(rebag, rebag->run.first);
            pass_over(&rebag->run, 1);
            count--;
        } else if (code) {
            return code;
        }
    }
    return SB_OK;
}

static enum sb_code fill(void *context, void *slot_)
{
    struct rebag *rebag = context;
    struct sb_rebag_slot *slot = slot_;
    size_t most = sb_pace_limit(&rebag->pace, rebag->slot_records);
    enum sb_code code = SB_OK;

    sb_rebag_slot_clear(slot);
    while (slot->count < most) {
        struct sb_rebag_record *record = &slot->records[slot->count];

        code = need_run(rebag);
        if (code || movable_records(rebag) >= RUN_RECORDS)
            break;
        *record =
            (struct sb_rebag_record){.number = rebag->run.first,
                                     .place = sb_bag_place_of(rebag->work.bag, rebag->run.first)};
        pass_over(&rebag->run, 1);
        slot->count++;
    }
    if (code && code != SB_END)
        return code;
    return slot->count > 0 ? SB_OK : SB_END;
}

static enum sb_code work(void *context, void *slot_, struct sb_pipeline *turns)
{
    const struct rebag *rebag = context;
    struct sb_rebag_slot *slot = slot_;
    int64_t began = sb_clock_ns();
    enum sb_code code = sb_rebag_slot_work(slot, &rebag->work);

    (void)turns;
    slot->took = sb_clock_ns() - began;
    return code;
}

static enum sb_code add_piece(void *context, const void *data, size_t size)
{
    return sb_bag_writer_piece(context, data, size);
}

static enum sb_code encode_piece(void *context, const void *data, size_t size)
{
    struct rebag *rebag = context;

    return sb_encode_more(rebag->coder.encoder, data, size, add_piece, rebag->work.writer);
}

enum sb_code sb_rebag_drop(void *context, const void *data, size_t size)
{
    (void)context;
    (void)data;
    (void)size;
    return SB_OK;
}

/* Once a part of it is written it cannot be left out, so damage must be found first. */
static enum sb_code stream(struct rebag *rebag, const struct sb_extent *extent)
{
    struct sb_rebag_coder *coder = &rebag->coder;
    struct sb_bag_writer *writer = rebag->work.writer;
    int64_t size;
    enum sb_code code;

    TRY(sb_bag_record_size(coder->reader, extent, &size));
    TRY(sb_bag_stream(coder->reader, extent, sb_rebag_drop, NULL));
    if (rebag->work.encodes) {
        code = sb_encode_begin(coder->encoder, size);
        if (!code)
            code = sb_bag_stream(coder->reader, extent, encode_piece, rebag);
        if (!code)
            code = sb_encode_end(coder->encoder, add_piece, writer);
    } else {
        code = sb_bag_stream(coder->reader, extent, add_piece, writer);
    }
    if (!code)
        code = sb_bag_writer_end_record(writer);
    if (code == SB_DAMAGED)
        sb_error()->code = code = SB_CHANGED;
    return code;
}

static enum sb_code add_late(struct rebag *rebag, const struct sb_rebag_record *record)
{
    struct sb_rebag_work *work = &rebag->work;
    struct sb_rebag_coder *coder = &rebag->coder;
    const struct sb_extent *extent = &record->extent;
    enum sb_code code;
    size_t size;

    TRY(sb_rebag_coder_make(coder, work));
    if (sb_rebag_moves(work, extent->shard))
        return sb_bag_writer_add_run(work->writer, coder->reader, record->place, 1);
    code = sb_bag_load(coder->reader, extent, coder->scratch, SB_REBAG_CAPACITY, &size);
    if (code == SB_LIMIT)
        return stream(rebag, extent);
    if (code)
        return code;
    if (!work->encodes)
        return sb_bag_writer_add(work->writer, coder->scratch, &size, 1);
    sb_buf_clear(&rebag->frame);
    TRY(sb_encode(coder->encoder, coder->scratch, size, &rebag->frame));
    return sb_bag_writer_add(work->writer, rebag->frame.data, &rebag->frame.size, 1);
}

/* Counts ready records from `from` on, up to the next late one. */
static size_t ready_run(const struct sb_rebag_slot *slot, size_t from, size_t *end)
{
    size_t ready = 0;

    for (*end = from; *end < slot->count && slot->records[*end].state != SB_REBAG_LATE; (*end)++)
        ready += slot->records[*end].state == SB_REBAG_READY;
    return ready;
}

static enum sb_code add_slot(struct rebag *rebag, const struct sb_rebag_slot *slot)
{
    const size_t *sizes = slot->sizes;
    const char *data = slot->out.data;

    for (size_t at = 0, end; at < slot->count; at = end + 1) {
        size_t ready = ready_run(slot, at, &end);
        enum sb_code code;

        if (ready > 0)
            TRY(sb_bag_writer_add(rebag->work.writer, data, sizes, ready));
        for (; ready > 0; ready--)
            data += *sizes++;
        if (end == slot->count)
            break;
        code = add_late(rebag, &slot->records[end]);
        if (code == SB_DAMAGED)
            leave_out(rebag, slot->records[end].number);
        else if (code)
            return code;
    }
    return SB_OK;
}

/*
 * Slots that are too large leave work to the calling thread, and small ones have too much overhead.
 */
static void adapt(struct rebag *rebag, const struct sb_rebag_slot *slot)
{
    size_t bytes = slot->stored.size > slot->out.size ? slot->stored.size : slot->out.size;

    sb_pace_follow(&rebag->pace, slot->count, slot->took);
    if (bytes > SB_REBAG_BYTES / 2 && rebag->slot_records > 1)
        rebag->slot_records /= 2;
    else if (bytes < SB_REBAG_BYTES / 8 && slot->count == rebag->slot_records &&
             rebag->slot_records <= SB_REBAG_RECORDS / 2)
        rebag->slot_records *= 2;
}

static enum sb_code drain(void *context, void *slot_)
{
    struct rebag *rebag = context;
    struct sb_rebag_slot *slot = slot_;
    enum sb_code code;

    sb_events_report(&slot->events, rebag->work.options->notify);
    rebag->counts->damaged += slot->damaged;
    code = add_slot(rebag, slot);
    for (size_t i = 0; i < slot->count; i++)
        rebag->done_bytes += slot->records[i].extent.size;
    adapt(rebag, slot);
    report_progress(rebag);
    return code;
}

static enum sb_code gather(struct rebag *rebag)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work, .drain = drain};
    unsigned threads = rebag->work.options->threads, count = threads + SLOTS_AHEAD;

    if (!rebag->slots)
        rebag->slots = calloc(count, sizeof(*rebag->slots));
    if (!rebag->slots)
        return sb_fail_memory();
    return sb_pipeline_run(&ops, rebag, rebag->slots, sizeof(*rebag->slots), count, threads);
}

static enum sb_code run(struct rebag *rebag)
{
    enum sb_code code = SB_OK;

    while ((code = need_run(rebag)) == SB_OK) {
        int64_t movable = movable_records(rebag);

        TRY(movable >= RUN_RECORDS ? move_run(rebag, movable) : gather(rebag));
    }
    return code == SB_END ? SB_OK : code;
}

static void release(struct rebag *rebag)
{
    unsigned count = rebag->slots ? rebag->work.options->threads + SLOTS_AHEAD : 0;

    for (unsigned i = 0; i < count; i++)
        sb_rebag_slot_release(&rebag->slots[i]);
    free(rebag->slots);
    sb_rebag_coder_release(&rebag->coder);
    sb_buf_release(&rebag->frame);
}

static int64_t within(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

enum sb_code sb_rebag(struct sb_bag *bag, struct sb_bag_writer *writer,
                      const struct sb_rebag_options *options, struct sb_rebag_counts *counts)
{
    int64_t records = sb_bag_count(bag), bytes = 0, average;
    int64_t start_bytes = sb_bag_writer_bytes(writer);
    struct rebag rebag = {
        .work = {.bag = bag,
                 .writer = writer,
                 .options = options,
                 .encodes = sb_bag_writer_compresses(writer)},
        .choice = options->choice,
        .counts = counts,
        .start_records = sb_bag_writer_records(writer),
        .pace = sb_pace_of(options->threads),
    };
    enum sb_code code;

    for (uint32_t i = 0; i < sb_bag_shard_count(bag); i++)
        bytes += sb_bag_shard(bag, i)->bytes;
    average = records > 0 ? bytes / records + 1 : 1;
    rebag.total_bytes = options->choice ? 0 : bytes;
    rebag.slot_records = (size_t)within((int64_t)SB_REBAG_BYTES / 4 / average, 1, SB_REBAG_RECORDS);
    rebag.move_records = within(MOVE_BYTES / average, RUN_RECORDS, INT64_MAX);
    *counts = (struct sb_rebag_counts){0};
    code = run(&rebag);
    counts->records = sb_bag_writer_records(writer) - rebag.start_records;
    counts->bytes = sb_bag_writer_bytes(writer) - start_bytes;
    release(&rebag);
    return code;
}
