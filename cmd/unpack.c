/*
 * shardbox unpack: from an archive to files, directories and links below one directory, and never
 * anywhere else.
 */
#include "command.h"
#include "message.h"
#include "opening.h"
#include "output.h"

#include "archive/archive.h"
#include "core/glob.h"
#include "core/io.h"
#include "task/unpack.h"

#include <inttypes.h>
#include <string.h>

struct settings {
    const char *directory;
    struct sb_filter *filter;
    int existing;
    int64_t strip;
    int64_t threads;
    bool preserve;
    bool sync;
    bool dry_run;
    bool no_check;
};

static const char *const synopsis[] = {
    "[-C DIR] ARCHIVE [PATH|GLOB...]",
    NULL,
};

/* In the order of enum sb_existing. */
static const char *const existing_choices[] = {"fail", "skip", "replace", "newer", NULL};

static const struct option options[] = {
    OPTION_TEXT('C', "directory", struct settings, directory, "DIR",
                "unpack into DIR, which is made when it is missing", OPERAND_DIRECTORY),
    OPTION_CHOICE(0, "existing", struct settings, existing, "HOW", existing_choices,
                  "what to do about files that are there already (default: fail)"),
    OPTION_INCLUDE("include", struct settings, filter,
                   "only names that match; repeatable, in order"),
    OPTION_EXCLUDE("exclude", struct settings, filter,
                   "no names that match; the first rule decides"),
    OPTION_INTEGER(0, "strip-components", struct settings, strip, "N", 0, 100000,
                   "take N components off the front of names"),
    OPTION_FLAG('p', "preserve", struct settings, preserve,
                "set owners, set-id and sticky bits too"),
    OPTION_FLAG(0, "sync", struct settings, sync, "have everything on disk before the end"),
    OPTION_FLAG('n', "dry-run", struct settings, dry_run,
                "write nothing, list what would be written"),
    OPTION_FLAG(0, "no-check", struct settings, no_check, "do not check the bytes' CRC32C"),
    OPTION_INTEGER('j', "threads", struct settings, threads, "N", 1, 256,
                   "threads that write (default: the cores, at most 4)"),
    OPTION_END,
};

struct problems {
    int64_t count;
    int64_t existing;
};

static void tell(void *context, enum sb_level level, const char *kind, const char *subject,
                 const char *text)
{
    struct problems *problems = context;

    problems->count += level == SB_PROBLEM;
    problems->existing += strcmp(kind, "exists") == 0;
    message_notify.call(message_notify.context, level, kind, subject, text);
}

static void list(void *context, const char *name, size_t size)
{
    (void)context;
    output_line(name, size, false);
}

static void progress(void *context, int64_t bytes, int64_t total, int64_t files)
{
    (void)context;
    message_progress_update(bytes, total, files);
}

/* The last line on stderr, after the names of what was not unpacked. */
static void summarize(const char *archive, const struct problems *problems,
                      const struct sb_unpack_result *result)
{
    if (result->unchecked > 0)
        message_note("%s: files without a checksum, unpacked unchecked: %" PRId64, archive,
                     result->unchecked);
    if (problems->count == 0)
        return;
    if (problems->existing == problems->count)
        message_problem("%s: unpacked in part, %" PRId64
                        " exist already; see --existing=skip, replace and newer",
                        archive, problems->count);
    else
        message_problem("%s: unpacked in part; problems, named above: %" PRId64, archive,
                        problems->count);
}

static int unpack(const struct settings *settings, const char *path, char **paths,
                  size_t path_count)
{
    struct sb_error err;
    struct problems problems = {0};
    struct sb_notify notify = {.call = tell, .context = &problems};
    struct sb_unpack_options wanted = {
        .directory = settings->directory,
        .paths = paths,
        .path_count = path_count,
        .filter = settings->filter,
        .strip = (unsigned)settings->strip,
        .existing = (enum sb_existing)settings->existing,
        .preserve = settings->preserve,
        .sync = settings->sync,
        .dry_run = settings->dry_run,
        .no_check = settings->no_check,
        .threads = (unsigned)settings->threads,
        .notify = &notify,
        .written = settings->dry_run ? list : NULL,
        .progress = progress,
    };
    struct sb_unpack_result result;
    struct sb_archive *archive;
    enum sb_code code = open_archive(&archive, path, &err);

    if (code)
        return message_failure(&err);
    code = sb_unpack(archive, &wanted, &result, &err);
    message_progress_end();
    if (!code)
        summarize(path, &problems, &result);
    else
        message_failure(&err);
    if (code && result.begun && !settings->dry_run)
        message_error("%s: unpacked in part; go on with --existing=skip", path);
    sb_archive_free(archive);
    return message_status();
}

static int run(const struct command *self, int argc, char **argv)
{
    struct settings settings = {.directory = ".", .threads = sb_default_threads()};
    int first, status;

    status = options_parse(self, argc, argv, &settings, &first, NULL);
    if (status == OPTIONS_RUN && first == argc)
        status = message_usage("no archive given");
    if (status == OPTIONS_RUN)
        status = unpack(&settings, argv[first], argv + first + 1, (size_t)(argc - first - 1));
    sb_filter_free(settings.filter);
    return status;
}

const struct command unpack_command = {
    .name = "unpack",
    .summary = "write the files of an archive to a directory",
    .synopsis = synopsis,
    .options = options,
    .notes = "Exit status: 0 all was unpacked, 1 in part, 2 error.",
    .operands = OPERAND_ARCHIVE_PATHS,
    .run = run,
};
