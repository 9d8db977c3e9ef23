#include "mount/background.h"

#include "core/interrupt.h"
#include "ui/message.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_FD 3

/* The status of the child: of one that is not ready, the one that it ended with. A signal is passed
 * on to it. */
static int wait_for(int ready, pid_t child)
{
    char byte;
    int status;
    ssize_t got;

    while ((got = read(ready, &byte, 1)) < 0 && errno == EINTR) {
        if (sb_interrupted())
            kill(child, sb_interrupt_signal());
    }
    close(ready);
    if (got == 1)
        return STATUS_CLEAN;
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR)
            return STATUS_ERROR;
    }
    if (WIFEXITED(status))
        return WEXITSTATUS(status);
    message_error("the server was ended by signal %d: %s", WTERMSIG(status),
                  strsignal(WTERMSIG(status)));
    return STATUS_ERROR;
}

enum sb_code background_begin(struct background *background, bool *parent, int *status,
                              struct sb_error *err)
{
    int ends[2];
    pid_t child;

    *parent = false;
    background->ready = -1;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return sb_fail_errno(err, errno, "pipe");
    child = fork();
    if (child < 0) {
        sb_fail_errno(err, errno, "fork");
        close(ends[0]);
        close(ends[1]);
        return err->code;
    }
    if (child > 0) {
        close(ends[1]);
        *parent = true;
        *status = wait_for(ends[0], child);
        return SB_OK;
    }
    setsid();
    if (ends[1] != READY_FD && dup2(ends[1], READY_FD) < 0)
        return sb_fail_errno(err, errno, "dup2");
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

void background_ready(struct background *background)
{
    const char byte = 0;

    background_leave_terminal();
    if (write(background->ready, &byte, 1) == 1)
        close(background->ready);
    background->ready = -1;
}
