#include "task/table/record_rows.h"

#include "core/array.h"
#include "core/pace.h"
#include "core/pipeline.h"
#include "core/time.h"
#include "store/bag/record_scan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_PER_THREAD 2

/* The place of a record, and its number among the rows. */
struct wanted {
    struct sb_place place;
    size_t row;
};

struct slot {
    struct sb_record_block block;
    size_t count;
    int64_t took;                              /* nanoseconds */
    struct wanted wanted[SB_RECORD_BLOCK_MAX]; /* sorted by place */
    struct sb_facts rows[SB_RECORD_BLOCK_MAX];
    struct sb_extent extents[SB_RECORD_BLOCK_MAX];

    struct sb_buf defects;                 /* their texts, each with its NUL */
    size_t defect_at[SB_RECORD_BLOCK_MAX]; /* of each row, counted from 1; 0: none */
};

struct run {
    struct sb_bag *bag;
    const struct sb_cell_feed *feed;
    const struct sb_record_rows_options *options;
    struct sb_record_run left; /* of the current run */
    bool ended;
    struct sb_pace pace;
};

static int fill_would_wait(void *context)
{
    const struct run *run = context;

    return run->left.count == 0 && !run->ended && !run->feed->ready(run->feed->context);
}

/* SB_END: there are no more. */
static enum sb_code next_run(struct run *run)
{
    struct sb_cell_run next;
    enum sb_code code;

    if (run->options->waits && fill_would_wait(run))
        run->options->waits(run->options->context);
    do {
        code = run->feed->next(run->feed->context, &next);
        if (code == SB_INVALID)
            sb_report(run->options->notify, SB_PROBLEM, "missing", sb_bag_name(run->bag), "%s",
                      sb_error()->text);
    } while (code == SB_INVALID);
    run->ended = code != SB_OK;
    if (!code)
        run->left = next.rows;
    return code;
}

/* Fields that records never have remain zero. */
static void take_numbers(struct run *run, struct slot *slot, size_t most)
{
    for (; run->left.count > 0 && slot->count < most; run->left.count--) {
        struct sb_place place = sb_bag_place_of(run->bag, run->left.first);
        struct sb_facts *row = &slot->rows[slot->count];

        slot->wanted[slot->count] = (struct wanted){.place = place, .row = slot->count};
        row->row = run->left.first;
        row->part = place.shard;
        row->path = sb_bag_shard(run->bag, place.shard)->path;
        row->size = row->stored = row->offset = -1;
        row->defect = NULL;
        slot->count++;
        run->left.first += run->left.step;
    }
}

static enum sb_code fill(void *context, void *slot_pointer)
{
    struct run *run = context;
    struct slot *slot = slot_pointer;
    size_t most = sb_pace_limit(&run->pace, SB_RECORD_BLOCK_MAX);
    enum sb_code code = run->ended ? SB_END : SB_OK;

    slot->count = 0;
    while (!code && slot->count < most) {
        if (slot->count > 0 && fill_would_wait(run))
            break;
        if (run->left.count == 0)
            code = next_run(run);
        if (!code)
            take_numbers(run, slot, most);
    }
    return code == SB_END && slot->count > 0 ? SB_OK : code;
}

static int compare_places(const void *a, const void *b)
{
    const struct sb_place *x = a, *y = b;

    return x->shard != y->shard ? COMPARE(x->shard, y->shard) : COMPARE(x->index, y->index);
}

static int compare_wanted(const void *a, const void *b)
{
    const struct wanted *x = a, *y = b;

    return compare_places(&x->place, &y->place);
}

static void sort_wanted(struct slot *slot)
{
    for (size_t i = 1; i < slot->count; i++) {
        if (compare_wanted(&slot->wanted[i - 1], &slot->wanted[i]) > 0) {
            qsort(slot->wanted, slot->count, sizeof(slot->wanted[0]), compare_wanted);
            return;
        }
    }
}

/* How many of the wanted records from `first` on have adjacent places. */
static size_t count_neighbours(const struct slot *slot, size_t first)
{
    struct sb_place place = slot->wanted[first].place;
    size_t count = 1;

    for (; first + count < slot->count; count++) {
        place.index++;
        if (compare_places(&slot->wanted[first + count].place, &place) != 0)
            break;
    }
    return count;
}

/* Notes the last failure as a defect of the record; wrong limits are reported with its number. */
static enum sb_code note_defect(struct slot *slot, size_t wanted)
{
    size_t row = slot->wanted[wanted].row;

    slot->defect_at[row] = slot->defects.size + 1;
    if (slot->rows[row].stored >= 0 &&
        sb_buf_add_format(&slot->defects, "record %" PRId64 ": ", slot->rows[row].row))
        return sb_fail_memory();
    TRY(sb_buf_add(&slot->defects, sb_error()->text, strlen(sb_error()->text) + 1));
    return SB_OK;
}

/* Finds the sizes of adjacent records whose extents are known. */
static enum sb_code measure(const struct run *run, struct slot *slot, size_t first, size_t count)
{
    for (size_t done = 0, taken; done < count; done += taken) {
        taken = sb_record_block_set(&slot->block, run->bag, slot->extents + done, count - done);
        for (size_t i = 0; i < taken; i++) {
            struct sb_facts *row = &slot->rows[slot->wanted[first + done + i].row];
            enum sb_code code;

            row->stored = slot->block.extents[i].size;
            row->offset = slot->block.extents[i].offset;
            code = sb_record_block_size(&slot->block, i, &row->size);
            if (code && code != SB_DAMAGED)
                return code;
            if (code) {
                row->size = -1;
                TRY(note_defect(slot, first + done + i));
            }
        }
    }
    return SB_OK;
}

/* Looks up adjacent records; sets *count to the number of those that were done. */
static enum sb_code look_at(const struct run *run, struct slot *slot, size_t first, size_t *count)
{
    size_t good = 0;
    enum sb_code code =
        sb_bag_extents(slot->block.reader, slot->wanted[first].place, *count, slot->extents, &good);

    if (code && code != SB_DAMAGED)
        return code;
    if (code) {
        TRY(note_defect(slot, first + good));
        *count = good + 1;
    }
    return measure(run, slot, first, good);
}

static enum sb_code work(void *context, void *slot_pointer, struct sb_pipeline *turns)
{
    const struct run *run = context;
    struct slot *slot = slot_pointer;
    int64_t began = sb_clock_ns();
    enum sb_code code = SB_OK;

    (void)turns;
    sb_buf_clear(&slot->defects);
    memset(slot->defect_at, 0, slot->count * sizeof(slot->defect_at[0]));
    sort_wanted(slot);
    for (size_t first = 0, count; !code && first < slot->count; first += count) {
        count = count_neighbours(slot, first);
        code = look_at(run, slot, first, &count);
    }
    for (size_t i = 0; slot->defects.size > 0 && i < slot->count; i++) {
        if (slot->defect_at[i] > 0)
            slot->rows[i].defect = slot->defects.data + slot->defect_at[i] - 1;
    }
    slot->took = sb_clock_ns() - began;
    return code;
}

static enum sb_code drain(void *context, void *slot_pointer)
{
    struct run *run = context;
    const struct slot *slot = slot_pointer;

    sb_pace_follow(&run->pace, slot->count, slot->took);
    return run->options->each(run->options->context, slot->rows, slot->count);
}

enum sb_code sb_record_rows(struct sb_table *table, const struct sb_cell_feed *feed,
                            const struct sb_record_rows_options *options)
{
    static const struct sb_pipeline_ops ops = {
        .fill = fill, .work = work, .drain = drain, .fill_would_wait = fill_would_wait};
    struct run run = {.bag = table->ops->records(table),
                      .feed = feed,
                      .options = options,
                      .pace = sb_pace_of(options->threads)};
    unsigned count = options->threads > 1 ? options->threads * SLOTS_PER_THREAD : 1;
    struct slot *slots = calloc(count, sizeof(*slots));
    enum sb_code code = slots ? SB_OK : sb_fail_memory();

    for (unsigned i = 0; !code && i < count; i++)
        code = sb_record_block_begin(&slots[i].block, run.bag);
    if (!code)
        code = sb_pipeline_run(&ops, &run, slots, sizeof(*slots), count, options->threads);
    for (unsigned i = 0; slots && i < count; i++) {
        sb_record_block_release(&slots[i].block);
        sb_buf_release(&slots[i].defects);
    }
    free(slots);
    return code;
}
