/*
 * shardbox mount: containers as a directory that any program reads.
 */
#include "open/opening.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/shared_options.h"

#include "core/context.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/name.h"
#include "store/bag/record_names.h"
#include "task/mount/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

#define READY_FD 3
#define THREADS  16 /* a request on a network file system mostly waits */

struct settings {
    struct opening opening;
    struct sb_mount_options wanted;
    const char *keys;
    const char *at;
    const char *log;
    bool no_check;
    bool foreground;

    char **words; /* the operands before "--" */
    size_t word_count, word_capacity;
};

/* The background: the program is done for whoever called it once the work is ready, and a child of
 * it goes on. */

/* The status that a child has ended with. */
static int status_of(pid_t child)
{
    int status;

    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return STATUS_ERROR;
    }
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    if (!sb_interrupted())
        message_error("the server was ended by signal %d: %s", WTERMSIG(status),
                      strsignal(WTERMSIG(status)));
    return STATUS_ERROR;
}

/*
 * The status of the child: of one that is not ready, the one that it ended with. Signals come only
 * while this waits, so that they come either before the child is ready, which is then ended by the
 * same signal, or too late.
 */
static int wait_for(int ready, pid_t child, const sigset_t *usual)
{
    struct pollfd wait = {.fd = ready, .events = POLLIN};
    char byte;
    bool is_ready;

    while (!sb_interrupted() && ppoll(&wait, 1, NULL, usual) < 0 && errno == EINTR)
        ;
    is_ready = !sb_interrupted() && read(ready, &byte, 1) == 1;
    close(ready);
    if (is_ready)
        return STATUS_CLEAN;
    if (sb_interrupted())
        kill(child, sb_interrupt_signal());
    pthread_sigmask(SIG_SETMASK, usual, NULL);
    return status_of(child);
}

/*
 * Makes the child, which returns with *parent false, in a session of its own, and with no open
 * descriptors but the first three and *ready, for one byte. The program itself returns once the
 * child is ready or has ended: with *parent true, and its status. Before that no thread runs, and
 * nothing is open. A signal that interrupts the program before the child is ready ends the child,
 * and then the program; one that comes later waits until the program has ended.
 */
static enum sb_code background_begin(int *ready, bool *parent, int *status)
{
    int ends[2];
    sigset_t usual;
    pid_t child;

    *parent = false;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return sb_fail_errno(errno, "pipe");
    sb_mount_block_signals(&usual);
    child = fork();
    if (child <= 0)
        pthread_sigmask(SIG_SETMASK, &usual, NULL);
    if (child < 0) {
        sb_fail_errno(errno, "fork");
        close(ends[0]);
        close(ends[1]);
        return sb_error()->code;
    }
    if (child > 0) {
        close(ends[1]);
        *parent = true;
        *status = wait_for(ends[0], child, &usual);
        return SB_OK;
    }
    setsid();
    if (ends[1] != READY_FD && dup2(ends[1], READY_FD) < 0)
        return sb_fail_errno(errno, "dup2");
    fcntl(READY_FD, F_SETFD, FD_CLOEXEC);
    closefrom(READY_FD + 1);
    *ready = READY_FD;
    return SB_OK;
}

/* The first three descriptors are those of /dev/null from now on. */
static void background_leave_terminal(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
    if (null > STDERR_FILENO)
        close(null);
}

/* The same, and the child is ready. SB_SYSTEM: nobody waits for that any more. */
static enum sb_code background_ready(int *ready)
{
    const char byte = 0;
    bool is_known;

    background_leave_terminal();
    is_known = write(*ready, &byte, 1) == 1;
    close(*ready);
    *ready = -1;
    return is_known ? SB_OK : sb_fail(SB_SYSTEM, "the program that was to wait has ended");
}

/* A fresh directory in TMPDIR, or else /tmp; the caller frees its name. */
static enum sb_code child_make_directory(char **out)
{
    const char *temporary = sb_context_now->temporary ? sb_context_now->temporary : "/tmp";

    if (asprintf(out, "%s/shardbox-mount-XXXXXX", temporary) < 0) {
        *out = NULL;
        return sb_fail_memory();
    }
    if (mkdtemp(*out))
        return SB_OK;
    sb_fail_errno(errno, "%s", temporary);
    free(*out);
    *out = NULL;
    return sb_error()->code;
}

/* Signals that this program ignores or handles are as usual; one ignored by nohup stays so. */
_Noreturn static void become(char **words, const sigset_t *mask)
{
    signal(SIGPIPE, SIG_DFL);
    signal(SIGXFSZ, SIG_DFL);
    pthread_sigmask(SIG_SETMASK, mask, NULL);
    execvp(words[0], words);
    message_error("%s: %s", words[0], strerror(errno));
    _exit(STATUS_ERROR);
}

/*
 * Starts a command with SHARDBOX_MOUNT=dir in its environment, and the signals of `mask` blocked.
 * One that cannot be executed says so itself, and ends with STATUS_ERROR.
 * posix_spawn would wait until the program is found and read, which may lie in what is mounted:
 * where there are no threads it is this one that then answers.
 */
static enum sb_code child_start(pid_t *child, char **words, const char *dir, const sigset_t *mask)
{
    if (setenv("SHARDBOX_MOUNT", dir, 1) != 0)
        return sb_fail_memory();
    *child = fork();
    if (*child == 0)
        become(words, mask);
    return *child < 0 ? sb_fail_errno(errno, "%s", words[0]) : SB_OK;
}

/* Where damage that is met is reported: stderr in the foreground, else a file or the log of the
 * system. */
static struct {
    int fd; /* of the file; 0: none */
    bool to_system;
} logging;

/* path: a file that lines are added to; NULL: none. It is open until the program ends: a line that
 * is held up would hold up a close. */
static enum sb_code logging_open(const char *path)
{
    if (!path)
        return SB_OK;
    logging.fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);
    return logging.fd < 0 ? sb_fail_errno(errno, "%s", path) : SB_OK;
}

/* From now on nothing goes to stderr: without a file, lines go to the log of the system. */
static void logging_leave_terminal(void)
{
    if (logging.fd > 0)
        return;
    openlog("shardbox", LOG_PID, LOG_DAEMON);
    logging.to_system = true;
}

/* One write for a line, so that lines of several mounts do not mix. */
static void write_line(const char *text, size_t size)
{
    struct sb_buf line = {0};
    struct tm local;
    time_t now = time(NULL);
    char when[32] = "";

    if (localtime_r(&now, &local))
        strftime(when, sizeof(when), "%Y-%m-%d %H:%M:%S", &local);
    if (!sb_buf_add_format(&line, "%s shardbox[%ld] mount: ", when, (long)getpid()) &&
        !sb_buf_add(&line, text, size) && !sb_buf_add_char(&line, '\n') &&
        IGNORED(sb_write_full(logging.fd, line.data, line.size, "log")))
        logging.fd = 0; /* it is full, or gone: there is nowhere to report that */
    sb_buf_release(&line);
}

static void notify(void *context, enum sb_level level, const char *kind, const char *subject,
                   const char *text)
{
    struct sb_buf line = {0}, quoted = {0};

    (void)context;
    (void)kind;
    if (logging.fd <= 0 && !logging.to_system) {
        /* The status is that of the command, if there is one. */
        message_warning("%s%s%s", subject ? subject : "", subject ? ": " : "", text);
        return;
    }
    if (level == SB_NOTE)
        return;
    if (!sb_buf_add_format(&line, "%s%s%s", subject ? subject : "", subject ? ": " : "", text) &&
        !sb_quote(&quoted, line.data, line.size, SB_ESCAPE)) {
        if (logging.fd > 0)
            write_line(quoted.data, quoted.size);
        else
            syslog(LOG_WARNING, "mount: %s", quoted.data);
    }
    sb_buf_release(&line);
    sb_buf_release(&quoted);
}

static const struct sb_notify logging_notify = {.call = notify};

static const char *const check_words[] = {"read", "open", NULL};

static bool parse_idle(void *context, const char *value)
{
    return parse_time("idle", value, false, &((struct settings *)context)->wanted.idle);
}

static const struct option options[] = {
    OPTION_GROUP("What is mounted"),
    OPTION_FLAG(0, "union", struct settings, wanted.united,
                "several as one tree, the later ones over the earlier"),
    OPTION_TEXT(0, "at", struct settings, at, "DIR", "where, instead of the last operand",
                OPERAND_DIRECTORY),
    OPTION_FLAG('f', "foreground", struct settings, foreground,
                "stay in the foreground, with the log on stderr"),
    OPTION_CALL(0, "idle", "TIME", parse_idle, "end after TIME without use (90s, 10m)",
                OPERAND_ANY),
    OPTION_TEXT(0, "log", struct settings, log, "FILE",
                "log of damage (default: the log of the system)", OPERAND_FILE),
    OPTION_GROUP("Files"),
    OPTION_CHOICE(0, "check", struct settings, wanted.check, "WHEN", check_words,
                  "open: check the whole file before its first byte is read"),
    OPTION_NO_CHECK(struct settings, no_check),
    OPTION_SIZE(0, "readahead", struct settings, wanted.readahead, "SIZE",
                "read SIZE at once where small files are read as they are stored"),
    OPTION_FLAG(0, "immutable", struct settings, wanted.immutable,
                "nothing changes: the system may keep all that it knows"),
    OPTION_MORE("Files"),
    OPTION_FLAG(0, "allow-other", struct settings, wanted.allow_other,
                "let other users in, as modes and owners say"),
    OPTION_INTEGER(0, "uid", struct settings, wanted.uid, "N", 0, SB_ID_MOST,
                   "show user number N as the owner of all"),
    OPTION_INTEGER(0, "gid", struct settings, wanted.gid, "N", 0, SB_ID_MOST,
                   "show group number N as the owner of all"),
    OPTION_TEXT(0, "keys", struct settings, keys, "BAG", "names of records, one each",
                OPERAND_FILE),
    OPTION_MORE("Input"),
    OPTION_INTEGER('j', "threads", struct settings, wanted.threads, "N", 1, 256,
                   "requests that are answered at once (default: 16)"),
    OPTION_FROM,
    OPTION_ICONV,
    OPTION_IGNORE_ZEROS,
    OPTION_MULTI_VOLUME,
    OPTION_NESTED,
    OPTIONS_BAG(struct settings, opening.bag),
    OPTION_END,
};

/* Operands before "--"; those after it are the command. */
static int take_words(void *context, char *const *words)
{
    struct settings *settings = context;

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
    free(((struct settings *)context)->words);
}

/* One run of the command. */
struct job {
    const struct settings *settings;
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

static int check_usage(const struct settings *settings, const struct job *job)
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
static void take_operands(const struct settings *settings, char **operands, int count,
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
    const struct settings *settings = job->settings;
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

static enum sb_code serve(struct job *job, int *ready, int *status)
{
    struct sb_mount *mount = NULL;
    pid_t child = 0;
    int ended = 0;
    enum sb_code code = open_mount(job, &mount);

    pthread_sigmask(SIG_SETMASK, NULL, &job->mask);
    if (!code)
        code = find_dir(job);
    if (ready)
        logging_leave_terminal();
    if (!code)
        code = attach(job, mount);
    /* From here on a signal ends the mount, or is the command's. */
    if (!code && job->command)
        code = child_start(&child, job->command, job->absolute, &job->mask);
    if (!code && ready)
        code = background_ready(ready);
    if (!code)
        code = sb_mount_serve(mount, child, &ended);
    if (!code && job->command)
        *status = WIFSIGNALED(ended) ? 128 + WTERMSIG(ended) : WEXITSTATUS(ended);
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
 * gone is logged. ready: NULL in the foreground. */
static int fail(const int *ready)
{
    if (ready && sb_error()->code == SB_INTERRUPT)
        background_leave_terminal();
    if (ready && *ready < 0)
        sb_report(&logging_notify, SB_PROBLEM, "failed", NULL, "%s", sb_error()->text);
    return message_failure();
}

static int run(void *context, char **operands, int count)
{
    const struct settings *settings = context;
    struct job job = {0};
    int descriptor = -1, *ready;
    bool parent = false;
    int status;

    take_operands(settings, operands, count, &job);
    status = check_usage(settings, &job);
    if (status)
        return status;
    ready = !settings->foreground && !job.command ? &descriptor : NULL;
    if (ready && background_begin(ready, &parent, &status))
        return message_failure();
    if (parent)
        return status;
    if (logging_open(settings->log) || serve(&job, ready, &status))
        status = fail(ready);
    release(&job);
    message_raise(status);
    return message_status();
}

const struct command mount_command = {
    .name = "mount",
    .summary = "show containers as a directory of files that any program reads",
    .synopsis = {"CONTAINER... DIR", "CONTAINER... [--at=DIR] -- COMMAND..."},
    .examples = {"shardbox mount train.barecat /mnt/train",
                 "shardbox mount train.barecat -- sh -c 'python train.py \"$SHARDBOX_MOUNT\"'"},
    .options = options,
    .exit_status = "0 mounted, 1 damaged, 2 error; with COMMAND, its own",
    .notes = "Read-only. SIGTERM and 'shardbox umount DIR' end it.",
    .operands = OPERAND_FILE,
    .settings_size = sizeof(struct settings),
    .defaults = &(const struct settings){.wanted = {.uid = SB_MOUNT_OWNER_STORED,
                                                    .gid = SB_MOUNT_OWNER_STORED,
                                                    .threads = THREADS}},
    .take_words = take_words,
    .word = no_words,
    .end = end,
    .run = run,
};
