/*
 * Containers as a file system that any program reads, through FUSE.
 *
 *     sb_mount_open    opens the containers
 *     sb_mount_attach  mounts them at a directory (device.h is how)
 *     sb_mount_start   starts the threads that answer
 *     sb_mount_serve   waits until it is unmounted, or has to end
 *     sb_mount_free
 *
 * A program that goes into the background forks before all that. What is mounted is read-only, and
 * follows writers of an archive as archive/content.h does. Belongs to one thread.
 */
#ifndef SB_TASK_MOUNT_MOUNT_H
#define SB_TASK_MOUNT_MOUNT_H

#include "core/error.h"
#include "store/store.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct sb_mount;
struct sb_record_names;

struct sb_mount_container {
    const char *path;
    const char *name; /* of its directory, where there are several */
    struct sb_store_options opening;
    struct sb_record_names *names; /* of records; NULL: numbers */
};

enum sb_mount_check {
    SB_MOUNT_CHECK_READ, /* a file is checked when all of it was read, from its beginning */
    SB_MOUNT_CHECK_OPEN, /* before its first byte is read */
    SB_MOUNT_CHECK_NONE,
};

#define SB_MOUNT_READAHEAD_MOST ((int64_t)256 << 20)

#define SB_MOUNT_OWNER_STORED ((int64_t)-1)

struct sb_mount_options {
    const struct sb_mount_container *containers; /* kept, as all that they refer to */
    size_t count;
    bool united; /* several containers as one tree, the later ones over the earlier */
    enum sb_mount_check check;
    int64_t readahead; /* bytes that are read at once where files are read in stored order; 0: none,
                          at most SB_MOUNT_READAHEAD_MOST */
    bool immutable; /* nothing changes while it is mounted: the system may keep all that it knows */
    bool allow_other; /* other users may read it, as modes and owners say */
    int64_t uid;      /* owner of everything, or SB_MOUNT_OWNER_STORED */
    int64_t gid;
    unsigned threads;               /* that answer at once, at most */
    int64_t idle;                   /* seconds without a request until it ends; 0: never */
    const struct sb_notify *notify; /* damage that is met while files are read; called by the thread
                                       that opens, and then by one of its own */
};

/* SB_INVALID: a container that cannot be read in any order, or is a directory; the text says what
 * to do. Other errors as sb_store_open. */
enum sb_code sb_mount_open(struct sb_mount **out,
                           const struct sb_mount_options *options) SB_CHECKED;

/*
 * Mounts at a directory, an absolute path without links, after clearing there what is left of a
 * mount whose server is gone. A `dir` /dev/fd/N is the descriptor of a device that somebody has
 * mounted already. SB_SYSTEM, SB_NOENT; SB_INVALID: a container is inside of it, or there are no
 * means to mount, and the text says what an administrator can do.
 */
enum sb_code sb_mount_attach(struct sb_mount *mount, const char *dir) SB_CHECKED;

/* Blocks the signals that sb_mount_serve waits for, none that the process ignores: before
 * sb_mount_start, and before a child is made. before: the mask until then; NULL is allowed. */
void sb_mount_block_signals(sigset_t *before);

/* From here on requests are answered. */
enum sb_code sb_mount_start(struct sb_mount *mount) SB_CHECKED;

/*
 * Waits until it is unmounted, is idle for as long as the options say, or one of SIGINT, SIGTERM
 * and SIGHUP comes: then it unmounts its own mount, wherever that is by now; what something else is
 * mounted over stays without a server, which is logged. With a child (0: there is none), it ends
 * when that ends, and signals are passed on to it; *status is as of waitpid. SB_SYSTEM: requests
 * can no longer be read; then the child is killed, or if there is none, it stays mounted, and every
 * call there fails.
 */
enum sb_code sb_mount_serve(struct sb_mount *mount, pid_t child, int *status) SB_CHECKED;

/* Unmounts, if it is mounted still. */
void sb_mount_free(struct sb_mount *mount); /* NULL is allowed */
FREEP(sb_mount_free, struct sb_mount)

/* Unmounts what a server of this program has mounted at a directory, whether that is there or not.
 * lazy: also while it is in use. SB_INVALID: nothing is mounted there, or nothing of this program,
 * or something is mounted in it. */
enum sb_code sb_unmount(const char *dir, bool lazy) SB_CHECKED;

#endif
