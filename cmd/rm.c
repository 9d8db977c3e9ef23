/*
 * shardbox rm: removes files and directories from an archive's index.
 */
#include "open/opening.h"
#include "task/change/remove.h"
#include "ui/command.h"
#include "ui/message.h"
#include "ui/output.h"
#include "ui/shared_options.h"

#include "core/glob.h"

#include <inttypes.h>

struct settings {
    bool recursive;
    bool empty;
    const char *files_from;
    bool nul;
    struct sb_filter *filter;
    bool dry_run;
    bool force;
    int64_t threads;
};

static const struct option options[] = {
    OPTION_FLAG('r', "recursive", struct settings, recursive,
                "remove directories, and all that is below them"),
    OPTION_FLAG('d', "dir", struct settings, empty, "remove empty directories too"),
    OPTION_FILES_FROM(struct settings, files_from,
                      "remove the names in FILE, one a line; - is stdin"),
    OPTION_NULL(struct settings, nul, "names in FILE, and those that -n prints, end in NUL"),
    OPTIONS_FILTER(struct settings, "remove"),
    OPTION_FORCE(struct settings, "a missing name is no error"),
    OPTION_PROTECT,
    OPTION_WAIT,
    OPTION_DRY_RUN(struct settings, dry_run),
    OPTION_THREADS(struct settings, "threads that look up the names of -T"),
    OPTION_END,
};

static const char *const synopsis[] = {
    "[-r|-d] ARCHIVE PATH|GLOB...",
    "[-r|-d] [-0] -T FILE ARCHIVE",
    NULL,
};

static void print_removed(void *context, const char *path, size_t size)
{
    const struct settings *settings = context;

    if (settings->dry_run)
        output_line(path, size, settings->nul);
    else
        message_note("%s: removed", path);
}

static void summarize(const struct settings *settings, const char *archive,
                      const struct sb_remove_counts *counts)
{
    message_note("%s: %s %" PRId64 " files and %" PRId64 " directories; their %" PRId64
                 " bytes stay in the shards until 'shardbox defrag'",
                 archive, settings->dry_run ? "would remove" : "removed", counts->files,
                 counts->dirs, counts->bytes);
    if (message_status() == STATUS_PARTIAL && counts->files + counts->dirs > 0)
        message_problem("%s: done in part: what is named above was not removed, everything else %s",
                        archive, settings->dry_run ? "would be" : "was");
}

static int remove_names(struct settings *settings, const char *archive, char *const *args,
                        size_t count)
{
    struct sb_remove_options wanted = {
        .args = args,
        .arg_count = count,
        .list = settings->files_from,
        .list_end = settings->nul ? '\0' : '\n',
        .filter = settings->filter,
        .recursive = settings->recursive,
        .empty = settings->empty,
        .force = settings->force,
        .threads = (unsigned)settings->threads,
        .dry_run = settings->dry_run,
        .notify = &message_notify,
        .removed = settings->dry_run || message_is_verbose() ? print_removed : NULL,
        .context = settings,
    };
    struct sb_remove_counts counts;

    if (sb_remove(archive, &wanted, &counts) == SB_OK) {
        output_flush();
        summarize(settings, archive, &counts);
        if (!settings->dry_run)
            protect_later(archive);
        return message_status();
    }
    output_flush();
    explain_failure(archive);
    /* Whatever the reason, nothing was removed. */
    message_failure();
    message_raise(STATUS_ERROR);
    return message_status();
}

static int check_usage(const struct settings *settings, int operands)
{
    if (settings->files_from && operands > 1)
        return message_usage("-T FILE and PATHs cannot be given together");
    if (!settings->files_from && operands == 1)
        return message_usage("nothing to remove: give PATHs, or a list of them with -T");
    return STATUS_CLEAN;
}

static int run(void *settings, char **operands, int count)
{
    int status = check_usage(settings, count);

    return status ? status : remove_names(settings, operands[0], operands + 1, (size_t)count - 1);
}

const struct command rm_command = {
    .name = "rm",
    .summary = "remove files from an archive's index",
    .synopsis = synopsis,
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
