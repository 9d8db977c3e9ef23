/*
 * What threads have to report, kept until it is passed on: by a thread of its own, so that nothing
 * waits where that takes long, as to a pipe that nobody reads.
 *
 * Only some lines wait at a time; those above that are counted. Thread-safe.
 */
#ifndef SB_TASK_MOUNT_LOG_H
#define SB_TASK_MOUNT_LOG_H

#include "core/error.h"

struct sb_log;

/* wake: a descriptor of eventfd, written to with each line; kept. */
enum sb_code sb_log_new(struct sb_log **out, int wake) SB_CHECKED;
void sb_log_free(struct sb_log *log); /* ends its thread; NULL is allowed */

/* Passes on all that waits, unless the thread does that. */
void sb_log_drain(struct sb_log *log, const struct sb_notify *notify);

/* Starts the thread, if that can be: lines are passed on as they come. notify is kept. */
void sb_log_start(struct sb_log *log, const struct sb_notify *notify);

/* Ends the thread once all is passed on. Where that takes longer than a second or two, it is not
 * waited for any more: then what it passes on is not known. */
void sb_log_end(struct sb_log *log);

void sb_log_add(struct sb_log *log, enum sb_level level, const char *kind, const char *subject,
                const char *format, ...) SB_PRINTF(5, 6);

/* An sb_notify that adds to the log, for what is opened while it is mounted. */
struct sb_notify sb_log_notify(struct sb_log *log);

#endif
