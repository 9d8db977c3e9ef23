/*
 * shardbox split: one container becomes several, or the shards of an archive others of a new size.
 */
#include "convert/convert.h"
#include "open/opening.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/report.h"
#include "ui/shared_options.h"

#include "core/number.h"
#include "store/catalog.h"
#include "task/split/split.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define RATIO_SLACK 1e-9 /* 0.8 + 0.1 + 0.1 is not quite 1 */

/* The parts that the user names, and what each gets. */
struct shares {
    struct sb_split_share *all; /* their names were allocated */
    size_t count;
};

struct settings {
    struct opening opening; /* first: OPTION_FROM */
    struct sb_split_options wanted;
    int to;
    int64_t parts;
    int64_t size;
    bool by_ratio;
    bool by_list;
    bool by_dir;
    bool samples;
    bool null;
    bool absolute;
    bool force;
    bool follow;
    bool json;
    struct record_settings records;
    struct shares shares;
    const char *path; /* operand */
};

static void release_shares(struct shares *shares)
{
    for (size_t i = 0; i < shares->count; i++)
        free((char *)shares->all[i].name);
    free(shares->all);
    *shares = (struct shares){0};
}

/* May a part have this name? It becomes part of a file's name. */
static bool may_be_name(const char *name, size_t size)
{
    return size > 0 && !memchr(name, '/', size);
}

/* list and ratio: as in struct sb_split_share. */
static bool add_share(struct shares *shares, const char *name, size_t name_size, const char *list,
                      double ratio)
{
    struct sb_split_share *all = reallocarray(shares->all, shares->count + 1, sizeof(*shares->all));
    char *copy = strndup(name, name_size);

    if (all)
        shares->all = all;
    if (!all || !copy) {
        free(copy);
        message_error("out of memory");
        return false;
    }
    all[shares->count++] = (struct sb_split_share){.name = copy, .list = list, .ratio = ratio};
    return true;
}

static bool is_named(const struct shares *shares, const char *name, size_t size)
{
    for (size_t i = 0; i < shares->count; i++) {
        if (strlen(shares->all[i].name) == size && memcmp(shares->all[i].name, name, size) == 0)
            return true;
    }
    return false;
}

/* "0.8" or "80%". */
static bool parse_ratio(const char *text, const char *end, double *out)
{
    char *stop;

    *out = strtod(text, &stop);
    if (stop == text || !isfinite(*out))
        return false;
    if (*stop == '%') {
        *out /= 100;
        stop++;
    }
    return stop == end;
}

static bool add_ratio(struct shares *shares, const char *text, size_t size)
{
    const char *sign = memchr(text, '=', size);
    size_t name_size = sign ? (size_t)(sign - text) : 0;
    double ratio;

    if (!sign || !may_be_name(text, name_size) || !parse_ratio(sign + 1, text + size, &ratio)) {
        message_usage("--ratio: '%.*s' is not NAME=NUMBER, such as train=0.8", (int)size, text);
        return false;
    }
    if (ratio <= 0 || ratio > 1) {
        message_usage("--ratio: '%.*s': all is 1, and a part of it a number from 0 to 1, such as "
                      "0.8, or 80%%",
                      (int)size, text);
        return false;
    }
    if (is_named(shares, text, name_size)) {
        message_usage("--ratio: '%.*s' is named twice", (int)name_size, text);
        return false;
    }
    return add_share(shares, text, name_size, NULL, ratio);
}

/* "NAME=NUMBER,NAME=NUMBER"; all numbers so far may add up to 1. */
static bool parse_ratios(void *context, const char *value)
{
    struct settings *settings = context;
    struct shares *shares = &settings->shares;
    double sum = 0;

    settings->by_ratio = true;
    for (const char *end; value; value = *end ? end + 1 : NULL) {
        end = strchrnul(value, ',');
        if (!add_ratio(shares, value, (size_t)(end - value)))
            return false;
    }
    for (size_t i = 0; i < shares->count; i++)
        sum += shares->all[i].ratio;
    if (sum <= 1 + RATIO_SLACK)
        return true;
    message_usage("--ratio: the numbers add up to %g, which is more than 1", sum);
    return false;
}

/* "NAME=FILE", which the share points into. */
static bool parse_list(void *context, const char *value)
{
    struct settings *settings = context;
    const char *sign = strchr(value, '=');

    settings->by_list = true;
    if (sign && sign[1] && may_be_name(value, (size_t)(sign - value)))
        return add_share(&settings->shares, value, (size_t)(sign - value), sign + 1, 0);
    message_usage("--by-list: '%s' is not NAME=FILE, such as train=train.txt", value);
    return false;
}

static const struct option options[] = {
    OPTION_GROUP("How it is cut"),
    OPTION_INTEGER(0, "parts", struct settings, parts, "N", 1, 1000000,
                   "N parts, of like size, in the order on disk"),
    OPTION_SIZE(0, "size", struct settings, size, "SIZE",
                "parts of at most SIZE, in the order on disk"),
    OPTION_INTEGER(0, "count", struct settings, records.count, "N", 1, INT64_MAX,
                   "of a bag: parts of N records"),
    OPTION_CALL(0, "ratio", "NAME=NUMBER,...", parse_ratios,
                "by a hash of the name: train=80%,val=0.1,test=0.1", OPERAND_ANY),
    OPTION_CALL(0, "by-list", "NAME=FILE", parse_list,
                "a part of the names in FILE; may be repeated", OPERAND_ANY),
    OPTION_FLAG(0, "by-dir", struct settings, by_dir, "a part for each directory at the top"),
    OPTION_TEXT(0, "rest", struct settings, wanted.scheme.rest, "NAME",
                "a part for all that is in no other", OPERAND_ANY),
    OPTION_FLAG(0, "samples", struct settings, samples,
                "files of one name up to its first dot stay together"),
    OPTION_SIZE(0, "shard-size", struct settings, wanted.convert.shard_size, "SIZE",
                "shards of at most SIZE; without -o: cut ARCHIVE"),
    OPTION_GROUP("Output"),
    OPTION_OUTPUT(struct settings, wanted.output,
                  "what parts are called; {}: a part's name, or number from 0"),
    OPTION_TO(struct settings, to, "what parts become (default: by the suffix)"),
    OPTION_FORMAT,
    OPTION_FLAG(0, "symlink", struct settings, wanted.link,
                "copy nothing: parts are links to the shards"),
    OPTION_FORCE(struct settings, force, "replace parts that exist; without -o, see the manual"),
    OPTION_EXISTING(struct settings, wanted.existing, "parts that exist already (default: fail)"),
    OPTION_GROUP("Reports"),
    OPTION_DRY_RUN(struct settings, wanted.dry_run),
    OPTION_FLAG(0, "json", struct settings, json, "print each part as a line of JSON"),
    OPTION_MORE("How it is cut"),
    OPTION_INTEGER(0, "seed", struct settings, wanted.scheme.seed, "N", 0, INT64_MAX,
                   "with --ratio: another chance (default: 0)"),
    OPTION_FLAG('0', "null", struct settings, null, "with --by-list: NUL ends each name"),
    OPTION_MORE("Output"),
    OPTION_PROTECT,
    OPTION_WAIT,
    OPTION_ABSOLUTE(struct settings, absolute),
    OPTION_FOLLOW(struct settings, follow),
    OPTION_LEVEL(struct settings, wanted.convert.level),
    OPTIONS_OF_BAGS(struct settings, records),
    OPTION_MORE("Speed"),
    OPTION_THREADS(struct settings, wanted.convert.transfer.threads, "threads to use"),
    OPTION_BWLIMIT,
    OPTION_MORE("Input"),
    OPTIONS_INPUT,
    OPTION_END,
};

static int count_rules(const struct settings *settings)
{
    return (settings->parts > 0) + (settings->size > 0) + (settings->records.count > 0) +
           settings->by_ratio + settings->by_list + settings->by_dir;
}

/* Does the archive itself get other shards? */
static bool splits_in_place(const struct settings *settings)
{
    return option_is_given("shard-size") && !settings->wanted.output && count_rules(settings) == 0;
}

static const char *misused_in_place(const struct settings *settings)
{
    if (option_is_given("seed") || settings->null || settings->wanted.scheme.rest ||
        settings->samples || settings->to != NOT_GIVEN || settings->wanted.link ||
        settings->absolute || settings->wanted.existing ||
        settings->opening.from.kind != SB_UNKNOWN || settings->wanted.convert.level ||
        names_bags(&settings->records))
        return "without -o, --shard-size changes ARCHIVE itself: of the options only --follow, "
               "--force, --dry-run and --json go with it";
    return NULL;
}

static bool is_stdin(const char *name)
{
    return name && strcmp(name, "-") == 0;
}

static bool reads_stdin_twice(const struct settings *settings)
{
    size_t times = (size_t)is_stdin(settings->path) + is_stdin(settings->records.files_from);

    for (size_t i = 0; i < settings->shares.count; i++)
        times += is_stdin(settings->shares.all[i].list);
    return times > 1;
}

static const char *misused_parts(const struct settings *settings)
{
    bool by_size = settings->parts > 0 || settings->size > 0 || settings->records.count > 0;

    if (count_rules(settings) != 1)
        return "say how to split, in one way: --parts, --size, --count, --ratio, --by-list or "
               "--by-dir; or just --shard-size";
    if (!settings->wanted.output || !*settings->wanted.output)
        return "say where parts go: -o 'OUT-{}.barecat'";
    if (option_is_given("seed") && !settings->by_ratio)
        return "--seed is for --ratio";
    if (settings->null && !settings->by_list)
        return "--null is for --by-list";
    if (reads_stdin_twice(settings))
        return "standard input can be only one of the lists, or CONTAINER";
    if (settings->wanted.scheme.rest && by_size)
        return "--rest is for --ratio, --by-list and --by-dir: by size, nothing is left";
    if (settings->wanted.scheme.rest &&
        !may_be_name(settings->wanted.scheme.rest, strlen(settings->wanted.scheme.rest)))
        return "--rest: the name of a part cannot be empty or hold a '/'";
    if (settings->follow)
        return "--follow is for --shard-size without -o";
    if (settings->absolute && !settings->wanted.link)
        return "--absolute is for --symlink";
    if (settings->force && settings->wanted.existing != SB_EXISTING_FAIL)
        return "--force and --existing exclude each other";
    if (settings->wanted.existing == SB_EXISTING_NEWER)
        return "--existing=newer compares files of one name, and parts are not compared: say skip "
               "or "
               "replace";
    return NULL;
}

static const char *misused_output(const struct settings *settings)
{
    const struct sb_container_type *type = &settings->wanted.convert.to;
    unsigned takes = sb_container_takes(type->kind);
    bool from_bag = is_bag(settings->path, &settings->opening), to_bag = takes & SB_TO_RECORDS;

    if (protect_is_given() && takes & SB_TO_KEYS)
        return "--protect is for parts that are archives or files, and a cache is a directory";
    if (takes == 0 || takes & SB_TO_TREE)
        return "parts can be archives, tars, zips, bags, Syrah files or caches; choose another "
               "OUTPUT, or say --to";
    if (!(takes & SB_TO_SPARSE) && option_is_given("format"))
        return "--format is for parts that are tars";
    if (!(takes & SB_TO_INDEX) && option_is_given("shard-size"))
        return "--shard-size is for parts that are archives";
    if (!(takes & SB_TO_INDEX) && settings->wanted.link)
        return "with --symlink parts are archives; choose another OUTPUT, or say --to=archive";
    if (settings->wanted.convert.level && type->filter == SB_FILTER_NONE &&
        !(takes & (SB_TO_MEMBERS | SB_TO_RECORDS)))
        return "--level is for what is compressed";
    if (settings->records.count && !(from_bag && to_bag))
        return "--count is for a bag whose parts are bags";
    if (settings->records.bag.layout == SB_LAYOUT_INTERLEAVED && to_bag && settings->size > 0)
        return "--size takes records in their order: it excludes --layout=interleaved";
    return misused_bag_words(&settings->records, from_bag, to_bag);
}

/* What is wrong with the options, or NULL. */
static const char *misuse_of(const struct settings *settings)
{
    const char *wrong;

    if (splits_in_place(settings))
        return misused_in_place(settings);
    wrong = misused_parts(settings);
    return wrong ? wrong : misused_output(settings);
}

#define RATIO_SLACK 1e-9 /* 0.8 + 0.1 + 0.1 is not quite 1 */

static void show_moved(void *context, int64_t bytes)
{
    (void)context;
    message_progress_update(bytes, 0, 0);
}

static void summarize(const struct settings *settings, const struct sb_reshard_counts *counts)
{
    struct json line = {0};

    if (settings->json) {
        json_begin(&line);
        json_number(&line, "shards_before", counts->shards_before);
        json_number(&line, "shards_after", counts->shards_after);
        json_number(&line, "moved_files", counts->moved_files);
        json_number(&line, "moved_bytes", counts->moved_bytes);
        json_print(&line);
        json_release(&line);
    } else if (settings->wanted.dry_run && counts->moved_files == 0 &&
               counts->shards_after == counts->shards_before)
        return;
    else if (settings->wanted.dry_run)
        output_format("shards: %" PRIu32 ", would be: %" PRIu32 "; files to move: %" PRId64
                      " (%s)\n",
                      counts->shards_before, counts->shards_after, counts->moved_files,
                      human_size(counts->moved_bytes));
    else
        message_note("%s: shards: %" PRIu32 ", were: %" PRIu32 "; moved files: %" PRId64 " (%s)",
                     settings->path, counts->shards_after, counts->shards_before,
                     counts->moved_files, human_size(counts->moved_bytes));
}

/* Reshards the archive, and prints the result. */
static void split_in_place(const struct settings *settings)
{
    struct sb_reshard_options wanted = {
        .shard_size = settings->wanted.convert.shard_size > 0 ? settings->wanted.convert.shard_size
                                                              : INT64_MAX,
        .dry_run = settings->wanted.dry_run,
        .mover = {.follow = settings->follow,
                  .force = settings->force,
                  .notify = &message_notify,
                  .progress = show_moved},
    };
    struct sb_reshard_counts counts = {0};
    enum sb_code code = sb_reshard(settings->path, &wanted, &counts);

    message_progress_end();
    if (!code) {
        summarize(settings, &counts);
        if (!settings->wanted.dry_run)
            protect_later(settings->path);
        return;
    }
    explain_failure(settings->path);
    message_failure();
    if (code == SB_INTERRUPT || (code == SB_SYSTEM && counts.moved_files > 0))
        message_error("%s: is whole; run the same command again to go on", settings->path);
}

static struct sb_container_type output_type(const struct settings *settings)
{
    struct sb_container_type type;

    if (settings->to != NOT_GIVEN)
        return sb_container_named(to_words[settings->to]);
    type = sb_container_by_suffix(settings->wanted.output);
    if (type.kind == SB_UNKNOWN)
        type = sb_container_named("archive");
    return type;
}

/* Are records moved, rather than files by name? */
static bool moves_records(const struct settings *settings)
{
    bool by_number = settings->parts > 0 || settings->size > 0 || settings->records.count > 0;

    return sb_container_takes(settings->wanted.convert.to.kind) & SB_TO_RECORDS && by_number &&
           is_bag(settings->path, &settings->opening);
}

static void fill_scheme(struct sb_split_scheme *scheme, const struct settings *settings)
{
    scheme->rule = settings->parts      ? SB_SPLIT_PARTS
                   : settings->size     ? SB_SPLIT_SIZE
                   : settings->by_ratio ? SB_SPLIT_RATIOS
                   : settings->by_list  ? SB_SPLIT_LISTS
                                        : SB_SPLIT_DIRS;
    scheme->amount = settings->parts ? settings->parts : settings->size;
    scheme->shares = settings->shares.all;
    scheme->share_count = settings->shares.count;
    scheme->lists_must_name = settings->force;
    scheme->list_end = settings->null ? '\0' : '\n';
}

/* What one run passes to its callbacks. */
struct run {
    const struct settings *settings;
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

    if (!part->skipped && !run->settings->wanted.dry_run)
        protect_later(part->output);
    if (run->settings->json) {
        print_json(run, part);
        return;
    }
    if (run->settings->wanted.dry_run) {
        if (part->skipped)
            return;
        output_format("%10" PRId64 " %15" PRId64 " ", part->files, part->bytes);
        output_line(part->output, strlen(part->output), false);
        return;
    }
    message_note("%s: %s%" PRId64 " %s%s (%s)", part->output,
                 part->skipped ? "is there already; left as it is, where this would be " : "",
                 part->files, run->records ? "record" : "file", part->files == 1 ? "" : "s",
                 human_size(part->bytes));
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

/* Parts are read one after the other, but a container in sequence can be read only once. */
static enum sb_code open_whole(struct sb_store **out, struct sb_split_options *split,
                               const struct settings *settings)
{
    const struct sb_convert_records *records = &split->convert.records;
    const char *path = settings->path;
    struct sb_catalog_options wanted = {.notify = &message_notify,
                                        .progress = message_progress_call};
    struct sb_source_options reading = {.bag = records->read,
                                        .records = records->choice,
                                        .threads =
                                            (unsigned)settings->wanted.convert.transfer.threads};
    struct sb_catalog_result result;

    TRY(open_store(out, path, &settings->opening));
    if (settings->wanted.link && !sb_store_archive(*out))
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

static void conclude(const struct settings *settings, const struct sb_split_result *result,
                     enum sb_code code)
{
    if (code) {
        message_failure();
        message_raise(STATUS_ERROR);
        if (result->parts > 0 && !settings->wanted.dry_run)
            message_error(
                "%s: parts that are whole: %" PRId64 "; %s", settings->wanted.output, result->parts,
                settings->wanted.link ? "run again with --force" : "go on with --existing=skip");
        return;
    }
    if (result->files_left > 0)
        message_warning("%s: files that are in no part: %" PRId64
                        "; --rest=NAME makes a part of them",
                        settings->wanted.output, result->files_left);
    if (result->problems > 0)
        message_problem("%s: done in part; problems, named above: %" PRId64,
                        settings->wanted.output, result->problems);
}

/* Bags that become bags: records get no names, and frames are moved unchanged. */
static enum sb_code split_records(struct run *run, struct sb_split_result *result)
{
    const struct settings *settings = run->settings;
    struct sb_split_options wanted = settings->wanted;

    wanted.scheme.rule = settings->parts           ? SB_SPLIT_PARTS
                         : settings->records.count ? SB_SPLIT_COUNT
                                                   : SB_SPLIT_SIZE;
    wanted.scheme.amount = settings->parts + settings->records.count + settings->size;
    wanted.notify = &message_notify;
    wanted.part_done = show_part;
    wanted.context = run;
    return sb_split_bag(settings->path, &wanted, result);
}

static enum sb_code split_files(struct run *run, struct sb_split_result *result)
{
    const struct settings *settings = run->settings;
    struct sb_split_options wanted = settings->wanted;
    CLEANUP(sb_store_freep) struct sb_store *whole = NULL;

    fill_scheme(&wanted.scheme, settings);
    wanted.convert.transfer.context = &run->report;
    wanted.convert.lost = report_lost;
    wanted.link_kind = settings->absolute ? SB_LINK_ABSOLUTE : SB_LINK_RELATIVE;
    wanted.notify = &message_notify;
    wanted.part_done = show_part;
    wanted.context = run;
    TRY(open_whole(&whole, &wanted, settings));
    wanted.convert.records.choice = NULL;
    TRY(find_unit(&wanted, whole, settings->path, settings->samples));
    return sb_split(&wanted, result);
}

static void split(struct settings *settings)
{
    struct sb_convert_options *part = &settings->wanted.convert;
    struct run run = {.settings = settings,
                      .records = sb_container_takes(part->to.kind) & SB_TO_RECORDS};
    struct records records = {0};
    struct sb_split_result result = {0};
    enum sb_code code;

    part->output = settings->wanted.output;
    part->force = settings->force;
    part->transfer.progress = message_progress_call;
    code = records_open(&records, &settings->records);
    records.wanted.write.shard_records = 0;
    part->output = NULL;
    part->force = false;
    part->records = records.wanted;
    if (settings->force)
        settings->wanted.existing = SB_EXISTING_REPLACE;
    if (run.records)
        message_progress_counts("records");
    if (!code)
        code = moves_records(settings) ? split_records(&run, &result) : split_files(&run, &result);
    message_progress_end();
    if (!code)
        report_summary(&run.report, settings->wanted.output, sb_container_word(part->to.kind));
    conclude(settings, &result, code);
    report_release(&run.report);
    records_release(&records);
    json_release(&run.line);
}

static void end(void *settings)
{
    release_shares(&((struct settings *)settings)->shares);
}

static int run(void *context, char **operands, int count)
{
    struct settings *settings = context;
    const char *wrong;

    settings->path = operands[0];
    settings->records.wanted = &settings->wanted.convert;
    settings->records.from = settings->opening.from;
    settings->records.to_given = settings->to != NOT_GIVEN;
    if (settings->wanted.output)
        settings->wanted.convert.to = output_type(settings);
    wrong = count == 1 ? misuse_of(settings)
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
    .synopsis = {"--parts=N -o OUTPUT CONTAINER", "--size=SIZE -o OUTPUT CONTAINER",
                 "--count=N -o OUTPUT BAG", "--ratio=NAME=NUMBER,... -o OUTPUT CONTAINER",
                 "--by-list=NAME=FILE... [--rest=NAME] -o OUTPUT CONTAINER",
                 "--by-dir [--rest=NAME] -o OUTPUT CONTAINER", "--shard-size=SIZE ARCHIVE"},
    .examples = {"shardbox split --parts=8 -o train-{}.barecat train.barecat",
                 "shardbox split --ratio=train=0.9,val=0.1 -o {}.barecat all.barecat"},
    .options = options,
    .exit_status = "0 all is in parts, 1 in part or damaged, 2 error",
    .notes = "CONTAINER is an archive, a tar, a zip, a bag, a Syrah file or a cache.",
    .operands = OPERAND_ARCHIVE,
    .settings_size = sizeof(struct settings),
    .defaults =
        &(const struct settings){
            .to = NOT_GIVEN,
            .records = {.framing = NOT_FRAMED},
        },
    .end = end,
    .run = run,
};
