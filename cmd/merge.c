/*
 * shardbox merge: containers of any kind become one archive, or are added to one.
 */
#include "core/number.h"
#include "open/opening.h"
#include "task/convert/convert.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/report.h"
#include "ui/shared_options.h"

#include <inttypes.h>
#include <string.h>

struct settings {
    struct sb_convert_options wanted;
    bool as_subdirs;
    struct sb_filter *filter;
    const char *report;
};

static const struct option options[] = {
    OPTION_GROUP("Output"),
    OPTION_OUTPUT(struct settings, wanted.output,
                  "the archive to make, in place of the last operand"),
    OPTION_APPEND(struct settings, wanted.append),
    OPTION_REPLACE(struct settings, wanted.force),
    OPTION_PREFIX(struct settings, wanted.transfer.prefix),
    OPTION_AS_SUBDIRS(struct settings, as_subdirs),
    OPTION_DUPLICATES(struct settings, wanted.transfer.duplicates),
    OPTION_SHARD_SIZE(struct settings, wanted.shard_size),
    OPTION_GROUP("What is taken"),
    OPTIONS_FILTER(struct settings, filter, "take"),
    OPTION_MORE("What is taken"),
    OPTIONS_READING,
    OPTION_GROUP("Reports"),
    OPTION_DRY_RUN(struct settings, wanted.transfer.dry_run),
    OPTION_STRICT(struct settings, wanted.transfer.strict),
    OPTION_REPORT(struct settings, report),
    OPTION_GROUP("Speed"),
    OPTION_PROTECT,
    OPTION_WAIT,
    OPTION_THREADS(struct settings, wanted.transfer.threads, "threads to use"),
    OPTION_BWLIMIT,
    OPTION_END,
};

static bool is_called_otherwise(const char *output)
{
    enum sb_container_kind kind = sb_container_by_suffix(output).kind;

    return kind != SB_UNKNOWN && !(sb_container_takes(kind) & (SB_TO_INDEX | SB_TO_TREE));
}

static const char *misuse(const struct sb_convert_options *wanted)
{
    size_t pipes = 0;

    for (size_t i = 0; i < wanted->input_count; i++) {
        if (!*wanted->inputs[i])
            return "the name of an INPUT is empty";
        pipes += strcmp(wanted->inputs[i], "-") == 0;
    }
    if (!wanted->output || !*wanted->output)
        return "give at least one INPUT, and OUTPUT";
    if (strcmp(wanted->output, "-") == 0)
        return "an archive is several files, and cannot be written to a pipe";
    if (!wanted->append && is_called_otherwise(wanted->output))
        return "what is made is an archive, and cannot be called like a tar, cpio, zip, bag or "
               "Syrah file; "
               "'shardbox convert' turns it into one";
    if (wanted->input_count == 0)
        return "give at least one INPUT, and OUTPUT";
    if (pipes > 1)
        return "standard input can be only one of the INPUTs";
    if (wanted->append && wanted->force)
        return "--append and --force exclude each other";
    return NULL;
}

static void note_counts(const struct sb_convert_options *wanted,
                        const struct sb_sink_counts *counts)
{
    message_note("%s: %s %" PRId64 " files (%s) of %zu inputs", wanted->output,
                 wanted->transfer.dry_run ? "would store" : "stored", counts->files,
                 human_size(counts->bytes), wanted->input_count);
    if (counts->left > 0)
        message_note("%s: files passed over, for another has the name: %" PRId64, wanted->output,
                     counts->left);
    if (counts->unchecked > 0)
        message_note("%s: files without a checksum, merged unchecked: %" PRId64, wanted->output,
                     counts->unchecked);
}

static int merge(struct sb_convert_options *wanted, const char *report_to)
{
    bool dry_run = wanted->transfer.dry_run;
    struct sb_convert_result result = {0};
    struct report report;
    enum sb_code code;

    if (report_open(&report, report_to, wanted))
        return message_failure();
    code = sb_convert(wanted, &result);
    message_progress_end();
    if (!code) {
        note_counts(wanted, &result.counts);
        report_summary(&report, wanted->output, sb_convert_output_word(wanted));
        if (!dry_run)
            protect_later(wanted->output);
    }
    report_finish(&report, code ? sb_error() : NULL);
    if (code) {
        message_failure();
        message_raise(STATUS_ERROR);
    } else if (result.problems > 0) {
        message_problem("%s: %s; problems, named above: %" PRId64, wanted->output,
                        dry_run ? "would not be whole" : "done in part", result.problems);
    }
    report_release(&report);
    return message_status();
}

static int run(void *context, char **operands, int count)
{
    struct settings *settings = context;
    struct sb_convert_options *wanted = &settings->wanted;
    char **subdirs = NULL;
    const char *wrong;
    int status;

    wanted->inputs = operands;
    wanted->input_count = output_operand(&wanted->output, operands, count);
    if (output_is_first(wanted->output, operands, count))
        return STATUS_ERROR;
    wrong = misuse(wanted);
    if (!wrong) {
        wanted->append = output_is_added_to(wanted->append, wanted->output);
        wrong = misuse(wanted); /* a new archive has a name of one */
    }
    if (wrong)
        return message_usage("%s", wrong);
    if (settings->as_subdirs &&
        sb_subdirs_new(&subdirs, operands, wanted->input_count, wanted->transfer.prefix))
        return message_failure();
    wanted->to = sb_container_named("archive");
    wanted->transfer.filter = settings->filter;
    wanted->duplicates_given = wanted->merge = true;
    wanted->prefixes = subdirs;
    status = merge(wanted, settings->report);
    sb_subdirs_free(subdirs, wanted->input_count);
    return status;
}

const struct command merge_command = {
    .name = "merge",
    .summary = "make one archive of several archives, tars, zips, bags and directories",
    .synopsis = {"INPUT... OUTPUT", "[--append] -o OUTPUT INPUT..."},
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
