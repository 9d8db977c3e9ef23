/*
 * SIGINT and SIGTERM as a question that loops ask, so that temporary files are removed on the usual
 * way out.
 *
 * sb_catch_interrupts installs the handlers (SIGHUP too) and ignores SIGXFSZ, so that a file size
 * limit is a failing write. A second signal kills at once. Call it once, from the main thread,
 * before threads start.
 */
#ifndef SB_CORE_INTERRUPT_H
#define SB_CORE_INTERRUPT_H

#include <stdbool.h>

void sb_catch_interrupts(void);
bool sb_interrupted(void);

/* The signal that came, 0 for none. */
int sb_interrupt_signal(void);

#endif
