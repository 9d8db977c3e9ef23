/*
 * shardbox mount: containers as a directory that any program reads.
 */
#include "mount/mount.h"
#include "core/context.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "open/opening.h"
#include "store/bag/record_names.h"
#include "ui/command.h"
#include "ui/message.h"
#include "ui/shared_options.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define THREADS 16 /* a request on a network file system mostly waits */

static const char *const check_words[] = {"read", "open", NULL};

static bool parse_idle(void *context, const char *value)
{
    return parse_time("idle", value, false, &((struct mount_settings *)context)->wanted.idle);
}

static const struct option options[] = {
    OPTION_GROUP("What is mounted"),
    OPTION_FLAG(0, "union", struct mount_settings, wanted.united,
                "several as one tree, the later ones over the earlier"),
    OPTION_TEXT(0, "at", struct mount_settings, at, "DIR", "where, instead of the last operand",
                OPERAND_DIRECTORY),
    OPTION_FLAG('f', "foreground", struct mount_settings, foreground,
                "stay in the foreground, with the log on stderr"),
    OPTION_CALL(0, "idle", "TIME", parse_idle, "end after TIME without use (90s, 10m)",
                OPERAND_ANY),
    OPTION_TEXT(0, "log", struct mount_settings, log, "FILE",
                "log of damage (default: the log of the system)", OPERAND_FILE),
    OPTION_GROUP("Files"),
    OPTION_CHOICE(0, "check", struct mount_settings, wanted.check, "WHEN", check_words,
                  "open: check the whole file before its first byte is read"),
    OPTION_NO_CHECK(struct mount_settings, no_check),
    OPTION_SIZE(0, "readahead", struct mount_settings, wanted.readahead, "SIZE",
                "read SIZE at once where small files are read as they are stored"),
    OPTION_FLAG(0, "immutable", struct mount_settings, wanted.immutable,
                "nothing changes: the system may keep all that it knows"),
    OPTION_MORE("Files"),
    OPTION_FLAG(0, "allow-other", struct mount_settings, wanted.allow_other,
                "let other users in, as modes and owners say"),
    OPTION_INTEGER(0, "uid", struct mount_settings, wanted.uid, "N", 0, SB_ID_MOST,
                   "show user number N as the owner of all"),
    OPTION_INTEGER(0, "gid", struct mount_settings, wanted.gid, "N", 0, SB_ID_MOST,
                   "show group number N as the owner of all"),
    OPTION_TEXT(0, "keys", struct mount_settings, keys, "BAG", "names of records, one each",
                OPERAND_FILE),
    OPTION_MORE("Input"),
    OPTION_INTEGER('j', "threads", struct mount_settings, wanted.threads, "N", 1, 256,
                   "requests that are answered at once (default: 16)"),
    OPTION_FROM,
    OPTION_ICONV,
    OPTION_IGNORE_ZEROS,
    OPTION_MULTI_VOLUME,
    OPTION_NESTED,
    OPTIONS_BAG(struct mount_settings, opening.bag),
    OPTION_END,
};

/* Operands before "--"; those after it are the command. */
static int take_words(void *context, char *const *words)
{
    struct mount_settings *settings = context;

    if (words[0][0] == '-' && words[0][1])
        return 0;
    if (sb_grow(&settings->words, &settings->word_capacity, settings->word_count + 1,
                sizeof(*settings->words)))
        return message_failure(), -1;
    settings->words[settings->word_count++] = words[0];
    return 1;
}

static const char *no_words(size_t i)
{
    (void)i;
    return NULL;
}

static void end(void *context)
{
    free(((struct mount_settings *)context)->words);
}

/* One run of the command. */
struct job {
    const struct mount_settings *settings;
    char **paths;
    size_t count;
    char **command; /* NULL: none */
    const char *dir;
    char *made;     /* a directory to be removed at the end */
    char *absolute; /* of dir */
    struct sb_mount_container *containers;
    char **names;
    struct sb_record_names *record_names;
    sigset_t mask; /* of signals, before they were blocked */
};

static int check_usage(const struct mount_settings *settings, const struct job *job)
{
    if (job->count == 0)
        return message_usage("no CONTAINER given");
    if (!job->dir && !job->command)
        return message_usage("no DIR given, where %s is to be mounted", job->paths[0]);
    if (settings->no_check && settings->wanted.check)
        return message_usage("--check and --no-check cannot be given together");
    if (settings->no_check && settings->wanted.readahead)
        return message_usage("--readahead needs checksums: it excludes --no-check");
    if (settings->wanted.readahead > SB_MOUNT_READAHEAD_MOST)
        return message_usage("--readahead: 256M is the most");
    if (settings->wanted.united && job->count < 2)
        return message_usage("--union is for several containers");
    if (job->command && settings->wanted.idle)
        return message_usage("--idle and a COMMAND, which ends it, cannot be given together");
    if (settings->keys && job->count > 1)
        return message_usage("--keys are those of one bag");
    for (size_t i = 0; i < job->count; i++) {
        if (strcmp(job->paths[i], "-") == 0)
            return message_usage("standard input can only be read from end to end; 'shardbox "
                                 "convert - ARCHIVE' makes an archive of it, which can be "
                                 "mounted");
    }
    return STATUS_CLEAN;
}

/* Which operands are what. */
static void take_operands(const struct mount_settings *settings, char **operands, int count,
                          struct job *job)
{
    const bool dashed = settings->word_count > 0;

    job->settings = settings;
    job->paths = dashed ? settings->words : operands;
    job->count = dashed ? settings->word_count : (size_t)count;
    job->command = dashed && count > 0 ? operands : NULL;
    job->dir = settings->at;
    if (!job->dir && !job->command && job->count > 1)
        job->dir = job->paths[--job->count];
}

/* The last component, whatever slashes follow it. */
static char *name_of(const char *path)
{
    size_t size = strlen(path);
    const char *slash;

    while (size > 1 && path[size - 1] == '/')
        size--;
    slash = memrchr(path, '/', size > 1 ? size - 1 : size);
    return slash && slash + 1 < path + size ? strndup(slash + 1, (size_t)(path + size - slash - 1))
                                            : strndup(path, size);
}

static enum sb_code fill_containers(struct job *job)
{
    const struct opening *opening = &job->settings->opening;

    job->containers = calloc(job->count, sizeof(*job->containers));
    job->names = calloc(job->count, sizeof(*job->names));
    if (!job->containers || !job->names)
        return sb_fail_memory();
    if (job->settings->keys &&
        sb_record_names_by_keys(&job->record_names, job->settings->keys, NULL, &message_notify))
        return sb_error()->code;
    for (size_t i = 0; i < job->count; i++) {
        job->names[i] = name_of(job->paths[i]);
        if (!job->names[i])
            return sb_fail_memory();
        job->containers[i] =
            (struct sb_mount_container){.path = job->paths[i],
                                        .name = job->names[i],
                                        .names = job->record_names,
                                        .opening = {.from = opening->from, .bag = opening->bag}};
    }
    return SB_OK;
}

static enum sb_code open_mount(struct job *job, struct sb_mount **mount)
{
    const struct mount_settings *settings = job->settings;
    struct sb_mount_options wanted = settings->wanted;
    enum sb_code code = fill_containers(job);

    if (settings->no_check)
        wanted.check = SB_MOUNT_CHECK_NONE;
    wanted.count = job->count;
    wanted.containers = job->containers;
    wanted.notify = &logging_notify;
    return code ? code : sb_mount_open(mount, &wanted);
}

/* The directory, absolute: the mount outlives the current one. A dead mount has no path that can be
 * resolved. */
static enum sb_code find_dir(struct job *job)
{
    if (!job->dir) {
        TRY(child_make_directory(&job->made));
        job->dir = job->made;
    }
    if (strncmp(job->dir, "/dev/fd/", 8) == 0) { /* a device */
        job->absolute = strdup(job->dir);
        return job->absolute ? SB_OK : sb_fail_memory();
    }
    job->absolute = realpath(job->dir, NULL);
    if (job->absolute)
        sb_context_resolves(job->dir, job->absolute);
    else /* not there, or a mount whose server is gone */
        job->absolute = sb_resolve_directory_of(job->dir);
    return job->absolute ? SB_OK : sb_error()->code;
}

/* With signals blocked: has one come meanwhile? */
static enum sb_code heed_signals(const sigset_t *usual)
{
    sigset_t blocked;

    pthread_sigmask(SIG_SETMASK, usual, &blocked);
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
    return sb_heed_interrupt();
}

/* A signal cancels until it is mounted, but does not cut the mounting itself in two. */
static enum sb_code attach(struct job *job, struct sb_mount *mount)
{
    sb_mount_block_signals(NULL);
    TRY(sb_heed_interrupt());
    TRY(sb_mount_attach(mount, job->absolute));
    TRY(sb_mount_start(mount));
    return heed_signals(&job->mask);
}

static enum sb_code serve(struct job *job, struct background *background, int *status)
{
    struct sb_mount *mount = NULL;
    pid_t child = 0;
    int ended = 0;
    enum sb_code code = open_mount(job, &mount);

    pthread_sigmask(SIG_SETMASK, NULL, &job->mask);
    if (!code)
        code = find_dir(job);
    if (background)
        logging_leave_terminal();
    if (!code)
        code = attach(job, mount);
    /* From here on a signal ends the mount, or is the command's. */
    if (!code && job->command)
        code = child_start(&child, job->command, job->absolute, &job->mask);
    if (!code && background)
        code = background_ready(background);
    if (!code)
        code = sb_mount_serve(mount, child, &ended);
    if (!code && job->command)
        *status = child_exit_status(ended);
    sb_mount_free(mount);
    if (job->made)
        rmdir(job->made);
    if (code == SB_INTERRUPT) /* the program ends by that signal */
        pthread_sigmask(SIG_SETMASK, &job->mask, NULL);
    return code;
}

static void release(struct job *job)
{
    for (size_t i = 0; job->names && i < job->count; i++)
        free(job->names[i]);
    sb_record_names_free(job->record_names);
    free(job->names);
    free(job->containers);
    free(job->absolute);
    free(job->made);
}

/* That a signal came is printed by the program that waits for this one; what fails once that has
 * gone is logged. background: NULL in the foreground. */
static int fail(const struct background *background)
{
    if (background && sb_error()->code == SB_INTERRUPT)
        background_leave_terminal();
    if (background && background->ready < 0)
        sb_report(&logging_notify, SB_PROBLEM, "failed", NULL, "%s", sb_error()->text);
    return message_failure();
}

static int run(void *context, char **operands, int count)
{
    const struct mount_settings *settings = context;
    struct job job = {0};
    struct background state = {.ready = -1}, *background;
    bool parent = false;
    int status;

    take_operands(settings, operands, count, &job);
    status = check_usage(settings, &job);
    if (status)
        return status;
    background = !settings->foreground && !job.command ? &state : NULL;
    if (background && background_begin(background, &parent, &status))
        return message_failure();
    if (parent)
        return status;
    if (logging_open(settings->log) || serve(&job, background, &status))
        status = fail(background);
    release(&job);
    message_raise(status);
    return message_status();
}

const struct command mount_command = {
    .name = "mount",
    .summary = "show containers as a directory of files that any program reads",
    .synopsis =
        (const char *const[]){
            "CONTAINER... DIR",
            "CONTAINER... [--at=DIR] -- COMMAND...",
            NULL,
        },
    .examples = {"shardbox mount train.barecat /mnt/train",
                 "shardbox mount train.barecat -- sh -c 'python train.py \"$SHARDBOX_MOUNT\"'"},
    .options = options,
    .exit_status = "0 mounted, 1 damaged, 2 error; with COMMAND, its own",
    .notes = "Read-only. SIGTERM and 'shardbox umount DIR' end it.",
    .operands = OPERAND_FILE,
    .settings_size = sizeof(struct mount_settings),
    .defaults = &(const struct mount_settings){.wanted = {.uid = SB_MOUNT_OWNER_STORED,
                                                          .gid = SB_MOUNT_OWNER_STORED,
                                                          .threads = THREADS}},
    .take_words = take_words,
    .word = no_words,
    .end = end,
    .run = run,
};
