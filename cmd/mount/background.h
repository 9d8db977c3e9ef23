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
 * with *parent true, and its status. Before that no thread runs, and nothing is open.
 */
enum sb_code background_begin(struct background *background, bool *parent, int *status,
                              struct sb_error *err) SB_CHECKED;

/* In the child: the first three descriptors are those of /dev/null from now on. */
void background_leave_terminal(void);

/* The same, and it is ready. */
void background_ready(struct background *background);

#endif
