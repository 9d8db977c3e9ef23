/*
 * SIGINT and SIGTERM as a question that loops ask, so that temporary files are removed on the usual
 * way out.
 *
 * sb_catch_interrupts installs the handlers (SIGHUP too) and ignores SIGXFSZ, so that a file size
 * limit is a failing write. A signal that comes a second or more after the first kills at once; one
 * that comes sooner, as timeout(1) and job managers send them to a process and then to its group,
 * is the same one. Call it once, from the main thread, before threads start.
 */
#ifndef SB_CORE_INTERRUPT_H
#define SB_CORE_INTERRUPT_H

#include <stdbool.h>

void sb_catch_interrupts(void);
bool sb_interrupted(void);

/* The signal that came, 0 for none. */
int sb_interrupt_signal(void);

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
