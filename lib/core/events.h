/*
 * Events of a worker thread, kept until the calling thread reports them.
 *
 * {0} is empty. Not thread-safe.
 */
#ifndef SB_CORE_EVENTS_H
#define SB_CORE_EVENTS_H

#include "core/buf.h"

struct sb_events {
    struct sb_buf text;
};

void sb_events_release(struct sb_events *events);

/*
 * As sb_report, with a text instead of a format. The strings are copied; SB_NOMEM is the only
 * failure.
 */
enum sb_code sb_events_add(struct sb_events *events, enum sb_level level, const char *kind,
                           const char *subject, const char *text) SB_CHECKED;

/* Reports them, in order, and empties the list. */
void sb_events_report(struct sb_events *events, const struct sb_notify *notify);

#endif
