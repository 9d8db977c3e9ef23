/*
 * Answers to the requests of the kernel: libfuse's low-level operations over roots.h and reading.h.
 *
 * Any number of threads may answer at once.
 */
#ifndef SB_TASK_MOUNT_SERVE_H
#define SB_TASK_MOUNT_SERVE_H

#define FUSE_USE_VERSION 31

#include "task/mount/mount.h"
#include "task/mount/tree.h"

#include <fuse3/fuse_lowlevel.h>
#include <pthread.h>

struct sb_log;
struct sb_reading;
struct sb_roots;

struct sb_server {
    const struct sb_mount_options *options;
    struct sb_roots *roots;
    struct sb_reading *reading;
    struct sb_log *log;
    struct fuse_session *session; /* NULL before sb_server_take */
    uint32_t uid;                 /* of what has no owner */
    uint32_t gid;
    double timeout; /* seconds that the system keeps a name or an attribute */
    bool opens;     /* files are opened one by one, because the system or an option wants it */

    pthread_mutex_t lock;
    struct sb_block *blocks; /* free ones, under the lock */
};

/* options, roots and log are kept. */
enum sb_code sb_server_new(struct sb_server **out, const struct sb_mount_options *options,
                           struct sb_roots *roots, struct sb_log *log) SB_CHECKED;
void sb_server_free(struct sb_server *server); /* NULL is allowed */
FREEP(sb_server_free, struct sb_server)

/* Takes over the device, unless it fails. */
enum sb_code sb_server_take(struct sb_server *server, int device) SB_CHECKED;

/* Makes the system forget bytes of files that were found damaged. Waits for reads of these, and so
 * for the threads that answer. */
void sb_server_drop_damaged(struct sb_server *server);

/* For the operations, of serve.c and serve_dir.c. */

/* The number of an error for the system. Those that are nobody's fault but the container's are
 * logged, with `what`; NULL: not. */
int sb_server_errno(struct sb_server *server, const char *what, enum sb_code code);

/* Type and permissions. */
mode_t sb_server_mode(const struct sb_entry *entry);

/* The number that programs see of what has this one: no bits of what the row holds, so that a
 * listing of names has it, too. */
uint64_t sb_server_shown_number(uint64_t number);

/* The attributes of a node; `number` is its own. */
void sb_server_fill(const struct sb_server *server, const struct sb_tree *tree,
                    const struct sb_entry *entry, uint64_t number, struct stat *st);

/* What the system gets for a name. */
void sb_server_fill_entry(const struct sb_server *server, const struct sb_tree *tree,
                          const struct sb_entry *entry, const struct sb_inode *inode,
                          struct fuse_entry_param *param);

void sb_serve_opendir(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info);
void sb_serve_readdir(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset,
                      struct fuse_file_info *info);
void sb_serve_readdirplus(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset,
                          struct fuse_file_info *info);
void sb_serve_releasedir(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info);
void sb_serve_getxattr(fuse_req_t request, fuse_ino_t number, const char *name, size_t size);
void sb_serve_listxattr(fuse_req_t request, fuse_ino_t number, size_t size);

#endif
