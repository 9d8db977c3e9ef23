/*
 * shardbox rm: removes files and directories from an archive's index.
 */
#include "open/opening.h"
#include "task/change/change.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/shared_options.h"

#include <inttypes.h>

struct settings {
    struct sb_remove_options wanted;
    struct sb_filter *filter;
    bool nul;
};

static const struct option options[] = {
    OPTION_FLAG('r', "recursive", struct settings, wanted.recursive,
                "remove directories, and all that is below them"),
    OPTION_FLAG('d', "dir", struct settings, wanted.empty, "remove empty directories too"),
    OPTION_FILES_FROM(struct settings, wanted.list,
                      "remove the names in FILE, one a line; - is stdin"),
    OPTION_NULL(struct settings, nul, "names in FILE, and those that -n prints, end in NUL"),
    OPTIONS_FILTER(struct settings, filter, "remove"),
    OPTION_FORCE(struct settings, wanted.force, "a missing name is no error"),
    OPTION_PROTECT,
    OPTION_WAIT,
    OPTION_DRY_RUN(struct settings, wanted.dry_run),
    OPTION_THREADS(struct settings, wanted.threads, "threads that look up the names of -T"),
    OPTION_END,
};

static void print_removed(void *context, const char *path, size_t size)
{
    const struct settings *settings = context;

    if (settings->wanted.dry_run)
        output_line(path, size, settings->nul);
    else
        message_note("%s: removed", path);
}

static void summarize(const struct settings *settings, const char *archive,
                      const struct sb_remove_counts *counts)
{
    message_note("%s: %s %" PRId64 " files and %" PRId64 " directories; their %" PRId64
                 " bytes stay in the shards until 'shardbox defrag'",
                 archive, settings->wanted.dry_run ? "would remove" : "removed", counts->files,
                 counts->dirs, counts->bytes);
    if (message_status() == STATUS_PARTIAL && counts->files + counts->dirs > 0)
        message_problem("%s: done in part: what is named above was not removed, everything else %s",
                        archive, settings->wanted.dry_run ? "would be" : "was");
}

static int run(void *context, char **operands, int count)
{
    struct settings *settings = context;
    struct sb_remove_options *wanted = &settings->wanted;
    const char *archive = operands[0];
    struct sb_remove_counts counts;
    enum sb_code code;

    if (wanted->list && count > 1)
        return message_usage("-T FILE and PATHs cannot be given together");
    if (!wanted->list && count == 1)
        return message_usage("nothing to remove: give PATHs, or a list of them with -T");
    wanted->args = operands + 1;
    wanted->arg_count = (size_t)count - 1;
    wanted->list_end = settings->nul ? '\0' : '\n';
    wanted->filter = settings->filter;
    wanted->notify = &message_notify;
    wanted->removed = wanted->dry_run || message_is_verbose() ? print_removed : NULL;
    wanted->context = settings;
    code = sb_remove(archive, wanted, &counts);
    output_flush();
    if (!code) {
        summarize(settings, archive, &counts);
        if (!wanted->dry_run)
            protect_later(archive);
        return message_status();
    }
    explain_failure(archive);
    /* Whatever the reason, nothing was removed. */
    message_failure();
    message_raise(STATUS_ERROR);
    return message_status();
}

const struct command rm_command = {
    .name = "rm",
    .summary = "remove files from an archive's index",
    .synopsis = {"[-r|-d] ARCHIVE PATH|GLOB...", "[-r|-d] [-0] -T FILE ARCHIVE"},
    .examples = {"shardbox rm train.barecat 'images/*.tmp'",
                 "shardbox rm -n -r train.barecat drafts"},
    .options = options,
    .exit_status = "0 all was removed, 1 in part, 2 error: nothing was removed",
    .notes = "The bytes stay in the shards until 'shardbox defrag' gives their space back.",
    .operands = OPERAND_ARCHIVE_PATHS,
    .settings_size = sizeof(struct settings),
    .needs_archive = true,
    .run = run,
};
