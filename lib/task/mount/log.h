/*
 * What threads have to report, kept until the thread that owns the mount passes it on.
 *
 * Only some lines wait at a time; those above that are counted. Thread-safe.
 */
#ifndef SB_TASK_MOUNT_LOG_H
#define SB_TASK_MOUNT_LOG_H

#include "core/error.h"

struct sb_log;

/* wake: a descriptor of eventfd, written to when a line waits; kept. */
enum sb_code sb_log_new(struct sb_log **out, int wake, struct sb_error *err) SB_CHECKED;
void sb_log_free(struct sb_log *log); /* NULL is allowed */

void sb_log_add(struct sb_log *log, enum sb_level level, const char *kind, const char *subject,
                const char *format, ...) SB_PRINTF(5, 6);

/* An sb_notify that adds to the log, for what is opened while it is mounted. */
struct sb_notify sb_log_notify(struct sb_log *log);

/* Passes on all that waits. */
void sb_log_drain(struct sb_log *log, const struct sb_notify *notify);

#endif
