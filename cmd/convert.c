/*
 * shardbox convert: any container becomes any other.
 */
#include "task/convert/convert.h"
#include "convert/convert.h"
#include "core/array.h"
#include "core/number.h"
#include "open/given.h"
#include "open/opening.h"
#include "store/cache/cache.h"
#include "store/store.h"
#include "ui/meant.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/report.h"
#include "ui/shared_options.h"

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
    OPTION_TO(struct convert_settings, to, "what OUTPUT becomes (default: by its suffix)"),
    OPTION_FLAG(0, "wrap", struct convert_settings, wanted.wrap,
                "copy nothing: an archive over the INPUTs' own bytes"),
    OPTION_GROUP("Output"),
    OPTION_OUTPUT(struct convert_settings, wanted.output,
                  "the OUTPUT, in place of the last operand"),
    OPTION_REPLACE(struct convert_settings, wanted.force),
    OPTION_APPEND(struct convert_settings, wanted.append),
    OPTION_EXISTING(struct convert_settings, wanted.existing,
                    "files that a directory has already (default: fail)"),
    OPTION_DUPLICATES(struct convert_settings, wanted.transfer.duplicates),
    OPTION_SHARD_SIZE(struct convert_settings, wanted.shard_size),
    OPTION_GROUP("What is taken"),
    OPTION_PREFIX(struct convert_settings, wanted.transfer.prefix),
    OPTION_STRIP(struct convert_settings, wanted.transfer.strip),
    OPTIONS_FILTER(struct convert_settings, filter, "take"),
    OPTION_GROUP("Speed"),
    OPTION_THREADS(struct convert_settings, wanted.transfer.threads, "threads to use"),
    OPTION_PART(struct convert_settings, part,
                "part I of N, from 1, into an output of its own, or 'auto'"),
    OPTION_MORE("Speed"),
    OPTION_BWLIMIT,
    OPTION_MORE("Formats"),
    OPTIONS_READING,
    OPTION_FLAG(0, "no-checksum", struct convert_settings, wanted.no_checksum,
                "with --wrap, --from=extents: compute no CRC32C"),
    OPTION_MORE("Output"),
    OPTION_PROTECT,
    OPTION_WAIT,
    OPTION_COMPRESS(struct convert_settings, wanted.transfer.recode.compress),
    OPTION_LEVEL(struct convert_settings, wanted.level),
    OPTION_CHOICE(0, "method", struct convert_settings, method, "METHOD", methods,
                  "how members of a zip are stored (default: deflate)"),
    OPTION_FLAG(0, "sparse", struct convert_settings, wanted.sparse,
                "in a tar, files with holes keep them, as GNU tar's"),
    OPTION_FORMAT,
    OPTIONS_CHECKPOINT(struct convert_settings, wanted.checkpoint),
    OPTION_MORE("What is taken"),
    OPTION_FLAG(0, "samples", struct convert_settings, wanted.samples,
                "files of one name up to its first dot become neighbours"),
    OPTIONS_DECOMPRESS(struct convert_settings, wanted.transfer.recode),
    OPTION_MAX_SIZE(struct convert_settings, wanted.max_size),
    OPTION_NO_CHECK(struct convert_settings, wanted.no_check),
    OPTION_MORE("Owners in a directory"),
    OPTIONS_OWNERS(struct convert_settings, owners),
    OPTIONS_OF_BAGS(struct convert_settings, records),
    OPTION_GROUP("Records"),
    OPTION_CHOICE(0, "frame", struct convert_settings, records.framing, "HOW", sb_framing_words,
                  "how records in a file or pipe are split: line, u32"),
    OPTION_MORE("Records"),
    OPTION_TEXT(0, "name-format", struct convert_settings, records.name_format, "FORMAT",
                "names of records that become files (default: %08d)", OPERAND_ANY),
    OPTION_TEXT(0, "keys", struct convert_settings, records.keys, "BAG",
                "names of records: read from BAG, or written there", OPERAND_FILE),
    OPTION_MORE("Bags"),
    OPTION_INTEGER(0, "count", struct convert_settings, records.count, "N", 1, INT64_MAX,
                   "of a bag of several shards: N records a shard"),
    OPTION_FLAG(0, "limits-only", struct convert_settings, records.limits_only,
                "make a bag of each shard of ARCHIVE, by its limits"),
    OPTION_MORE("Arrays"),
    OPTION_ARRAY,
    {.kind = OPTION_KIND_CHOICE,
     .name = "dtype",
     .field = offsetof(struct convert_settings, wanted.dtype),
     .value = "TYPE",
     .choices = sb_dtype_words,
     .low = 1,
     .help = "of bags that become arrays: what their records are"},
    OPTION_MORE("Caches"),
    OPTION_SIZE(0, "segment-size", struct convert_settings, wanted.cache.segment_size, "SIZE",
                "end a segment before its values pass SIZE (64 MiB)"),
    OPTION_FLAG(0, "compact", struct convert_settings, wanted.cache.compact,
                "leave out what a later one of them supersedes"),
    OPTION_TEXT(0, "key-prefix", struct convert_settings, wanted.cache.key_prefix, "TEXT",
                "put TEXT before every key", OPERAND_ANY),
    OPTION_CHOICE(0, "sequence", struct convert_settings, sequence, "KIND", sequences,
                  "what item0, item1, ... are (default: tuple)"),
    OPTION_GROUP("Reports"),
    OPTION_DRY_RUN(struct convert_settings, wanted.transfer.dry_run),
    OPTION_MORE("Reports"),
    OPTION_STRICT(struct convert_settings, wanted.transfer.strict),
    OPTION_REPORT(struct convert_settings, report),
    OPTION_END,
};

static const char *misuse_of_limits(int count)
{
    static const char goes_with_it[] =
        "limits-only keys force dry-run quiet verbose progress no-progress threads wait";
    const struct given_option *given;
    size_t given_count = options_given(&given);

    if (count != 1)
        return "--limits-only takes one ARCHIVE, whose shards become bags where they are";
    for (size_t i = 0; i < given_count; i++) {
        if (!word_is_among(goes_with_it, given[i].name, strlen(given[i].name)))
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
        .force = settings->wanted.force,
        .keys = settings->records.keys,
        .dry_run = settings->wanted.transfer.dry_run,
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

static void note_stored(const struct sb_convert_options *wanted,
                        const struct sb_sink_counts *counts)
{
    unsigned takes = sb_container_takes(wanted->to.kind);

    if (takes & (SB_TO_RECORDS | SB_TO_KEYS))
        message_note("%s: stored %" PRId64 " %s (%s)", wanted->output, counts->files,
                     takes & SB_TO_KEYS ? "keys" : "records", human_size(counts->bytes));
    else if (takes & SB_TO_ITEMS)
        message_note("%s: stored %" PRId64 " items, %" PRId64 " arrays (%s)", wanted->output,
                     counts->dirs, counts->files, human_size(counts->bytes));
    else
        message_note("%s: stored %" PRId64 " files (%s) and %" PRId64 " directories",
                     wanted->output, counts->files, human_size(counts->bytes), counts->dirs);
}

/* Prints what the output holds after a successful run. */
static void convert_note_counts(const struct sb_convert_options *wanted,
                                const struct sb_sink_counts *counts)
{
    /* A tar may hold a name twice on purpose; here options have made names the same. */
    bool names_change = wanted->transfer.strip > 0 || wanted->transfer.recode.decompress;

    if (!wanted->transfer.dry_run)
        note_stored(wanted, counts);
    if (counts->superseded > 0)
        (names_change ? message_warning : message_note)(
            "%s: members that a later one of the same name replaced: %" PRId64, wanted->output,
            counts->superseded);
    if (counts->unchecked > 0)
        message_note("%s: files without a checksum, converted unchecked: %" PRId64, wanted->output,
                     counts->unchecked);
}

/* Small records that are compressed each by itself become larger. */
#define LARGE_BAG (256 << 10)

static void advise_dictionary(const struct sb_convert_options *wanted,
                              const struct sb_sink_counts *counts)
{
    bool bagz =
        sb_container_takes(wanted->to.kind) & SB_TO_RECORDS && wanted->to.filter != SB_FILTER_NONE;
    struct stat st;

    if (bagz && counts->bytes >= LARGE_BAG && !option_is_given("dictionary") &&
        stat(wanted->output, &st) == 0 && S_ISREG(st.st_mode) &&
        st.st_size - counts->bytes > counts->bytes / 8)
        message_warning("%s: is larger than its records, as each is compressed by itself; "
                        "--dictionary=FILE helps ('zstd --train' makes one of samples), and a .bag "
                        "is not compressed",
                        wanted->output);
}

/* The last line on stderr: the error, or that not everything was done. */
static void convert_conclude(const struct convert_settings *settings,
                             const struct sb_convert_result *result, enum sb_code code)
{
    const struct sb_convert_options *wanted = &settings->wanted;
    const char *output = strcmp(wanted->output, "-") == 0 ? "standard output" : wanted->output;

    if (code) {
        if (!convert_explain_input(settings))
            message_failure();
        message_raise(STATUS_ERROR);
        if (result->kept)
            resume_hint(output, wanted->append);
        if (sb_container_takes(wanted->to.kind) & SB_TO_TREE && result->begun &&
            !wanted->transfer.dry_run && code != SB_INVALID)
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
    const struct sb_convert_options *wanted = &settings->wanted;
    struct sb_container_type type = {.kind = SB_UNKNOWN};

    if (settings->to != NOT_GIVEN)
        return sb_container_named(to_words[settings->to]);
    if (strcmp(wanted->output, "-") != 0)
        type = sb_container_by_suffix(wanted->output);
    if (type.kind == SB_UNKNOWN && (wanted->cache.compact || is_cache(wanted->output)))
        type = sb_container_named("cache");
    if (type.kind == SB_UNKNOWN && (wanted->append || wanted->wrap || settings->from_extents))
        type = sb_container_named("archive");
    if (type.kind == SB_UNKNOWN && is_directory(wanted->output))
        type = sb_container_named("dir");
    return type;
}

/* What decides what is stored: a run can only be resumed if this is the same. */
static enum sb_code describe(const struct sb_convert_options *wanted, struct sb_buf *out)
{
    TRY(resume_add_options(out, "part"));
    TRY(part_add_line(out, wanted->share));
    for (size_t i = 0; i < wanted->input_count; i++)
        TRY(resume_add_line(out, NULL, wanted->inputs[i]));
    return SB_OK;
}

/* What the options do not say by themselves, once they are checked. */
static void fill_in(struct convert_settings *settings)
{
    struct sb_convert_options *wanted = &settings->wanted;

    wanted->from = settings->records.from.kind;
    wanted->preserve =
        sb_container_takes(wanted->to.kind) & SB_TO_TREE && owners_are_set(&settings->owners);
    wanted->transfer.local_owners = wanted->preserve && !settings->owners.numeric;
    wanted->transfer.filter = settings->filter;
    wanted->transfer.recode.level = wanted->level;
    wanted->duplicates_given = option_is_given("duplicates");
    wanted->cache.sequence_given = settings->sequence != NOT_GIVEN;
    wanted->cache.list = settings->sequence > 0;
    wanted->store = settings->method == METHOD_STORE;
}

static int convert(struct convert_settings *settings)
{
    struct sb_convert_options *wanted = &settings->wanted;
    struct sb_convert_result result = {0};
    struct records records = {0};
    struct report report;
    CLEANUP(sb_buf_release) struct sb_buf requested = {0};
    enum sb_code code;

    if (report_open(&report, settings->report, wanted))
        return message_failure();
    code = describe(wanted, &requested);
    wanted->checkpoint.requested = requested.data ? requested.data : "";
    if (code)
        sb_fail_memory();
    else
        code = records_open(&records, &settings->records);
    wanted->records = records.wanted;
    if (sb_convert_takes(wanted) & SB_TO_RECORDS || wanted->records.framed_output)
        message_progress_counts("records");
    else if (sb_convert_is_of_caches(wanted))
        message_progress_counts("rows");
    if (!code)
        code = sb_convert(wanted, &result);
    message_progress_end();
    records_release(&records);
    if (!code && !result.done) {
        convert_note_counts(wanted, &result.counts);
        advise_dictionary(wanted, &result.counts);
        report_summary(&report, wanted->output, sb_convert_output_word(wanted));
    }
    if (!code && !wanted->transfer.dry_run)
        protect_later(wanted->output);
    report_finish(&report, code ? sb_error() : NULL);
    convert_conclude(settings, &result, code);
    report_release(&report);
    return message_status();
}

static int make_index(const struct sb_convert_options *wanted)
{
    bool dry_run = wanted->transfer.dry_run;
    struct sb_extents_options extents = {
        .list = wanted->inputs[0],
        .archive = wanted->output,
        .force = wanted->force,
        .checksums = !wanted->no_checksum,
        .strict = wanted->transfer.strict,
        .dry_run = dry_run,
        .threads = wanted->transfer.threads,
        .notify = &message_notify,
        .progress = message_progress_call,
    };
    struct sb_sink_counts counts = {0};
    enum sb_code code = sb_extents_index(&extents, &counts);

    message_progress_end();
    if (code) {
        message_failure();
        message_raise(STATUS_ERROR);
        return message_status();
    }
    convert_note_counts(wanted, &counts);
    if (!dry_run)
        protect_later(wanted->output);
    if (message_status() == STATUS_PARTIAL)
        message_problem("%s: the index is made, but what is named above is damaged",
                        wanted->output);
    return message_status();
}

/* Is the output a directory of bags that have parts? */
static bool makes_bags(const struct convert_settings *settings)
{
    return settings->records.framing == NOT_FRAMED && sb_convert_is_of_arrays(&settings->wanted);
}

/* The names of a part's files; buffers: for three of them. False: after a message. */
static bool name_part(struct convert_settings *settings, struct sb_buf buffers[3])
{
    struct sb_share *share = &settings->wanted.share;
    bool to_bag = sb_container_takes(settings->wanted.to.kind) & SB_TO_RECORDS;

    if (!part_parse(settings->part, share))
        return false;
    if (!(share->count > 0 && makes_bags(settings)) &&
        !part_name_output(&settings->wanted.output, *share, to_bag, &buffers[0]))
        return false;
    if (settings->report && !part_name_output(&settings->report, *share, false, &buffers[1]))
        return false;
    return !to_bag || !settings->records.keys ||
           part_name_output(&settings->records.keys, *share, true, &buffers[2]);
}

static int convert_part(struct convert_settings *settings)
{
    struct sb_convert_options *wanted = &settings->wanted;
    struct sb_buf names[3] = {0};
    const char **arrays;
    int status;

    fill_in(settings);
    wanted->array_count = arrays_given(&arrays);
    wanted->arrays = arrays;
    if (!name_part(settings, names)) {
        status = message_status();
    } else {
        /* A cache is put back first where a run was killed while it was replaced. */
        if (!(sb_container_takes(wanted->to.kind) & SB_TO_KEYS))
            wanted->append = output_is_added_to(wanted->append, wanted->output);
        status = settings->from_extents ? make_index(wanted) : convert(settings);
    }
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        sb_buf_release(&names[i]);
    free(arrays);
    return status;
}

static int run(void *context, char **operands, int count)
{
    struct convert_settings *settings = context;
    struct sb_convert_options *wanted = &settings->wanted;
    const char *wrong;

    wanted->transfer.recode.decompress |= wanted->transfer.recode.all_layers;
    if (settings->records.limits_only && settings->part)
        return message_usage("--part and --limits-only exclude each other");
    if (settings->records.limits_only)
        return describe_shards(settings, operands, count);
    wanted->inputs = operands;
    wanted->input_count = output_operand(&wanted->output, operands, count);
    if (output_is_first(wanted->output, operands, count))
        return STATUS_ERROR;
    if (wanted->input_count == 0 || !*wanted->output)
        return message_usage("give at least one INPUT, and OUTPUT");
    settings->from_extents =
        settings->from != NOT_GIVEN && strcmp(from_words[settings->from], "extents") == 0;
    if (settings->from != NOT_GIVEN)
        settings->records.from = sb_container_named(from_words[settings->from]);
    wanted->to = output_type(settings);
    settings->records.wanted = wanted;
    settings->records.to_given = settings->to != NOT_GIVEN;
    if (convert_output_is_unknown(settings))
        return STATUS_ERROR;
    wrong = misuse_of_convert(settings);
    return wrong ? message_usage("%s", wrong) : convert_part(settings);
}

const struct command convert_command = {
    .name = "convert",
    .summary = "turn tars, zips, bags, arrays, directories and archives into one another",
    .synopsis = {"[--from=KIND] [--to=KIND] INPUT... OUTPUT",
                 "[--from=KIND] [--to=KIND] -o OUTPUT INPUT...",
                 "--wrap TAR|ZIP|BAG|SYRAH|CACHE... ARCHIVE", "--compact CACHE... CACHE",
                 "--from=extents LIST ARCHIVE", "--limits-only [--keys=BAG] ARCHIVE"},
    .examples = {"shardbox convert photos.tar.gz photos.barecat",
                 "tar -cC data . | shardbox convert - data.bagz"},
    .options = options,
    .exit_status = "0 all was converted, 1 in part or damaged, 2 error",
    .notes = "INPUT is an archive, a directory, a tar or cpio (also compressed), a zip, a bag, a "
             "Syrah file "
             "or a torchcachex cache; '-' is standard input.\n"
             "OUTPUT is one of these, but no cpio; '-' with --to is standard output.",
    .operands = OPERAND_FILE,
    .settings_size = sizeof(struct convert_settings),
    .defaults =
        &(const struct convert_settings){
            .from = NOT_GIVEN,
            .to = NOT_GIVEN,
            .method = NOT_GIVEN,
            .sequence = NOT_GIVEN,
            .records = {.framing = NOT_FRAMED},
        },
    .run = run,
};
