#include "task/mount/workers.h"

#include "core/thread.h"
#include "core/time.h"

#define FUSE_USE_VERSION 31
#include <errno.h>
#include <fuse3/fuse_lowlevel.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define STOP_SIGNAL SIGUSR2 /* makes a waiting read return */
#define STOP_EVERY  ((struct timespec){.tv_nsec = 2000000})

struct worker {
    struct sb_workers *workers;
    pthread_t thread;
    atomic_bool ended;
};

struct sb_workers {
    struct fuse_session *session;
    int wake;
    unsigned most;
    atomic_uint count; /* that were started */
    atomic_uint idle;  /* that wait for a request */
    atomic_bool stopping;
    atomic_bool ended; /* the device */
    _Atomic int64_t last;
    pthread_mutex_t lock; /* of starting one more */
    struct worker workers[];
};

static void start_another(struct sb_workers *workers);

static void end(struct sb_workers *workers)
{
    const uint64_t one = 1;

    atomic_store(&workers->ended, true);
    if (write(workers->wake, &one, sizeof(one)) < 0)
        return;
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    struct sb_workers *workers = worker->workers;
    struct fuse_buf buffer = {0};

    while (!atomic_load(&workers->stopping)) {
        int got = fuse_session_receive_buf(workers->session, &buffer);

        if (got == -EINTR || got == -EAGAIN)
            continue;
        if (got <= 0) {
            end(workers);
            break;
        }
        atomic_store_explicit(&workers->last, sb_clock_ns(), memory_order_relaxed);
        if (atomic_fetch_sub(&workers->idle, 1) == 1)
            start_another(workers);
        fuse_session_process_buf(workers->session, &buffer);
        atomic_fetch_add(&workers->idle, 1);
    }
    free(buffer.mem);
    atomic_store(&worker->ended, true);
    return NULL;
}

/* One that cannot be started is not needed: those that are there go on. */
static void start_another(struct sb_workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    if (workers->count < workers->most && !atomic_load(&workers->stopping)) {
        struct worker *worker = &workers->workers[workers->count];

        worker->workers = workers;
        atomic_fetch_add(&workers->idle, 1);
        if (sb_thread_start(&worker->thread, work, worker))
            atomic_fetch_add(&workers->count, 1);
        else
            atomic_fetch_sub(&workers->idle, 1);
    }
    pthread_mutex_unlock(&workers->lock);
}

static void ignore(int number)
{
    (void)number;
}

enum sb_code sb_workers_start(struct sb_workers **out, struct fuse_session *session, unsigned most,
                              int wake, struct sb_error *err)
{
    const struct sigaction action = {.sa_handler = ignore};
    struct sb_workers *workers = calloc(1, sizeof(*workers) + most * sizeof(*workers->workers));

    *out = NULL;
    if (!workers)
        return sb_fail_memory(err);
    sigaction(STOP_SIGNAL, &action, NULL);
    workers->session = session;
    workers->most = most;
    workers->wake = wake;
    workers->last = sb_clock_ns();
    pthread_mutex_init(&workers->lock, NULL);
    start_another(workers);
    if (workers->count == 0) {
        int failure = errno;

        sb_workers_stop(workers);
        return sb_fail_errno(err, failure, "a thread that answers cannot be started");
    }
    *out = workers;
    return SB_OK;
}

bool sb_workers_have_ended(const struct sb_workers *workers)
{
    return atomic_load(&workers->ended);
}

int64_t sb_workers_last_request(const struct sb_workers *workers)
{
    return atomic_load_explicit(&workers->last, memory_order_relaxed);
}

void sb_workers_stop(struct sb_workers *workers)
{
    if (!workers)
        return;
    atomic_store(&workers->stopping, true);
    pthread_mutex_lock(&workers->lock);
    pthread_mutex_unlock(&workers->lock);
    for (unsigned i = 0; i < workers->count; i++) {
        struct worker *worker = &workers->workers[i];

        /* The signal may come before the read that it is to end. */
        while (!atomic_load(&worker->ended)) {
            pthread_kill(worker->thread, STOP_SIGNAL);
            nanosleep(&STOP_EVERY, NULL);
        }
        pthread_join(worker->thread, NULL);
    }
    pthread_mutex_destroy(&workers->lock);
    free(workers);
}
