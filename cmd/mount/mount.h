/*
 * The parts of mount: its options, the background, the command that has what is mounted, the log.
 */
#ifndef SB_CMD_MOUNT_MOUNT_H
#define SB_CMD_MOUNT_MOUNT_H

#include "open/opening.h"

#include "core/error.h"
#include "task/mount/mount.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* The options and operands of `shardbox mount`. */

struct mount_settings {
    struct opening opening;
    struct sb_mount_options wanted;
    const char *keys;
    const char *at;
    const char *log;
    bool no_check;
    bool foreground;

    char **words; /* the operands before "--" */
    size_t word_count, word_capacity;
};

/*
 * Going into the background: the program is done for whoever called it once the work is ready, and
 * a child of it goes on.
 */

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

/* The command that has what is mounted, in a directory made for it if need be. */

/* A fresh directory in TMPDIR, or else /tmp; the caller frees its name. */
enum sb_code child_make_directory(char **out) SB_CHECKED;

/* Starts a command with SHARDBOX_MOUNT=dir in its environment, and the signals of `mask` blocked.
 * One that cannot be executed says so itself, and ends with STATUS_ERROR. */
enum sb_code child_start(pid_t *child, char **words, const char *dir,
                         const sigset_t *mask) SB_CHECKED;

/* The exit status for a status of waitpid: of a command that a signal ended, as a shell has it. */
int child_exit_status(int status);

/*
 * Where a mount reports damage that is met: stderr while it is in the foreground, else a file or
 * the log of the system. One for the process.
 */

/* path: a file that lines are added to; NULL: none. */
enum sb_code logging_open(const char *path) SB_CHECKED;

/* From now on nothing goes to stderr: without a file, lines go to the log of the system. */
void logging_leave_terminal(void);

/* Open until the program ends: a line that is held up would hold up a close. */
extern const struct sb_notify logging_notify;

#endif
