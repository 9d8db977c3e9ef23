#include "task/mount/workers.h"

#include "core/thread.h"
#include "core/time.h"

#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fcntl.h>
#include <fuse3/fuse_lowlevel.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

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

static void *watch(void *argument)
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

enum sb_code sb_workers_start(struct sb_workers **out, struct fuse_session *session, unsigned most,
                              int wake)
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
        !workers->none && most > 1 && sb_thread_start(&workers->watcher, watch, workers);
    *out = workers;
    return SB_OK;
}

int sb_workers_device(const struct sb_workers *workers)
{
    return workers->none && !atomic_load(&workers->ended) ? fuse_session_fd(workers->session) : -1;
}

void sb_workers_answer(struct sb_workers *workers)
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

bool sb_workers_have_ended(const struct sb_workers *workers)
{
    return atomic_load(&workers->ended);
}

enum sb_code sb_workers_failure(const struct sb_workers *workers)
{
    int failure = atomic_load(&workers->failure);

    return failure ? sb_fail_errno(failure, "requests of the mount cannot be read") : SB_OK;
}

int64_t sb_workers_last_request(const struct sb_workers *workers)
{
    return atomic_load_explicit(&workers->last, memory_order_relaxed);
}

void sb_workers_stop(struct sb_workers *workers)
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
