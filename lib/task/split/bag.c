#include "core/context.h"
#include "core/number.h"
#include "store/kind.h"
#include "store/shard_spec.h"
#include "task/convert/paths.h"
#include "task/split/impl.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

struct split {
    const struct sb_split_bag_options *options;
    struct sb_split_result *result;
    struct sb_problem_counter counter;
    struct sb_split_bag_plan plan;
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
    char *input = (char *)split->options->input;

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
    const struct sb_split_bag_options *options = split->options;
    char *input = (char *)options->input;

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
    struct sb_record_choice_options choice = sb_split_bag_plan_choice(&split->plan, part);
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
    const struct sb_split_bag_options *options = split->options;
    const struct sb_split_bag_part *part = &split->plan.parts[number];
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
    TRY(sb_split_bag_plan_make(&split->plan, split->options, &split->counter.notify));
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

    TRY(sb_split_bag_plan_make(&split->plan, split->options, &split->counter.notify));
    if (!shards)
        shards = (uint32_t)split->plan.count;
    for (int64_t i = 0; i < split->plan.count; i++) {
        const struct sb_split_bag_part *part = &split->plan.parts[i];

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
    const struct sb_split_bag_options *options = split->options;
    enum sb_code code;

    if (pattern->shards || options->rule != SB_SPLIT_BAG_PARTS_OF)
        code = sb_buf_set(out, pattern->path, strlen(pattern->path));
    else if (sb_buf_set(out, pattern->path, pattern->prefix_size))
        code = SB_NOMEM;
    else
        code = sb_buf_add_format(out, "@%" PRId64 "%s", options->amount, pattern->suffix);
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
    const struct sb_split_bag_options *options = split->options;
    struct sb_convert_records records = options->convert.records;
    struct sb_convert_result done = {0};
    CLEANUP(sb_buf_release) struct sb_buf output = {0};
    bool skipped;

    if (options->rule == SB_SPLIT_BAG_PARTS_OF && split->pattern.shards &&
        split->pattern.shards != options->amount)
        return sb_fail(SB_INVALID, "%s: has %" PRIu32 " shards, and --parts=%" PRId64,
                       options->output, split->pattern.shards, options->amount);
    if (options->dry_run)
        return report_planned_shards(split);
    records.write.shard_records = options->rule == SB_SPLIT_BAG_COUNT ? options->amount : 0;
    records.write.shard_bytes = options->rule == SB_SPLIT_BAG_SIZE ? options->amount : 0;
    TRY(name_set(split, &output));
    skipped = options->existing == SB_EXISTING_SKIP && set_exists(output.data);
    if (!skipped)
        TRY(convert(split, output.data, &records, &done));
    return report_shards(split, output.data, skipped);
}

static void release(struct split *split)
{
    sb_split_bag_plan_release(&split->plan);
    sb_buf_release(&split->name);
    sb_buf_release(&split->output);
}

static enum sb_code split_bag(const struct sb_split_bag_options *options,
                              struct sb_split_result *result)
{
    CLEANUP(release)
    struct split split = {
        .options = options, .result = result, .plan.numbers = SB_LIMIT_SPOOL(NULL)};

    *result = (struct sb_split_result){0};
    sb_count_problems(&split.counter, options->notify, &result->problems);
    TRY(sb_shard_pattern_parse(&split.pattern, options->output));
    return split.pattern.is_set ? make_set(&split) : make_parts(&split);
}

enum sb_code sb_split_bag(const struct sb_split_bag_options *options,
                          struct sb_split_result *result)
{
    struct sb_split_bag_options named = *options;
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    CLEANUP(sb_input_close) struct sb_input input = {0};

    if (strcmp(options->input, "-") != 0)
        return split_bag(options, result);
    /* Bags are read by their paths, and more than once: standard input gets a path that is a file.
     */
    TRY(sb_input_open(&input, "-", sb_container_named("bag").kind));
    TRY(sb_input_spool(&input, 0));
    TRY(sb_buf_add_format(&path, "/proc/self/fd/%d", input.file->fd));
    sb_context_resolves("standard input", path.data);
    named.input = path.data;
    return split_bag(&named, result);
}
