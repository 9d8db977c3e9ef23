#include "task/mount/log.h"

#include "core/events.h"
#include "core/thread.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define LINES_MOST  256
#define END_SECONDS 2

struct sb_log {
    int wake;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t more;  /* something waits, or it is to end */
    pthread_cond_t over;
    struct sb_events events;
    size_t lines;
    int64_t dropped;

    const struct sb_notify *notify; /* of the thread */
    pthread_t thread;
    bool running; /* and is to be waited for */
    bool ending, ended;
    bool left; /* the thread goes on with all this */
};

enum sb_code sb_log_new(struct sb_log **out, int wake)
{
    pthread_condattr_t monotonic;
    struct sb_log *log;

    TRY(SB_NEW(out));
    log = *out;
    log->wake = wake;
    pthread_mutex_init(&log->lock, NULL);
    pthread_cond_init(&log->more, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&log->over, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return SB_OK;
}

void sb_log_free(struct sb_log *log)
{
    if (!log)
        return;
    sb_log_end(log);
    if (log->left)
        return;
    sb_events_release(&log->events);
    pthread_cond_destroy(&log->over);
    pthread_cond_destroy(&log->more);
    pthread_mutex_destroy(&log->lock);
    free(log);
}

void sb_log_add(struct sb_log *log, enum sb_level level, const char *kind, const char *subject,
                const char *format, ...)
{
    const uint64_t one = 1;
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    pthread_mutex_lock(&log->lock);
    if (log->lines >= LINES_MOST ||
        IGNORED(sb_events_add(&log->events, level, kind, subject, text)))
        log->dropped++;
    else
        log->lines++;
    pthread_cond_signal(&log->more);
    pthread_mutex_unlock(&log->lock);
    /* It is non-blocking, and fails only if it was written to already. */
    (void)!write(log->wake, &one, sizeof(one));
}

static void notified(void *context, enum sb_level level, const char *kind, const char *subject,
                     const char *text)
{
    sb_log_add(context, level, kind, subject ? subject : "container", "%s", text);
}

struct sb_notify sb_log_notify(struct sb_log *log)
{
    return (struct sb_notify){.call = notified, .context = log};
}

static void drain(struct sb_log *log, const struct sb_notify *notify)
{
    struct sb_events events;
    int64_t dropped;

    pthread_mutex_lock(&log->lock);
    events = log->events;
    dropped = log->dropped;
    log->events = (struct sb_events){0};
    log->lines = 0;
    log->dropped = 0;
    pthread_mutex_unlock(&log->lock);
    if (events.text.size > 0)
        sb_events_report(&events, notify);
    if (dropped > 0)
        sb_report(notify, SB_PROBLEM, "more", NULL, "%" PRId64 " more lines were left out",
                  dropped);
    sb_events_release(&events);
}

void sb_log_drain(struct sb_log *log, const struct sb_notify *notify)
{
    if (!log->running)
        drain(log, notify);
}

/* Waits until something waits to be passed on. False: it is to end, and nothing does. */
static bool wait_for_more(struct sb_log *log)
{
    bool more;

    pthread_mutex_lock(&log->lock);
    while (log->lines == 0 && log->dropped == 0 && !log->ending)
        pthread_cond_wait(&log->more, &log->lock);
    more = log->lines > 0 || log->dropped > 0;
    pthread_mutex_unlock(&log->lock);
    return more;
}

static void *pass_on(void *argument)
{
    struct sb_log *log = argument;

    while (wait_for_more(log))
        drain(log, log->notify);
    pthread_mutex_lock(&log->lock);
    log->ended = true;
    pthread_cond_signal(&log->over);
    pthread_mutex_unlock(&log->lock);
    return NULL;
}

void sb_log_start(struct sb_log *log, const struct sb_notify *notify)
{
    log->notify = notify;
    log->running = sb_thread_start(&log->thread, pass_on, log);
}

void sb_log_end(struct sb_log *log)
{
    struct timespec until;
    int failure = 0;

    if (!log->running) {
        /* There was no thread; or there was one, and it has what is left, and may be waiting. */
        if (log->notify && !log->ending)
            drain(log, log->notify);
        return;
    }
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += END_SECONDS;
    pthread_mutex_lock(&log->lock);
    log->ending = true;
    pthread_cond_signal(&log->more);
    while (!log->ended && !failure)
        failure = pthread_cond_timedwait(&log->over, &log->lock, &until);
    log->left = !log->ended;
    pthread_mutex_unlock(&log->lock);
    if (log->left)
        pthread_detach(log->thread);
    else
        pthread_join(log->thread, NULL);
    log->running = false;
}
