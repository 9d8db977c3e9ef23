/*
 * shardbox mv: renames files and directories of an archive.
 */
#include "open/opening.h"
#include "task/change/move.h"
#include "ui/command.h"
#include "ui/message.h"
#include "ui/output.h"
#include "ui/shared_options.h"

#include <string.h>

struct settings {
    bool no_target_directory;
    bool no_clobber;
    bool force;
    int existing;
    bool dry_run;
};

static const struct option options[] = {
    OPTION_FLAG('T', "no-target-directory", struct settings, no_target_directory,
                "DEST is the new name, also of a directory"),
    OPTION_EXISTING(struct settings, "what to do if a file has the new name (default: fail)"),
    OPTION_FORCE(struct settings, "as --existing=replace"),
    OPTION_FLAG(0, "no-clobber", struct settings, no_clobber, "as --existing=skip"),
    OPTION_WAIT,
    OPTION_DRY_RUN(struct settings, dry_run),
    OPTION_END,
};

static const char *const synopsis[] = {
    "[-T] ARCHIVE SOURCE DEST",
    "ARCHIVE SOURCE... DIRECTORY",
    NULL,
};

static void print_moved(void *context, const char *from, const char *to)
{
    const struct settings *settings = context;

    if (!settings->dry_run) {
        message_note("%s: moved to %s", from, to);
        return;
    }
    output_name(from, strlen(from));
    output_text(" -> ");
    output_name(to, strlen(to));
    output_char('\n');
}

static int move_names(struct settings *settings, const char *archive, char *const *names,
                      size_t count)
{
    struct sb_move_options wanted = {
        .sources = names,
        .source_count = count - 1,
        .destination = names[count - 1],
        .no_target_directory = settings->no_target_directory,
        .existing = settings->force        ? SB_EXISTING_REPLACE
                    : settings->no_clobber ? SB_EXISTING_SKIP
                                           : (enum sb_existing)settings->existing,
        .dry_run = settings->dry_run,
        .notify = &message_notify,
        .moved = print_moved,
        .context = settings,
    };
    struct sb_error err;
    enum sb_code code = sb_move(archive, &wanted, &err);

    output_flush();
    if (code == SB_OK)
        return message_status();
    explain_failure(archive, &err);
    /* Whatever the reason, nothing was moved. */
    message_failure(&err);
    message_raise(STATUS_ERROR);
    if (count > 2 && !settings->dry_run)
        message_error("%s: nothing was moved", archive);
    return message_status();
}

static int check_usage(const struct settings *settings, int operands)
{
    if (operands < 3)
        return message_usage("give what is to be moved, and where to");
    if (settings->force + settings->no_clobber + (settings->existing != SB_EXISTING_FAIL) > 1)
        return message_usage("--existing, --force and --no-clobber exclude each other");
    if (settings->no_target_directory && operands > 3)
        return message_usage("-T takes one SOURCE");
    return STATUS_CLEAN;
}

static int run(void *settings, char **operands, int count)
{
    int status = check_usage(settings, count);

    return status ? status : move_names(settings, operands[0], operands + 1, (size_t)count - 1);
}

const struct command mv_command = {
    .name = "mv",
    .summary = "rename files and directories of an archive",
    .synopsis = synopsis,
    .examples = {"shardbox mv train.barecat old.txt new.txt",
                 "shardbox mv train.barecat a.jpg b.jpg images"},
    .options = options,
    .exit_status = "0 done, 2 error: nothing was moved",
    .operands = OPERAND_ARCHIVE_PATHS,
    .settings_size = sizeof(struct settings),
    .needs_archive = true,
    .run = run,
};
