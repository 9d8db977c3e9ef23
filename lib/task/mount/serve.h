/*
 * Answers to the requests of the kernel: libfuse's low-level operations over roots.h and reading.h.
 * Only for lib/task/mount.
 *
 * Any number of threads may answer at once.
 */
#ifndef SB_TASK_MOUNT_SERVE_H
#define SB_TASK_MOUNT_SERVE_H

#define FUSE_USE_VERSION 31

#include "task/mount/device.h"
#include "task/mount/mount.h"
#include "task/mount/tree.h"

#include <fuse3/fuse_lowlevel.h>
#include <pthread.h>

struct sb_block;
struct sb_log;
struct sb_reading;
struct sb_roots;
struct sb_workers;

struct sb_mount {
    struct sb_mount_options options;
    struct sb_log *log;
    struct sb_roots *roots;
    struct sb_reading *reading;
    uint32_t uid; /* of what has no owner */
    uint32_t gid;
    double timeout; /* seconds that the system keeps a name or an attribute */
    bool opens;     /* files are opened one by one, because the system or an option wants it */

    int wake; /* written to when a line was logged, or the device has ended */
    struct sb_device device;
    bool mounted;                 /* by us */
    struct fuse_session *session; /* NULL before sb_serve_take */
    struct sb_workers *workers;
    int signals; /* -1: not started */

    /* While it is served. */
    pid_t child; /* 0: there is none, or it has ended */
    int *status;
    int64_t idle_from; /* an attempt to unmount failed then, because it is in use */
    bool over;

    /* A thread that makes the system forget bytes of damaged files: that waits for reads which may
     * take long, and nobody else should wait for them. */
    pthread_t dropper;
    bool has_dropper;
    pthread_mutex_t lock; /* of all below */
    pthread_cond_t more;
    bool any_damaged; /* there may be such files */
    bool ending;
    struct sb_block *blocks; /* free ones */
};

/* Takes over the device, unless it fails. */
enum sb_code sb_serve_take(struct sb_mount *mount) SB_CHECKED;

/* Gives it up, when no thread answers any more. */
void sb_serve_release(struct sb_mount *mount);

#endif
