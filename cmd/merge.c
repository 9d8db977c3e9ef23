/*
 * shardbox merge: containers of any kind become one archive, or are added to one.
 */
#include "convert/report.h"
#include "core/glob.h"
#include "core/io.h"
#include "core/number.h"
#include "open/opening.h"
#include "task/convert/convert.h"
#include "task/convert/paths.h"
#include "task/transfer/subdirs.h"
#include "ui/bandwidth.h"
#include "ui/command.h"
#include "ui/message.h"
#include "ui/shared_options.h"

#include <inttypes.h>
#include <string.h>

struct settings {
    const char *output;
    bool append;
    bool force;
    const char *prefix;
    bool as_subdirs;
    int duplicates;
    int64_t shard_size;
    struct sb_filter *filter;
    bool strict;
    const char *report;
    int64_t threads;
    bool dry_run;

    char *const *inputs; /* operands */
    size_t input_count;
};

static const struct option options[] = {
    OPTION_GROUP("Output"),
    OPTION_OUTPUT(struct settings, "the archive to make, in place of the last operand"),
    OPTION_APPEND(struct settings),
    OPTION_REPLACE(struct settings),
    OPTION_PREFIX(struct settings),
    OPTION_AS_SUBDIRS(struct settings),
    OPTION_DUPLICATES(struct settings),
    OPTION_SHARD_SIZE(struct settings),
    OPTION_GROUP("What is taken"),
    OPTIONS_FILTER(struct settings, "take"),
    OPTION_MORE("What is taken"),
    OPTION_ICONV,
    OPTION_IGNORE_ZEROS,
    OPTION_NESTED,
    OPTION_MEMLIMIT,
    OPTION_GROUP("Reports"),
    OPTION_DRY_RUN(struct settings, dry_run),
    OPTIONS_REPORT(struct settings),
    OPTION_GROUP("Speed"),
    OPTION_PROTECT,
    OPTION_WAIT,
    OPTION_THREADS(struct settings, "threads to use"),
    OPTION_BWLIMIT,
    OPTION_END,
};

static const char *const synopsis[] = {
    "INPUT... OUTPUT",
    "[--append] -o OUTPUT INPUT...",
    NULL,
};

static bool is_called_otherwise(const char *output)
{
    enum sb_container_kind kind = sb_container_by_suffix(output).kind;

    return kind != SB_UNKNOWN && !(sb_container_takes(kind) & (SB_TO_INDEX | SB_TO_TREE));
}

static const char *misuse(const struct settings *settings)
{
    size_t pipes = 0;

    for (size_t i = 0; i < settings->input_count; i++) {
        if (!*settings->inputs[i])
            return "the name of an INPUT is empty";
        pipes += strcmp(settings->inputs[i], "-") == 0;
    }
    if (!settings->output || !*settings->output)
        return "give at least one INPUT, and OUTPUT";
    if (strcmp(settings->output, "-") == 0)
        return "an archive is several files, and cannot be written to a pipe";
    if (!settings->append && is_called_otherwise(settings->output))
        return "what is made is an archive, and cannot be called like a tar, cpio, zip, bag or "
               "Syrah file; "
               "'shardbox convert' turns it into one";
    if (settings->input_count == 0)
        return "give at least one INPUT, and OUTPUT";
    if (pipes > 1)
        return "standard input can be only one of the INPUTs";
    if (settings->append && settings->force)
        return "--append and --force exclude each other";
    return NULL;
}

static struct sb_convert_options options_of(const struct settings *settings, char *const *prefixes)
{
    return (struct sb_convert_options){
        .inputs = settings->inputs,
        .input_count = settings->input_count,
        .output = settings->output,
        .to = sb_container_named("archive"),
        .force = settings->force,
        .transfer = {.prefix = settings->prefix,
                     .filter = settings->filter,
                     .duplicates = (enum sb_duplicates)settings->duplicates,
                     .strict = settings->strict,
                     .dry_run = settings->dry_run,
                     .threads = (unsigned)settings->threads},
        .append = settings->append,
        .duplicates_given = true,
        .shard_size = settings->shard_size,
        .merge = true,
        .prefixes = prefixes,
    };
}

static void note_counts(const struct settings *settings, const struct sb_sink_counts *counts)
{
    char size[SB_HUMAN_SIZE];

    sb_format_human(counts->bytes, size);
    message_note("%s: %s %" PRId64 " files (%s) of %zu inputs", settings->output,
                 settings->dry_run ? "would store" : "stored", counts->files, size,
                 settings->input_count);
    if (counts->left > 0)
        message_note("%s: files passed over, for another has the name: %" PRId64, settings->output,
                     counts->left);
    if (counts->unchecked > 0)
        message_note("%s: files without a checksum, merged unchecked: %" PRId64, settings->output,
                     counts->unchecked);
}

/* The last line on stderr. */
static void conclude(const struct settings *settings, const struct sb_convert_result *result,
                     enum sb_code code)
{
    if (code) {
        message_failure();
        message_raise(STATUS_ERROR);
    } else if (result->problems > 0) {
        message_problem("%s: %s; problems, named above: %" PRId64, settings->output,
                        settings->dry_run ? "would not be whole" : "done in part",
                        result->problems);
    }
}

static int merge(const struct settings *settings, char *const *prefixes)
{
    struct sb_convert_options wanted = options_of(settings, prefixes);
    struct sb_convert_result result = {0};
    struct report report;
    enum sb_code code;

    if (report_open(&report, settings->report, &wanted))
        return message_failure();
    code = sb_convert(&wanted, &result);
    message_progress_end();
    if (!code) {
        note_counts(settings, &result.counts);
        report_summary(&report, settings->output, sb_convert_output_word(&wanted));
        if (!settings->dry_run)
            protect_later(settings->output);
    }
    report_finish(&report, code ? sb_error() : NULL);
    conclude(settings, &result, code);
    report_release(&report);
    return message_status();
}

static int merge_checked(struct settings *settings)
{
    const char *wrong = misuse(settings);
    char **subdirs = NULL;
    int status;

    if (!wrong) {
        settings->append = output_is_added_to(settings->append, settings->output);
        wrong = misuse(settings); /* a new archive has a name of one */
    }
    if (wrong)
        return message_usage("%s", wrong);
    if (settings->as_subdirs &&
        sb_subdirs_new(&subdirs, settings->inputs, settings->input_count, settings->prefix))
        return message_failure();
    status = merge(settings, subdirs);
    sb_subdirs_free(subdirs, settings->input_count);
    return status;
}

static int run(void *context, char **operands, int count)
{
    struct settings *settings = context;

    settings->inputs = operands;
    settings->input_count = output_operand(&settings->output, operands, count);
    if (output_is_first(settings->output, operands, count))
        return STATUS_ERROR;
    return merge_checked(settings);
}

const struct command merge_command = {
    .name = "merge",
    .summary = "make one archive of several archives, tars, zips, bags and directories",
    .synopsis = synopsis,
    .examples = {"shardbox merge -o all.barecat day1.barecat day2.tar.gz",
                 "shardbox merge --as-subdirs -o all.barecat train.zip val.zip"},
    .options = options,
    .exit_status = "0 all was merged, 1 in part or damaged, 2 error",
    .notes =
        "INPUT is an archive, a directory, a tar or cpio (also compressed), a zip or a bag; '-' "
        "is standard input.",
    .operands = OPERAND_FILE,
    .settings_size = sizeof(struct settings),
    .run = run,
};
