/*
 * A mount from its opening to its end.
 */
#include "core/array.h"
#include "core/context.h"
#include "core/interrupt.h"
#include "core/thread.h"
#include "core/time.h"
#include "task/mount/log.h"
#include "task/mount/reading.h"
#include "task/mount/roots.h"
#include "task/mount/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define FOREVER (86400.0 * 365) /* seconds */

enum sb_code sb_mount_open(struct sb_mount **out, const struct sb_mount_options *options)
{
    CLEANUP(sb_mount_freep) struct sb_mount *mount = NULL;
    enum sb_code code;

    *out = NULL;
    TRY(SB_NEW(&mount));
    pthread_mutex_init(&mount->lock, NULL);
    pthread_cond_init(&mount->more, NULL);
    mount->options = *options;
    mount->uid = getuid();
    mount->gid = getgid();
    mount->timeout = options->immutable ? FOREVER : 1.0;
    mount->signals = -1;
    mount->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (mount->wake < 0)
        return sb_fail_errno(errno, "eventfd");
    TRY(sb_log_new(&mount->log, mount->wake));
    code = sb_roots_open(&mount->roots, &mount->options, mount->log);
    sb_log_drain(mount->log, options->notify);
    TRY(code);
    TRY(sb_reading_new(&mount->reading, options->check != SB_MOUNT_CHECK_NONE,
                       (size_t)options->readahead, mount->log));
    *out = TAKE(mount);
    return SB_OK;
}

/* False: it is in use, or something else keeps it: the last failure says what. */
static bool detach(struct sb_mount *mount, bool lazy)
{
    if (mount->mounted && sb_device_end(&mount->device, lazy))
        return false;
    mount->mounted = false;
    return true;
}

static enum sb_code mount_at(struct sb_mount *mount, const char *dir)
{
    TRY(sb_roots_refuse_hidden(mount->roots, dir));
    TRY(sb_device_mount(&mount->device, dir, mount->options.allow_other));
    mount->mounted = true;
    return SB_OK;
}

enum sb_code sb_mount_attach(struct sb_mount *mount, const char *dir)
{
    const int given = sb_device_given(dir);

    if (given < 0 ? mount_at(mount, dir) : sb_device_take(&mount->device, given))
        return sb_error()->code;
    if (sb_serve_take(mount) == SB_OK)
        return SB_OK;
    IGNORED(detach(mount, true));
    close(mount->device.fd);
    return sb_error()->code;
}

/*
 * The threads that read requests from the device, and answer them. There is one to begin with, and
 * more, up to a limit, as requests come faster than they are answered.
 */

#define STOP_SIGNAL SIGUSR2 /* makes a waiting read return */
#define STOP_EVERY  ((struct timespec){.tv_nsec = 2000000})

/* While requests come, somebody looks every so often whether the thread that has one has needed
 * long for it already, so that others wait for the next ones. */
#define LOOK_EVERY ((struct timespec){.tv_nsec = 5000000})
#define LATE_NS    2000000

/* Where no request can be read, for want of memory perhaps, other threads may have some; and then
 * it is tried again, but not for ever: programs wait for an answer. */
#define TRY_EVERY ((struct timespec){.tv_nsec = 10000000})
#define TRIES     100

/* An answer that takes longer waits for a disk or a network, and so do the next ones. */
#define SLOW_NS   200000
#define SLOW_LAST SB_SECOND

struct worker {
    struct sb_workers *workers;
    pthread_t thread;
    atomic_bool ended;
};

/*
 * Only one thread waits for a request at a time: a second one would take turns with it, each on a
 * cold processor. The one that gets a request wakes another if more requests are there already, or
 * if answers take long.
 */
struct sb_workers {
    struct fuse_session *session;
    int wake;
    unsigned most;
    atomic_bool stopping;
    atomic_bool ended;    /* the device */
    atomic_uint failures; /* in a row, to read a request */
    atomic_int failure;   /* errno of too many of them */
    _Atomic int64_t last;
    _Atomic int64_t slow_until;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t next;  /* nobody waits for a request any more, and somebody should */
    bool waiting;         /* a thread waits for a request */
    pthread_t watcher;
    bool has_watcher;
    atomic_bool watched; /* the watcher looks, else it waits until that is set */
    pthread_cond_t watch;
    unsigned parked;
    unsigned count;         /* threads that were started */
    bool none;              /* could be: the caller answers, and no thread is started later */
    struct fuse_buf buffer; /* of the caller */
    struct worker workers[];
};

static void *work(void *argument);

/* With the lock held. One that cannot be started is not needed: those that are there go on. */
static void start_another(struct sb_workers *workers)
{
    struct worker *worker = &workers->workers[workers->count];

    if (workers->count == workers->most || atomic_load(&workers->stopping))
        return;
    worker->workers = workers;
    if (sb_thread_start(&worker->thread, work, worker))
        workers->count++;
}

/* To wait for a request; with the lock held. */
static void call_another(struct sb_workers *workers)
{
    if (workers->parked > 0)
        pthread_cond_signal(&workers->next);
    else
        start_another(workers);
}

/* Waits until this thread is the one that waits for a request. False: there will be none. */
static bool take_turn(struct sb_workers *workers)
{
    bool stopped;

    pthread_mutex_lock(&workers->lock);
    while (workers->waiting && !atomic_load(&workers->stopping)) {
        workers->parked++;
        pthread_cond_wait(&workers->next, &workers->lock);
        workers->parked--;
    }
    stopped = atomic_load(&workers->stopping);
    workers->waiting = true;
    pthread_mutex_unlock(&workers->lock);
    return !stopped;
}

static int64_t since_last(struct sb_workers *workers)
{
    return sb_clock_ns() - atomic_load(&workers->last);
}

/* A request that takes long must not keep others waiting. */
static void look_after_turn(struct sb_workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    if (!workers->waiting && since_last(workers) > LATE_NS)
        call_another(workers);
    if (workers->waiting && since_last(workers) > SLOW_LAST) {
        atomic_store(&workers->watched, false);
        /* A request that came between the two has seen that it is watched. */
        if (since_last(workers) <= SLOW_LAST)
            atomic_store(&workers->watched, true);
    }
    pthread_mutex_unlock(&workers->lock);
}

static void *run_watcher(void *argument)
{
    struct sb_workers *workers = argument;

    while (!atomic_load(&workers->stopping)) {
        pthread_mutex_lock(&workers->lock);
        while (!atomic_load(&workers->watched) && !atomic_load(&workers->stopping))
            pthread_cond_wait(&workers->watch, &workers->lock);
        pthread_mutex_unlock(&workers->lock);
        nanosleep(&LOOK_EVERY, NULL);
        look_after_turn(workers);
    }
    return NULL;
}

static void wake_watcher(struct sb_workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    atomic_store(&workers->watched, true);
    pthread_cond_signal(&workers->watch);
    pthread_mutex_unlock(&workers->lock);
}

/* This thread has a request; another one waits for the next, if that is there, or may be late. */
static void answer(struct sb_workers *workers, const struct fuse_buf *buffer)
{
    struct pollfd device = {.fd = fuse_session_fd(workers->session), .events = POLLIN};
    int64_t began = sb_clock_ns(), ended;
    bool needed;

    atomic_store(&workers->last, began);
    if (!atomic_load(&workers->watched))
        wake_watcher(workers);
    needed = began < atomic_load(&workers->slow_until) || poll(&device, 1, 0) == 1;
    pthread_mutex_lock(&workers->lock);
    workers->waiting = false;
    if (needed)
        call_another(workers);
    pthread_mutex_unlock(&workers->lock);
    fuse_session_process_buf(workers->session, buffer);
    ended = sb_clock_ns();
    if (ended - began > SLOW_NS)
        atomic_store(&workers->slow_until, ended + SLOW_LAST);
}

/* After a read without a request. False: none will come. */
static bool goes_on(struct sb_workers *workers, int got)
{
    const uint64_t one = 1;

    if (got == -EINTR || got == -EAGAIN)
        return true;
    if (got == 0) {
        atomic_store(&workers->ended, true);
    } else if (atomic_fetch_add(&workers->failures, 1) + 1 < TRIES) {
        nanosleep(&TRY_EVERY, NULL);
        return true;
    } else {
        atomic_store(&workers->failure, -got);
    }
    (void)!write(workers->wake, &one, sizeof(one));
    return false;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct sb_workers *workers = worker->workers;
    struct fuse_buf buffer = {0};
    bool more = true;

    while (more && take_turn(workers)) {
        int got = fuse_session_receive_buf(workers->session, &buffer);

        if (got > 0) {
            atomic_store_explicit(&workers->failures, 0, memory_order_relaxed);
            answer(workers, &buffer);
            continue;
        }
        /* Others may wait for one. */
        pthread_mutex_lock(&workers->lock);
        workers->waiting = false;
        pthread_cond_signal(&workers->next);
        pthread_mutex_unlock(&workers->lock);
        more = goes_on(workers, got);
    }
    free(buffer.mem);
    atomic_store(&worker->ended, true);
    return NULL;
}

static void ignore(int number)
{
    (void)number;
}

/*
 * wake: a descriptor of eventfd, written to when the device has ended, or fails. Where no thread
 * can be started, the caller answers.
 */
static enum sb_code start_workers(struct sb_workers **out, struct fuse_session *session,
                                  unsigned most, int wake)
{
    const struct sigaction action = {.sa_handler = ignore};
    struct sb_workers *workers = calloc(1, sizeof(*workers) + most * sizeof(*workers->workers));
    const int device = fuse_session_fd(session);

    *out = NULL;
    if (!workers)
        return sb_fail_memory();
    sigaction(STOP_SIGNAL, &action, NULL);
    workers->session = session;
    workers->most = most;
    workers->wake = wake;
    workers->last = sb_clock_ns();
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->next, NULL);
    pthread_cond_init(&workers->watch, NULL);
    pthread_mutex_lock(&workers->lock);
    start_another(workers);
    workers->none = workers->count == 0;
    pthread_mutex_unlock(&workers->lock);
    /* A request may be taken back between the poll and the read. */
    if (workers->none)
        fcntl(device, F_SETFL, fcntl(device, F_GETFL) | O_NONBLOCK);
    /* Without it a request that takes long keeps others waiting, and no more. */
    workers->has_watcher =
        !workers->none && most > 1 && sb_thread_start(&workers->watcher, run_watcher, workers);
    *out = workers;
    return SB_OK;
}

/* Does the caller, since no thread could be started? */
static bool are_answered_here(const struct sb_workers *workers)
{
    return workers->none && !atomic_load(&workers->ended);
}

/* One request, by the caller, if it is there. */
static void answer_here(struct sb_workers *workers)
{
    int got = fuse_session_receive_buf(workers->session, &workers->buffer);

    if (got <= 0) {
        goes_on(workers, got);
        return;
    }
    atomic_store(&workers->failures, 0);
    atomic_store(&workers->last, sb_clock_ns());
    fuse_session_process_buf(workers->session, &workers->buffer);
}

/* Ends them, whatever they wait for. NULL is allowed. */
static void stop_workers(struct sb_workers *workers)
{
    if (!workers)
        return;
    pthread_mutex_lock(&workers->lock);
    atomic_store(&workers->stopping, true);
    pthread_cond_broadcast(&workers->next);
    pthread_cond_broadcast(&workers->watch);
    pthread_mutex_unlock(&workers->lock);
    if (workers->has_watcher)
        pthread_join(workers->watcher, NULL);
    for (unsigned i = 0; i < workers->count; i++) {
        struct worker *worker = &workers->workers[i];

        /* The signal may come before the read that it is to end. */
        while (!atomic_load(&worker->ended)) {
            pthread_kill(worker->thread, STOP_SIGNAL);
            nanosleep(&STOP_EVERY, NULL);
        }
        pthread_join(worker->thread, NULL);
    }
    pthread_cond_destroy(&workers->next);
    pthread_cond_destroy(&workers->watch);
    pthread_mutex_destroy(&workers->lock);
    free(workers->buffer.mem);
    free(workers);
}

/* A signal ends the mount, or is passed on to the child, unless the terminal has done that. */
static void take_signal(struct sb_mount *mount)
{
    struct signalfd_siginfo info;

    if (read(mount->signals, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return;
    if (mount->child == 0)
        mount->over = true;
    else if (info.ssi_signo != SIGCHLD && info.ssi_code != SI_KERNEL)
        kill(mount->child, (int)info.ssi_signo);
}

static void look_after_child(struct sb_mount *mount)
{
    if (mount->child == 0 || waitpid(mount->child, mount->status, WNOHANG) == 0)
        return;
    mount->child = 0;
    mount->over = true;
}

/* Milliseconds until it is idle for long enough; -1: never. */
static int idle_time(const struct sb_mount *mount)
{
    int64_t last = atomic_load_explicit(&mount->workers->last, memory_order_relaxed), left;

    if (mount->options.idle <= 0 || !mount->mounted)
        return -1;
    if (last < mount->idle_from)
        last = mount->idle_from;
    left = mount->options.idle - (sb_clock_ns() - last) / SB_SECOND;
    if (left <= 0)
        return 0;
    return left > 3600 ? 3600 * 1000 : (int)left * 1000;
}

/* Files that are open but not read make no requests: the system knows of them. */
static void end_if_idle(struct sb_mount *mount)
{
    if (idle_time(mount) != 0)
        return;
    if (IGNORED(detach(mount, false)))
        mount->over = true;
    else
        mount->idle_from = sb_clock_ns();
}

/* False: the dropper is to end. */
static bool wait_for_damaged(struct sb_mount *mount)
{
    bool ending;

    pthread_mutex_lock(&mount->lock);
    while (!mount->any_damaged && !mount->ending)
        pthread_cond_wait(&mount->more, &mount->lock);
    mount->any_damaged = false;
    ending = mount->ending;
    pthread_mutex_unlock(&mount->lock);
    return !ending;
}

static void drop_kept(void *context, uint64_t number)
{
    /* A file that nothing is kept of is no error here. */
    fuse_lowlevel_notify_inval_inode(context, number, 0, 0);
}

static void *run_dropper(void *argument)
{
    struct sb_mount *mount = argument;

    while (wait_for_damaged(mount))
        sb_reading_drop_damaged(mount->reading, drop_kept, mount->session);
    return NULL;
}

static void signal_dropper(struct sb_mount *mount, bool *what)
{
    pthread_mutex_lock(&mount->lock);
    *what = true;
    pthread_cond_signal(&mount->more);
    pthread_mutex_unlock(&mount->lock);
}

/* While there are still threads that answer. */
static void end_dropper(struct sb_mount *mount)
{
    if (!mount->has_dropper)
        return;
    signal_dropper(mount, &mount->ending);
    pthread_join(mount->dropper, NULL);
    mount->has_dropper = false;
}

/* What other threads do, if there are any. Who answers requests may not drop: files that
 * were damaged stay so then. */
static void take_news(struct sb_mount *mount)
{
    uint64_t count;

    (void)!read(mount->wake, &count, sizeof(count));
    sb_log_drain(mount->log, mount->options.notify);
    if (mount->has_dropper)
        signal_dropper(mount, &mount->any_damaged);
    else if (!are_answered_here(mount->workers))
        sb_reading_drop_damaged(mount->reading, drop_kept, mount->session);
}

static void wait_once(struct sb_mount *mount)
{
    struct sb_workers *workers = mount->workers;
    struct pollfd waits[] = {
        {.fd = mount->signals, .events = POLLIN},
        {.fd = mount->wake, .events = POLLIN},
        {.fd = are_answered_here(workers) ? fuse_session_fd(mount->session) : -1, .events = POLLIN},
    };

    if (poll(waits, 3, idle_time(mount)) < 0)
        return;
    if (waits[0].revents)
        take_signal(mount);
    if (waits[1].revents)
        take_news(mount);
    if (waits[2].revents)
        answer_here(workers);
    look_after_child(mount);
    if (atomic_load(&workers->ended) && mount->child == 0)
        mount->over = true;
    end_if_idle(mount);
}

/* Unmounts, and ends the threads, also where something is still in use. */
static void finish(struct sb_mount *mount)
{
    int cancelled = atomic_load(&sb_context_now->cancelled);
    struct sb_error err;

    /* Reads that take long end. */
    atomic_store(&sb_context_now->cancelled, SIGTERM);
    if (!INTO(&err, detach(mount, false)) && !INTO(&err, detach(mount, true))) {
        sb_log_add(mount->log, SB_PROBLEM, "left", "left without a server", "%s", err.text);
        mount->mounted = false;
    }
    end_dropper(mount);
    stop_workers(mount->workers);
    mount->workers = NULL;
    atomic_store(&sb_context_now->cancelled, cancelled);
    sb_log_end(mount->log);
}

static void list_signals(sigset_t *signals)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action;

    sigemptyset(signals);
    sigaddset(signals, SIGCHLD);
    /* A blocked signal comes also where it is ignored, as by nohup. */
    for (size_t i = 0; i < ARRAY_SIZE(ending); i++) {
        if (sigaction(ending[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(signals, ending[i]);
    }
}

void sb_mount_block_signals(sigset_t *before)
{
    sigset_t signals;

    list_signals(&signals);
    pthread_sigmask(SIG_BLOCK, &signals, before);
}

enum sb_code sb_mount_start(struct sb_mount *mount)
{
    sigset_t signals;

    list_signals(&signals);
    mount->signals = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (mount->signals < 0)
        return sb_fail_errno(errno, "signalfd");
    TRY(start_workers(&mount->workers, mount->session, mount->options.threads, mount->wake));
    mount->has_dropper = sb_thread_start(&mount->dropper, run_dropper, mount);
    sb_log_start(mount->log, mount->options.notify);
    return SB_OK;
}

enum sb_code sb_mount_serve(struct sb_mount *mount, pid_t child, int *status)
{
    enum sb_code code = SB_OK;
    int failure;

    mount->child = child;
    mount->status = status;
    *status = 0;
    /* It may have ended already. */
    look_after_child(mount);
    mount->over |= sb_interrupted();
    while (!code && !mount->over) {
        wait_once(mount);
        failure = atomic_load(&mount->workers->failure);
        if (failure)
            code = sb_fail_errno(failure, "requests of the mount cannot be read");
    }
    /* Programs would see an empty directory if it were unmounted; so each of their calls fails. */
    if (code && child == 0)
        mount->mounted = false;
    finish(mount);
    if (mount->child > 0) {
        kill(mount->child, SIGKILL);
        waitpid(mount->child, status, 0);
    }
    return code;
}

void sb_mount_free(struct sb_mount *mount)
{
    if (!mount)
        return;
    IGNORED(detach(mount, true));
    sb_device_release(&mount->device);
    end_dropper(mount);
    stop_workers(mount->workers);
    sb_serve_release(mount);
    sb_reading_free(mount->reading);
    sb_roots_free(mount->roots);
    sb_log_free(mount->log);
    if (mount->signals >= 0)
        close(mount->signals);
    if (mount->wake >= 0)
        close(mount->wake);
    pthread_cond_destroy(&mount->more);
    pthread_mutex_destroy(&mount->lock);
    free(mount);
}
