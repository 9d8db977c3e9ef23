/*
 * Another process, run to its end in the middle of this one:
 *
 *   FAULT_RUN         a command for sh, with /dev/null as its input
 *   FAULT_RUN_LOG     the file to which all that it writes is appended
 *   FAULT_RUN_STATUS  the file that gets its exit status, 128 and more for a signal, as a line
 *
 * It gets the environment without LD_PRELOAD and all of FAULT_*, and no descriptor but these
 * three. Nothing of this process changes: it keeps its locks, also those that belong to the process
 * and would go with a close of its own. Raw system calls, for the functions are intercepted.
 */
#ifndef TESTS_FAULTS_PAUSE_H
#define TESTS_FAULTS_PAUSE_H

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAUSE_VARIABLES 1000

static const char *pause_command, *pause_log, *pause_status;
static char *pause_environment[PAUSE_VARIABLES + 1];

static inline bool pause_drops(const char *variable)
{
    return strncmp(variable, "LD_PRELOAD=", 11) == 0 || strncmp(variable, "FAULT_", 6) == 0;
}

static inline void pause_begin(void)
{
    size_t count = 0;

    pause_command = getenv("FAULT_RUN");
    pause_log = getenv("FAULT_RUN_LOG");
    pause_status = getenv("FAULT_RUN_STATUS");
    for (char **variable = environ; *variable && count < PAUSE_VARIABLES; variable++) {
        if (!pause_drops(*variable))
            pause_environment[count++] = *variable;
    }
}

static inline int pause_open(const char *name, int flags)
{
    return (int)syscall(SYS_openat, AT_FDCWD, name ? name : "/dev/null", flags, 0600);
}

/* In the child, which has descriptors and signal handlers of its own. */
static inline void pause_exec(void)
{
    char *arguments[] = {(char *)"sh", (char *)"-c", (char *)pause_command, NULL};
    sigset_t none;
    int in, out;

    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    signal(SIGPIPE, SIG_DFL);
    in = pause_open(NULL, O_RDONLY);
    out = pause_open(pause_log, O_WRONLY | O_CREAT | O_APPEND);
    if (in < 0 || out < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0)
        _exit(126);
    syscall(SYS_close_range, 3, ~0U, 0);
    execve("/bin/sh", arguments, pause_environment);
    _exit(127);
}

static inline void pause_write_status(int status)
{
    char line[16];
    int size = snprintf(line, sizeof(line), "%d\n",
                        WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status));
    int fd = pause_status ? pause_open(pause_status, O_WRONLY | O_CREAT | O_TRUNC) : -1;

    if (fd < 0)
        return;
    syscall(SYS_write, fd, line, size);
    syscall(SYS_close, fd);
}

static inline void pause_for_command(void)
{
    int error_number = errno;
    int status = 126 << 8;
    pid_t pid = pause_command ? fork() : -1;

    if (pid == 0)
        pause_exec();
    while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    pause_write_status(status);
    errno = error_number;
}

#endif
