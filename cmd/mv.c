/*
 * shardbox mv: renames files and directories of an archive.
 */
#include "open/opening.h"
#include "task/change/change.h"
#include "ui/meant.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/shared_options.h"

#include "archive/archive.h"
#include "archive/select.h"
#include "core/buf.h"
#include "core/glob.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct settings {
    struct sb_move_options wanted;
    const char *target_directory;
    bool no_clobber;
    bool force;
};

static const struct option options[] = {
    OPTION_FLAG('T', "no-target-directory", struct settings, wanted.no_target_directory,
                "DEST is the new name, also of a directory"),
    OPTION_TEXT('t', "target-directory", struct settings, target_directory, "DIRECTORY",
                "move all SOURCEs into DIRECTORY", OPERAND_ANY),
    OPTION_FLAG('p', "parents", struct settings, wanted.parents,
                "make the directories of DEST that are missing"),
    OPTION_EXISTING(struct settings, wanted.existing,
                    "what to do if a file has the new name (default: fail)"),
    OPTION_FORCE(struct settings, force, "as --existing=replace"),
    OPTION_FLAG(0, "no-clobber", struct settings, no_clobber, "as --existing=skip"),
    OPTION_PROTECT,
    OPTION_WAIT,
    OPTION_DRY_RUN(struct settings, wanted.dry_run),
    OPTION_END,
};

static void print_moved(void *context, const char *from, const char *to)
{
    const struct settings *settings = context;

    if (!settings->wanted.dry_run) {
        message_note("%s: moved to %s", from, to);
        return;
    }
    output_name(from, strlen(from));
    output_text(" -> ");
    output_name(to, strlen(to));
    output_char('\n');
}

/* SOURCEs, where a GLOB stands for what it matches. */
struct sources {
    char **names;
    size_t count, capacity;
};

static enum sb_code add_source(struct sources *sources, const char *name)
{
    TRY(sb_grow(&sources->names, &sources->capacity, sources->count, sizeof(char *)));
    sources->names[sources->count] = strdup(name);
    return sources->names[sources->count++] ? SB_OK : sb_fail_memory();
}

/* A name that the archive holds is no GLOB; one that matches nothing stays, and is missing later.
 */
static enum sb_code add_matches(struct sources *sources, struct sb_archive *archive, char *name)
{
    struct sb_select *select = NULL;
    struct sb_entry entry;
    size_t before = sources->count;
    enum sb_code code = SB_END;

    if (archive && sb_is_glob(name))
        code = sb_select_new(&select, archive, &name, 1, SB_REACH_ITSELF);
    while (!code && !(code = sb_select_next(select, &entry)))
        code = add_source(sources, entry.path);
    sb_select_free(select);
    if (code == SB_END)
        code = sources->count > before ? SB_OK : add_source(sources, name);
    return code;
}

static enum sb_code take_sources(struct sources *sources, const char *path, char *const *names,
                                 size_t count)
{
    CLEANUP(sb_archive_freep) struct sb_archive *archive = NULL;
    bool has_globs = false;

    for (size_t i = 0; i < count; i++)
        has_globs |= sb_is_glob(names[i]);
    if (has_globs)
        TRY(sb_archive_open(&archive, path));
    for (size_t i = 0; i < count; i++)
        TRY(add_matches(sources, archive, names[i]));
    return SB_OK;
}

static void release(struct sources *sources)
{
    for (size_t i = 0; i < sources->count; i++)
        free(sources->names[i]);
    free(sources->names);
}

static int move_names(struct settings *settings, const char *archive, char *const *names,
                      size_t count)
{
    const char *into = settings->target_directory;
    struct sources sources = {0};
    struct sb_move_options *wanted = &settings->wanted;
    enum sb_code code = take_sources(&sources, archive, names, into ? count : count - 1);

    wanted->sources = sources.names;
    wanted->source_count = sources.count;
    wanted->destination = into ? into : names[count - 1];
    wanted->into_directory = into != NULL;
    if (settings->force || settings->no_clobber)
        wanted->existing = settings->force ? SB_EXISTING_REPLACE : SB_EXISTING_SKIP;
    wanted->notify = &message_notify;
    wanted->moved = print_moved;
    wanted->context = settings;
    if (!code && wanted->no_target_directory && sources.count > 1)
        code = sb_fail(SB_INVALID, "-T takes one SOURCE, and %s matches several", names[0]);
    if (!code) {
        code = sb_move(archive, wanted);
        output_flush();
    }
    if (code) {
        explain_failure(archive);
        /* Whatever the reason, nothing was moved. */
        message_failure();
        message_raise(STATUS_ERROR);
    }
    if (code && sources.count > 1 && !settings->wanted.dry_run)
        message_error("%s: nothing was moved", archive);
    if (!code && !settings->wanted.dry_run)
        protect_later(archive);
    release(&sources);
    return message_status();
}

/* With -T, or a '/' at its end, DEST is a name in the archive whatever is called so here. */
static bool names_other_archive(const struct settings *settings, const char *dest)
{
    struct stat st;

    return !settings->wanted.no_target_directory && stat(dest, &st) == 0 && S_ISREG(st.st_mode) &&
           sb_archive_looks_like(dest);
}

static int complain_of_archive(const char *archive, char *const *names, size_t count)
{
    const char *dest = names[count - 1];
    struct line_to_type line = {0};

    line_say(&line, "merge --append");
    for (size_t i = 0; i + 1 < count; i++) {
        line_say(&line, "--include");
        line_quote(&line, names[i]);
    }
    line_say(&line, "-o");
    line_quote(&line, dest);
    line_quote(&line, archive);
    line_say(&line, "&& shardbox rm -r");
    line_quote(&line, archive);
    line_quote_all(&line, names, count - 1);
    return line_complain(&line, "%s: is another archive, and mv renames within one", dest);
}

static int check_usage(const struct settings *settings, int operands)
{
    if (operands < (settings->target_directory ? 2 : 3))
        return message_usage("give what is to be moved, and where to");
    if (settings->force + settings->no_clobber + (settings->wanted.existing != SB_EXISTING_FAIL) >
        1)
        return message_usage("--existing, --force and --no-clobber exclude each other");
    if (settings->wanted.no_target_directory && settings->target_directory)
        return message_usage("-T and -t cannot be given together");
    if (settings->wanted.no_target_directory && operands > 3)
        return message_usage("-T takes one SOURCE");
    return STATUS_CLEAN;
}

static int run(void *settings, char **operands, int count)
{
    int status = check_usage(settings, count);

    if (!status && names_other_archive(settings, operands[count - 1]))
        return complain_of_archive(operands[0], operands + 1, (size_t)count - 1);
    return status ? status : move_names(settings, operands[0], operands + 1, (size_t)count - 1);
}

const struct command mv_command = {
    .name = "mv",
    .summary = "rename files and directories of an archive",
    .synopsis = {"[-T] ARCHIVE SOURCE DEST", "ARCHIVE SOURCE|GLOB... DIRECTORY",
                 "-t DIRECTORY ARCHIVE SOURCE|GLOB..."},
    .examples = {"shardbox mv train.barecat old.txt new.txt",
                 "shardbox mv train.barecat a.jpg b.jpg images"},
    .options = options,
    .exit_status = "0 done, 2 error: nothing was moved",
    .operands = OPERAND_ARCHIVE_PATHS,
    .settings_size = sizeof(struct settings),
    .needs_archive = true,
    .run = run,
};
