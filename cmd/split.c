/*
 * shardbox split: one container becomes several, or the shards of an archive others of a new size.
 */
#include "task/split/split.h"
#include "core/io.h"
#include "core/number.h"
#include "open/opening.h"
#include "split/settings.h"
#include "store/catalog.h"
#include "task/split/bag.h"
#include "task/split/reshard.h"
#include "ui/command.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/report.h"
#include "ui/shared_options.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static void show_moved(void *context, int64_t bytes)
{
    (void)context;
    message_progress_update(bytes, 0, 0);
}

static void print_moved_json(const struct sb_reshard_counts *counts)
{
    struct json line = {0};

    json_begin(&line);
    json_number(&line, "shards_before", counts->shards_before);
    json_number(&line, "shards_after", counts->shards_after);
    json_number(&line, "moved_files", counts->moved_files);
    json_number(&line, "moved_bytes", counts->moved_bytes);
    json_print(&line);
    json_release(&line);
}

static void summarize(const struct split_settings *settings, const struct sb_reshard_counts *counts)
{
    char size[SB_HUMAN_SIZE];

    sb_format_human(counts->moved_bytes, size);
    if (settings->json)
        print_moved_json(counts);
    else if (settings->dry_run && counts->moved_files == 0 &&
             counts->shards_after == counts->shards_before)
        return;
    else if (settings->dry_run)
        output_format("shards: %" PRIu32 ", would be: %" PRIu32 "; files to move: %" PRId64
                      " (%s)\n",
                      counts->shards_before, counts->shards_after, counts->moved_files, size);
    else
        message_note("%s: shards: %" PRIu32 ", were: %" PRIu32 "; moved files: %" PRId64 " (%s)",
                     settings->path, counts->shards_after, counts->shards_before,
                     counts->moved_files, size);
}

/* Reshards the archive, and prints the result. */
static void split_in_place(const struct split_settings *settings)
{
    struct sb_reshard_options options = {
        .shard_size = settings->shard_size > 0 ? settings->shard_size : INT64_MAX,
        .dry_run = settings->dry_run,
        .mover = {.follow = settings->follow,
                  .force = settings->force,
                  .notify = &message_notify,
                  .progress = show_moved},
    };
    struct sb_reshard_counts counts = {0};
    enum sb_code code = sb_reshard(settings->path, &options, &counts);

    message_progress_end();
    if (!code) {
        summarize(settings, &counts);
        if (!settings->dry_run)
            protect_later(settings->path);
        return;
    }
    explain_failure(settings->path);
    message_failure();
    if (code == SB_INTERRUPT || (code == SB_SYSTEM && counts.moved_files > 0))
        message_error("%s: is whole; run the same command again to go on", settings->path);
}

/* Items and keys are never torn apart; samples are kept whole if that is requested. */
static enum sb_code find_unit(struct sb_split_options *wanted, const struct sb_store *whole,
                              const char *path, bool samples)
{
    enum sb_split_unit *unit = &wanted->scheme.unit;
    struct sb_convert_cache *cache = &wanted->convert.cache;

    *unit = sb_store_can(whole, SB_CAN_ARRAYS) ? SB_SPLIT_TOPS
            : samples                          ? SB_SPLIT_SAMPLES
                                               : SB_SPLIT_FILES;
    if (samples && sb_store_can(whole, SB_CAN_NUMBERS | SB_CAN_ARRAYS))
        return sb_fail(SB_INVALID, "%s: is a %s, and --samples is for files by name", path,
                       sb_store_word(whole));
    if (sb_store_can(whole, SB_CAN_KEYS) && sb_split_unit_of_cache(unit, &cache->list, path))
        return sb_error()->code;
    cache->single = *unit == SB_SPLIT_KEYS;
    return SB_OK;
}

static bool parse_ratios(void *context, const char *value)
{
    struct split_settings *settings = context;

    settings->by_ratio = true;
    return shares_add_ratios(&settings->shares, value);
}

static bool parse_list(void *context, const char *value)
{
    struct split_settings *settings = context;

    settings->by_list = true;
    return shares_add_list(&settings->shares, value);
}

static const struct option options[] = {
    OPTION_GROUP("How it is cut"),
    OPTION_INTEGER(0, "parts", struct split_settings, parts, "N", 1, 1000000,
                   "N parts, of like size, in the order on disk"),
    OPTION_SIZE(0, "size", struct split_settings, size, "SIZE",
                "parts of at most SIZE, in the order on disk"),
    OPTION_INTEGER(0, "count", struct split_settings, records.count, "N", 1, INT64_MAX,
                   "of a bag: parts of N records"),
    OPTION_CALL(0, "ratio", "NAME=NUMBER,...", parse_ratios,
                "by a hash of the name: train=80%,val=0.1,test=0.1", OPERAND_ANY),
    OPTION_CALL(0, "by-list", "NAME=FILE", parse_list,
                "a part of the names in FILE; may be repeated", OPERAND_ANY),
    OPTION_FLAG(0, "by-dir", struct split_settings, by_dir, "a part for each directory at the top"),
    OPTION_TEXT(0, "rest", struct split_settings, rest, "NAME",
                "a part for all that is in no other", OPERAND_ANY),
    OPTION_FLAG(0, "samples", struct split_settings, samples,
                "files of one name up to its first dot stay together"),
    OPTION_SIZE(0, "shard-size", struct split_settings, shard_size, "SIZE",
                "shards of at most SIZE; without -o: cut ARCHIVE"),
    OPTION_GROUP("Output"),
    OPTION_OUTPUT(struct split_settings, output,
                  "what parts are called; {}: a part's name, or number from 0"),
    OPTION_TO(struct split_settings, to, "what parts become (default: by the suffix)"),
    OPTION_FORMAT,
    OPTION_FLAG(0, "symlink", struct split_settings, symlink,
                "copy nothing: parts are links to the shards"),
    OPTION_FORCE(struct split_settings, force,
                 "replace parts that exist; without -o, see the manual"),
    OPTION_EXISTING(struct split_settings, existing, "parts that exist already (default: fail)"),
    OPTION_GROUP("Reports"),
    OPTION_DRY_RUN(struct split_settings, dry_run),
    OPTION_FLAG(0, "json", struct split_settings, json, "print each part as a line of JSON"),
    OPTION_MORE("How it is cut"),
    OPTION_INTEGER(0, "seed", struct split_settings, seed, "N", 0, INT64_MAX,
                   "with --ratio: another chance (default: 0)"),
    OPTION_FLAG('0', "null", struct split_settings, null, "with --by-list: NUL ends each name"),
    OPTION_MORE("Output"),
    OPTION_PROTECT,
    OPTION_WAIT,
    OPTION_ABSOLUTE(struct split_settings, absolute),
    OPTION_FOLLOW(struct split_settings, follow),
    OPTION_LEVEL(struct split_settings, level),
    OPTIONS_OF_BAGS(struct split_settings, records),
    OPTION_MORE("Speed"),
    OPTION_THREADS(struct split_settings, threads, "threads to use"),
    OPTION_BWLIMIT,
    OPTION_MORE("Input"),
    OPTIONS_INPUT,
    OPTION_END,
};

static struct sb_container_type output_type(const struct split_settings *settings)
{
    struct sb_container_type type;

    if (settings->to != NOT_GIVEN)
        return sb_container_named(to_words[settings->to]);
    type = sb_container_by_suffix(settings->output);
    if (type.kind == SB_UNKNOWN)
        type = sb_container_named("archive");
    return type;
}

/* Are records moved, rather than files by name? */
static bool moves_records(const struct split_settings *settings, enum sb_container_kind to)
{
    bool by_number = settings->parts > 0 || settings->size > 0 || settings->records.count > 0;

    return sb_container_takes(to) & SB_TO_RECORDS && by_number &&
           is_bag(settings->path, &settings->opening);
}

static struct sb_split_scheme scheme_of(const struct split_settings *settings)
{
    return (struct sb_split_scheme){
        .rule = settings->parts      ? SB_SPLIT_PARTS
                : settings->size     ? SB_SPLIT_SIZE
                : settings->by_ratio ? SB_SPLIT_RATIOS
                : settings->by_list  ? SB_SPLIT_LISTS
                                     : SB_SPLIT_DIRS,
        .amount = settings->parts ? settings->parts : settings->size,
        .shares = settings->shares.all,
        .share_count = settings->shares.count,
        .seed = settings->seed == NOT_GIVEN ? 0 : settings->seed,
        .lists_must_name = settings->force,
        .list_end = settings->null ? '\0' : '\n',
        .rest = settings->rest,
    };
}

/* What one run passes to its callbacks. */
struct run {
    const struct split_settings *settings;
    bool records; /* parts are bags */
    struct report report;
    struct json line;
};

static void print_json(struct run *run, const struct sb_split_part *part)
{
    struct json *line = &run->line;

    json_begin(line);
    json_bytes(line, "part", part->name, strlen(part->name));
    json_bytes(line, "output", part->output, strlen(part->output));
    json_number(line, run->records ? "records" : "files", part->files);
    json_number(line, "bytes", part->bytes);
    json_flag(line, "skipped", part->skipped);
    json_print(line);
}

static void show_part(void *context, const struct sb_split_part *part)
{
    struct run *run = context;
    char size[SB_HUMAN_SIZE];

    if (!part->skipped && !run->settings->dry_run)
        protect_later(part->output);
    if (run->settings->json) {
        print_json(run, part);
        return;
    }
    if (run->settings->dry_run) {
        if (part->skipped)
            return;
        output_format("%10" PRId64 " %15" PRId64 " ", part->files, part->bytes);
        output_line(part->output, strlen(part->output), false);
        return;
    }
    sb_format_human(part->bytes, size);
    message_note("%s: %s%" PRId64 " %s%s (%s)", part->output,
                 part->skipped ? "is there already; left as it is, where this would be " : "",
                 part->files, run->records ? "record" : "file", part->files == 1 ? "" : "s", size);
}

static void lose(void *context, const char *name, unsigned properties)
{
    struct run *run = context;

    report_lost(&run->report, name, properties);
}

/* Parts are read one after the other, but a container in sequence can be read only once. */
static enum sb_code open_whole(struct sb_store **out, struct sb_split_options *split,
                               const struct split_settings *settings,
                               const struct sb_convert_records *records)
{
    const char *path = settings->path;
    struct sb_catalog_options wanted = {.notify = &message_notify,
                                        .progress = message_progress_call};
    struct sb_source_options reading = {
        .bag = records->read, .records = records->choice, .threads = (unsigned)settings->threads};
    struct sb_catalog_result result;

    TRY(open_store(out, path, &settings->opening));
    if (settings->symlink && !sb_store_archive(*out))
        return sb_fail(SB_INVALID,
                       "%s: is no archive, and has no shards to link to; leave out --symlink",
                       path);
    split->streamed = sb_store_is_stream(*out);
    TRY(catalog_store(*out, &split->archive, &reading, &wanted, &result));
    if (result.in_sequence)
        return sb_fail(SB_INVALID,
                       "%s: can only be read in sequence, not part by part; 'shardbox convert' "
                       "makes an archive of it, which can be split",
                       path);
    return SB_OK;
}

static void conclude(const struct split_settings *settings, const struct sb_split_result *result,
                     enum sb_code code)
{
    if (code) {
        message_failure();
        message_raise(STATUS_ERROR);
        if (result->parts > 0 && !settings->dry_run)
            message_error(
                "%s: parts that are whole: %" PRId64 "; %s", settings->output, result->parts,
                settings->symlink ? "run again with --force" : "go on with --existing=skip");
        return;
    }
    if (result->files_left > 0)
        message_warning("%s: files that are in no part: %" PRId64
                        "; --rest=NAME makes a part of them",
                        settings->output, result->files_left);
    if (result->problems > 0)
        message_problem("%s: done in part; problems, named above: %" PRId64, settings->output,
                        result->problems);
}

static enum sb_existing existing_of(const struct split_settings *settings)
{
    return settings->force ? SB_EXISTING_REPLACE : (enum sb_existing)settings->existing;
}

/* Bags that become bags: records get no names, and frames are moved unchanged. */
static enum sb_code split_records(struct run *run, const struct sb_convert_records *records,
                                  struct sb_split_result *result)
{
    const struct split_settings *settings = run->settings;
    const struct sb_split_bag_options wanted = {
        .input = settings->path,
        .rule = settings->parts           ? SB_SPLIT_BAG_PARTS_OF
                : settings->records.count ? SB_SPLIT_BAG_COUNT
                                          : SB_SPLIT_BAG_SIZE,
        .amount = settings->parts + settings->records.count + settings->size,
        .output = settings->output,
        .existing = existing_of(settings),
        .convert = {.to = settings->output_type,
                    .level = (int)settings->level,
                    .records = *records,
                    .transfer = {.threads = (unsigned)settings->threads,
                                 .progress = message_progress_call}},
        .dry_run = settings->dry_run,
        .notify = &message_notify,
        .part_done = show_part,
        .context = run,
    };

    return sb_split_bag(&wanted, result);
}

static enum sb_code split_files(struct run *run, const struct sb_container_type *type,
                                const struct sb_convert_records *records,
                                struct sb_split_result *result)
{
    const struct split_settings *settings = run->settings;
    struct sb_split_options wanted = {
        .scheme = scheme_of(settings),
        .output = settings->output,
        .existing = existing_of(settings),
        .convert = {.to = *type,
                    .shard_size = settings->shard_size == NOT_GIVEN ? 0 : settings->shard_size,
                    .level = (int)settings->level,
                    .transfer = {.threads = (unsigned)settings->threads,
                                 .progress = message_progress_call,
                                 .context = run},
                    .records = *records,
                    .lost = lose},
        .link = settings->symlink,
        .link_kind = settings->absolute ? SB_LINK_ABSOLUTE : SB_LINK_RELATIVE,
        .dry_run = settings->dry_run,
        .notify = &message_notify,
        .part_done = show_part,
        .context = run,
    };
    struct sb_store *whole = NULL;
    enum sb_code code = open_whole(&whole, &wanted, settings, records);

    wanted.convert.records.choice = NULL;
    if (!code)
        code = find_unit(&wanted, whole, settings->path, settings->samples);
    if (!code)
        code = sb_split(&wanted, result);
    sb_store_free(whole);
    return code;
}

static void split(const struct split_settings *settings)
{
    const struct sb_container_type type = settings->output_type;
    const struct sb_convert_options part = {.output = settings->output,
                                            .to = type,
                                            .level = (int)settings->level,
                                            .force = settings->force};
    struct record_use use = {
        .wanted = &part, .to_given = settings->to != NOT_GIVEN, .from = settings->opening.from};
    struct run run = {.settings = settings,
                      .records = sb_container_takes(type.kind) & SB_TO_RECORDS};
    struct records records = {0};
    struct sb_split_result result = {0};
    enum sb_code code = records_open(&records, &settings->records, &use);

    records.wanted.write.shard_records = 0;
    if (run.records)
        message_progress_counts("records");
    if (!code && moves_records(settings, type.kind))
        code = split_records(&run, &records.wanted, &result);
    else if (!code)
        code = split_files(&run, &type, &records.wanted, &result);
    message_progress_end();
    if (!code)
        report_summary(&run.report, settings->output, sb_container_word(type.kind));
    conclude(settings, &result, code);
    report_release(&run.report);
    records_release(&records);
    json_release(&run.line);
}

static void end(void *settings)
{
    shares_release(&((struct split_settings *)settings)->shares);
}

static int run(void *context, char **operands, int count)
{
    struct split_settings *settings = context;
    const char *wrong;

    settings->path = operands[0];
    if (settings->output)
        settings->output_type = output_type(settings);
    wrong = count == 1 ? misuse_of_split(settings)
                       : "give one CONTAINER; 'shardbox merge' makes one of several";
    if (wrong)
        return message_usage("%s", wrong);
    if (splits_in_place(settings))
        split_in_place(settings);
    else
        split(settings);
    return message_status();
}

const struct command split_command = {
    .name = "split",
    .summary = "cut a container into several, or an archive into smaller shards",
    .synopsis =
        (const char *const[]){
            "--parts=N -o OUTPUT CONTAINER",
            "--size=SIZE -o OUTPUT CONTAINER",
            "--count=N -o OUTPUT BAG",
            "--ratio=NAME=NUMBER,... -o OUTPUT CONTAINER",
            "--by-list=NAME=FILE... [--rest=NAME] -o OUTPUT CONTAINER",
            "--by-dir [--rest=NAME] -o OUTPUT CONTAINER",
            "--shard-size=SIZE ARCHIVE",
            NULL,
        },
    .examples = {"shardbox split --parts=8 -o train-{}.barecat train.barecat",
                 "shardbox split --ratio=train=0.9,val=0.1 -o {}.barecat all.barecat"},
    .options = options,
    .exit_status = "0 all is in parts, 1 in part or damaged, 2 error",
    .notes = "CONTAINER is an archive, a tar, a zip, a bag, a Syrah file or a cache.",
    .operands = OPERAND_ARCHIVE,
    .settings_size = sizeof(struct split_settings),
    .defaults =
        &(const struct split_settings){
            .to = NOT_GIVEN,
            .seed = NOT_GIVEN,
            .shard_size = NOT_GIVEN,
            .records = {.framing = NOT_FRAMED},
        },
    .end = end,
    .run = run,
};
