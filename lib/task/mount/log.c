#include "task/mount/log.h"

#include "core/events.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LINES_MOST 256

struct sb_log {
    pthread_mutex_t lock;
    int wake;
    struct sb_events events;
    size_t lines;
    int64_t dropped;
};

enum sb_code sb_log_new(struct sb_log **out, int wake, struct sb_error *err)
{
    struct sb_log *log = calloc(1, sizeof(*log));

    *out = log;
    if (!log)
        return sb_fail_memory(err);
    log->wake = wake;
    pthread_mutex_init(&log->lock, NULL);
    return SB_OK;
}

void sb_log_free(struct sb_log *log)
{
    if (!log)
        return;
    sb_events_release(&log->events);
    pthread_mutex_destroy(&log->lock);
    free(log);
}

static void add(struct sb_log *log, enum sb_level level, const char *kind, const char *subject,
                const char *text)
{
    const uint64_t one = 1;
    struct sb_error ignored;

    pthread_mutex_lock(&log->lock);
    if (log->lines >= LINES_MOST ||
        sb_events_add(&log->events, level, kind, subject, text, &ignored))
        log->dropped++;
    else
        log->lines++;
    pthread_mutex_unlock(&log->lock);
    /* It is non-blocking, and fails only if it was written to already. */
    if (write(log->wake, &one, sizeof(one)) < 0)
        return;
}

void sb_log_add(struct sb_log *log, enum sb_level level, const char *kind, const char *subject,
                const char *format, ...)
{
    char text[1024];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    add(log, level, kind, subject, text);
}

static void notified(void *context, enum sb_level level, const char *kind, const char *subject,
                     const char *text)
{
    add(context, level, kind, subject ? subject : "container", text);
}

struct sb_notify sb_log_notify(struct sb_log *log)
{
    return (struct sb_notify){.call = notified, .context = log};
}

void sb_log_drain(struct sb_log *log, const struct sb_notify *notify)
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
