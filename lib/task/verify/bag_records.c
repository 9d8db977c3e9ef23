#include "task/verify/bag_impl.h"

#include "core/array.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/number.h"
#include "core/pace.h"
#include "core/pipeline.h"
#include "core/time.h"

#include <stdlib.h>
#include <string.h>

struct records {
    struct bag_check *check;
    struct sb_record_choice *from; /* NULL: `run` begins with all records */
    struct sb_record_run run;      /* what is left of it */
    size_t batch_records;
    struct sb_pace pace;
    int64_t passed; /* bytes, sound or not */
};

static void place(const struct bag_check *check, struct bag_item *item)
{
    const struct bag_file *files = check->files;

    if (check->options->bag.layout == SB_LAYOUT_INTERLEAVED) {
        item->file = (uint32_t)(item->number % check->file_count);
        item->index = item->number / check->file_count;
    } else {
        /* The last file that begins with it, or before; the first begins with 0. */
        item->file =
            (uint32_t)FIRST_WHERE(i, check->file_count - 1, files[i + 1].first > item->number);
        item->index = item->number - files[item->file].first;
    }
    item->state = item->index < files[item->file].records ? BAG_ITEM_SOUND : BAG_ITEM_ABSENT;
}

/* A single number that does not exist is reported, and the rest is done. */
static enum sb_code next_run(struct records *records)
{
    enum sb_code code = SB_END;

    while (records->from &&
           (code = sb_record_choice_next(records->from, &records->run)) == SB_INVALID)
        sb_report(records->check->notify, SB_PROBLEM, "missing", NULL, "%s", sb_error()->text);
    return code;
}

static enum sb_code fill(void *context, void *slot)
{
    struct records *records = context;
    struct bag_batch *batch = slot;
    struct sb_record_run *run = &records->run;
    const struct sb_verify_choice *choice = records->check->options->choice;
    size_t most = sb_pace_limit(&records->pace, records->batch_records);

    batch->count = 0;
    while (batch->count < most) {
        enum sb_code code = run->count > 0 ? SB_OK : next_run(records);

        if (code == SB_END)
            break;
        if (code)
            return code;
        struct bag_item *item = &batch->items[batch->count];

        *item = (struct bag_item){.number = run->first, .sequence = (uint32_t)batch->count};
        place(records->check, item);
        batch->count += !choice || !choice->has_shards ||
                        (item->file >= choice->first_shard && item->file <= choice->last_shard);
        run->first += run->step;
        run->count--;
    }
    return batch->count > 0 ? SB_OK : SB_END;
}

static enum sb_code work(void *context, void *slot, struct sb_pipeline *turns)
{
    struct records *records = context;
    struct bag_batch *batch = slot;
    int64_t began = sb_clock_ns();
    enum sb_code code = sb_bag_batch_check(batch);

    batch->took = sb_clock_ns() - began;
    if (code || !records->check->writer)
        return code;
    code = sb_turn_begin(turns, batch);
    if (code)
        return sb_fail(code, "interrupted");
    code = sb_bag_batch_repair(batch);
    sb_turn_end(turns, batch);
    return code;
}

/* Records are numbered within the set only if all of it exists. */
static void report(struct bag_check *check, const struct bag_batch *batch,
                   const struct bag_item *item)
{
    int64_t number = check->whole ? item->number : item->index;
    struct sb_defect place = sb_verify_bag_file(check, item->file);

    place.offset = item->offset;
    place.record = number;
    sb_verify_defect(check->events, SB_REMEDY_REPAIR, item->limits ? "limits" : "frame", place,
                     "record %lld%s: %s", (long long)number,
                     check->whole || check->file_count == 1 ? "" : " of this shard",
                     batch->text.data + item->text - 1);
}

static enum sb_code drain(void *context, void *slot)
{
    struct records *records = context;
    struct bag_check *check = records->check;
    struct sb_verify_result *result = check->result;
    struct bag_batch *batch = slot;

    sb_pace_follow(&records->pace, batch->count, batch->took);
    for (size_t i = 0; i < batch->count; i++) {
        const struct bag_item *item = &batch->items[i];

        if (item->state == BAG_ITEM_ABSENT)
            continue;
        result->files++;
        result->files_read += !check->options->quick;
        result->damaged += item->state == BAG_ITEM_DAMAGED;
        result->bad_frames += item->state == BAG_ITEM_DAMAGED && !item->limits;
        result->unchecked += item->unchecked;
        if (item->text) {
            TRY(sb_verify_bag_unchanged(check, item->file));
            report(check, batch, item);
        }
    }
    sb_count_up(&result->bytes, batch->bytes_read);
    sb_count_up(&result->bytes_read, batch->bytes_read);
    result->written += batch->written;
    result->emptied += batch->emptied;
    sb_count_up(&records->passed, batch->bytes_passed);
    if (check->events->progress)
        check->events->progress(check->events->context, records->passed,
                                check->options->quick || check->result->selected ? 0 : check->bytes,
                                result->files);
    return SB_OK;
}

/* As many records in a batch as make up one read. */
static size_t batch_records(const struct bag_check *check)
{
    int64_t average = check->bytes / (check->places > 0 ? check->places : 1) + 1;

    if (check->options->quick || average < BAG_READ_BYTES / BAG_BATCH_ITEMS)
        return BAG_BATCH_ITEMS;
    return average < BAG_READ_BYTES ? (size_t)(BAG_READ_BYTES / average) : 1;
}

enum sb_code sb_verify_bag_records(struct bag_check *check, struct sb_record_choice *choice)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work, .drain = drain};
    struct records records = {
        .check = check,
        .from = choice,
        .run = {.step = 1, .count = choice ? 0 : check->places},
        .batch_records = batch_records(check),
        .pace = sb_pace_of(check->options->threads),
    };
    const struct sb_verify_choice *part = check->options->choice;
    unsigned threads = check->options->threads, slots = 2 * threads + 1;
    struct bag_batch *batches = calloc(slots, sizeof(*batches));
    enum sb_code code = batches ? SB_OK : sb_fail_memory();

    if (!choice && part && part->share.count > 0)
        sb_share_run(part->share, check->places, &records.run.first, &records.run.count);
    for (unsigned i = 0; !code && i < slots; i++)
        code = sb_bag_batch_init(&batches[i], check);
    if (!code)
        code = sb_pipeline_run(&ops, &records, batches, sizeof(*batches), slots, threads);
    for (uint32_t i = 0; !code && i < check->file_count; i++) {
        if (check->files[i].usable && !check->files[i].separate)
            code = sb_verify_bag_unchanged(check, i);
    }
    for (unsigned i = 0; batches && i < slots; i++)
        sb_bag_batch_release(&batches[i]);
    free(batches);
    return code;
}
