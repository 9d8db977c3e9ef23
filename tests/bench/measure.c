/*
 * measure [-n TIMES] COMMAND [ARG...]: runs a command, its output to /dev/null, and prints the
 * seconds that one run took and the most memory that it held, in KiB. Exit status 1 when it failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* The peak of memory in KiB; -1 when the command failed. */
static long run_once(char **argv, const posix_spawn_file_actions_t *actions)
{
    struct rusage usage;
    int status, error;
    pid_t pid;

    error = posix_spawnp(&pid, argv[0], actions, NULL, argv, environ);
    if (error) {
        fprintf(stderr, "measure: %s: %s\n", argv[0], strerror(error));
        return -1;
    }
    while (wait4(pid, &status, 0, &usage) < 0) {
        if (errno != EINTR)
            return -1;
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
        fprintf(stderr, "measure: %s failed\n", argv[0]);
        return -1;
    }
    return usage.ru_maxrss;
}

int main(int argc, char **argv)
{
    posix_spawn_file_actions_t actions;
    long times = 1, peak = 0;
    double start;

    if (argc > 2 && strcmp(argv[1], "-n") == 0) {
        times = strtol(argv[2], NULL, 10);
        argv += 2;
        argc -= 2;
    }
    if (argc < 2 || times < 1) {
        fprintf(stderr, "usage: measure [-n TIMES] COMMAND [ARG...]\n");
        return 2;
    }
    if (posix_spawn_file_actions_init(&actions) ||
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0))
        return 2;
    start = now();
    for (long i = 0; i < times; i++) {
        long held = run_once(argv + 1, &actions);

        if (held < 0)
            return 1;
        peak = held > peak ? held : peak;
    }
    printf("%.6f %ld\n", (now() - start) / (double)times, peak);
    posix_spawn_file_actions_destroy(&actions);
    return 0;
}
