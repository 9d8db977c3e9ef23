/*
 * shardbox merge-symlink: several archives under one index, over links to their shards.
 */
#include "task/merge/merge_symlink.h"
#include "core/io.h"
#include "core/number.h"
#include "ui/command.h"
#include "ui/message.h"
#include "ui/shared_options.h"

#include <inttypes.h>
#include <stdlib.h>

struct settings {
    const char *output;
    const char *prefix;
    int duplicates;
    bool as_subdirs;
    bool append;
    bool force;
    bool absolute;
    bool hardlink;
    bool reflink;
    bool dry_run;
};

static const struct option options[] = {
    OPTION_GROUP("Output"),
    OPTION_OUTPUT(struct settings, "the archive to make, in place of the last operand"),
    OPTION_REPLACE(struct settings),
    OPTION_APPEND(struct settings),
    OPTION_PREFIX(struct settings),
    OPTION_AS_SUBDIRS(struct settings),
    OPTION_DUPLICATES(struct settings),
    OPTION_DRY_RUN(struct settings, dry_run),
    OPTION_PROTECT,
    OPTION_WAIT,
    OPTION_GROUP("Shards"),
    OPTION_ABSOLUTE(struct settings),
    OPTION_FLAG(0, "hardlink", struct settings, hardlink,
                "hard links: the bytes stay when an ARCHIVE goes"),
    OPTION_FLAG(0, "reflink", struct settings, reflink,
                "make copies that share their blocks (XFS, Btrfs)"),
    OPTION_END,
};

static const char *const synopsis[] = {"INPUT... OUTPUT", "[--append] -o OUTPUT INPUT...", NULL};

static const char *misuse(const struct settings *settings)
{
    if (!settings->output || !*settings->output)
        return "give at least one INPUT, and OUTPUT";
    if (settings->append && settings->force)
        return "--append and --force exclude each other";
    if (settings->absolute + settings->hardlink + settings->reflink > 1)
        return "--absolute, --hardlink and --reflink exclude each other";
    return NULL;
}

static enum sb_link_kind kind_of(const struct settings *settings)
{
    if (settings->absolute)
        return SB_LINK_ABSOLUTE;
    if (settings->hardlink)
        return SB_LINK_HARD;
    return settings->reflink ? SB_LINK_REFLINK : SB_LINK_RELATIVE;
}

static void note_result(const struct settings *settings,
                        const struct sb_merge_symlink_result *result)
{
    char size[SB_HUMAN_SIZE];

    sb_format_human(result->bytes, size);
    if (!settings->dry_run)
        message_note("%s: linked shards: %" PRIu32 ", with %" PRId64 " files (%s) and %" PRId64
                     " directories",
                     settings->output, result->shards, result->files, size, result->dirs);
    if (result->passed_over > 0)
        message_note("%s: files for which another one of the same name was taken: %" PRId64,
                     settings->output, result->passed_over);
    if (result->problems > 0)
        message_problem("%s: %s; problems, named above: %" PRId64, settings->output,
                        settings->dry_run ? "would not be whole" : "done in part",
                        result->problems);
}

static int run(void *context, char **operands, int count)
{
    struct settings *settings = context;
    size_t input_count = output_operand(&settings->output, operands, count);
    const char *wrong = input_count ? misuse(settings) : "give at least one INPUT, and OUTPUT";
    struct sb_merge_symlink_result result;
    struct sb_merge_symlink_options wanted = {
        .inputs = operands,
        .input_count = input_count,
        .output = settings->output,
        .mode = settings->force ? SB_REPLACE : SB_CREATE,
        .kind = kind_of(settings),
        .prefix = settings->prefix,
        .as_subdirs = settings->as_subdirs,
        .duplicates = (enum sb_duplicates)settings->duplicates,
        .threads = sb_default_threads(),
        .dry_run = settings->dry_run,
        .notify = &message_notify,
    };

    if (wrong)
        return message_usage("%s", wrong);
    if (output_is_first(settings->output, operands, count))
        return STATUS_ERROR;
    if (output_is_added_to(settings->append, settings->output))
        wanted.mode = SB_APPEND;
    if (sb_merge_symlink(&wanted, &result) != SB_OK)
        return message_failure();
    note_result(settings, &result);
    if (!settings->dry_run)
        protect_later(settings->output);
    return message_status();
}

const struct command merge_symlink_command = {
    .name = "merge-symlink",
    .summary = "join archives under one index, over links to their shards",
    .synopsis = synopsis,
    .examples = {"shardbox merge-symlink -o all.barecat part-*.barecat",
                 "shardbox merge-symlink --as-subdirs -o all.barecat a.barecat b.barecat"},
    .options = options,
    .exit_status = "0 all is there, 1 in part, 2 error: nothing was changed",
    .operands = OPERAND_FILE,
    .settings_size = sizeof(struct settings),
    .run = run,
};
