/*
 * The threads that read requests from the device, and answer them.
 *
 * There is one to begin with, and more, up to a limit, as requests come faster than they are
 * answered.
 */
#ifndef SB_TASK_MOUNT_WORKERS_H
#define SB_TASK_MOUNT_WORKERS_H

#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

struct fuse_session;
struct sb_workers;

/* wake: a descriptor of eventfd, written to when the device has ended, or fails. Where no thread
 * can be started, the caller answers: sb_workers_answer. */
enum sb_code sb_workers_start(struct sb_workers **out, struct fuse_session *session, unsigned most,
                              int wake) SB_CHECKED;

/* Has the device ended, because it was unmounted? */
bool sb_workers_have_ended(const struct sb_workers *workers);

/* SB_SYSTEM: again and again no request could be read, and nobody answers any more. */
enum sb_code sb_workers_failure(const struct sb_workers *workers) SB_CHECKED;

/* Where no thread answers: the device, to wait for a request; else -1. And answers one, if it is
 * there. */
int sb_workers_device(const struct sb_workers *workers);
void sb_workers_answer(struct sb_workers *workers);

/* When the last request came, by sb_clock_ns. */
int64_t sb_workers_last_request(const struct sb_workers *workers);

/* Ends them, whatever they wait for. */
void sb_workers_stop(struct sb_workers *workers); /* NULL is allowed */

#endif
