/*
 * Answers to the requests of the kernel: libfuse's low-level operations over roots.h and reading.h.
 *
 * Any number of threads may answer at once.
 */
#ifndef SB_TASK_MOUNT_SERVE_H
#define SB_TASK_MOUNT_SERVE_H

#include "task/mount/mount.h"

struct fuse_session;
struct sb_log;
struct sb_roots;
struct sb_server;

/* options, roots and log are kept. */
enum sb_code sb_server_new(struct sb_server **out, const struct sb_mount_options *options,
                           struct sb_roots *roots, struct sb_log *log) SB_CHECKED;
void sb_server_free(struct sb_server *server); /* NULL is allowed */

/* Takes over the device, unless it fails. */
enum sb_code sb_server_take(struct sb_server *server, int device) SB_CHECKED;

/* Makes the system forget bytes of files that were found damaged. Waits for reads of these, and so
 * for the threads that answer. */
void sb_server_drop_damaged(struct sb_server *server);

/* NULL before sb_server_take. */
struct fuse_session *sb_server_session(struct sb_server *server);

#endif
