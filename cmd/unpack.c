/*
 * shardbox unpack: from an archive, a tar, a zip to files, directories and links below one
 * directory, and never anywhere else.
 */
#include "open/opening.h"
#include "ui/meant.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"
#include "ui/report.h"
#include "ui/shared_options.h"

#include "core/choice.h"
#include "store/unmatched.h"
#include "task/pack/pack.h"

#include <inttypes.h>
#include <string.h>

struct settings {
    struct opening opening;
    struct sb_unpack_options wanted; /* its filter apart, as the options say */
    struct sb_filter *filter;
    struct owner_options owners;
    bool no_check;
};

static const struct option options[] = {
    OPTION_GROUP("What is taken"),
    OPTIONS_FILTER(struct settings, filter, "take"),
    OPTION_STRIP(struct settings, wanted.strip),
    OPTIONS_DECOMPRESS(struct settings, wanted.recode),
    OPTION_NO_CHECK(struct settings, no_check),
    OPTION_GROUP("Directory"),
    OPTION_TEXT('C', "directory", struct settings, wanted.directory, "DIR",
                "unpack into DIR, which is made when it is missing", OPERAND_DIRECTORY),
    OPTION_EXISTING(struct settings, wanted.existing, "files that exist already (default: fail)"),
    OPTION_FLAG('m', "touch", struct settings, wanted.touch,
                "set no times: files are as new as they are"),
    OPTIONS_OWNERS(struct settings, owners),
    OPTION_FLAG(0, "sync", struct settings, wanted.sync, "have everything on disk before the end"),
    OPTION_GROUP("Reports"),
    OPTION_DRY_RUN(struct settings, wanted.dry_run),
    OPTION_REPORT(struct settings, wanted.report),
    OPTION_GROUP("Speed"),
    OPTION_THREADS(struct settings, wanted.threads, "threads that write"),
    OPTION_BWLIMIT,
    OPTION_MORE("Input"),
    OPTION_MAX_SIZE(struct settings, wanted.max_size),
    OPTION_FLAG(0, "incremental", struct settings, wanted.incremental,
                "delete and rename what an incremental dump of GNU tar says, replace what it has"),
    OPTIONS_INPUT,
    OPTIONS_BAG(struct settings, opening.bag),
    OPTION_END,
};

/* Names on disk must be those of the lists, and all that is on disk be what they speak of. */
static const struct option_rule rules[] = {
    {RULE_WITH, "incremental",
     "existing include exclude strip-components decompress decompress-all iconv nested",
     "--incremental takes a dump as it is, and replaces what exists: it goes with no option that "
     "chooses or changes names, and not with --existing"},
    {0},
};

struct problems {
    int64_t count;
    int64_t existing;
    int64_t unread; /* other than by its kind, or by what cannot be deleted */
};

/* What is unpacked: the input, and which of its members. */
struct work {
    const struct settings *settings;
    char *path;
    const char *name; /* for messages: path, or "standard input" */
    char **paths;     /* PATH and GLOB arguments */
    size_t path_count;
    struct sb_store *store;
    struct sb_source *members;
    struct sb_choice *choice; /* where they are not chosen by an index */
    const char *meant;        /* the only PATH, which is not there, but looks like a directory's */
    struct problems problems;
    struct report report;
    struct sb_notify notify;
    struct sb_unpack_result result;
};

/* Is it rather the place to unpack into than the name of a member? */
static bool looks_like_directory(const char *path)
{
    size_t size = strlen(path);
    struct stat st;

    if (size == 0 || strpbrk(path, "*?["))
        return false;
    if (strchr("/~", *path) || strncmp(path, "./", 2) == 0 || strncmp(path, "..", 2) == 0)
        return true;
    if (path[size - 1] == '/' || !strpbrk(path, "./"))
        return true;
    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool may_mean_directory(const struct work *work, const char *missing)
{
    return work->path_count == 1 && strcmp(missing, work->paths[0]) == 0 &&
           !option_is_given("directory") && looks_like_directory(missing);
}

static void notice(void *context, enum sb_level level, const char *kind, const char *subject,
                   const char *text)
{
    struct work *work = context;

    if (strcmp(kind, "missing") == 0 && may_mean_directory(work, subject)) {
        work->meant = work->paths[0];
        return;
    }
    work->problems.count += level == SB_PROBLEM;
    work->problems.existing += strcmp(kind, "exists") == 0;
    work->problems.unread +=
        level == SB_PROBLEM && strcmp(kind, "special") != 0 && strcmp(kind, "remove") != 0;
    /* A dry run lists these on stdout. */
    if (strcmp(kind, "would-store") != 0)
        report_event(&work->report, level, kind, subject, text);
}

static void list(void *context, const char *name, size_t size)
{
    (void)context;
    output_line(name, size, false);
}

static enum sb_code open_members(struct work *work)
{
    const struct settings *settings = work->settings;
    struct sb_source_options source_options = {.max_size = settings->wanted.max_size,
                                               .threads = settings->wanted.threads,
                                               .no_check = settings->no_check,
                                               .dumps = settings->wanted.incremental,
                                               .paths = work->paths,
                                               .path_count = work->path_count};

    TRY(open_store(&work->store, work->path, &settings->opening));
    work->name = sb_store_name(work->store);
    TRY(sb_store_refuse_tree(work->store));
    TRY(sb_store_source(work->store, &work->members, &source_options, &work->notify));
    if (work->path_count == 0 || sb_store_archive(work->store))
        return SB_OK;
    return sb_choice_new(&work->choice, work->paths, work->path_count);
}

static void close_members(struct work *work)
{
    sb_source_free(work->members);
    sb_choice_free(work->choice);
    sb_store_free(work->store);
}

static enum sb_code unpack_members(struct work *work)
{
    const struct settings *settings = work->settings;
    struct sb_unpack_options wanted = settings->wanted;

    wanted.input = work->path;
    wanted.archive = sb_store_archive(work->store);
    wanted.filter = settings->filter;
    wanted.choice = work->choice;
    wanted.preserve = owners_are_set(&settings->owners);
    wanted.numeric_owner = settings->owners.numeric;
    wanted.unread = &work->problems.unread;
    wanted.notify = &work->notify;
    wanted.written = wanted.dry_run ? list : NULL;
    wanted.progress = message_progress_call;
    wanted.lost = report_lost;
    wanted.context = &work->report;
    if (wanted.incremental)
        wanted.existing = SB_EXISTING_REPLACE;
    TRY(sb_unpack(work->members, &wanted, &work->result));
    for (size_t i = 0; work->choice && i < work->path_count; i++) {
        if (sb_choice_unmatched(work->choice, i))
            sb_report(&work->notify, SB_PROBLEM, "missing", work->paths[i],
                      "no such file or directory in the archive%s",
                      sb_unmatched_hint(work->paths[i], sb_choice_form(work->choice, i)));
    }
    return SB_OK;
}

/* The last lines on stderr, after the names of what was not unpacked. */
static void summarize(const struct work *work)
{
    const struct sb_unpack_result *result = &work->result;
    const struct problems *problems = &work->problems;

    if (sb_store_archive(work->store) && result->unchecked > 0)
        message_note("%s: files without a checksum, unpacked unchecked: %" PRId64, work->name,
                     result->unchecked);
    if (result->kept > 0)
        message_warning("%s: files that are not decompressed, as their name without its suffix is "
                        "another's: %" PRId64 "; --verbose names them",
                        work->name, result->kept);
    report_summary(&work->report, work->name, "directory");
    if (problems->count == 0)
        return;
    if (problems->existing == problems->count)
        message_problem("%s: unpacked in part, %" PRId64
                        " exist already; see --existing=skip, replace and newer",
                        work->name, problems->count);
    else
        message_problem("%s: unpacked in part; problems, named above: %" PRId64, work->name,
                        problems->count);
}

static void complain_of_directory(const struct work *work)
{
    struct line_to_type line = {0};

    line_say(&line, "unpack -C");
    line_quote(&line, work->meant);
    line_quote(&line, work->path);
    line_complain(&line,
                  "%s: no such file or directory in the archive, and -C names where to "
                  "unpack",
                  work->meant);
}

/* Reports the error that ended the run. */
static void complain(const struct work *work)
{
    bool resumable = sb_error()->code != SB_DAMAGED && sb_error()->code != SB_LIMIT &&
                     sb_error()->code != SB_CHANGED && !work->settings->wanted.incremental;

    /* A container other than an archive cannot be read past its damage. */
    if (sb_error()->code == SB_DAMAGED && work->store && !sb_store_archive(work->store))
        sb_error()->code = SB_FORMAT;
    message_failure();
    if (work->result.begun && !work->settings->wanted.dry_run)
        message_error("%s: unpacked in part%s", work->name,
                      resumable ? "; go on with --existing=skip" : "");
}

static int unpack(struct work *work)
{
    enum sb_code code;

    if (report_begin(&work->report, work->settings->wanted.report, &work->path, 1,
                     work->settings->wanted.directory))
        return message_failure();
    code = open_members(work);
    if (!code)
        code = unpack_members(work);
    message_progress_end();
    if (code)
        complain(work);
    else if (work->meant)
        complain_of_directory(work);
    else
        summarize(work);
    report_finish(&work->report, code ? sb_error() : NULL);
    report_release(&work->report);
    close_members(work);
    return message_status();
}

static int run(void *context, char **operands, int count)
{
    struct settings *settings = context;
    struct work work = {
        .settings = settings,
        .path = operands[0],
        .name = operands[0],
        .paths = operands + 1,
        .path_count = (size_t)count - 1,
    };

    if (settings->wanted.incremental && count > 1)
        return message_usage("--incremental takes a dump as a whole: give no PATH");
    settings->wanted.recode.decompress |= settings->wanted.recode.all_layers;
    settings->wanted.recode.max_size = settings->wanted.max_size;
    work.notify = (struct sb_notify){.call = notice, .context = &work};
    return unpack(&work);
}

const struct command unpack_command = {
    .name = "unpack",
    .summary = "write the files of an archive, tar or zip to a directory",
    .synopsis = {"[-C DIR] ARCHIVE [PATH|GLOB...]"},
    .examples = {"shardbox unpack -C /tmp/train train.barecat",
                 "shardbox unpack train.barecat 'images/00*.jpg'"},
    .options = options,
    .rules = rules,
    .exit_status = "0 all was unpacked, 1 in part, 2 error",
    .operands = OPERAND_ARCHIVE_PATHS,
    .settings_size = sizeof(struct settings),
    .needs_archive = true,
    .defaults = &(const struct settings){.wanted.directory = "."},
    .run = run,
};
