/* Stands in place of the program, runs it, and keeps a record of it; for tests/tools/goldens.
 *
 * Next to it are `program`, a link to the program, and the directories `records` and `stamps`. A
 * record is a file, called by the time and the process, of chunks: a line "KIND NAME-LENGTH
 * DATA-LENGTH", the name, the data. KINDs: d the directory, a an argument, o stdout, e stderr, s
 * the status, l a name in the test's directory (type, mode, size, target), c bytes of a file that
 * has changed since names were last listed, h a hash of what is too large, x why there is no more.
 *
 * The program notices as little of it as possible: what it writes to files goes there directly, and
 * is read afterwards; what it writes to pipes goes through a pipe of one page. This is linked
 * statically, so that what a test preloads meets only the program. Commands that run concurrently
 * see each other's files half written, so only the last of them lists names. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { KEPT = 4 << 20 }; // of a file or a stream; of what is beyond only a hash is kept

static FILE *record;
static pid_t child;
static struct timespec listed; // when names were last listed
static char top[4096];         // the test's directory

static void emit(char kind, const char *name, const void *data, size_t size)
{
    fprintf(record, "%c %zu %zu\n%s", kind, strlen(name), size, name);
    fwrite(data, 1, size, record);
}

/* What one stream or file has given so far. */
struct tally {
    char kind;
    const char *name;
    size_t size;
    uint64_t hash;
};

static void add(struct tally *tally, const char *data, size_t size)
{
    size_t kept = tally->size < KEPT ? KEPT - tally->size : 0;
    emit(tally->kind, tally->name, data, size < kept ? size : kept);
    for (size_t i = kept; i < size; i++)
        tally->hash = (tally->hash ^ (unsigned char)data[i]) * 1099511628211u;
    tally->size += size;
}

static void finish(const struct tally *tally)
{
    char text[64] = "";
    if (tally->size > KEPT)
        emit('h', tally->name, text,
             (size_t)snprintf(text, sizeof text, "%zu %016llx", tally->size,
                              (long long)tally->hash));
}

/* The bytes of a file from `at`; holes, which may be of any length, are left out. */
static void add_file(struct tally *tally, const char *path, off_t at)
{
    char data[65536];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOATIME);
    for (ssize_t got = 1; fd >= 0 && got > 0 && (at = lseek(fd, at, SEEK_DATA)) >= 0; at += got)
        if ((got = pread(fd, data, sizeof data, at)) > 0)
            add(tally, data, (size_t)got);
    if (fd >= 0)
        close(fd);
    finish(tally);
}

static int is_later(const struct timespec *one, const struct timespec *other)
{
    return one->tv_sec > other->tv_sec ||
           (one->tv_sec == other->tv_sec && one->tv_nsec > other->tv_nsec);
}

static int list(const char *path, const struct stat *st, int type, struct FTW *at)
{
    char text[5000] = "", target[4096] = "";
    const char *name = path + strlen(top);
    (void)type;
    if (!strncmp(path + at->base, "separate-stderr-", 16)) // is bats' own
        return 0;
    if (S_ISLNK(st->st_mode) && readlink(path, target, sizeof target - 1) < 0)
        return 0;
    emit('l', name, text,
         (size_t)snprintf(text, sizeof text, "%o %lld %s", st->st_mode,
                          S_ISREG(st->st_mode) ? (long long)st->st_size : 0, target));
    if (S_ISREG(st->st_mode) && is_later(&st->st_ctim, &listed))
        add_file(&(struct tally){'c', name, 0, 0}, path, 0);
    return 0;
}

/* Lists names, unless another command of this test still runs. */
static void list_names(int stamp)
{
    struct timespec now;
    if (flock(stamp, LOCK_EX | LOCK_NB) != 0 || pread(stamp, &listed, sizeof listed, 0) < 0)
        return;
    nftw(top, list, 20, FTW_PHYS | FTW_MOUNT);
    // Files get their times from the coarse clock, or from the fine one: what has changed so far is
    // not later than the stamp, and what changes once the coarse clock has passed the stamp is.
    clock_gettime(CLOCK_REALTIME, &listed);
    if (pwrite(stamp, &listed, sizeof listed, 0) < 0)
        return;
    do
        nanosleep(&(struct timespec){0, 500000}, NULL);
    while (clock_gettime(CLOCK_REALTIME_COARSE, &now) == 0 && !is_later(&now, &listed));
}

static void pass_on(int number)
{
    kill(child, number);
}

/* A stream of the program: a pipe that goes on into ours, or a file that is read at the end. */
struct stream {
    struct tally tally;
    struct stat st;
    int from, to, pipe[2];
    off_t at;
};

static void begin_stream(struct stream *stream)
{
    stream->from = -1;
    if (fstat(stream->to, &stream->st) != 0)
        return;
    if (S_ISREG(stream->st.st_mode)) {
        int append = fcntl(stream->to, F_GETFL) & O_APPEND;
        stream->at = append ? stream->st.st_size : lseek(stream->to, 0, SEEK_CUR);
    } else if (S_ISFIFO(stream->st.st_mode) && pipe2(stream->pipe, O_CLOEXEC) == 0) {
        fcntl(stream->pipe[1], F_SETPIPE_SZ, 4096);
        stream->from = stream->pipe[0];
    }
}

static void end_stream(struct stream *stream)
{
    if (stream->from >= 0)
        close(stream->from);
    stream->from = -1;
}

static void move(struct stream *stream)
{
    char data[4096];
    ssize_t got = read(stream->from, data, sizeof data);
    if (got > 0)
        add(&stream->tally, data, (size_t)got);
    for (ssize_t done = 0, n; done < got; done += n)
        if ((n = write(stream->to, data + done, (size_t)(got - done))) < 0)
            got = n = 0;
    if (got <= 0)
        end_stream(stream); // the program gets SIGPIPE when the reader of ours is gone
}

static void follow(struct stream streams[2])
{
    int exited = (int)syscall(SYS_pidfd_open, child, 0);
    struct pollfd fds[5] = {{exited, POLLIN, 0}};
    do {
        for (int i = 0; i < 2; i++) {
            fds[1 + i] = (struct pollfd){streams[i].from, POLLIN, 0};
            fds[3 + i] = (struct pollfd){streams[i].from >= 0 ? streams[i].to : -1, 0, 0};
        }
        if (poll(fds, 5, fds[0].revents ? 0 : -1) < 0)
            continue;
        for (int i = 0; i < 2; i++)
            if (fds[1 + i].revents)
                move(&streams[i]);
            else if (fds[3 + i].revents & POLLERR)
                end_stream(&streams[i]);
        // What the program has started may hold the pipes longer than we are there.
    } while (!fds[0].revents || fds[1].revents || fds[2].revents);
}

/* Opens the record, and the stamp of the test; -1 if there is nowhere to keep them. */
static int open_record(const char *here)
{
    char path[4200], cwd[4096] = "", *end, *test = NULL;
    const char *given = getenv("BATS_TEST_TMPDIR");
    struct timespec now;
    if (!getcwd(cwd, sizeof cwd))
        return -1;
    snprintf(top, sizeof top, "%s", given ? given : cwd);
    if ((end = strstr(top, "/bats-run-")) && (test = strchr(end + 1, '/')) &&
        (end = strchr(test + 1, '/')))
        end[1 + strspn(end + 1, "0123456789")] = 0;
    clock_gettime(CLOCK_REALTIME, &now);
    snprintf(path, sizeof path, "%s/records/%lld%09ld-%d", here, (long long)now.tv_sec, now.tv_nsec,
             getpid());
    if (!test || !(record = fopen(path, "wxe")))
        return -1;
    emit('d', top, cwd, strlen(cwd));
    snprintf(path, sizeof path, "%s/stamps/%c%s", here, test[1], strrchr(top, '/') + 1);
    int stamp = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    flock(stamp, LOCK_SH);
    return stamp;
}

static int is_traced(void)
{
    char text[2000] = "";
    FILE *file = fopen("/proc/self/status", "re");
    size_t got = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    return got > 0 && !strstr(text, "TracerPid:\t0");
}

int main(int argc, char **argv)
{
    static const int passed[] = {SIGHUP,  SIGINT,  SIGQUIT, SIGTERM,
                                 SIGUSR1, SIGUSR2, SIGALRM, SIGCONT};
    char here[4096] = "", program[4200], text[32] = "";
    if (readlink("/proc/self/exe", here, sizeof here - 1) > 0)
        *strrchr(here, '/') = 0;
    snprintf(program, sizeof program, "%s/program", here);
    int stamp = open_record(here);
    if (stamp < 0)
        return execv(program, argv), 127;
    for (int i = 0; i < argc; i++)
        emit('a', argv[i], "", 0);
    if (is_traced() || getenv("GOLDENS_ALONE")) {
        emit('x', is_traced() ? "traced" : "alone", "", 0);
        fclose(record);
        return execv(program, argv), 127;
    }

    struct stream streams[2] = {{.tally = {.kind = 'o', .name = ""}, .to = 1},
                                {.tally = {.kind = 'e', .name = ""}, .to = 2}};
    begin_stream(&streams[0]);
    begin_stream(&streams[1]);
    int same = streams[0].st.st_ino == streams[1].st.st_ino &&
               streams[0].st.st_dev == streams[1].st.st_dev;
    sigset_t all, before;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, &before);
    fflush(record);
    if ((child = fork()) == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int i = 0; i < 2; i++)
            if (streams[i].from >= 0)
                dup2(streams[same ? 0 : i].pipe[1], streams[i].to);
        sigprocmask(SIG_SETMASK, &before, NULL);
        execv(program, argv);
        _exit(127);
    }
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++) {
        struct sigaction action;
        sigaction(passed[i], NULL, &action);
        action.sa_handler = action.sa_handler == SIG_IGN ? SIG_IGN : pass_on;
        action.sa_flags = SA_RESTART;
        sigaction(passed[i], &action, NULL);
    }
    signal(SIGPIPE, SIG_IGN);
    sigprocmask(SIG_SETMASK, &before, NULL);
    // Limits that a test sets are the program's.
    setrlimit(RLIMIT_FSIZE, &(struct rlimit){RLIM_INFINITY, RLIM_INFINITY});
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){1024, 1024});
    for (int i = 0; i < 2; i++)
        if (streams[i].from >= 0)
            close(streams[i].pipe[1]);
    follow(streams);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;

    for (int i = 0; i < 2; i++) {
        snprintf(text, sizeof text, "/proc/self/fd/%d", streams[i].to);
        if (S_ISREG(streams[i].st.st_mode) && !(same && i == 1))
            add_file(&streams[i].tally, text, streams[i].at);
        else
            finish(&streams[i].tally);
    }
    emit('s', "", text, (size_t)snprintf(text, sizeof text, "%#x", status));
    list_names(stamp);
    fclose(record);
    if (WIFSIGNALED(status)) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(WTERMSIG(status), SIG_DFL);
        kill(getpid(), WTERMSIG(status));
    }
    return WEXITSTATUS(status);
}
