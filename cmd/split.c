/*
 * shardbox split: one container becomes several, or the shards of an archive others of a new size.
 */
#include "task/split.h"
#include "command.h"
#include "convert_report.h"
#include "core/io.h"
#include "core/number.h"
#include "message.h"
#include "opening.h"
#include "options.h"
#include "output.h"
#include "split_bags.h"
#include "split_in_place.h"
#include "split_shares.h"
#include "store/catalog.h"

#include <inttypes.h>
#include <string.h>

#define NOT_GIVEN (-1)

struct settings {
    struct opening opening; /* first: OPTION_FROM */
    const char *output;
    int to;
    int64_t parts;
    int64_t size;
    int64_t seed;
    int64_t shard_size;
    int64_t threads;
    const char *rest;
    bool by_ratio;
    bool by_list;
    bool by_dir;
    bool null;
    bool symlink;
    bool absolute;
    bool force;
    bool skip_existing;
    bool follow;
    bool dry_run;
    bool json;
    int64_t level;
    struct record_settings records;
    struct shares shares;
    const char *path; /* operand */
};

static const char *const to_words[] = {
    "archive", "tar",  "tar.gz", "tar.bz2", "tar.xz", "tar.lzma", "tar.zst", "tar.lz4",
    "tgz",     "tbz2", "txz",    "tzst",    "zip",    "bag",      "bagz",    NULL,
};

static bool parse_ratios(void *context, const char *value)
{
    struct settings *settings = context;

    settings->by_ratio = true;
    return shares_add_ratios(&settings->shares, value);
}

static bool parse_list(void *context, const char *value)
{
    struct settings *settings = context;

    settings->by_list = true;
    return shares_add_list(&settings->shares, value);
}

static const struct option options[] = {
    OPTION_TEXT('o', "output", struct settings, output, "OUTPUT",
                "what parts are called; {} stands for the name or number of a part", OPERAND_FILE),
    OPTION_INTEGER(0, "parts", struct settings, parts, "N", 1, 1000000,
                   "N parts, of like size, in the order on disk"),
    OPTION_SIZE(0, "size", struct settings, size, "SIZE",
                "parts whose files come to SIZE at most, in the order on disk"),
    OPTION_INTEGER(0, "count", struct settings, records.count, "N", 1, INT64_MAX,
                   "of a bag: parts of N records"),
    OPTION_CALL(0, "ratio", "NAME=NUMBER,...", parse_ratios,
                "parts by chance, that is by a hash of the name: train=0.8,val=0.1,test=0.1",
                OPERAND_ANY),
    OPTION_INTEGER(0, "seed", struct settings, seed, "N", 0, INT64_MAX,
                   "with --ratio: another chance (default: 0)"),
    OPTION_CALL(0, "by-list", "NAME=FILE", parse_list,
                "a part of the names in FILE, a line each; - is standard input; may be repeated",
                OPERAND_ANY),
    OPTION_FLAG('0', "null", struct settings, null, "with --by-list: NUL ends each name"),
    OPTION_FLAG(0, "by-dir", struct settings, by_dir, "a part for each directory at the top"),
    OPTION_TEXT(0, "rest", struct settings, rest, "NAME", "a part for all that is in no other",
                OPERAND_ANY),
    OPTION_FLAG(0, "symlink", struct settings, symlink,
                "copy nothing: parts are indexes, and links to the shards of the archive"),
    OPTION_FLAG(0, "absolute", struct settings, absolute,
                "with --symlink: links are absolute, not relative to the parts"),
    OPTION_CHOICE(0, "to", struct settings, to, "KIND", to_words,
                  "what parts become (default: by the suffix of OUTPUT, else archives)"),
    OPTION_SIZE(
        0, "shard-size", struct settings, shard_size, "SIZE",
        "begin a new shard before one passes SIZE (0: never): of parts or, without -o, of ARCHIVE"),
    OPTION_INTEGER(0, "level", struct settings, level, "N", 1, 22, "how hard to compress"),
    OPTIONS_OF_BAGS(struct settings, records),
    OPTION_FLAG(0, "follow", struct settings, follow,
                "without -o: write into shards that are links, or have more than one"),
    OPTION_FLAG('f', "force", struct settings, force,
                "replace parts that are there; without -o: shards behind the last file are the "
                "archive's, whatever they hold"),
    OPTION_FLAG(0, "skip-existing", struct settings, skip_existing,
                "keep parts that are there, make the others"),
    OPTION_INTEGER('j', "threads", struct settings, threads, "N", 1, 256,
                   "threads to use (default: the cores, at most 4)"),
    OPTION_FLAG('n', "dry-run", struct settings, dry_run,
                "write nothing; show which parts there would be"),
    OPTION_FLAG(0, "json", struct settings, json, "print each part as a line of JSON"),
    OPTION_FROM,
    OPTION_END,
};

static const char *const synopsis[] = {
    "--parts=N -o OUTPUT CONTAINER",
    "--size=SIZE -o OUTPUT CONTAINER",
    "--count=N -o OUTPUT BAG",
    "--ratio=NAME=NUMBER,... [--seed=N] -o OUTPUT CONTAINER",
    "--by-list=NAME=FILE... [--rest=NAME] -o OUTPUT CONTAINER",
    "--by-dir [--rest=NAME] -o OUTPUT CONTAINER",
    "--shard-size=SIZE ARCHIVE",
    NULL,
};

static const char notes[] =
    "CONTAINER is an archive, a tar, a zip or a bag.\n"
    "Exit status: 0 all is in parts, 1 in part or damaged, 2 error: parts that are done stand.";

static struct sb_container_type output_type(const struct settings *settings)
{
    struct sb_container_type type;

    if (settings->to != NOT_GIVEN)
        return sb_container_named(to_words[settings->to]);
    type = sb_container_by_suffix(settings->output);
    if (type.kind == SB_UNKNOWN)
        type.kind = SB_ARCHIVE;
    return type;
}

static int count_rules(const struct settings *settings)
{
    return (settings->parts > 0) + (settings->size > 0) + (settings->records.count > 0) +
           settings->by_ratio + settings->by_list + settings->by_dir;
}

/* Is the archive itself to have other shards? */
static bool is_in_place(const struct settings *settings)
{
    return settings->shard_size != NOT_GIVEN && !settings->output && count_rules(settings) == 0;
}

static const char *misused_in_place(const struct settings *settings)
{
    if (settings->seed != NOT_GIVEN || settings->null || settings->rest ||
        settings->to != NOT_GIVEN || settings->symlink || settings->absolute ||
        settings->skip_existing || settings->opening.from.kind != SB_UNKNOWN)
        return "without -o, --shard-size changes ARCHIVE itself: of the options only --follow, "
               "--force, --dry-run and --json go with it";
    return NULL;
}

static bool reads_stdin_twice(const struct settings *settings)
{
    size_t times = strcmp(settings->path, "-") == 0;

    for (size_t i = 0; i < settings->shares.count; i++)
        times += strcmp(settings->shares.all[i].list, "-") == 0;
    return times > 1;
}

static const char *misused_parts(const struct settings *settings)
{
    bool by_size = settings->parts > 0 || settings->size > 0 || settings->records.count > 0;

    if (count_rules(settings) != 1)
        return "say how to split, in one way: --parts, --size, --count, --ratio, --by-list or "
               "--by-dir; or just --shard-size";
    if (!settings->output || !*settings->output)
        return "say where parts go: -o 'OUT-{}.barecat'";
    if (settings->seed != NOT_GIVEN && !settings->by_ratio)
        return "--seed is for --ratio";
    if (settings->null && !settings->by_list)
        return "--null is for --by-list";
    if (settings->by_list && reads_stdin_twice(settings))
        return "standard input can be only one of the lists, or CONTAINER";
    if (settings->rest && by_size)
        return "--rest is for --ratio, --by-list and --by-dir: by size, nothing is left";
    if (settings->rest && !shares_is_name(settings->rest, strlen(settings->rest)))
        return "--rest: the name of a part cannot be empty or hold a '/'";
    if (settings->follow)
        return "--follow is for --shard-size without -o";
    if (settings->absolute && !settings->symlink)
        return "--absolute is for --symlink";
    if (settings->force && settings->skip_existing)
        return "--force and --skip-existing exclude each other";
    return NULL;
}

static const char *misused_output(const struct settings *settings,
                                  const struct sb_container_type *type)
{
    if (type->kind == SB_CPIO || type->kind == SB_DIRECTORY)
        return "parts can be archives, tars, zips or bags; choose another OUTPUT, or say --to";
    if (type->kind != SB_ARCHIVE && settings->shard_size != NOT_GIVEN)
        return "--shard-size is for parts that are archives";
    if (type->kind != SB_ARCHIVE && settings->symlink)
        return "with --symlink parts are archives; choose another OUTPUT, or say --to=archive";
    if (settings->level && type->filter == SB_FILTER_NONE && type->kind != SB_ZIP &&
        type->kind != SB_BAG)
        return "--level is for what is compressed";
    return misused_bag_split(&settings->records, is_bag(settings->path, &settings->opening),
                             type->kind == SB_BAG, settings->size > 0);
}

/* Are records moved, and no files named? */
static bool moves_records(const struct settings *settings, enum sb_container_kind to)
{
    bool by_number = settings->parts > 0 || settings->size > 0 || settings->records.count > 0;

    return to == SB_BAG && by_number && is_bag(settings->path, &settings->opening);
}

static struct sb_split_scheme scheme_of(const struct settings *settings)
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
        .list_end = settings->null ? '\0' : '\n',
        .rest = settings->rest,
    };
}

/* What one run tells its callbacks. */
struct run {
    const struct settings *settings;
    struct report report;
    struct sb_buf line;
};

static void print_json(struct run *run, const struct sb_split_part *part)
{
    struct sb_buf *line = &run->line;

    sb_buf_clear(line);
    output_need(sb_buf_add_char(line, '{'));
    output_need(json_name(line, "part", part->name, strlen(part->name)));
    output_need(sb_buf_add_char(line, ','));
    output_need(json_name(line, "output", part->output, strlen(part->output)));
    output_need(sb_buf_add_format(line,
                                  ",\"files\":%" PRId64 ",\"bytes\":%" PRId64 ",\"skipped\":%s}\n",
                                  part->files, part->bytes, part->skipped ? "true" : "false"));
    output_bytes(line->data, line->size);
}

static void show_part(void *context, const struct sb_split_part *part)
{
    struct run *run = context;
    char size[SB_HUMAN_SIZE];

    if (run->settings->json) {
        print_json(run, part);
        return;
    }
    if (run->settings->dry_run) {
        output_format("%10" PRId64 " %15" PRId64 " ", part->files, part->bytes);
        output_line(part->output, strlen(part->output), false);
        return;
    }
    sb_format_human(part->bytes, size);
    message_note("%s: %s%" PRId64 " %s (%s)", part->output,
                 part->skipped ? "is there already; left as it is, where this would be " : "",
                 part->files, part->files == 1 ? "file" : "files", size);
}

static void lose(void *context, const char *name, unsigned properties)
{
    struct run *run = context;

    report_lost(&run->report, name, properties);
}

/* Parts are read one after the other: bytes that come in sequence are there only once. */
static enum sb_code open_whole(struct container *out, const struct settings *settings,
                               const struct sb_convert_records *records, struct sb_error *err)
{
    const char *path = settings->path;
    struct sb_catalog_options wanted = {.notify = &message_notify,
                                        .progress = message_progress_call};
    struct sb_source_options reading = {.bag = records->read, .records = records->choice};
    struct sb_catalog_result result;
    enum sb_code code =
        open_container_with(out, path, &settings->opening, &reading, &message_notify, err);

    if (code || out->archive)
        return code;
    if (settings->symlink)
        return sb_fail(err, SB_INVALID,
                       "%s: is no archive, and has no shards to link to; leave out --symlink",
                       path);
    code = catalog_container(out, &wanted, &result, err);
    if (!code && result.in_sequence)
        code = sb_fail(err, SB_INVALID,
                       "%s: can only be read in sequence, not part by part; 'shardbox convert' "
                       "makes an archive of it, which can be split",
                       path);
    return code;
}

static void conclude(const struct settings *settings, const struct sb_split_result *result,
                     enum sb_code code, const struct sb_error *err)
{
    if (code) {
        message_failure(err);
        message_raise(STATUS_ERROR);
        if (result->parts > 0 && !settings->dry_run)
            message_error(
                "%s: parts that are whole: %" PRId64 "; %s", settings->output, result->parts,
                settings->symlink ? "run again with --force" : "go on with --skip-existing");
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

static enum sb_split_existing existing_of(const struct settings *settings)
{
    return settings->force           ? SB_SPLIT_REPLACE
           : settings->skip_existing ? SB_SPLIT_SKIP
                                     : SB_SPLIT_REFUSE;
}

static enum sb_code split_records(struct run *run, const struct sb_convert_records *records,
                                  struct sb_split_result *result, struct sb_error *err)
{
    const struct settings *settings = run->settings;
    struct bag_split wanted = {
        .input = settings->path,
        .parts = settings->parts,
        .size = settings->size,
        .count = settings->records.count,
        .output = settings->output,
        .existing = existing_of(settings),
        .level = settings->level,
        .threads = (unsigned)settings->threads,
        .dry_run = settings->dry_run,
        .records = records,
        .part_done = show_part,
        .context = run,
    };

    return split_bags(&wanted, result, err);
}

static enum sb_code split_files(struct run *run, const struct sb_container_type *type,
                                const struct sb_convert_records *records,
                                struct sb_split_result *result, struct sb_error *err)
{
    const struct settings *settings = run->settings;
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
    struct container whole = {0};
    enum sb_code code = open_whole(&whole, settings, records, err);

    wanted.archive = whole.archive;
    wanted.convert.records.choice = NULL;
    if (!code)
        code = sb_split(&wanted, result, err);
    close_container(&whole);
    return code;
}

static void split(const struct settings *settings)
{
    const struct sb_container_type type = output_type(settings);
    struct record_use use = {.output = settings->output,
                             .to = type,
                             .to_given = settings->to != NOT_GIVEN,
                             .from = settings->opening.from,
                             .level = settings->level};
    struct run run = {.settings = settings};
    struct records records = {0};
    struct sb_split_result result = {0};
    struct sb_error err;
    enum sb_code code = report_open(&run.report, NULL, &err);

    if (!code)
        code = records_open(&records, &settings->records, &use, &err);
    records.wanted.write.shard_records = 0;
    if (!code && moves_records(settings, type.kind))
        code = split_records(&run, &records.wanted, &result, &err);
    else if (!code)
        code = split_files(&run, &type, &records.wanted, &result, &err);
    message_progress_end();
    if (!code)
        report_summary(&run.report, settings->output, sb_container_word(type.kind));
    conclude(settings, &result, code, &err);
    report_release(&run.report);
    records_release(&records);
    sb_buf_release(&run.line);
}

/* What is wrong with the options, or NULL. */
static const char *misuse(const struct settings *settings)
{
    struct sb_container_type type;
    const char *wrong;

    if (is_in_place(settings))
        return misused_in_place(settings);
    wrong = misused_parts(settings);
    if (wrong)
        return wrong;
    type = output_type(settings);
    return misused_output(settings, &type);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct settings settings = {.to = NOT_GIVEN,
                                .seed = NOT_GIVEN,
                                .shard_size = NOT_GIVEN,
                                .threads = sb_default_threads(),
                                .records = {.framing = NOT_FRAMED}};
    const char *wrong;
    int first, status;

    status = options_parse(self, argc, argv, &settings, &first, NULL);
    if (status != OPTIONS_RUN)
        goto out;
    settings.path = argv[first];
    wrong = argc - first == 1 ? misuse(&settings) : "give one CONTAINER";
    if (wrong) {
        status = message_usage("%s", wrong);
        goto out;
    }
    if (is_in_place(&settings))
        split_in_place(&(struct in_place){.path = settings.path,
                                          .shard_size = settings.shard_size,
                                          .follow = settings.follow,
                                          .force = settings.force,
                                          .dry_run = settings.dry_run,
                                          .json = settings.json});
    else
        split(&settings);
    status = message_status();
out:
    shares_release(&settings.shares);
    return status;
}

const struct command split_command = {
    .name = "split",
    .summary = "cut a container into several, or an archive into smaller shards",
    .synopsis = synopsis,
    .options = options,
    .notes = notes,
    .operands = OPERAND_ARCHIVE,
    .run = run,
};
