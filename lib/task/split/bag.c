#include "task/split/split.h"

#include "core/context.h"
#include "core/number.h"
#include "core/pace.h"
#include "core/time.h"
#include "store/kind.h"
#include "store/record_choice.h"
#include "store/shard_spec.h"
#include "task/convert/convert.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define WINDOW   1024 /* records that are measured at once; and runs that are read together */
#define MEASURED 16   /* runs that show how long one takes */

/*
 * Which records go into which part: slices, few if adjacent records stay together; or, for a list,
 * positions in a spool of its numbers.
 */
struct part {
    struct sb_slice *slices;
    size_t count, capacity;
    struct sb_record_run last; /* the run of the last slice */
    int64_t first, step;       /* for a list: positions in plan->numbers, `records` of them */
    int64_t records;
    int64_t bytes; /* as stored */
};

struct plan {
    struct part *parts;
    int64_t count;
    size_t capacity;
    int64_t records;
    int64_t bytes;
    bool listed;
    struct sb_limit_spool numbers; /* those numbers of the list that exist */
};

struct planning {
    struct plan *plan;
    const char *input;
    const struct sb_split_options *options;
    const struct sb_notify *notify;
    struct sb_bag *bag;
    struct sb_bag_reader *reader;
    bool interleaved;
    int64_t total; /* records that are chosen */
    struct sb_record_run runs[WINDOW];
    size_t count;
    bool slow;
};

static enum sb_code need_part(struct plan *plan, int64_t part)
{
    if (part >= SB_SPLIT_BAG_PARTS)
        return sb_fail(SB_LIMIT, "there would be more than %d parts", SB_SPLIT_BAG_PARTS);
    TRY(sb_grow(&plan->parts, &plan->capacity, (size_t)part, sizeof(*plan->parts)));
    while (plan->count <= part)
        plan->parts[plan->count++] = (struct part){0};
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

static enum sb_code add_record(struct part *part, int64_t record)
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
    const struct plan *plan = planning->plan;
    const struct part *last;

    if (plan->count == 0)
        return 0;
    last = &plan->parts[plan->count - 1];
    return last->records > 0 && size > planning->options->scheme.amount - last->bytes
               ? plan->count
               : plan->count - 1;
}

static int64_t part_of(const struct planning *planning, int64_t place, int64_t size)
{
    int64_t amount = planning->options->scheme.amount;

    switch (planning->options->scheme.rule) {
    case SB_SPLIT_PARTS:
        return planning->interleaved ? place % amount : even_part(planning, place, amount);
    case SB_SPLIT_COUNT:
        return planning->interleaved ? place % ((planning->total - 1) / amount + 1)
                                     : place / amount;
    default:
        return part_by_size(planning, size);
    }
}

static enum sb_code take(struct planning *planning, int64_t record, int64_t size)
{
    struct plan *plan = planning->plan;
    int64_t number = part_of(planning, plan->records, size);
    struct part *part;

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
            sb_report(planning->notify, SB_PROBLEM, "missing", planning->input, "%s",
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
    const struct sb_split_options *options = planning->options;
    const struct sb_record_choice_options *wanted = options->convert.records.choice;
    struct sb_record_choice_options listed = {.sample = -1};
    struct plan *plan = planning->plan;
    CLEANUP(sb_record_choice_freep) struct sb_record_choice *choice = NULL;
    int64_t count = sb_bag_count(planning->bag);

    TRY(sb_record_choice_new(&choice, wanted ? wanted : &all, count));
    plan->listed = wanted && wanted->list;
    if (!plan->listed) {
        *out = TAKE(choice);
        return SB_OK;
    }
    plan->numbers.bytes.beside = options->output;
    TRY(sb_record_choice_spool(choice, &plan->numbers, planning->input, planning->notify));
    listed.numbers = (struct sb_record_numbers){
        .spool = &plan->numbers, .step = 1, .count = sb_limit_spool_count(&plan->numbers)};
    return sb_record_choice_new(out, &listed, count);
}

/* Reads the limits of the bag. Missing numbers are reported as SB_PROBLEM ("missing"). */
static enum sb_code make_plan(struct plan *plan, const char *input,
                              const struct sb_split_options *options,
                              const struct sb_notify *notify)
{
    const struct sb_convert_records *records = &options->convert.records;
    CLEANUP(sb_bag_freep) struct sb_bag *bag = NULL;
    CLEANUP(sb_record_choice_freep) struct sb_record_choice *choice = NULL;
    CLEANUP(sb_bag_reader_freep) struct sb_bag_reader *reader = NULL;
    struct planning planning = {.plan = plan,
                                .input = input,
                                .options = options,
                                .notify = notify,
                                .interleaved = records->write.layout == SB_LAYOUT_INTERLEAVED};

    TRY(sb_bag_open(&bag, input, records->read, notify));
    planning.bag = bag;
    TRY(choose(&planning, &choice));
    TRY(sb_bag_reader_new(&reader, bag));
    planning.reader = reader;
    planning.total = sb_record_choice_total(choice);
    TRY(take_chosen(&planning, choice));
    return options->scheme.rule == SB_SPLIT_PARTS ? need_part(plan, options->scheme.amount - 1)
                                                  : SB_OK;
}

/* The choice for a part; it points into the plan. */
static struct sb_record_choice_options choice_of(const struct plan *plan, int64_t number)
{
    static const struct sb_slice none = {.has_stop = true, .step = 1};
    const struct part *part = &plan->parts[number];
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

struct split {
    const char *input;
    const struct sb_split_options *options;
    struct sb_split_result *result;
    struct sb_problem_counter counter;
    struct plan plan;
    struct sb_shard_pattern pattern; /* if the outputs are shards of one bag */
    struct sb_buf name, output;      /* of the current part */
    int64_t bytes_done, files_done;  /* in the parts before it */
};

static void progress(void *context, int64_t bytes, int64_t total, int64_t files)
{
    struct split *split = context;
    const struct sb_transfer_options *wanted = &split->options->convert.transfer;

    (void)total;
    if (wanted->progress)
        wanted->progress(wanted->context, split->bytes_done + bytes, split->plan.bytes,
                         split->files_done + files);
}

static enum sb_code convert(struct split *split, const char *output,
                            const struct sb_convert_records *records,
                            struct sb_convert_result *done)
{
    struct sb_convert_options options = split->options->convert;
    char *input = (char *)split->input;

    options.inputs = &input;
    options.input_count = 1;
    options.output = output;
    options.from = sb_container_named("bag").kind;
    options.force = split->options->existing == SB_EXISTING_REPLACE;
    options.records = *records;
    options.notify = &split->counter.notify;
    options.transfer.progress = progress;
    options.transfer.context = split;
    return sb_convert(&options, done);
}

static bool exists(const char *path)
{
    struct stat st;

    return lstat(path, &st) == 0;
}

static enum sb_code name_part(struct split *split, int64_t part)
{
    sb_buf_clear(&split->name);
    TRY(sb_split_number(part, split->plan.count, &split->name));
    return sb_split_output(split->options->output, split->name.data, &split->output);
}

static enum sb_code check_output(struct split *split)
{
    const struct sb_split_options *options = split->options;
    char *input = (char *)split->input;

    if (options->dry_run || options->existing == SB_EXISTING_SKIP || !exists(split->output.data))
        return SB_OK;
    if (options->existing == SB_EXISTING_FAIL)
        return sb_fail(SB_EXISTS,
                       "%s: exists already, nothing was written; --force replaces such parts, "
                       "--existing=skip keeps them",
                       split->output.data);
    return sb_convert_paths_check(&input, 1, split->output.data);
}

static enum sb_code convert_part(struct split *split, int64_t part, struct sb_split_part *made)
{
    struct sb_convert_records records = split->options->convert.records;
    struct sb_record_choice_options choice = choice_of(&split->plan, part);
    struct sb_convert_result done = {0};
    enum sb_code code;

    records.choice = &choice;
    records.write.layout = SB_LAYOUT_CONCATENATED;
    code = convert(split, split->output.data, &records, &done);
    made->files = done.counts.files;
    made->bytes = done.counts.bytes;
    return code;
}

static enum sb_code make_part(struct split *split, int64_t number)
{
    const struct sb_split_options *options = split->options;
    const struct part *part = &split->plan.parts[number];
    struct sb_split_part made = {.files = part->records, .bytes = part->bytes};

    TRY(name_part(split, number));
    made.name = split->name.data;
    made.output = split->output.data;
    made.skipped = options->existing == SB_EXISTING_SKIP && exists(split->output.data);
    if (!options->dry_run && !made.skipped)
        TRY(convert_part(split, number, &made));
    split->files_done += part->records;
    sb_count_up(&split->bytes_done, part->bytes);
    split->result->parts++;
    options->part_done(options->context, &made);
    return SB_OK;
}

static enum sb_code make_parts(struct split *split)
{
    TRY(make_plan(&split->plan, split->input, split->options, &split->counter.notify));
    TRY(sb_split_output_check(split->options->output, split->plan.count));
    for (int64_t part = 0; part < split->plan.count; part++) {
        TRY(name_part(split, part));
        TRY(check_output(split));
    }
    for (int64_t part = 0; part < split->plan.count; part++)
        TRY(make_part(split, part));
    return SB_OK;
}

static void report_shard(struct split *split, const char *path, int64_t records, int64_t bytes,
                         bool skipped)
{
    struct sb_split_part part = {.name = split->name.data,
                                 .output = path,
                                 .files = records,
                                 .bytes = bytes,
                                 .skipped = skipped};

    split->result->parts++;
    split->options->part_done(split->options->context, &part);
}

static enum sb_code report_shards(struct split *split, const char *output, bool skipped)
{
    const struct sb_bag_writer_options *write = &split->options->convert.records.write;
    struct sb_bag_options read = {.compression = write->compression, .limits = write->limits};
    CLEANUP(sb_bag_freep) struct sb_bag *bag = NULL;

    TRY(sb_bag_open(&bag, output, &read, &split->counter.notify));
    for (uint32_t i = 0; i < sb_bag_shard_count(bag); i++) {
        const struct sb_bag_shard *shard = sb_bag_shard(bag, i);

        sb_buf_clear(&split->name);
        TRY(sb_split_number(i, sb_bag_shard_count(bag), &split->name));
        report_shard(split, shard->path, shard->records, shard->bytes, skipped);
    }
    return SB_OK;
}

static enum sb_code report_planned_shards(struct split *split)
{
    uint32_t shards = split->pattern.shards;

    TRY(make_plan(&split->plan, split->input, split->options, &split->counter.notify));
    if (!shards)
        shards = (uint32_t)split->plan.count;
    for (int64_t i = 0; i < split->plan.count; i++) {
        const struct part *part = &split->plan.parts[i];

        sb_buf_clear(&split->name);
        sb_buf_clear(&split->output);
        TRY(sb_split_number(i, split->plan.count, &split->name));
        TRY(sb_shard_pattern_name(&split->pattern, (uint32_t)i, shards, &split->output));
        report_shard(split, split->output.data, part->records, part->bytes, false);
    }
    return SB_OK;
}

/* Replaces "@*" by "@NUMBER", with the number of parts. */
static enum sb_code name_set(struct split *split, struct sb_buf *out)
{
    const struct sb_shard_pattern *pattern = &split->pattern;
    const struct sb_split_options *options = split->options;
    enum sb_code code;

    if (pattern->shards || options->scheme.rule != SB_SPLIT_PARTS)
        code = sb_buf_set(out, pattern->path, strlen(pattern->path));
    else if (sb_buf_set(out, pattern->path, pattern->prefix_size))
        code = SB_NOMEM;
    else
        code = sb_buf_add_format(out, "@%" PRId64 "%s", options->scheme.amount, pattern->suffix);
    return code ? sb_fail_memory() : SB_OK;
}

static bool set_exists(const char *output)
{
    CLEANUP(sb_spec_release) struct sb_spec spec = {0};

    return IGNORED(sb_spec_expand(&spec, output)) == SB_OK && spec.count > 0 &&
           exists(spec.paths[0]);
}

static enum sb_code make_set(struct split *split)
{
    const struct sb_split_options *options = split->options;
    struct sb_convert_records records = options->convert.records;
    struct sb_convert_result done = {0};
    CLEANUP(sb_buf_release) struct sb_buf output = {0};
    bool skipped;

    if (options->scheme.rule == SB_SPLIT_PARTS && split->pattern.shards &&
        split->pattern.shards != options->scheme.amount)
        return sb_fail(SB_INVALID, "%s: has %" PRIu32 " shards, and --parts=%" PRId64,
                       options->output, split->pattern.shards, options->scheme.amount);
    if (options->dry_run)
        return report_planned_shards(split);
    records.write.shard_records =
        options->scheme.rule == SB_SPLIT_COUNT ? options->scheme.amount : 0;
    records.write.shard_bytes = options->scheme.rule == SB_SPLIT_SIZE ? options->scheme.amount : 0;
    TRY(name_set(split, &output));
    skipped = options->existing == SB_EXISTING_SKIP && set_exists(output.data);
    if (!skipped)
        TRY(convert(split, output.data, &records, &done));
    return report_shards(split, output.data, skipped);
}

static void release(struct split *split)
{
    for (int64_t i = 0; i < split->plan.count; i++)
        free(split->plan.parts[i].slices);
    free(split->plan.parts);
    sb_limit_spool_release(&split->plan.numbers);
    sb_buf_release(&split->name);
    sb_buf_release(&split->output);
}

static enum sb_code split_bag(const char *input, const struct sb_split_options *options,
                              struct sb_split_result *result)
{
    CLEANUP(release)
    struct split split = {
        .input = input, .options = options, .result = result, .plan.numbers = SB_LIMIT_SPOOL(NULL)};

    *result = (struct sb_split_result){0};
    sb_count_problems(&split.counter, options->notify, &result->problems);
    TRY(sb_shard_pattern_parse(&split.pattern, options->output));
    return split.pattern.is_set ? make_set(&split) : make_parts(&split);
}

enum sb_code sb_split_bag(const char *input, const struct sb_split_options *options,
                          struct sb_split_result *result)
{
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    CLEANUP(sb_input_close) struct sb_input spooled = {0};

    if (strcmp(input, "-") != 0)
        return split_bag(input, options, result);
    /* Bags are read by their paths, and more than once: standard input gets a path that is a file.
     */
    TRY(sb_input_open(&spooled, "-", sb_container_named("bag").kind));
    TRY(sb_input_spool(&spooled, 0));
    TRY(sb_buf_add_format(&path, "/proc/self/fd/%d", spooled.file->fd));
    sb_context_resolves("standard input", path.data);
    return split_bag(path.data, options, result);
}
