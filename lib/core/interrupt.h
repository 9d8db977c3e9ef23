/*
 * Cancellation, as by SIGINT and SIGTERM: loops check for it, so that temporary files are removed
 * on the usual way out.
 *
 * sb_catch_interrupts is for a program that has no handlers of its own: it installs handlers (of
 * SIGHUP too) which cancel the context, and ignores SIGXFSZ, so that a file size limit becomes a
 * failing write. A signal that comes a second or more after the first kills at once. One that comes
 * sooner counts as the same signal, since timeout(1) and job managers signal a process and then its
 * group. Call it once, from the main thread, before threads start; the context must live as long as
 * the process.
 */
#ifndef SB_CORE_INTERRUPT_H
#define SB_CORE_INTERRUPT_H

#include "core/context.h"
#include "core/error.h"

#include <stdbool.h>

void sb_catch_interrupts(struct sb_context *context);

/* The signal that cancelled the calling thread's context; 0: not cancelled. */
static inline int sb_interrupt_signal(void)
{
    return atomic_load_explicit(&sb_context_now->cancelled, memory_order_relaxed);
}

static inline bool sb_interrupted(void)
{
    return sb_interrupt_signal() != 0;
}

static inline enum sb_code sb_fail_interrupt(void)
{
    return sb_fail(SB_INTERRUPT, "interrupted");
}

/* SB_INTERRUPT once the calling thread's context is cancelled. */
static inline enum sb_code sb_heed_interrupt(void)
{
    return sb_interrupted() ? sb_fail_interrupt() : SB_OK;
}

/*
 * Calls that end with EINTR, or with EAGAIN although poll reported otherwise, are made again, but
 * not forever. *tries counts those in a row, from 0.
 */
#define SB_TRIES_MOST 1000

static inline bool sb_may_try_again(unsigned *tries)
{
    return ++*tries < SB_TRIES_MOST;
}

#endif
