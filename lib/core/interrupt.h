/*
 * Cancellation, as by SIGINT and SIGTERM, as a question that loops ask, so that temporary files are
 * removed on the usual way out.
 *
 * sb_catch_interrupts is for a program that has no handlers of its own: it installs those (SIGHUP
 * too) which cancel the context, and ignores SIGXFSZ, so that a file size limit is a failing write.
 * A signal that comes a second or more after the first kills at once; one that comes sooner, as
 * timeout(1) and job managers send them to a process and then to its group, is the same one. Call
 * it once, from the main thread, before threads start; the context stays as long as the process.
 */
#ifndef SB_CORE_INTERRUPT_H
#define SB_CORE_INTERRUPT_H

#include "core/context.h"
#include "core/error.h"

#include <stdbool.h>

void sb_catch_interrupts(struct sb_context *context);

/* The signal that came, 0 for none: what the calling thread's context is cancelled by. */
static inline int sb_interrupt_signal(void)
{
    return atomic_load_explicit(&sb_context_now->cancelled, memory_order_relaxed);
}

static inline bool sb_interrupted(void)
{
    return sb_interrupt_signal() != 0;
}

static inline enum sb_code sb_fail_interrupt(struct sb_error *err)
{
    return sb_fail(err, SB_INTERRUPT, "interrupted");
}

/* SB_INTERRUPT, once that is so. */
static inline enum sb_code sb_heed_interrupt(struct sb_error *err)
{
    return sb_interrupted() ? sb_fail_interrupt(err) : SB_OK;
}

/*
 * Calls that end with EINTR, or with EAGAIN although poll said otherwise, are made again, but one
 * that does nothing else is an error at some time. *tries counts those in a row, from 0.
 */
#define SB_TRIES_MOST 1000

static inline bool sb_may_try_again(unsigned *tries)
{
    return ++*tries < SB_TRIES_MOST;
}

#endif
