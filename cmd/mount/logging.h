/*
 * Where a mount reports damage that is met: stderr while it is in the foreground, else a file or
 * the log of the system. One for the process.
 */
#ifndef SB_CMD_MOUNT_LOGGING_H
#define SB_CMD_MOUNT_LOGGING_H

#include "core/error.h"

#include <stdbool.h>

/* path: a file that lines are added to; NULL: none. */
enum sb_code logging_open(const char *path) SB_CHECKED;

/* From now on nothing goes to stderr: without a file, lines go to the log of the system. */
void logging_leave_terminal(void);

/* Open until the program ends: a line that is held up would hold up a close. */
extern const struct sb_notify logging_notify;

#endif
