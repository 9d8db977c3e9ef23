/* The command that has what is mounted, in a directory made for it if need be. */
#ifndef SB_CMD_MOUNT_CHILD_H
#define SB_CMD_MOUNT_CHILD_H

#include "core/error.h"

#include <signal.h>
#include <sys/types.h>

/* A fresh directory in TMPDIR, or else /tmp; the caller frees its name. */
enum sb_code child_make_directory(char **out) SB_CHECKED;

/* Starts a command with SHARDBOX_MOUNT=dir in its environment, and the signals of `mask` blocked.
 * One that cannot be executed says so itself, and ends with STATUS_ERROR. */
enum sb_code child_start(pid_t *child, char **words, const char *dir,
                         const sigset_t *mask) SB_CHECKED;

/* The exit status for a status of waitpid: of a command that a signal ended, as a shell has it. */
int child_exit_status(int status);

#endif
