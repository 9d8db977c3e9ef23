#include "task/mount/serve.h"

#include "archive/archive.h"
#include "archive/content.h"
#include "archive/shards.h"
#include "core/array.h"
#include "core/interrupt.h"
#include "core/time.h"
#include "task/mount/log.h"
#include "task/mount/reading.h"
#include "task/mount/roots.h"

#include <errno.h>
#include <inttypes.h>
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

#define SELF   1 /* places of "." and ".." */
#define PARENT 2

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

/* The number of an error for the system. Those that are nobody's fault but the container's are
 * logged, with `what`; NULL: not. */
static int errno_of(struct sb_mount *mount, const char *what, enum sb_code code)
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

/* Type and permissions. */
static mode_t mode_of(const struct sb_entry *entry)
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

/* The number that programs see of what has this one: no bits of what the row holds, so that a
 * listing of names has it, too. */
static uint64_t shown_number(uint64_t number)
{
    const struct sb_inode inode = sb_inode_unpack(number);

    return number == SB_INODE_TOP ? number : sb_inode_place(&inode);
}

/* The attributes of a node; `number` is its own. */
static void fill_stat(const struct sb_mount *mount, const struct sb_tree *tree,
                      const struct sb_entry *entry, uint64_t number, struct stat *st)
{
    const struct sb_mount_options *options = &mount->options;
    const bool is_counted =
        entry->type == SB_DIR && entry->num_subdirs >= 0 && entry->num_subdirs <= INT32_MAX;

    *st = (struct stat){.st_ino = shown_number(number),
                        .st_mode = mode_of(entry),
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

/* What the system gets for a name. */
static void fill_entry(const struct sb_mount *mount, const struct sb_tree *tree,
                       const struct sb_entry *entry, const struct sb_inode *inode,
                       struct fuse_entry_param *param)
{
    const uint64_t number = sb_inode_pack(inode);

    *param = (struct fuse_entry_param){
        .ino = number,
        .generation = sb_inode_generation(entry, tree ? sb_tree_epoch(tree) : 0),
        .attr_timeout = mount->timeout,
        .entry_timeout = mount->timeout};
    fill_stat(mount, tree, entry, number, &param->attr);
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
        fill_entry(mount, node.tree, &node.entry, &node.inode, &param);
    else if (code == SB_NOENT)
        param = (struct fuse_entry_param){.entry_timeout = mount->timeout};
    if (!code || code == SB_NOENT)
        fuse_reply_entry(request, &param);
    else
        fuse_reply_err(request, errno_of(mount, name, code));
}

static void getattr(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
    struct sb_mount *mount = fuse_req_userdata(request);
    CLEANUP(sb_node_release) struct sb_node node = {0};
    struct stat st;
    enum sb_code code = sb_roots_node(mount->roots, number, &node);

    (void)info;
    if (code) {
        fuse_reply_err(request, errno_of(mount, "getattr", code));
    } else {
        fill_stat(mount, node.tree, &node.entry, number, &st);
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
    return code == SB_NOENT ? EIO : errno_of(mount, NULL, code);
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
        fuse_reply_err(request, errno_of(mount, NULL, code));
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

/*
 * An open directory has a listing that goes on from request to request. Its entries are filled into
 * a block as the system wants them; one that did not fit is the first of the next block. While a
 * program looks at a full block of names, the next one is filled.
 */

/* A block that is filled. */
struct block {
    char *data;
    size_t size;
    size_t used;
    bool plus;
};

/* After an entry, or the beginning. */
struct point {
    uint64_t place;     /* 0: the beginning */
    struct sb_buf name; /* the entry may be removed meanwhile; empty: not known */
};

struct open_dir {
    pthread_mutex_t lock;         /* of all below */
    struct sb_roots_dir *listing; /* NULL: not begun */
    bool plus;                    /* the listing has whole rows */
    struct point at;              /* that it goes on from */
    bool waits;                   /* `item` is the next */
    struct sb_roots_item item;

    struct block ahead;      /* the block after the last one; data NULL: none */
    struct point ahead_from; /* that it goes on from */
};

static struct open_dir *dir_of(const struct fuse_file_info *info)
{
    return (struct open_dir *)(uintptr_t)info->fh;
}

static void open_dir(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
    const struct sb_mount *mount = fuse_req_userdata(request);
    struct open_dir *dir = calloc(1, sizeof(*dir));

    (void)number;
    if (!dir) {
        fuse_reply_err(request, ENOMEM);
        return;
    }
    pthread_mutex_init(&dir->lock, NULL);
    info->fh = (uintptr_t)dir;
    info->cache_readdir = mount->options.immutable;
    info->keep_cache = mount->options.immutable;
    fuse_reply_open(request, info);
}

static void release_dir(fuse_req_t request, fuse_ino_t number, struct fuse_file_info *info)
{
    struct open_dir *dir = dir_of(info);

    (void)number;
    /* The next block may still be filled. */
    pthread_mutex_lock(&dir->lock);
    pthread_mutex_unlock(&dir->lock);
    free(dir->ahead.data);
    sb_roots_dir_free(dir->listing);
    sb_buf_release(&dir->at.name);
    sb_buf_release(&dir->ahead_from.name);
    pthread_mutex_destroy(&dir->lock);
    free(dir);
    fuse_reply_err(request, 0);
}

/* False: it is full. libfuse makes no use of a request here. */
static bool put(struct block *block, const char *name, const struct fuse_entry_param *param,
                uint64_t place)
{
    char *to = block->data + block->used;
    const size_t left = block->size - block->used;
    size_t size;

    if (block->plus)
        size = fuse_add_direntry_plus(NULL, to, left, name, param, (off_t)place);
    else
        size = fuse_add_direntry(NULL, to, left, name, &param->attr, (off_t)place);
    if (size > left)
        return false;
    block->used += size;
    return true;
}

static bool put_item(const struct sb_mount *mount, struct block *block,
                     const struct sb_roots_item *item)
{
    struct fuse_entry_param param;

    if (!block->plus) {
        param.attr.st_ino = item->place;
        param.attr.st_mode = mode_of(item->entry);
        return put(block, item->name, &param, item->place);
    }
    fill_entry(mount, item->tree, item->entry, &item->inode, &param);
    /* Of what cannot be used only the name is listed: its look-up fails. */
    if (item->entry->defect)
        param.ino = 0;
    return put(block, item->name, &param, item->place);
}

/* "." and "..", which the system does not look at but for their type. */
static bool put_dots(struct block *block, fuse_ino_t number, off_t offset)
{
    struct fuse_entry_param param = {.attr = {.st_mode = S_IFDIR, .st_ino = shown_number(number)}};

    if (offset < SELF && !put(block, ".", &param, SELF))
        return false;
    param.attr.st_ino = SB_INODE_TOP;
    return offset >= PARENT || put(block, "..", &param, PARENT);
}

/* Makes the listing go on after that place, also if the entry there was just removed: where the
 * next block begins, or the one that was filled ahead, its name is known. */
static enum sb_code seek(struct sb_mount *mount, struct open_dir *dir, fuse_ino_t number,
                         uint64_t place, bool plus)
{
    const bool stays = dir->at.place == place, back = dir->ahead_from.place == place;
    struct sb_roots_from from = {.place = place};

    if (dir->listing && stays && dir->plus == plus)
        return SB_OK;
    dir->at.place = place;
    if (!stays || place == 0)
        sb_buf_clear(&dir->at.name);
    if (!stays && back && place > 0 &&
        sb_buf_set(&dir->at.name, dir->ahead_from.name.data, dir->ahead_from.name.size))
        return sb_fail_memory();
    if (dir->at.name.size > 0)
        from.name = dir->at.name.data;
    sb_roots_dir_free(dir->listing);
    dir->listing = NULL;
    dir->waits = false;
    dir->plus = plus;
    return sb_roots_dir_open(&dir->listing, mount->roots, number, &from, !plus);
}

static enum sb_code fill_items(const struct sb_mount *mount, struct open_dir *dir,
                               struct block *block)
{
    enum sb_code code = SB_OK;

    while (!code) {
        if (!dir->waits)
            code = sb_roots_dir_next(dir->listing, &dir->item);
        dir->waits = !code;
        if (code || !put_item(mount, block, &dir->item))
            break;
        TRY(sb_buf_set(&dir->at.name, dir->item.name, strlen(dir->item.name)));
        dir->waits = false;
        dir->at.place = dir->item.place;
    }
    return code == SB_END ? SB_OK : code;
}

/* Takes the block that was filled ahead, if it is the one that is requested. */
static bool take_ahead(struct open_dir *dir, struct block *block, off_t offset)
{
    const bool fits = dir->ahead.data && !block->plus && dir->ahead.size == block->size &&
                      dir->ahead_from.place == (uint64_t)offset;

    if (fits)
        *block = dir->ahead;
    else
        free(dir->ahead.data);
    dir->ahead.data = NULL;
    return fits;
}

/* What goes wrong here is found again by the request for the block. */
static void fill_ahead(const struct sb_mount *mount, struct open_dir *dir, size_t size)
{
    struct block block = {.data = malloc(size), .size = size};
    bool filled = false;

    dir->ahead_from.place = 0;
    if (block.data && !sb_buf_set(&dir->ahead_from.name, dir->at.name.data, dir->at.name.size)) {
        dir->ahead_from.place = dir->at.place;
        filled = !IGNORED(fill_items(mount, dir, &block));
    }
    if (filled)
        dir->ahead = block;
    else
        free(block.data);
}

static enum sb_code fill_block(struct sb_mount *mount, struct open_dir *dir, struct block *block,
                               fuse_ino_t number, off_t offset)
{
    TRY(sb_alloc(&block->data, block->size));
    if (!put_dots(block, number, offset))
        return SB_OK;
    TRY(seek(mount, dir, number, offset > PARENT ? (uint64_t)offset : 0, block->plus));
    return fill_items(mount, dir, block);
}

static void list(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset, bool plus,
                 struct fuse_file_info *info)
{
    struct sb_mount *mount = fuse_req_userdata(request);
    struct open_dir *dir = dir_of(info);
    struct block block = {.size = size, .plus = plus};
    enum sb_code code = SB_OK;

    pthread_mutex_lock(&dir->lock);
    if (!take_ahead(dir, &block, offset))
        code = fill_block(mount, dir, &block, number, offset);
    if (code && block.used == 0)
        fuse_reply_err(request, errno_of(mount, "a directory", code));
    else
        fuse_reply_buf(request, block.data, block.used);
    if (!code && !plus && dir->waits)
        fill_ahead(mount, dir, size);
    pthread_mutex_unlock(&dir->lock);
    free(block.data);
}

static void read_dir(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset,
                     struct fuse_file_info *info)
{
    list(request, number, size, offset, false, info);
}

static void read_dir_plus(fuse_req_t request, fuse_ino_t number, size_t size, off_t offset,
                          struct fuse_file_info *info)
{
    list(request, number, size, offset, true, info);
}

/* The value of an extended attribute as text; false: the file has none of that name. */
static bool attribute(const struct sb_node *node, const char *name, char text[32])
{
    const struct sb_entry *entry = &node->entry;
    bool placed;

    if (!node->tree || entry->type != SB_FILE)
        return false;
    placed = sb_shards_hold(sb_content_shards(sb_tree_content(node->tree)), entry->shard);
    if (strcmp(name, "user.crc32c") == 0 && (entry->has & SB_HAS_CRC))
        return snprintf(text, 32, "%08" PRIx32, entry->crc32c) > 0;
    if (strcmp(name, "user.shard") == 0 && placed)
        return snprintf(text, 32, "%" PRIu32, entry->shard) > 0;
    if (strcmp(name, "user.offset") == 0 && placed)
        return snprintf(text, 32, "%" PRId64, entry->offset) > 0;
    return false;
}

static void reply_text(fuse_req_t request, const char *text, size_t length, size_t size)
{
    if (size == 0)
        fuse_reply_xattr(request, length);
    else if (size < length)
        fuse_reply_err(request, ERANGE);
    else
        fuse_reply_buf(request, text, length);
}

static void getxattr_of(fuse_req_t request, fuse_ino_t number, const char *name, size_t size)
{
    struct sb_mount *mount = fuse_req_userdata(request);
    CLEANUP(sb_node_release) struct sb_node node = {0};
    char text[32];
    enum sb_code code;

    /* ls requests others of every file. */
    if (strncmp(name, "user.", 5) != 0) {
        fuse_reply_err(request, ENODATA);
        return;
    }
    code = sb_roots_node(mount->roots, number, &node);
    if (code)
        fuse_reply_err(request, errno_of(mount, name, code));
    else if (!attribute(&node, name, text))
        fuse_reply_err(request, ENODATA);
    else
        reply_text(request, text, strlen(text), size);
}

static void listxattr_of(fuse_req_t request, fuse_ino_t number, size_t size)
{
    static const char *const names[] = {"user.crc32c", "user.shard", "user.offset"};
    struct sb_mount *mount = fuse_req_userdata(request);
    CLEANUP(sb_node_release) struct sb_node node = {0};
    char list_of_names[64], text[32];
    size_t length = 0;
    enum sb_code code = sb_roots_node(mount->roots, number, &node);

    for (size_t i = 0; !code && i < ARRAY_SIZE(names); i++) {
        if (!attribute(&node, names[i], text))
            continue;
        memcpy(list_of_names + length, names[i], strlen(names[i]) + 1);
        length += strlen(names[i]) + 1;
    }
    if (code)
        fuse_reply_err(request, errno_of(mount, "listxattr", code));
    else
        reply_text(request, list_of_names, length, size);
}

/* Nothing is kept for a number, or a file: to forget and to release one, libfuse says yes. */
static const struct fuse_lowlevel_ops operations = {
    .init = init,
    .lookup = lookup,
    .getattr = getattr,
    .readlink = readlink_of,
    .open = open_file,
    .read = read_file,
    .opendir = open_dir,
    .readdir = read_dir,
    .readdirplus = read_dir_plus,
    .releasedir = release_dir,
    .statfs = statfs_of,
    .getxattr = getxattr_of,
    .listxattr = listxattr_of,
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
