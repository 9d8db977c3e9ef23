/*
 * shardbox merge-symlink: several archives under one index, over links to their shards.
 */
#include "task/merge/merge_symlink.h"
#include "core/io.h"
#include "core/number.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/shared_options.h"

#include <inttypes.h>

struct settings {
    struct sb_merge_symlink_options wanted;
    bool append;
    bool force;
    bool absolute, hardlink, reflink;
};

static const struct option options[] = {
    OPTION_GROUP("Output"),
    OPTION_OUTPUT(struct settings, wanted.output,
                  "the archive to make, in place of the last operand"),
    OPTION_REPLACE(struct settings, force),
    OPTION_APPEND(struct settings, append),
    OPTION_PREFIX(struct settings, wanted.prefix),
    OPTION_AS_SUBDIRS(struct settings, wanted.as_subdirs),
    OPTION_DUPLICATES(struct settings, wanted.duplicates),
    OPTION_DRY_RUN(struct settings, wanted.dry_run),
    OPTION_PROTECT,
    OPTION_WAIT,
    OPTION_GROUP("Shards"),
    OPTION_ABSOLUTE(struct settings, absolute),
    OPTION_FLAG(0, "hardlink", struct settings, hardlink,
                "hard links: the bytes stay when an ARCHIVE goes"),
    OPTION_FLAG(0, "reflink", struct settings, reflink,
                "make copies that share their blocks (XFS, Btrfs)"),
    OPTION_END,
};

static const struct option_rule rules[] = {
    {RULE_WITH, "append", "force", "--append and --force exclude each other"},
    {RULE_MANY, "absolute hardlink reflink", NULL,
     "--absolute, --hardlink and --reflink exclude each other"},
    {0},
};

static void note_result(const struct sb_merge_symlink_options *wanted,
                        const struct sb_merge_symlink_result *result)
{
    if (!wanted->dry_run)
        message_note("%s: linked shards: %" PRIu32 ", with %" PRId64 " files (%s) and %" PRId64
                     " directories",
                     wanted->output, result->shards, result->files, human_size(result->bytes),
                     result->dirs);
    if (result->passed_over > 0)
        message_note("%s: files for which another one of the same name was taken: %" PRId64,
                     wanted->output, result->passed_over);
    if (result->problems > 0)
        message_problem("%s: %s; problems, named above: %" PRId64, wanted->output,
                        wanted->dry_run ? "would not be whole" : "done in part", result->problems);
}

static int run(void *context, char **operands, int count)
{
    struct settings *settings = context;
    struct sb_merge_symlink_options *wanted = &settings->wanted;
    struct sb_merge_symlink_result result;

    wanted->inputs = operands;
    wanted->input_count = output_operand(&wanted->output, operands, count);
    if (wanted->input_count == 0 || !*wanted->output)
        return message_usage("give at least one INPUT, and OUTPUT");
    if (output_is_first(wanted->output, operands, count))
        return STATUS_ERROR;
    wanted->mode = settings->force ? SB_REPLACE : SB_CREATE;
    if (output_is_added_to(settings->append, wanted->output))
        wanted->mode = SB_APPEND;
    wanted->kind = settings->absolute   ? SB_LINK_ABSOLUTE
                   : settings->hardlink ? SB_LINK_HARD
                   : settings->reflink  ? SB_LINK_REFLINK
                                        : SB_LINK_RELATIVE;
    wanted->threads = sb_default_threads();
    wanted->notify = &message_notify;
    if (sb_merge_symlink(wanted, &result) != SB_OK)
        return message_failure();
    note_result(wanted, &result);
    if (!wanted->dry_run)
        protect_later(wanted->output);
    return message_status();
}

const struct command merge_symlink_command = {
    .name = "merge-symlink",
    .summary = "join archives under one index, over links to their shards",
    .synopsis = {"INPUT... OUTPUT", "[--append] -o OUTPUT INPUT..."},
    .examples = {"shardbox merge-symlink -o all.barecat part-*.barecat",
                 "shardbox merge-symlink --as-subdirs -o all.barecat a.barecat b.barecat"},
    .options = options,
    .rules = rules,
    .exit_status = "0 all is there, 1 in part, 2 error: nothing was changed",
    .operands = OPERAND_FILE,
    .settings_size = sizeof(struct settings),
    .run = run,
};
