/*
 * shardbox split: one container becomes several.
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
#include "store/catalog.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NOT_GIVEN (-1)

#define SHARES_MOST 1024
#define RATIO_SLACK 1e-9 /* 0.8 + 0.1 + 0.1 is not quite 1 */

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
    bool dry_run;
    bool json;

    struct sb_split_share shares[SHARES_MOST]; /* their names were allocated */
    size_t share_count;
};

static const char *const to_words[] = {
    "archive", "tar", "tar.gz", "tar.bz2", "tar.xz", "tar.lzma", "tar.zst",
    "tar.lz4", "tgz", "tbz2",   "txz",     "tzst",   "zip",      NULL,
};

/* Shares of parts, given by the user */

static bool add_share(struct settings *settings, const char *name, size_t name_size,
                      const char *list, double ratio)
{
    struct sb_split_share *share = &settings->shares[settings->share_count];

    if (settings->share_count == SHARES_MOST) {
        message_usage("there can be no more than %d parts with a name", SHARES_MOST);
        return false;
    }
    share->name = strndup(name, name_size);
    if (!share->name)
        output_check(ENOMEM);
    share->list = list;
    share->ratio = ratio;
    settings->share_count++;
    return true;
}

static bool is_part_name(const char *name, size_t size)
{
    return size > 0 && !memchr(name, '/', size);
}

/* One NAME=NUMBER, which ends at a comma. */
static bool parse_ratio(struct settings *settings, const char *text, size_t size)
{
    const char *sign = memchr(text, '=', size);
    size_t name_size = sign ? (size_t)(sign - text) : 0;
    char *end = NULL;
    double ratio = sign ? strtod(sign + 1, &end) : 0;

    if (!sign || !is_part_name(text, name_size) || end != text + size || end == sign + 1 ||
        !isfinite(ratio) || ratio <= 0 || ratio > 1) {
        message_usage("--ratio: '%.*s' is not NAME=NUMBER, such as train=0.8", (int)size, text);
        return false;
    }
    for (size_t i = 0; i < settings->share_count; i++) {
        if (strlen(settings->shares[i].name) == name_size &&
            memcmp(settings->shares[i].name, text, name_size) == 0) {
            message_usage("--ratio: '%.*s' is named twice", (int)name_size, text);
            return false;
        }
    }
    return add_share(settings, text, name_size, NULL, ratio);
}

static bool parse_ratios(void *context, const char *value)
{
    struct settings *settings = context;
    double sum = 0;

    settings->by_ratio = true;
    for (const char *text = value, *end; text; text = *end ? end + 1 : NULL) {
        end = strchrnul(text, ',');
        if (!parse_ratio(settings, text, (size_t)(end - text)))
            return false;
    }
    for (size_t i = 0; i < settings->share_count; i++)
        sum += settings->shares[i].ratio;
    if (sum <= 1 + RATIO_SLACK)
        return true;
    message_usage("--ratio: the numbers add up to %g, which is more than 1", sum);
    return false;
}

static bool parse_list(void *context, const char *value)
{
    struct settings *settings = context;
    const char *sign = strchr(value, '=');

    settings->by_list = true;
    if (sign && sign[1] && is_part_name(value, (size_t)(sign - value)))
        return add_share(settings, value, (size_t)(sign - value), sign + 1, 0);
    message_usage("--by-list: '%s' is not NAME=FILE, such as train=train.txt", value);
    return false;
}

static const struct option options[] = {
    OPTION_TEXT('o', "output", struct settings, output, "OUTPUT",
                "what parts are called; {} stands for the name or number of a part", OPERAND_FILE),
    OPTION_INTEGER(0, "parts", struct settings, parts, "N", 1, 1000000,
                   "N parts, of like size, in the order on disk"),
    OPTION_SIZE(0, "size", struct settings, size, "SIZE",
                "parts whose files come to SIZE at most, in the order on disk"),
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
    OPTION_SIZE(0, "shard-size", struct settings, shard_size, "SIZE",
                "begin a new shard before one passes SIZE"),
    OPTION_FLAG('f', "force", struct settings, force, "replace parts that are there"),
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
    "--ratio=NAME=NUMBER,... [--seed=N] -o OUTPUT CONTAINER",
    "--by-list=NAME=FILE... [--rest=NAME] -o OUTPUT CONTAINER",
    "--by-dir [--rest=NAME] -o OUTPUT CONTAINER",
    NULL,
};

static const char notes[] = "CONTAINER is an archive, a tar or a zip.\n"
                            "Exit status: 0 all is in parts, 1 in part or damaged, 2 error.";

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

static const char *misuse(const struct settings *settings)
{
    int rules = (settings->parts > 0) + (settings->size > 0) + settings->by_ratio +
                settings->by_list + settings->by_dir;
    bool by_size = settings->parts > 0 || settings->size > 0;

    if (rules != 1)
        return "say how to split, in one way: --parts, --size, --ratio, --by-list or --by-dir";
    if (!settings->output || !*settings->output)
        return "say where parts go: -o 'OUT-{}.barecat'";
    if (settings->seed != NOT_GIVEN && !settings->by_ratio)
        return "--seed is for --ratio";
    if (settings->null && !settings->by_list)
        return "--null is for --by-list";
    if (settings->rest && by_size)
        return "--rest is for --ratio, --by-list and --by-dir: by size, nothing is left";
    if (settings->rest && !is_part_name(settings->rest, strlen(settings->rest)))
        return "--rest: the name of a part cannot be empty or hold a '/'";
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
        return "parts can be archives, tars or zips; choose another OUTPUT, or say --to";
    if (type->kind != SB_ARCHIVE && settings->shard_size)
        return "--shard-size is for parts that are archives";
    if (type->kind != SB_ARCHIVE && settings->symlink)
        return "with --symlink parts are archives; choose another OUTPUT, or say --to=archive";
    return NULL;
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
        .shares = settings->shares,
        .share_count = settings->share_count,
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

static void check(enum sb_code code)
{
    if (code)
        output_check(ENOMEM);
}

static void print_json(struct run *run, const struct sb_split_part *part)
{
    struct sb_buf *line = &run->line;

    sb_buf_clear(line);
    check(sb_buf_add_char(line, '{'));
    check(json_name(line, "part", part->name, strlen(part->name)));
    check(sb_buf_add_char(line, ','));
    check(json_name(line, "output", part->output, strlen(part->output)));
    check(sb_buf_add_format(line, ",\"files\":%" PRId64 ",\"bytes\":%" PRId64 ",\"skipped\":%s}\n",
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
    message_note("%s: %s%" PRId64 " files (%s)", part->output,
                 part->skipped ? "is there already; left as it is, where this would be " : "",
                 part->files, size);
}

static void show_progress(void *context, int64_t bytes, int64_t total, int64_t files)
{
    (void)context;
    message_progress_update(bytes, total, files);
}

static void lose(void *context, const char *name, unsigned properties)
{
    struct run *run = context;

    report_lost(&run->report, name, properties);
}

/* Parts are read one after the other: bytes that come in sequence are there only once. */
static enum sb_code open_whole(struct container *out, const char *path,
                               const struct settings *settings, struct sb_error *err)
{
    struct sb_catalog_options wanted = {.notify = &message_notify, .progress = show_progress};
    struct sb_catalog_result result;
    enum sb_code code = open_container(out, path, &settings->opening, false, err);

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
            message_error("%s: parts that are whole: %" PRId64 "; go on with --skip-existing",
                          settings->output, result->parts);
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

static void split(const struct settings *settings, const char *path,
                  const struct sb_container_type *type)
{
    struct run run = {.settings = settings};
    struct sb_split_options wanted = {
        .scheme = scheme_of(settings),
        .output = settings->output,
        .existing = settings->force           ? SB_SPLIT_REPLACE
                    : settings->skip_existing ? SB_SPLIT_SKIP
                                              : SB_SPLIT_REFUSE,
        .convert = {.to = *type,
                    .shard_size = settings->shard_size,
                    .transfer = {.threads = (unsigned)settings->threads,
                                 .progress = show_progress,
                                 .context = &run},
                    .lost = lose},
        .link = settings->symlink,
        .link_kind = settings->absolute ? SB_LINK_ABSOLUTE : SB_LINK_RELATIVE,
        .dry_run = settings->dry_run,
        .notify = &message_notify,
        .part_done = show_part,
        .context = &run,
    };
    struct container whole = {0};
    struct sb_split_result result = {0};
    struct sb_error err;
    enum sb_code code = report_open(&run.report, NULL, &err);

    if (!code)
        code = open_whole(&whole, path, settings, &err);
    wanted.archive = whole.archive;
    if (!code)
        code = sb_split(&wanted, &result, &err);
    message_progress_end();
    if (!code)
        report_summary(&run.report, settings->output, sb_container_word(type->kind));
    conclude(settings, &result, code, &err);
    report_release(&run.report);
    sb_buf_release(&run.line);
    close_container(&whole);
}

static int check_usage(const struct settings *settings, int operands,
                       struct sb_container_type *type)
{
    const char *wrong = misuse(settings);

    if (operands != 1)
        return message_usage("give one CONTAINER");
    if (!wrong) {
        *type = output_type(settings);
        wrong = misused_output(settings, type);
    }
    return wrong ? message_usage("%s", wrong) : STATUS_CLEAN;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct settings settings = {
        .to = NOT_GIVEN, .seed = NOT_GIVEN, .threads = sb_default_threads()};
    struct sb_container_type type;
    int first, status;

    status = options_parse(self, argc, argv, &settings, &first, NULL);
    if (status != OPTIONS_RUN)
        goto out;
    status = check_usage(&settings, argc - first, &type);
    if (status)
        goto out;
    split(&settings, argv[first], &type);
    status = message_status();
out:
    for (size_t i = 0; i < settings.share_count; i++)
        free((char *)settings.shares[i].name);
    return status;
}

const struct command split_command = {
    .name = "split",
    .summary = "cut a container into several",
    .synopsis = synopsis,
    .options = options,
    .notes = notes,
    .operands = OPERAND_ARCHIVE,
    .run = run,
};
