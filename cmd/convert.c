/*
 * shardbox convert: any container becomes any other.
 */
#include "task/convert/convert.h"
#include "convert/report.h"
#include "convert/settings.h"
#include "core/array.h"
#include "core/glob.h"
#include "core/io.h"
#include "core/number.h"
#include "open/arrays_given.h"
#include "open/opening.h"
#include "store/cache/cache.h"
#include "store/store.h"
#include "task/convert/arrays.h"
#include "task/convert/cache.h"
#include "task/convert/extents.h"
#include "task/convert/limits.h"
#include "task/convert/paths.h"
#include "ui/bandwidth.h"
#include "ui/command.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/part.h"
#include "ui/resume.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const from_words[] = {
    "archive", "dir",   "tar", "tar.gz", "tar.bz2",     "tar.xz",  "tar.lzma", "tar.zst", "tar.lz4",
    "tar.lz",  "tar.Z", "tgz", "tbz2",   "txz",         "tzst",    "cpio",     "zip",     "bag",
    "bagz",    "syrah", "syr", "cache",  "torchcachex", "extents", NULL,
};

/* In the order of METHOD_STORE, METHOD_DEFLATE. */
static const char *const methods[] = {"store", "deflate", NULL};

/* What fields called item0, item1, ... are. */
static const char *const sequences[] = {"tuple", "list", NULL};

static const struct option options[] = {
    OPTION_GROUP("Formats"),
    OPTION_CHOICE(0, "from", struct convert_settings, from, "KIND", from_words,
                  "what INPUTs are (default: seen by their content)"),
    OPTION_TO(struct convert_settings, "what OUTPUT becomes (default: by its suffix)"),
    OPTION_FLAG(0, "wrap", struct convert_settings, wrap,
                "copy nothing: an archive over the INPUTs' own bytes"),
    OPTION_GROUP("Output"),
    OPTION_OUTPUT(struct convert_settings, "the OUTPUT, in place of the last operand"),
    OPTION_REPLACE(struct convert_settings),
    OPTION_APPEND(struct convert_settings),
    OPTION_EXISTING(struct convert_settings, "files that a directory has already (default: fail)"),
    OPTION_DUPLICATES(struct convert_settings),
    OPTION_SHARD_SIZE(struct convert_settings),
    OPTION_GROUP("What is taken"),
    OPTION_PREFIX(struct convert_settings),
    OPTION_STRIP(struct convert_settings),
    OPTIONS_FILTER(struct convert_settings, "take"),
    OPTION_GROUP("Speed"),
    OPTION_THREADS(struct convert_settings, "threads to use"),
    OPTION_PART(struct convert_settings, part,
                "part I of N, from 1, into an output of its own, or 'auto'"),
    OPTION_MORE("Speed"),
    OPTION_BWLIMIT,
    OPTION_MORE("Formats"),
    OPTION_ICONV,
    OPTION_IGNORE_ZEROS,
    OPTION_NESTED,
    OPTION_MEMLIMIT,
    OPTION_FLAG(0, "no-checksum", struct convert_settings, no_checksum,
                "with --wrap, --from=extents: compute no CRC32C"),
    OPTION_MORE("Output"),
    OPTION_PROTECT,
    OPTION_WAIT,
    OPTION_COMPRESS(struct convert_settings),
    OPTION_LEVEL(struct convert_settings),
    OPTION_CHOICE(0, "method", struct convert_settings, method, "METHOD", methods,
                  "how members of a zip are stored (default: deflate)"),
    OPTION_FLAG(0, "sparse", struct convert_settings, sparse,
                "in a tar, files with holes keep them, as GNU tar's"),
    OPTION_FORMAT,
    OPTIONS_CHECKPOINT(struct convert_settings),
    OPTION_MORE("What is taken"),
    OPTION_FLAG(0, "samples", struct convert_settings, samples,
                "files of one name up to its first dot become neighbours"),
    OPTIONS_DECOMPRESS(struct convert_settings),
    OPTION_MAX_SIZE(struct convert_settings),
    OPTION_NO_CHECK(struct convert_settings),
    OPTION_MORE("Owners in a directory"),
    OPTIONS_OWNERS(struct convert_settings),
    OPTIONS_OF_RECORDS(struct convert_settings, records),
    OPTION_MORE("Arrays"),
    OPTION_ARRAY,
    OPTION_CHOICE(0, "dtype", struct convert_settings, dtype, "TYPE", sb_dtype_words,
                  "of bags that become arrays: what their records are"),
    OPTION_MORE("Caches"),
    OPTION_SIZE(0, "segment-size", struct convert_settings, segment_size, "SIZE",
                "end a segment before its values pass SIZE (64 MiB)"),
    OPTION_FLAG(0, "compact", struct convert_settings, compact,
                "leave out what a later one of them supersedes"),
    OPTION_TEXT(0, "key-prefix", struct convert_settings, key_prefix, "TEXT",
                "put TEXT before every key", OPERAND_ANY),
    OPTION_CHOICE(0, "sequence", struct convert_settings, sequence, "KIND", sequences,
                  "what item0, item1, ... are (default: tuple)"),
    OPTION_GROUP("Reports"),
    OPTION_DRY_RUN(struct convert_settings, dry_run),
    OPTION_MORE("Reports"),
    OPTIONS_REPORT(struct convert_settings),
    OPTION_END,
};

static const char *const synopsis[] = {
    "[--from=KIND] [--to=KIND] INPUT... OUTPUT",
    "[--from=KIND] [--to=KIND] -o OUTPUT INPUT...",
    "--wrap TAR|ZIP|BAG|SYRAH|CACHE... ARCHIVE",
    "--compact CACHE... CACHE",
    "--from=extents LIST ARCHIVE",
    "--limits-only [--keys=BAG] ARCHIVE",
    NULL,
};

static const char notes[] =
    "INPUT is an archive, a directory, a tar or cpio (also compressed), a zip, a bag, a Syrah file "
    "or a torchcachex cache; '-' is standard input.\n"
    "OUTPUT is one of these, but no cpio; '-' with --to is standard output.";

static bool goes_with_it(const char *name)
{
    static const char *const names[] = {
        "limits-only", "keys",     "force",       "dry-run", "quiet",
        "verbose",     "progress", "no-progress", "threads", "wait",
    };

    for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
        if (strcmp(names[i], name) == 0)
            return true;
    }
    return false;
}

static const char *misuse_of_limits(int count)
{
    const struct given_option *given;
    size_t given_count = options_given(&given);

    if (count != 1)
        return "--limits-only takes one ARCHIVE, whose shards become bags where they are";
    for (size_t i = 0; i < given_count; i++) {
        if (!goes_with_it(given[i].name))
            return "--limits-only changes no bytes: only --keys, --force and --dry-run go with it";
    }
    return NULL;
}

/* Checks the operands and options, and does what they say; returns the exit status. */
static int describe_shards(const struct convert_settings *settings, char *const *operands,
                           int count)
{
    const char *wrong = misuse_of_limits(count);
    const struct sb_limits_options wanted = {
        .archive = operands[0],
        .force = settings->force,
        .keys = settings->records.keys,
        .dry_run = settings->dry_run,
        .notify = &message_notify,
    };
    struct sb_limits_counts counts;

    if (wrong)
        return message_usage("%s", wrong);
    if (sb_limits_write(&wanted, &counts)) {
        message_failure();
        message_raise(STATUS_ERROR);
        return message_status();
    }
    message_note("%s: %s limits of %" PRId64 " records in %" PRId64 " shards", wanted.archive,
                 wanted.dry_run ? "would write" : "wrote", counts.records, counts.shards);
    return message_status();
}

static void note_stored(const struct convert_settings *settings,
                        const struct sb_sink_counts *counts)
{
    unsigned takes = sb_container_takes(settings->output_type.kind);
    char size[SB_HUMAN_SIZE];

    sb_format_human(counts->bytes, size);
    if (settings->dry_run)
        return;
    if (takes & (SB_TO_RECORDS | SB_TO_KEYS))
        message_note("%s: stored %" PRId64 " %s (%s)", settings->output, counts->files,
                     takes & SB_TO_KEYS ? "keys" : "records", size);
    else if (takes & SB_TO_ITEMS)
        message_note("%s: stored %" PRId64 " items, %" PRId64 " arrays (%s)", settings->output,
                     counts->dirs, counts->files, size);
    else
        message_note("%s: stored %" PRId64 " files (%s) and %" PRId64 " directories",
                     settings->output, counts->files, size, counts->dirs);
}

/* Prints what the output holds after a successful run. */
static void convert_note_counts(const struct convert_settings *settings,
                                const struct sb_sink_counts *counts)
{
    /* A tar may hold a name twice on purpose; here options have made names the same. */
    bool names_change = settings->strip > 0 || settings->decompress;

    note_stored(settings, counts);
    if (counts->superseded > 0)
        (names_change ? message_warning : message_note)(
            "%s: members that a later one of the same name replaced: %" PRId64, settings->output,
            counts->superseded);
    if (counts->unchecked > 0)
        message_note("%s: files without a checksum, converted unchecked: %" PRId64,
                     settings->output, counts->unchecked);
}

/* Small records that are compressed each by itself become larger. */
#define LARGE_BAG (256 << 10)

static void advise_dictionary(const struct convert_settings *settings,
                              const struct sb_sink_counts *counts)
{
    bool bagz = sb_container_takes(settings->output_type.kind) & SB_TO_RECORDS &&
                settings->output_type.filter != SB_FILTER_NONE;
    struct stat st;

    if (bagz && counts->bytes >= LARGE_BAG && !settings->records.bag.dictionary &&
        stat(settings->output, &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_size - counts->bytes > counts->bytes / 8)
        message_warning("%s: is larger than its records, as each is compressed by itself; "
                        "--dictionary=FILE helps ('zstd --train' makes one of samples), and a .bag "
                        "is not compressed",
                        settings->output);
}

/* The last line on stderr: the error, or that not everything was done. */
static void convert_conclude(const struct convert_settings *settings,
                             const struct sb_convert_result *result, enum sb_code code)
{
    const char *output = strcmp(settings->output, "-") == 0 ? "standard output" : settings->output;

    if (code) {
        if (!convert_explain_input(settings))
            message_failure();
        message_raise(STATUS_ERROR);
        if (result->kept)
            resume_hint(output, settings->append);
        if (sb_container_takes(settings->output_type.kind) & SB_TO_TREE && result->begun &&
            !settings->dry_run && code != SB_INVALID)
            message_error("%s: converted in part; go on with --existing=skip", output);
        return;
    }
    if (result->kept_stored > 0)
        message_warning("%s: files that are not decompressed, as their name without its suffix is "
                        "another's: %" PRId64 "; --verbose names them",
                        output, result->kept_stored);
    if (result->problems > 0)
        message_problem("%s: done in part; problems, named above: %" PRId64, output,
                        result->problems);
}

static bool is_directory(const char *path)
{
    struct stat st;

    return path[strlen(path) - 1] == '/' || (stat(path, &st) == 0 && S_ISDIR(st.st_mode));
}

static bool is_cache(const char *path)
{
    return sb_store_abilities(path, (struct sb_container_type){0}) & SB_CAN_KEYS;
}

/* What the output is to become according to the command line; SB_UNKNOWN if it does not say. */
static struct sb_container_type output_type(const struct convert_settings *settings)
{
    struct sb_container_type type = {.kind = SB_UNKNOWN};

    if (settings->to != NOT_GIVEN)
        return sb_container_named(to_words[settings->to]);
    if (strcmp(settings->output, "-") != 0)
        type = sb_container_by_suffix(settings->output);
    if (type.kind == SB_UNKNOWN && (settings->compact || is_cache(settings->output)))
        type = sb_container_named("cache");
    if (type.kind == SB_UNKNOWN && (settings->append || settings->wrap || settings->from_extents))
        type = sb_container_named("archive");
    if (type.kind == SB_UNKNOWN && is_directory(settings->output))
        type = sb_container_named("dir");
    return type;
}

/* What decides what is stored: a run can only be resumed if this is the same. */
static enum sb_code describe(const struct convert_settings *settings, struct sb_buf *out)
{
    static const char *const except[] = {"part", NULL};

    TRY(resume_add_options(out, except));
    TRY(part_add_line(out, settings->share));
    for (size_t i = 0; i < settings->input_count; i++)
        TRY(resume_add_line(out, NULL, settings->inputs[i]));
    return SB_OK;
}

static struct sb_convert_options options_of(const struct convert_settings *settings)
{
    bool duplicates_given = settings->duplicates != NOT_GIVEN;
    bool sets_owners = sb_container_takes(settings->output_type.kind) & SB_TO_TREE &&
                       owners_are_set(&settings->owners);

    return (struct sb_convert_options){
        .inputs = settings->inputs,
        .input_count = settings->input_count,
        .share = settings->share,
        .output = settings->output,
        .from = settings->input_type.kind,
        .to = settings->output_type,
        .force = settings->force,
        .transfer = {.local_owners = sets_owners && !settings->owners.numeric,
                     .prefix = settings->prefix,
                     .strip = (unsigned)settings->strip,
                     .filter = settings->filter,
                     .duplicates = duplicates_given ? (enum sb_duplicates)settings->duplicates
                                                    : SB_DUPLICATE_ERROR,
                     .recode = {.decompress = settings->decompress,
                                .all_layers = settings->decompress_all,
                                .compress = settings->compress == NOT_GIVEN
                                                ? SB_FILTER_NONE
                                                : (enum sb_filter_kind)(settings->compress +
                                                                        SB_FILTER_GZIP),
                                .level = (int)settings->level},
                     .strict = settings->strict,
                     .dry_run = settings->dry_run,
                     .threads = (unsigned)settings->threads},
        .samples = settings->samples,
        .no_check = settings->no_check,
        .max_size = settings->max_size,
        .append = settings->append,
        .duplicates_given = duplicates_given,
        .shard_size = settings->shard_size,
        .checkpoint = {.size = settings->checkpoint, .resume = settings->resume, .requested = ""},
        .dtype = (enum sb_dtype)(settings->dtype + 1),
        .cache = {.compact = settings->compact,
                  .segment_size = settings->segment_size,
                  .key_prefix = settings->key_prefix,
                  .sequence_given = settings->sequence != NOT_GIVEN,
                  .list = settings->sequence > 0},
        .wrap = settings->wrap,
        .no_checksum = settings->no_checksum,
        .existing = settings->existing == NOT_GIVEN ? SB_EXISTING_FAIL
                                                    : (enum sb_existing)settings->existing,
        .preserve = sets_owners,
        .sparse = settings->sparse,
        .store = settings->method == METHOD_STORE,
        .level = (int)settings->level,
    };
}

static int convert(const struct convert_settings *settings)
{
    struct sb_convert_options wanted = options_of(settings);
    struct record_use use = record_use_of(settings);
    struct sb_convert_result result = {0};
    struct records records = {0};
    struct report report;
    struct sb_buf requested = {0};
    const char **arrays;
    enum sb_code code;

    if (report_open(&report, settings->report, &wanted))
        return message_failure();
    code = describe(settings, &requested);
    wanted.checkpoint.requested = requested.data ? requested.data : "";
    if (code)
        sb_fail_memory();
    else
        code = records_open(&records, &settings->records, &use);
    wanted.records = records.wanted;
    wanted.array_count = arrays_given(&arrays);
    wanted.arrays = arrays;
    if (sb_convert_takes(&wanted) & SB_TO_RECORDS || wanted.records.framed_output)
        message_progress_counts("records");
    else if (sb_convert_is_of_caches(&wanted))
        message_progress_counts("rows");
    if (!code)
        code = sb_convert(&wanted, &result);
    message_progress_end();
    records_release(&records);
    sb_buf_release(&requested);
    free(arrays);
    if (!code && !result.done) {
        convert_note_counts(settings, &result.counts);
        advise_dictionary(settings, &result.counts);
        report_summary(&report, settings->output, sb_convert_output_word(&wanted));
    }
    if (!code && !settings->dry_run)
        protect_later(settings->output);
    report_finish(&report, code ? sb_error() : NULL);
    convert_conclude(settings, &result, code);
    report_release(&report);
    return message_status();
}

static int make_index(const struct convert_settings *settings)
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
    enum sb_code code = sb_extents_index(&wanted, &counts);

    message_progress_end();
    if (code) {
        message_failure();
        message_raise(STATUS_ERROR);
        return message_status();
    }
    convert_note_counts(settings, &counts);
    if (!settings->dry_run)
        protect_later(settings->output);
    if (message_status() == STATUS_PARTIAL)
        message_problem("%s: the index is made, but what is named above is damaged",
                        settings->output);
    return message_status();
}

/* The names of a part's files. */
struct part_names {
    struct sb_buf output, keys, report;
};

/* Is the output a directory of bags that have parts? */
static bool makes_bags(const struct convert_settings *settings)
{
    struct sb_convert_options wanted = options_of(settings);
    const char **arrays;
    bool found;

    wanted.array_count = arrays_given(&arrays);
    found = settings->records.framing == NOT_FRAMED && sb_convert_is_of_arrays(&wanted);
    free(arrays);
    return found;
}

/* False: after a message. */
static bool name_part(struct convert_settings *settings, struct part_names *names)
{
    bool to_bag = sb_container_takes(settings->output_type.kind) & SB_TO_RECORDS;

    if (!part_parse(settings->part, &settings->share))
        return false;
    if (!(settings->share.count > 0 && makes_bags(settings)) &&
        !part_name_output(&settings->output, settings->share, to_bag, &names->output))
        return false;
    if (settings->report &&
        !part_name_output(&settings->report, settings->share, false, &names->report))
        return false;
    return !to_bag || !settings->records.keys ||
           part_name_output(&settings->records.keys, settings->share, true, &names->keys);
}

static int convert_part(struct convert_settings *settings)
{
    struct part_names names = {0};
    int status;

    if (!name_part(settings, &names)) {
        status = message_status();
    } else {
        /* A cache is put back first where a run was killed while it was replaced. */
        if (!(sb_container_takes(settings->output_type.kind) & SB_TO_KEYS))
            settings->append = output_is_added_to(settings->append, settings->output);
        status = settings->from_extents ? make_index(settings) : convert(settings);
    }
    sb_buf_release(&names.output);
    sb_buf_release(&names.keys);
    sb_buf_release(&names.report);
    return status;
}

static int run(void *context, char **operands, int count)
{
    struct convert_settings *settings = context;
    const char *wrong;

    settings->decompress |= settings->decompress_all;
    if (settings->records.limits_only && settings->part)
        return message_usage("--part and --limits-only exclude each other");
    if (settings->records.limits_only)
        return describe_shards(settings, operands, count);
    settings->inputs = operands;
    settings->input_count = output_operand(&settings->output, operands, count);
    if (output_is_first(settings->output, operands, count))
        return STATUS_ERROR;
    if (settings->input_count == 0 || !*settings->output)
        return message_usage("give at least one INPUT, and OUTPUT");
    settings->from_extents =
        settings->from != NOT_GIVEN && strcmp(from_words[settings->from], "extents") == 0;
    if (settings->from != NOT_GIVEN)
        settings->input_type = sb_container_named(from_words[settings->from]);
    settings->output_type = output_type(settings);
    if (convert_output_is_unknown(settings))
        return STATUS_ERROR;
    wrong = misuse_of_convert(settings);
    return wrong ? message_usage("%s", wrong) : convert_part(settings);
}

const struct command convert_command = {
    .name = "convert",
    .summary = "turn tars, zips, bags, arrays, directories and archives into one another",
    .synopsis = synopsis,
    .examples = {"shardbox convert photos.tar.gz photos.barecat",
                 "tar -cC data . | shardbox convert - data.bagz"},
    .options = options,
    .exit_status = "0 all was converted, 1 in part or damaged, 2 error",
    .notes = notes,
    .operands = OPERAND_FILE,
    .settings_size = sizeof(struct convert_settings),
    .defaults =
        &(const struct convert_settings){
            .from = NOT_GIVEN,
            .to = NOT_GIVEN,
            .method = NOT_GIVEN,
            .existing = NOT_GIVEN,
            .duplicates = NOT_GIVEN,
            .compress = NOT_GIVEN,
            .sequence = NOT_GIVEN,
            .dtype = NOT_GIVEN,
            .records = {.framing = NOT_FRAMED},
        },
    .run = run,
};
