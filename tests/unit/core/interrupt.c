/* lib/core/interrupt.h. Signals cannot be taken back, so each test is a process of its own. */
#include "core/interrupt.h"
#include "check.h"
#include "core/io.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/*
 * What waitpid says of a process that runs body; 0 when that returned true. It takes the signals
 * even if this program was started where they are ignored, and dies rather than hang.
 */
static int status_of(bool (*body)(void))
{
    int status = -1;
    pid_t pid;

    fflush(stdout);
    pid = fork();
    if (pid == 0) {
        signal(SIGINT, SIG_DFL);
        signal(SIGTERM, SIG_DFL);
        signal(SIGHUP, SIG_DFL);
        alarm(20);
        _exit(body() ? 0 : 1);
    }
    waitpid(pid, &status, 0);
    return status;
}

static bool killed_by(int status, int number)
{
    return WIFSIGNALED(status) && WTERMSIG(status) == number;
}

static bool asks_without_signal(void)
{
    bool before = sb_interrupted();

    sb_catch_interrupts(sb_context_now);
    return !before && !sb_interrupted() && sb_interrupt_signal() == 0;
}

static bool notices(int number)
{
    sb_catch_interrupts(sb_context_now);
    raise(number);
    return sb_interrupted() && sb_interrupt_signal() == number;
}

static bool notices_sigint(void)
{
    return notices(SIGINT);
}

static bool notices_sigterm(void)
{
    return notices(SIGTERM);
}

static bool notices_sighup(void)
{
    return notices(SIGHUP);
}

static void signals_are_remembered(void)
{
    CHECK(status_of(asks_without_signal) == 0);
    CHECK(status_of(notices_sigint) == 0);
    CHECK(status_of(notices_sigterm) == 0);
    CHECK(status_of(notices_sighup) == 0);
}

static bool raises_twice(void)
{
    sb_catch_interrupts(sb_context_now);
    raise(SIGINT);
    raise(SIGALRM);
    raise(SIGINT);
    return true;
}

static bool raises_two_kinds(void)
{
    sb_catch_interrupts(sb_context_now);
    raise(SIGINT);
    raise(SIGALRM);
    raise(SIGTERM);
    return true;
}

/* As timeout(1) does, which signals its child and then its group. */
static bool raises_at_once(void)
{
    sb_catch_interrupts(sb_context_now);
    raise(SIGTERM);
    raise(SIGTERM);
    raise(SIGHUP);
    return sb_interrupt_signal() == SIGTERM;
}

/* SIGALRM is what comes by itself a second after the first one. */
static void a_second_signal_kills_when_it_is_not_the_same(void)
{
    CHECK(status_of(raises_at_once) == 0);
    CHECK(killed_by(status_of(raises_twice), SIGINT));
    CHECK(killed_by(status_of(raises_two_kinds), SIGTERM));
}

/* As nohup and shells without job control leave them. */
static bool ignored_stays_ignored(void)
{
    signal(SIGHUP, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    sb_catch_interrupts(sb_context_now);
    raise(SIGHUP);
    raise(SIGINT);
    if (sb_interrupted())
        return false;
    raise(SIGTERM);
    raise(SIGHUP);
    raise(SIGINT);
    return sb_interrupt_signal() == SIGTERM;
}

static void ignored_signals_stay_ignored(void)
{
    CHECK(status_of(ignored_stays_ignored) == 0);
}

static bool write_beyond_limit_fails(void)
{
    char path[] = "/tmp/shardbox-interrupt-XXXXXX";
    struct rlimit limit = {.rlim_cur = 10, .rlim_max = RLIM_INFINITY};
    enum sb_code code;
    int fd;

    sb_catch_interrupts(sb_context_now);
    fd = mkstemp(path);
    unlink(path);
    setrlimit(RLIMIT_FSIZE, &limit);
    code = sb_write_full(fd, "more than ten bytes", 19, "x");
    return code == SB_SYSTEM && sb_error()->sys_errno == EFBIG && !sb_interrupted();
}

static void a_file_size_limit_is_a_failing_write(void)
{
    CHECK(status_of(write_beyond_limit_fails) == 0);
}

/* A pipe that nobody writes to, and a signal a little later. */
static bool read_comes_back(void)
{
    char byte;
    size_t got;
    int ends[2];
    pid_t parent = getpid();

    sb_catch_interrupts(sb_context_now);
    if (pipe(ends))
        return false;
    if (fork() == 0) {
        usleep(50000);
        kill(parent, SIGTERM);
        _exit(0);
    }
    return sb_read_full(ends[0], &byte, 1, &got, "pipe") == SB_INTERRUPT && got == 0 &&
           sb_error()->code == SB_INTERRUPT && !strcmp(sb_error()->text, "interrupted");
}

static bool write_comes_back(void)
{
    static char data[1 << 20];
    int ends[2];
    pid_t parent = getpid();

    sb_catch_interrupts(sb_context_now);
    if (pipe(ends))
        return false;
    if (fork() == 0) {
        usleep(50000);
        kill(parent, SIGINT);
        _exit(0);
    }
    return sb_write_full(ends[1], data, sizeof(data), "pipe") == SB_INTERRUPT;
}

/* The signal comes just before the read begins, which it then cannot end. */
static bool late_read_comes_back(void)
{
    char data[4];
    size_t got;
    int ends[2];

    sb_catch_interrupts(sb_context_now);
    if (pipe(ends) || raise(SIGTERM))
        return false;
    return sb_read_full(ends[0], data, sizeof(data), &got, "pipe") == SB_INTERRUPT;
}

static void waiting_reads_and_writes_come_back(void)
{
    CHECK(status_of(read_comes_back) == 0);
    CHECK(status_of(late_read_comes_back) == 0);
    CHECK(status_of(write_comes_back) == 0);
}

static void ignore_it(int number)
{
    (void)number;
}

/* A signal that means nothing to us, such as SIGWINCH with a handler, ends no read. */
static bool read_goes_on(void)
{
    struct sigaction action = {.sa_handler = ignore_it};
    char byte = 0;
    size_t got;
    int ends[2];
    pid_t parent = getpid();

    sb_catch_interrupts(sb_context_now);
    sigaction(SIGUSR1, &action, NULL);
    if (pipe(ends))
        return false;
    if (fork() == 0) {
        usleep(30000);
        kill(parent, SIGUSR1);
        usleep(30000);
        _exit(write(ends[1], "x", 1) != 1);
    }
    return sb_read_full(ends[0], &byte, 1, &got, "pipe") == SB_OK && byte == 'x';
}

static void other_signals_do_not_end_a_read(void)
{
    CHECK(status_of(read_goes_on) == 0);
}

int main(void)
{
    RUN(signals_are_remembered);
    RUN(a_second_signal_kills_when_it_is_not_the_same);
    RUN(ignored_signals_stay_ignored);
    RUN(a_file_size_limit_is_a_failing_write);
    RUN(waiting_reads_and_writes_come_back);
    RUN(other_signals_do_not_end_a_read);
    return check_end();
}
