#include "mount/mount.h"
#include "ui/message.h"

#include "core/context.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/name.h"
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

enum sb_code background_begin(struct background *background, bool *parent, int *status)
{
    int ends[2];
    sigset_t usual;
    pid_t child;

    *parent = false;
    background->ready = -1;
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
    background->ready = READY_FD;
    return SB_OK;
}

void background_leave_terminal(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);

    for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
        dup2(null, fd);
    if (null > STDERR_FILENO)
        close(null);
}

enum sb_code background_ready(struct background *background)
{
    const char byte = 0;
    bool is_known;

    background_leave_terminal();
    is_known = write(background->ready, &byte, 1) == 1;
    close(background->ready);
    background->ready = -1;
    return is_known ? SB_OK : sb_fail(SB_SYSTEM, "the program that was to wait has ended");
}

enum sb_code child_make_directory(char **out)
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

/* posix_spawn would wait until the program is found and read, which may lie in what is mounted:
 * where there are no threads it is this one that then answers. */
enum sb_code child_start(pid_t *child, char **words, const char *dir, const sigset_t *mask)
{
    if (setenv("SHARDBOX_MOUNT", dir, 1) != 0)
        return sb_fail_memory();
    *child = fork();
    if (*child == 0)
        become(words, mask);
    return *child < 0 ? sb_fail_errno(errno, "%s", words[0]) : SB_OK;
}

int child_exit_status(int status)
{
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

static struct {
    int fd; /* of the file; 0: none */
    bool to_system;
} logging;

enum sb_code logging_open(const char *path)
{
    if (!path)
        return SB_OK;
    logging.fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666);
    return logging.fd < 0 ? sb_fail_errno(errno, "%s", path) : SB_OK;
}

void logging_leave_terminal(void)
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

const struct sb_notify logging_notify = {.call = notify};
