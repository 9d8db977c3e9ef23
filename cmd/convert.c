/*
 * shardbox convert: any container becomes any other.
 */
#include "task/convert.h"
#include "asked.h"
#include "command.h"
#include "convert_limits.h"
#include "convert_records.h"
#include "convert_report.h"
#include "core/glob.h"
#include "core/io.h"
#include "core/number.h"
#include "message.h"
#include "options.h"
#include "store/container.h"
#include "task/convert_paths.h"
#include "task/extents.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

/* Choices that were not made. */
#define NOT_GIVEN (-1)

struct settings {
    int from;
    int to;
    int method;
    int existing;
    int duplicates;
    int compress;
    int64_t level;
    int64_t threads;
    int64_t strip;
    int64_t shard_size;
    int64_t checkpoint;
    int64_t max_size;
    const char *prefix;
    const char *report;
    struct sb_filter *filter;
    bool append;
    bool force;
    bool resume;
    bool wrap;
    bool decompress;
    bool preserve;
    bool strict;
    bool dry_run;
    bool no_check;
    bool no_checksum;
    struct record_settings records;

    char *const *inputs; /* operands */
    size_t input_count;
    const char *output;
    bool from_extents;
    struct sb_container_type output_type;
};

static const char *const from_words[] = {
    "archive", "dir",     "tar",   "tar.gz", "tar.bz2", "tar.xz", "tar.lzma",
    "tar.zst", "tar.lz4", "tar.Z", "tgz",    "tbz2",    "txz",    "tzst",
    "cpio",    "zip",     "bag",   "bagz",   "extents", NULL,
};

static const char *const to_words[] = {
    "archive", "dir",  "tar", "tar.gz", "tar.bz2", "tar.xz", "tar.lzma", "tar.zst", "tar.lz4",
    "tgz",     "tbz2", "txz", "tzst",   "zip",     "bag",    "bagz",     NULL,
};

enum { METHOD_STORE, METHOD_DEFLATE };
static const char *const methods[] = {"store", "deflate", NULL};

/* In the order of enum sb_existing. */
static const char *const existing_choices[] = {"fail", "skip", "replace", "newer", NULL};

static const struct option options[] = {
    OPTION_CHOICE(0, "from", struct settings, from, "KIND", from_words,
                  "what INPUTs are (default: seen by their content)"),
    OPTION_CHOICE(0, "to", struct settings, to, "KIND", to_words,
                  "what OUTPUT becomes (default: by its suffix)"),
    OPTION_FLAG('f', "force", struct settings, force, "replace OUTPUT if it is there"),
    OPTION_FLAG(0, "append", struct settings, append, "add to an archive or a bag that exists"),
    OPTION_FLAG(0, "wrap", struct settings, wrap,
                "copy nothing: make an archive whose shards are links to INPUTs"),
    OPTION_FLAG(0, "no-checksum", struct settings, no_checksum,
                "with --wrap or --from=extents: do not read the bytes for their CRC32C"),
    OPTION_TEXT(0, "prefix", struct settings, prefix, "DIR", "put everything below DIR",
                OPERAND_ANY),
    OPTION_INTEGER(0, "strip-components", struct settings, strip, "N", 0, 1000,
                   "take N leading components off each name"),
    OPTION_INCLUDE("include", struct settings, filter,
                   "take what matches; rules are tried in order, the first match decides"),
    OPTION_EXCLUDE("exclude", struct settings, filter, "leave out what matches"),
    OPTION_CHOICE(0, "duplicates", struct settings, duplicates, "WHICH", sb_duplicate_words,
                  "of members with one name: take the last or the first, or call it an error"),
    OPTION_FLAG(0, "decompress", struct settings, decompress,
                "take .gz, .bz2, .xz and .zst off files and their names"),
    OPTION_CHOICE(0, "compress", struct settings, compress, "CODING", sb_coding_words,
                  "store each file compressed, its suffix added"),
    OPTION_CHOICE(0, "method", struct settings, method, "METHOD", methods,
                  "how members of a zip are stored (default: deflate)"),
    OPTION_INTEGER(0, "level", struct settings, level, "N", 1, 22, "how hard to compress"),
    OPTION_SIZE(0, "shard-size", struct settings, shard_size, "SIZE",
                "begin a new shard before one passes SIZE (an archive keeps it for later appends)"),
    OPTIONS_OF_RECORDS(struct settings, records),
    OPTION_SIZE(0, "checkpoint", struct settings, checkpoint, "SIZE",
                "of an archive: commit after each SIZE, so that an interrupted run is not lost"),
    OPTION_FLAG(0, "resume", struct settings, resume,
                "go on where an interrupted run with --checkpoint was"),
    OPTION_CHOICE(0, "existing", struct settings, existing, "HOW", existing_choices,
                  "what to do about files that a directory holds already (default: fail)"),
    OPTION_FLAG('p', "preserve", struct settings, preserve,
                "in a directory, set owners, set-id and sticky bits too"),
    OPTION_SIZE(0, "max-size", struct settings, max_size, "SIZE",
                "stop when more than SIZE comes out of an INPUT"),
    OPTION_FLAG(0, "no-check", struct settings, no_check, "do not check checksums of INPUTs"),
    OPTION_FLAG(0, "strict", struct settings, strict,
                "make nothing if anything would be lost or left out"),
    OPTION_TEXT(0, "report", struct settings, report, "FILE",
                "list in FILE what was lost or left out, as JSON Lines", OPERAND_FILE),
    OPTION_INTEGER('j', "threads", struct settings, threads, "N", 1, 256,
                   "threads to use (default: the cores, at most 4)"),
    OPTION_FLAG('n', "dry-run", struct settings, dry_run,
                "write nothing; under -v name what would be stored"),
    OPTION_END,
};

static const char *const synopsis[] = {
    "[--from=KIND] [--to=KIND] INPUT... OUTPUT",
    "--wrap TAR|ZIP|BAG... ARCHIVE",
    "--from=extents LIST ARCHIVE",
    "--limits-only [--keys=BAG] ARCHIVE",
    NULL,
};

static const char notes[] =
    "INPUT is an archive, a directory, a tar or cpio (also compressed), a zip or a bag; '-' is "
    "standard input.\n"
    "OUTPUT is one of these, but no cpio; '-' with --to is standard output.\n"
    "Exit status: 0 all was converted, 1 in part or damaged, 2 error: there is no new output.";

static struct sb_container_type from_type(const struct settings *settings)
{
    static const struct sb_container_type unknown;

    return settings->from == NOT_GIVEN ? unknown : sb_container_named(from_words[settings->from]);
}

static bool is_directory(const char *path)
{
    struct stat st;

    return path[strlen(path) - 1] == '/' || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

/* What the output is to become, as far as the command line says. */
static struct sb_container_type output_type(const struct settings *settings)
{
    struct sb_container_type type = {.kind = SB_UNKNOWN};

    if (settings->to != NOT_GIVEN)
        return sb_container_named(to_words[settings->to]);
    if (strcmp(settings->output, "-") != 0)
        type = sb_container_by_suffix(settings->output);
    if (type.kind == SB_UNKNOWN && (settings->append || settings->wrap || settings->from_extents))
        type.kind = SB_ARCHIVE;
    if (type.kind == SB_UNKNOWN && is_directory(settings->output))
        type.kind = SB_DIRECTORY;
    return type;
}

static struct record_use record_use_of(const struct settings *settings)
{
    return (struct record_use){
        .inputs = settings->inputs,
        .input_count = settings->input_count,
        .from = from_type(settings),
        .output = settings->output,
        .to = settings->output_type,
        .to_given = settings->to != NOT_GIVEN,
        .shard_size = settings->shard_size,
        .level = settings->level,
        .append = settings->append,
    };
}

static const char *misused_operands(const struct settings *settings)
{
    enum sb_container_kind kind = settings->output_type.kind;
    struct record_use use = record_use_of(settings);
    size_t pipes = 0;

    for (size_t i = 0; i < settings->input_count; i++) {
        if (!*settings->inputs[i])
            return "the name of an INPUT is empty";
        pipes += strcmp(settings->inputs[i], "-") == 0;
    }
    if (pipes > 1)
        return "standard input can be only one of the INPUTs";
    if (kind == SB_UNKNOWN && !writes_frames(&settings->records, &use))
        return "what OUTPUT is to become cannot be told from its name; say it with --to";
    if (kind == SB_CPIO)
        return "a cpio can only be read; choose another OUTPUT, or say --to";
    if (strcmp(settings->output, "-") == 0 && settings->append)
        return "what was written to a pipe cannot be added to: give the name of OUTPUT";
    if (strcmp(settings->output, "-") == 0 && (kind == SB_ARCHIVE || kind == SB_DIRECTORY))
        return "an archive or a directory is several files, and cannot be written to a pipe";
    if (settings->report && strcmp(settings->report, "-") == 0 &&
        strcmp(settings->output, "-") == 0)
        return "OUTPUT and the report cannot both go to standard output";
    return NULL;
}

/* What commits as it goes, and what cannot. */
static const char *misused_checkpoints(const struct settings *settings)
{
    if (!settings->checkpoint && !settings->resume)
        return NULL;
    if (settings->output_type.kind != SB_ARCHIVE)
        return "--checkpoint and --resume are for an archive: other outputs appear whole or not at "
               "all";
    if (settings->wrap || settings->from_extents)
        return "an index over other files is made at once: --checkpoint and --resume are not for "
               "--wrap and --from=extents";
    if (settings->dry_run)
        return "--dry-run commits nothing: it excludes --checkpoint and --resume";
    if (settings->append && settings->strict)
        return "--strict with --append adds everything or nothing: it excludes --checkpoint and "
               "--resume";
    return NULL;
}

/* Options that would have no effect. */
static const char *misused_options(const struct settings *settings)
{
    enum sb_container_kind kind = settings->output_type.kind;
    bool is_zip = kind == SB_ZIP, grows = kind == SB_ARCHIVE || kind == SB_BAG;
    struct record_use use = record_use_of(settings);
    bool compresses = (kind == SB_BAG ? settings->append || writes_zstd(&settings->records, &use)
                                      : settings->output_type.filter != SB_FILTER_NONE) ||
                      (kind == SB_UNKNOWN && sb_framing_filter(settings->output)) ||
                      settings->compress != NOT_GIVEN ||
                      (is_zip && settings->method != METHOD_STORE);

    if (!grows && (settings->append || settings->shard_size))
        return "--append and --shard-size are for an archive or a bag (--to=archive, if OUTPUT is "
               "one in spite of its name)";
    if (kind != SB_ARCHIVE && settings->wrap)
        return "--wrap makes an archive (--to=archive, if OUTPUT is one in spite of its name)";
    if (kind != SB_DIRECTORY && (settings->existing != NOT_GIVEN || settings->preserve))
        return "--existing and --preserve are for a directory";
    if (kind == SB_DIRECTORY && settings->force)
        return "a directory is not replaced; see --existing";
    if (!is_zip && settings->method != NOT_GIVEN)
        return "--method is for a zip";
    if (settings->level && !compresses)
        return "--level is for what is compressed";
    if (settings->append && settings->force)
        return "--append and --force exclude each other";
    if (settings->wrap && (settings->append || settings->shard_size || settings->decompress ||
                           settings->compress != NOT_GIVEN))
        return "--wrap changes no bytes: it excludes --append, --shard-size, --compress and "
               "--decompress";
    if (settings->no_checksum && !settings->wrap && !settings->from_extents)
        return "--no-checksum is for --wrap and --from=extents";
    return NULL;
}

static const char *misused_extents(const struct settings *settings)
{
    if (settings->output_type.kind != SB_ARCHIVE)
        return "--from=extents makes the index of an archive";
    if (settings->input_count != 1)
        return "--from=extents takes one LIST and the ARCHIVE whose index is made";
    if (settings->append || settings->wrap || settings->filter || settings->prefix ||
        settings->strip || settings->shard_size || settings->decompress || settings->max_size ||
        settings->compress != NOT_GIVEN || settings->duplicates != NOT_GIVEN ||
        settings->no_check || settings->report)
        return "--from=extents takes the list as it is: of the options only --force, "
               "--no-checksum, --strict, --dry-run and --threads go with it";
    return NULL;
}

static const char *misuse(const struct settings *settings)
{
    struct record_use use = record_use_of(settings);
    const char *wrong = misused_operands(settings);

    if (!wrong)
        wrong = misused_checkpoints(settings);
    if (!wrong && settings->from_extents)
        wrong = misused_extents(settings);
    if (!wrong)
        wrong = misused_records(&settings->records, &use);
    return wrong ? wrong : misused_options(settings);
}

/* What decides what is stored: a run that goes on must be asked the same. */
static enum sb_code describe(const struct settings *settings, struct sb_buf *out)
{
    static const char *const except[] = {NULL};
    enum sb_code code = asked_options(out, except);

    for (size_t i = 0; !code && i < settings->input_count; i++)
        code = asked_line(out, NULL, settings->inputs[i]);
    return code;
}

static struct sb_convert_options options_of(const struct settings *settings)
{
    bool duplicates_given = settings->duplicates != NOT_GIVEN;

    return (struct sb_convert_options){
        .inputs = settings->inputs,
        .input_count = settings->input_count,
        .output = settings->output,
        .from = from_type(settings).kind,
        .to = settings->output_type,
        .force = settings->force,
        .transfer = {.prefix = settings->prefix,
                     .strip = (unsigned)settings->strip,
                     .filter = settings->filter,
                     .duplicates = duplicates_given ? (enum sb_duplicates)settings->duplicates
                                                    : SB_DUPLICATE_LAST,
                     .recode = {.decompress = settings->decompress,
                                .compress = settings->compress == NOT_GIVEN
                                                ? SB_FILTER_NONE
                                                : (enum sb_filter_kind)(settings->compress +
                                                                        SB_FILTER_GZIP),
                                .level = (int)settings->level},
                     .strict = settings->strict,
                     .dry_run = settings->dry_run,
                     .threads = (unsigned)settings->threads},
        .no_check = settings->no_check,
        .max_size = settings->max_size,
        .append = settings->append,
        .duplicates_given = duplicates_given,
        .shard_size = settings->shard_size,
        .checkpoint = {.size = settings->checkpoint, .resume = settings->resume, .asked = ""},
        .wrap = settings->wrap,
        .no_checksum = settings->no_checksum,
        .existing = settings->existing == NOT_GIVEN ? SB_EXISTING_FAIL
                                                    : (enum sb_existing)settings->existing,
        .preserve = settings->preserve,
        .store = settings->method == METHOD_STORE,
        .level = (int)settings->level,
    };
}

static void note_counts(const struct settings *settings, const struct sb_sink_counts *counts)
{
    /* A tar may hold a name twice for good reasons; here names have become the same on the way. */
    bool names_change = settings->strip > 0 || settings->decompress;
    char size[SB_HUMAN_SIZE];

    sb_format_human(counts->bytes, size);
    if (!settings->dry_run)
        message_note("%s: stored %" PRId64 " files (%s) and %" PRId64 " directories",
                     settings->output, counts->files, size, counts->dirs);
    if (counts->superseded > 0)
        (names_change ? message_warning : message_note)(
            "%s: members that a later one of the same name replaced: %" PRId64, settings->output,
            counts->superseded);
    if (counts->unchecked > 0)
        message_note("%s: files without a checksum, converted unchecked: %" PRId64,
                     settings->output, counts->unchecked);
}

/* The last line on stderr. */
static void conclude(const struct settings *settings, const struct sb_convert_result *result,
                     enum sb_code code, const struct sb_error *err)
{
    const char *output = strcmp(settings->output, "-") == 0 ? "standard output" : settings->output;

    if (code) {
        message_failure(err);
        message_raise(STATUS_ERROR);
        if (result->kept)
            asked_to_resume(output, settings->append);
        if (settings->output_type.kind == SB_DIRECTORY && result->begun && !settings->dry_run &&
            code != SB_INVALID)
            message_error("%s: converted in part; go on with --existing=skip", output);
        return;
    }
    if (result->problems > 0)
        message_problem("%s: done in part; problems, named above: %" PRId64, output,
                        result->problems);
}

static int convert(const struct settings *settings)
{
    struct sb_convert_options wanted = options_of(settings);
    struct record_use use = record_use_of(settings);
    struct sb_convert_result result = {0};
    struct records records = {0};
    struct report report;
    struct sb_notify notify = {.call = report_event, .context = &report};
    struct sb_error err, report_err;
    struct sb_buf asked = {0};
    enum sb_code code;

    if (settings->report && sb_convert_report_check(settings->inputs, settings->input_count,
                                                    settings->output, settings->report, &err))
        return message_failure(&err);
    if (report_open(&report, settings->report, &err))
        return message_failure(&err);
    wanted.notify = &notify;
    wanted.lost = report_lost;
    wanted.transfer.progress = message_progress_call;
    wanted.transfer.context = &report;
    code = describe(settings, &asked);
    wanted.checkpoint.asked = asked.data ? asked.data : "";
    if (code)
        sb_fail_memory(&err);
    else
        code = records_open(&records, &settings->records, &use, &err);
    wanted.records = records.wanted;
    if (!code)
        code = sb_convert(&wanted, &result, &err);
    message_progress_end();
    records_release(&records);
    sb_buf_release(&asked);
    if (!code && !result.done) {
        note_counts(settings, &result.counts);
        report_summary(
            &report, settings->output,
            sb_container_word(wanted.records.framed_output ? SB_FRAMES : wanted.to.kind));
    }
    if (report_finish(&report, &report_err)) {
        message_failure(&report_err);
        message_raise(STATUS_ERROR);
    }
    conclude(settings, &result, code, &err);
    report_release(&report);
    return message_status();
}

static int make_index(const struct settings *settings)
{
    struct sb_extents_options wanted = {
        .list = settings->inputs[0],
        .archive = settings->output,
        .force = settings->force,
        .checksums = !settings->no_checksum,
        .strict = settings->strict,
        .dry_run = settings->dry_run,
        .threads = (unsigned)settings->threads,
        .notify = &message_notify,
        .progress = message_progress_call,
    };
    struct sb_sink_counts counts = {0};
    struct sb_error err;
    enum sb_code code = sb_extents_index(&wanted, &counts, &err);

    message_progress_end();
    if (code) {
        message_failure(&err);
        message_raise(STATUS_ERROR);
        return message_status();
    }
    note_counts(settings, &counts);
    if (message_status() == STATUS_PARTIAL)
        message_problem("%s: the index is made, but what is named above is damaged",
                        settings->output);
    return message_status();
}

static int describe_shards(const struct settings *settings, char *const *operands, int count)
{
    struct sb_limits_options wanted = {
        .force = settings->force,
        .keys = settings->records.keys,
        .dry_run = settings->dry_run,
    };

    return convert_limits_only(&wanted, operands, count);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct settings settings = {
        .from = NOT_GIVEN,
        .to = NOT_GIVEN,
        .method = NOT_GIVEN,
        .existing = NOT_GIVEN,
        .duplicates = NOT_GIVEN,
        .compress = NOT_GIVEN,
        .threads = sb_default_threads(),
        .records = {.framing = NOT_FRAMED},
    };
    const char *wrong = "give at least one INPUT, and OUTPUT";
    int first, status;

    status = options_parse(self, argc, argv, &settings, &first, NULL);
    if (status != OPTIONS_RUN)
        goto out;
    if (settings.records.limits_only) {
        status = describe_shards(&settings, argv + first, argc - first);
        goto out;
    }
    if (argc - first >= 2 && *argv[argc - 1]) {
        settings.inputs = argv + first;
        settings.input_count = (size_t)(argc - first - 1);
        settings.output = argv[argc - 1];
        settings.from_extents =
            settings.from != NOT_GIVEN && strcmp(from_words[settings.from], "extents") == 0;
        settings.output_type = output_type(&settings);
        wrong = misuse(&settings);
    }
    if (wrong)
        status = message_usage("%s", wrong);
    else
        status = settings.from_extents ? make_index(&settings) : convert(&settings);
out:
    sb_filter_free(settings.filter);
    return status;
}

const struct command convert_command = {
    .name = "convert",
    .summary = "turn tars, zips, bags, directories and archives into one another",
    .synopsis = synopsis,
    .options = options,
    .notes = notes,
    .operands = OPERAND_FILE,
    .run = run,
};
