#include "task/mount/serve.h"

#include "archive/archive.h"
#include "archive/content.h"
#include "core/interrupt.h"
#include "core/time.h"
#include "task/mount/log.h"
#include "task/mount/reading.h"
#include "task/mount/roots.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define READ_MOST    ((size_t)1 << 20) /* bytes of a request */
#define BACKGROUND   64                /* requests of the system at once, that nobody waits for */
#define STATFS_BLOCK 4096
#define LOCKED_MOST  30

/* How much of a directory programs read at once: the system requests as much, and attributes with
 * the names of the first such block. */
#define LIST_BYTES 262144

/* Memory for the bytes of a request. */
struct sb_block {
    struct sb_block *next;
    char data[READ_MOST];
};

static struct sb_block *take_block(struct sb_mount *mount)
{
    struct sb_block *block;

    pthread_mutex_lock(&mount->lock);
    block = mount->blocks;
    if (block)
        mount->blocks = block->next;
    pthread_mutex_unlock(&mount->lock);
    return block ? block : malloc(sizeof(*block));
}

static void give_block(struct sb_mount *mount, struct sb_block *block)
{
    pthread_mutex_lock(&mount->lock);
    block->next = mount->blocks;
    mount->blocks = block;
    pthread_mutex_unlock(&mount->lock);
}

int sb_serve_errno(struct sb_mount *mount, const char *what, enum sb_code code)
{
    switch (code) {
    case SB_NOENT:
        return ENOENT;
    case SB_NOMEM:
        return ENOMEM;
    case SB_CHANGED:
        return ESTALE;
    case SB_INTERRUPT:
        return EINTR;
    default:
        if (what)
            sb_log_add(mount->log, SB_PROBLEM, "error", what, "%s", sb_error()->text);
        return code == SB_LOCKED ? EBUSY : EIO;
    }
}

mode_t sb_serve_mode(const struct sb_entry *entry)
{
    switch (entry->type) {
    case SB_DIR:
        return S_IFDIR | (entry->has & SB_HAS_MODE ? entry->mode & 07777 : 0755);
    case SB_LINK:
        return S_IFLNK | 0777;
    default:
        return S_IFREG | (entry->has & SB_HAS_MODE ? entry->mode & 07777 : 0644);
    }
}

/* An owner: the one that is wanted, or stored, or else this user. */
static uint32_t owner_of(int64_t wanted, bool known, int64_t stored, uint32_t own)
{
    if (wanted != SB_MOUNT_OWNER_STORED)
        return (uint32_t)wanted;
    return known ? (uint32_t)stored : own;
}

uint64_t sb_serve_shown_number(uint64_t number)
{
    const struct sb_inode inode = sb_inode_unpack(number);

    return number == SB_INODE_TOP ? number : sb_inode_place(&inode);
}

void sb_serve_fill(const struct sb_mount *mount, const struct sb_tree *tree,
                   const struct sb_entry *entry, uint64_t number, struct stat *st)
{
    const struct sb_mount_options *options = &mount->options;
    const bool is_counted =
        entry->type == SB_DIR && entry->num_subdirs >= 0 && entry->num_subdirs <= INT32_MAX;

    *st = (struct stat){.st_ino = sb_serve_shown_number(number),
                        .st_mode = sb_serve_mode(entry),
                        .st_nlink = is_counted ? (nlink_t)entry->num_subdirs + 2 : 1};
    st->st_uid = owner_of(options->uid, entry->has & SB_HAS_UID, entry->uid, mount->uid);
    st->st_gid = owner_of(options->gid, entry->has & SB_HAS_GID, entry->gid, mount->gid);
    if ((entry->has & SB_HAS_MTIME) || !tree)
        st->st_mtim = sb_time_split(entry->mtime_ns);
    else
        st->st_mtim = sb_archive_index_stat(sb_tree_archive(tree))->st_mtim;
    st->st_atim = st->st_ctim = st->st_mtim;
    if (entry->type == SB_DIR) {
        st->st_blksize = LIST_BYTES;
        return;
    }
    st->st_size = entry->size;
    st->st_blocks = entry->size / 512 + (entry->size % 512 > 0);
}

void sb_serve_fill_entry(const struct sb_mount *mount, const struct sb_tree *tree,
                         const struct sb_entry *entry, const struct sb_inode *inode,
                         struct fuse_entry_param *param)
{
    const uint64_t number = sb_inode_pack(inode);

    *param = (struct fuse_entry_param){
        .ino = number,
        .generation = sb_inode_generation(entry, tree ? sb_tree_epoch(tree) : 0),
        .attr_timeout = mount->timeout,
        .entry_timeout = mount->timeout};
    sb_serve_fill(mount, tree, entry, number, &param->attr);
}

static void init(void *context, struct fuse_conn_info *connection)
{
    static const unsigned unwanted = FUSE_CAP_SPLICE_READ | FUSE_CAP_AUTO_INVAL_DATA |
                                     FUSE_CAP_POSIX_LOCKS | FUSE_CAP_FLOCK_LOCKS |
                                     FUSE_CAP_ATOMIC_O_TRUNC | FUSE_CAP_HANDLE_KILLPRIV;
    struct sb_mount *mount = context;

    connection->want &= ~unwanted;
    connection->want |= connection->capable &
                        (FUSE_CAP_ASYNC_READ | FUSE_CAP_PARALLEL_DIROPS | FUSE_CAP_READDIRPLUS |
                         FUSE_CAP_READDIRPLUS_AUTO | FUSE_CAP_CACHE_SYMLINKS);
    connection->max_background = BACKGROUND;
    connection->congestion_threshold = BACKGROUND * 3 / 4;
    mount->opens = mount->options.check == SB_MOUNT_CHECK_OPEN ||
                   !(connection->capable & FUSE_CAP_NO_OPEN_SUPPORT);
}

static void lookup(fuse_req_t request, fuse_ino_t parent, const char *name)
{
    struct sb_mount *mount = fuse_req_userdata(request);
    CLEANUP(sb_node_release) struct sb_node node = {0};
    struct fuse_entry_param param;
    enum sb_code code = sb_roots_find(mount->roots, parent, name, &node);

    if (!code)
        sb_serve_fill_entry(mount, node.tree, &node.entry, &node.inode, &param);
    else if (code == SB_NOENT)
        param = (struct fuse_entry_param){.entry_timeout = mount->timeout};
    if (!code || code == SB_NOENT)
        fuse_reply_entry(request, &param);
    else
        fuse_reply_err(request, sb_serve_errno(mount, name, code));
}

static void getattr(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
    struct sb_mount *mount = fuse_req_userdata(request);
    CLEANUP(sb_node_release) struct sb_node node = {0};
    struct stat st;
    enum sb_code code = sb_roots_node(mount->roots, number, &node);

    (void)info;
    if (code) {
        fuse_reply_err(request, sb_serve_errno(mount, "getattr", code));
    } else {
        sb_serve_fill(mount, node.tree, &node.entry, number, &st);
        fuse_reply_attr(request, &st, mount->timeout);
    }
}

static enum sb_code read_once(struct sb_mount *mount, struct sb_node *node, fuse_ino_t number,
                              enum sb_type type, int64_t offset, char *data, size_t size,
                              size_t *got)
{
    TRY(sb_roots_node(mount->roots, number, node));
    if (node->entry.type != type)
        return sb_fail(SB_CHANGED, "is of another type now");
    if (type == SB_LINK && node->entry.size > (int64_t)size)
        return sb_fail(SB_LIMIT, "its target is too long for this system");
    return sb_reading_read(mount->reading, node, offset, data, size, got);
}

/*
 * Bytes of the file, or the link, of a number. What is known of its path may be out of date: then
 * it is looked up anew. One that was moved is looked up while a writer may have locked the index,
 * and waits for seconds only: so it does so again. What is wrong with a file is logged where it is
 * read.
 */
static enum sb_code read_bytes(struct sb_mount *mount, fuse_ino_t number, enum sb_type type,
                               int64_t offset, char *data, size_t size, size_t *got)
{
    unsigned changed = 0, locked = 0;
    enum sb_code code;
    bool again;

    do {
        CLEANUP(sb_node_release) struct sb_node node = {0};

        code = read_once(mount, &node, number, type, offset, data, size, got);
        changed += code == SB_CHANGED;
        locked += code == SB_LOCKED;
        again = code == SB_LOCKED && locked < LOCKED_MOST && !sb_interrupted();
        if (code == SB_CHANGED && changed == 1 && node.tree) {
            sb_tree_drop(node.tree, &node.inode);
            again = true;
        }
    } while (again);
    return code;
}

static int errno_of_read(struct sb_mount *mount, enum sb_code code)
{
    if (code == SB_LIMIT)
        return ENAMETOOLONG;
    return code == SB_NOENT ? EIO : sb_serve_errno(mount, NULL, code);
}

static void readlink_of(fuse_req_t request, fuse_ino_t number)
{
    struct sb_mount *mount = fuse_req_userdata(request);
    char target[PATH_MAX];
    size_t got = 0;
    enum sb_code code = read_bytes(mount, number, SB_LINK, 0, target, sizeof(target) - 1, &got);

    if (code) {
        fuse_reply_err(request, errno_of_read(mount, code));
    } else {
        target[got] = '\0';
        fuse_reply_readlink(request, target);
    }
}

static void open_file(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
    struct sb_mount *mount = fuse_req_userdata(request);
    CLEANUP(sb_node_release) struct sb_node node = {0};
    enum sb_code code = SB_OK;
    bool in_part = false;

    /* Then it opens files without a request. */
    if (!mount->opens) {
        fuse_reply_err(request, ENOSYS);
        return;
    }
    if (mount->options.check == SB_MOUNT_CHECK_OPEN)
        code = sb_roots_node(mount->roots, number, &node);
    if (!code && node.tree)
        code = sb_reading_check(mount->reading, &node, &in_part);
    info->keep_cache = !in_part;
    if (code)
        fuse_reply_err(request, sb_serve_errno(mount, NULL, code));
    else
        fuse_reply_open(request, info);
}

static void read_file(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset,
                      struct fuse_file_info *info)
{
    struct sb_mount *mount = fuse_req_userdata(request);
    struct sb_block *block = take_block(mount);
    size_t got = 0;
    enum sb_code code;

    (void)info;
    if (!block) {
        fuse_reply_err(request, ENOMEM);
        return;
    }
    code = read_bytes(mount, number, SB_FILE, offset, block->data,
                      size < READ_MOST ? size : READ_MOST, &got);
    if (code)
        fuse_reply_err(request, errno_of_read(mount, code));
    else
        fuse_reply_buf(request, block->data, got);
    give_block(mount, block);
}

static void statfs_of(fuse_req_t request, fuse_ino_t number)
{
    struct sb_mount *mount = fuse_req_userdata(request);
    int64_t files, bytes;
    struct statvfs st = {.f_bsize = STATFS_BLOCK, .f_frsize = STATFS_BLOCK, .f_namemax = NAME_MAX};

    (void)number;
    sb_roots_count(mount->roots, &files, &bytes);
    st.f_blocks = (fsblkcnt_t)(bytes / STATFS_BLOCK + (bytes % STATFS_BLOCK > 0));
    st.f_files = (fsfilcnt_t)files;
    fuse_reply_statfs(request, &st);
}

/* Nothing is kept for a number, or a file: to forget and to release one, libfuse says yes. */
static const struct fuse_lowlevel_ops operations = {
    .init = init,
    .lookup = lookup,
    .getattr = getattr,
    .readlink = readlink_of,
    .open = open_file,
    .read = read_file,
    .opendir = sb_serve_opendir,
    .readdir = sb_serve_readdir,
    .readdirplus = sb_serve_readdirplus,
    .releasedir = sb_serve_releasedir,
    .statfs = statfs_of,
    .getxattr = sb_serve_getxattr,
    .listxattr = sb_serve_listxattr,
};

enum sb_code sb_serve_take(struct sb_mount *mount)
{
    char name[] = "shardbox", path[32];
    char *words[] = {name, NULL};
    struct fuse_args args = FUSE_ARGS_INIT(1, words);

    snprintf(path, sizeof(path), "/dev/fd/%d", mount->device.fd);
    mount->session = fuse_session_new(&args, &operations, sizeof(operations), mount);
    fuse_opt_free_args(&args);
    if (mount->session && fuse_session_mount(mount->session, path) == 0)
        return SB_OK;
    return sb_fail(SB_SYSTEM, "%s: is no device of FUSE", path);
}

void sb_serve_release(struct sb_mount *mount)
{
    if (mount->session)
        fuse_session_destroy(mount->session);
    while (mount->blocks) {
        struct sb_block *block = mount->blocks;

        mount->blocks = block->next;
        free(block);
    }
}
