#include "core/number.h"
#include "core/pace.h"
#include "core/time.h"
#include "task/split/impl.h"

#include <stdlib.h>

#define WINDOW   1024 /* records that are measured at once; and runs that are read together */
#define MEASURED 16   /* runs that show how long one takes */

struct planning {
    struct sb_split_bag_plan *plan;
    const struct sb_split_bag_options *options;
    const struct sb_notify *notify;
    struct sb_bag *bag;
    struct sb_bag_reader *reader;
    bool interleaved;
    int64_t total; /* records that are chosen */
    struct sb_record_run runs[WINDOW];
    size_t count;
    bool slow;
};

static enum sb_code need_part(struct sb_split_bag_plan *plan, int64_t part)
{
    if (part >= SB_SPLIT_BAG_PARTS)
        return sb_fail(SB_LIMIT, "there would be more than %d parts", SB_SPLIT_BAG_PARTS);
    TRY(sb_grow(&plan->parts, &plan->capacity, (size_t)part, sizeof(*plan->parts)));
    while (plan->count <= part)
        plan->parts[plan->count++] = (struct sb_split_bag_part){0};
    return SB_OK;
}

/* As in Python: a backward slice that includes the first record has no end. */
static struct sb_slice slice_of(const struct sb_record_run *run)
{
    int64_t stop = run->first + run->step * run->count;

    return (struct sb_slice){.has_start = true,
                             .has_stop = stop >= 0,
                             .start = run->first,
                             .stop = stop,
                             .step = run->step};
}

static enum sb_code add_record(struct sb_split_bag_part *part, int64_t record)
{
    struct sb_record_run *last = &part->last;
    int64_t step = last->count == 1 ? record - last->first : last->step;

    if (part->count == 0 || step == 0 || record != last->first + step * last->count) {
        TRY(sb_grow(&part->slices, &part->capacity, part->count, sizeof(*part->slices)));
        part->count++;
        *last = (struct sb_record_run){.first = record, .step = 1, .count = 1};
    } else {
        last->step = step;
        last->count++;
    }
    part->slices[part->count - 1] = slice_of(last);
    return SB_OK;
}

/* For an even division: each part before has the same number of records or one more. */
static int64_t even_part(const struct planning *planning, int64_t place, int64_t parts)
{
    int64_t small = planning->total / parts, larger = planning->total % parts;

    if (place < larger * (small + 1))
        return place / (small + 1);
    return larger + (place - larger * (small + 1)) / small;
}

static int64_t part_by_size(const struct planning *planning, int64_t size)
{
    const struct sb_split_bag_plan *plan = planning->plan;
    const struct sb_split_bag_part *last;

    if (plan->count == 0)
        return 0;
    last = &plan->parts[plan->count - 1];
    return last->records > 0 && size > planning->options->amount - last->bytes ? plan->count
                                                                               : plan->count - 1;
}

static int64_t part_of(const struct planning *planning, int64_t place, int64_t size)
{
    int64_t amount = planning->options->amount;

    switch (planning->options->rule) {
    case SB_SPLIT_BAG_PARTS_OF:
        return planning->interleaved ? place % amount : even_part(planning, place, amount);
    case SB_SPLIT_BAG_COUNT:
        return planning->interleaved ? place % ((planning->total - 1) / amount + 1)
                                     : place / amount;
    case SB_SPLIT_BAG_SIZE:
        break;
    }
    return part_by_size(planning, size);
}

static enum sb_code take(struct planning *planning, int64_t record, int64_t size)
{
    struct sb_split_bag_plan *plan = planning->plan;
    int64_t number = part_of(planning, plan->records, size);
    struct sb_split_bag_part *part;

    TRY(need_part(plan, number));
    part = &plan->parts[number];
    /* Positions in a part are equidistant. */
    if (!plan->listed)
        TRY(add_record(part, record));
    else if (part->records == 0)
        part->first = plan->records;
    else if (part->records == 1)
        part->step = plan->records - part->first;
    plan->records++;
    sb_count_up(&plan->bytes, size);
    part->records++;
    sb_count_up(&part->bytes, size);
    return SB_OK;
}

/* Takes records that follow each other in one shard; *taken is at least 1. */
static enum sb_code take_some(struct planning *planning, const struct sb_record_run *run,
                              int64_t *taken)
{
    struct sb_extent extents[WINDOW];
    struct sb_place place = sb_bag_place_of(planning->bag, run->first);
    int64_t left = sb_bag_shard(planning->bag, place.shard)->records - place.index;
    bool follow =
        run->step == 1 && sb_bag_options_of(planning->bag)->layout == SB_LAYOUT_CONCATENATED;
    size_t count = 1, good = 0;
    enum sb_code code;

    if (follow)
        count = (size_t)(run->count < left ? run->count : left);
    if (count > WINDOW)
        count = WINDOW;
    code = sb_bag_extents(planning->reader, place, count, extents, &good);
    if (code && code != SB_DAMAGED)
        return code;
    if (!code)
        good = count;
    else if (good == 0) /* it is reported when it is copied */
        extents[good++] = (struct sb_extent){0};
    for (size_t i = 0; i < good; i++)
        TRY(take(planning, run->first + run->step * (int64_t)i, extents[i].size));
    *taken = (int64_t)good;
    return SB_OK;
}

/* What a list says comes one by one: what is taken together is read together. SB_END: the rest. */
static enum sb_code collect(struct planning *planning, struct sb_record_choice *choice)
{
    planning->count = 0;
    while (planning->count < WINDOW) {
        enum sb_code code = sb_record_choice_next(choice, &planning->runs[planning->count]);

        if (code == SB_INVALID)
            sb_report(planning->notify, SB_PROBLEM, "missing", planning->options->input, "%s",
                      sb_error()->text);
        else if (code)
            return code;
        else
            planning->count++;
    }
    return SB_OK;
}

static enum sb_code read_ahead(struct planning *planning, size_t from)
{
    int64_t records[2 * WINDOW];
    size_t count = 0;

    /* Any two numbers make up a run. */
    for (size_t i = from; i < planning->count; i++) {
        const struct sb_record_run *run = &planning->runs[i];
        int64_t places = run->step == 1 ? 1 : run->count;

        for (int64_t j = 0; j < places && count < 2 * WINDOW; j++)
            records[count++] = run->first + j * run->step;
    }
    return sb_bag_limits_ahead(planning->bag, records, count,
                               planning->options->convert.transfer.threads);
}

static enum sb_code take_runs(struct planning *planning)
{
    size_t measured = planning->slow ? 0 : MEASURED;
    bool ahead = planning->options->convert.transfer.threads > 1;
    int64_t began = sb_clock_ns(), taken;

    for (size_t i = 0; i < planning->count; i++) {
        if (ahead && i == measured) {
            planning->slow = planning->slow || sb_pace_is_slow(MEASURED, sb_clock_ns() - began);
            if (planning->slow)
                TRY(read_ahead(planning, i));
        }
        for (struct sb_record_run run = planning->runs[i]; run.count > 0; run.count -= taken) {
            TRY(take_some(planning, &run, &taken));
            run.first += run.step * taken;
        }
    }
    return SB_OK;
}

static enum sb_code take_chosen(struct planning *planning, struct sb_record_choice *choice)
{
    enum sb_code code = SB_OK, taken = SB_OK;
    struct sb_error ended;

    while (!code && !taken) {
        code = INTO(&ended, collect(planning, choice));
        taken = take_runs(planning);
    }
    if (taken || code == SB_END)
        return taken;
    *sb_error() = ended;
    return code;
}

/* The numbers of a list are read twice: to count them, and to plan. */
static enum sb_code choose(struct planning *planning, struct sb_record_choice **out)
{
    static const struct sb_record_choice_options all = {.sample = -1};
    const struct sb_split_bag_options *options = planning->options;
    const struct sb_record_choice_options *wanted = options->convert.records.choice;
    struct sb_record_choice_options listed = {.sample = -1};
    struct sb_split_bag_plan *plan = planning->plan;
    CLEANUP(sb_record_choice_freep) struct sb_record_choice *choice = NULL;
    int64_t count = sb_bag_count(planning->bag);

    TRY(sb_record_choice_new(&choice, wanted ? wanted : &all, count));
    plan->listed = wanted && wanted->list;
    if (!plan->listed) {
        *out = TAKE(choice);
        return SB_OK;
    }
    plan->numbers.bytes.beside = options->output;
    TRY(sb_record_choice_spool(choice, &plan->numbers, options->input, planning->notify));
    listed.numbers = (struct sb_record_numbers){
        .spool = &plan->numbers, .step = 1, .count = sb_limit_spool_count(&plan->numbers)};
    return sb_record_choice_new(out, &listed, count);
}

enum sb_code sb_split_bag_plan_make(struct sb_split_bag_plan *plan,
                                    const struct sb_split_bag_options *options,
                                    const struct sb_notify *notify)
{
    const struct sb_convert_records *records = &options->convert.records;
    CLEANUP(sb_bag_freep) struct sb_bag *bag = NULL;
    CLEANUP(sb_record_choice_freep) struct sb_record_choice *choice = NULL;
    CLEANUP(sb_bag_reader_freep) struct sb_bag_reader *reader = NULL;
    struct planning planning = {.plan = plan,
                                .options = options,
                                .notify = notify,
                                .interleaved = records->write.layout == SB_LAYOUT_INTERLEAVED};

    *plan = (struct sb_split_bag_plan){.numbers = SB_LIMIT_SPOOL(NULL)};
    TRY(sb_bag_open(&bag, options->input, records->read, notify));
    planning.bag = bag;
    TRY(choose(&planning, &choice));
    TRY(sb_bag_reader_new(&reader, bag));
    planning.reader = reader;
    planning.total = sb_record_choice_total(choice);
    TRY(take_chosen(&planning, choice));
    return options->rule == SB_SPLIT_BAG_PARTS_OF ? need_part(plan, options->amount - 1) : SB_OK;
}

struct sb_record_choice_options sb_split_bag_plan_choice(const struct sb_split_bag_plan *plan,
                                                         int64_t number)
{
    static const struct sb_slice none = {.has_stop = true, .step = 1};
    const struct sb_split_bag_part *part = &plan->parts[number];
    struct sb_record_choice_options choice = {.sample = -1};

    if (plan->listed) {
        choice.numbers = (struct sb_record_numbers){.spool = &plan->numbers,
                                                    .first = part->first,
                                                    .step = part->step > 0 ? part->step : 1,
                                                    .count = part->records};
        return choice;
    }
    choice.slices = part->count > 0 ? part->slices : &none;
    choice.slice_count = part->count > 0 ? part->count : 1;
    return choice;
}

void sb_split_bag_plan_release(struct sb_split_bag_plan *plan)
{
    for (int64_t i = 0; i < plan->count; i++)
        free(plan->parts[i].slices);
    free(plan->parts);
    sb_limit_spool_release(&plan->numbers);
    *plan = (struct sb_split_bag_plan){.numbers = SB_LIMIT_SPOOL(NULL)};
}
