/*
 * Going into the background: the program is done for whoever called it once the work is ready, and
 * a child of it goes on.
 */
#ifndef SB_CMD_MOUNT_BACKGROUND_H
#define SB_CMD_MOUNT_BACKGROUND_H

#include "core/error.h"

#include <stdbool.h>

/* What the child keeps. */
struct background {
    int ready; /* one byte for the program that called; -1: it is done */
};

/*
 * Makes the child, which returns with *parent false, in a session of its own, and with no open
 * descriptors but the first three. The program itself returns once the child is ready or has ended:
 * with *parent true, and its status. Before that no thread runs, and nothing is open. A signal that
 * interrupts the program before the child is ready ends the child, and then the program; one that
 * comes later waits until the program has ended.
 */
enum sb_code background_begin(struct background *background, bool *parent, int *status) SB_CHECKED;

/* In the child: the first three descriptors are those of /dev/null from now on. */
void background_leave_terminal(void);

/* The same, and it is ready. SB_SYSTEM: nobody waits for that any more. */
enum sb_code background_ready(struct background *background) SB_CHECKED;

#endif
