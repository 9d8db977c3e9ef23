/* Shared by the files of serve.h. Only for lib/task/mount. */
#ifndef SB_TASK_MOUNT_SERVER_H
#define SB_TASK_MOUNT_SERVER_H

#define FUSE_USE_VERSION 31

#include "task/mount/mount.h"
#include "task/mount/tree.h"

#include <fuse3/fuse_lowlevel.h>
#include <pthread.h>

struct sb_server {
    const struct sb_mount_options *options;
    struct sb_roots *roots;
    struct sb_reading *reading;
    struct sb_log *log;
    struct fuse_session *session;
    uint32_t uid; /* of what has no owner */
    uint32_t gid;
    double timeout; /* seconds that the system keeps a name or an attribute */
    bool opens;     /* files are opened one by one, because the system or an option wants it */

    pthread_mutex_t lock;
    struct sb_block *blocks; /* free ones, under the lock */
};

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

/* Operations of other files. */
void sb_serve_opendir(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info);
void sb_serve_readdir(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset,
                      struct fuse_file_info *info);
void sb_serve_readdirplus(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset,
                          struct fuse_file_info *info);
void sb_serve_releasedir(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info);
void sb_serve_getxattr(fuse_req_t request, fuse_ino_t number, const char *name, size_t size);
void sb_serve_listxattr(fuse_req_t request, fuse_ino_t number, size_t size);

#endif
