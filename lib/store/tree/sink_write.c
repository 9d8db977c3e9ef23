#include "core/crc32c.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/name.h"
#include "core/time.h"
#include "store/tree/sink_impl.h"
#include "store/tree/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINK_MAX_SIZE (PATH_MAX - 1)
#define COPY_BLOCK    ((size_t)256 << 10)
#define OPEN_AS_IT_IS (O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)

/* -1, 0, 1: is the object older than the time of the archive, as old, or newer? One with whole
 * seconds, as some file systems keep them, counts as old as any time within its second. */
static int compare_times(const struct stat *st, int64_t mtime_ns)
{
    struct timespec stored = sb_time_split(mtime_ns);

    if (st->st_mtim.tv_sec != stored.tv_sec)
        return st->st_mtim.tv_sec < stored.tv_sec ? -1 : 1;
    if (st->st_mtim.tv_nsec == stored.tv_nsec || st->st_mtim.tv_nsec == 0)
        return 0;
    return st->st_mtim.tv_nsec < stored.tv_nsec ? -1 : 1;
}

static bool is_link_to(int dir_fd, const char *component, const char *link_target)
{
    char found[PATH_MAX];
    ssize_t size = readlinkat(dir_fd, component, found, sizeof(found));

    return size >= 0 && (size_t)size == strlen(link_target) &&
           memcmp(found, link_target, (size_t)size) == 0;
}

/* Is it what the archive holds, by size and time? A link by its target, where that is known. */
static bool is_same(int dir_fd, const char *component, const struct stat *st,
                    const struct sb_entry *entry, const char *link_target)
{
    if (entry->type == SB_LINK ? !S_ISLNK(st->st_mode) : !S_ISREG(st->st_mode))
        return false;
    if (entry->type == SB_LINK && link_target)
        return is_link_to(dir_fd, component, link_target);
    return st->st_size == entry->size &&
           (!(entry->has & SB_HAS_MTIME) || compare_times(st, entry->mtime_ns) == 0);
}

/* What the entry can make of an object: what it lets alone is not compared. */
static struct sb_entry wanted_of(const struct sb_entry *entry,
                                 const struct sb_attributes *attributes)
{
    struct sb_entry wanted = *entry;

    wanted.has &= SB_HAS_MTIME;
    if (attributes->mode_known && entry->type != SB_LINK)
        wanted.has |= SB_HAS_MODE;
    if (attributes->preserve && attributes->uid != (uid_t)-1)
        wanted.has |= SB_HAS_UID;
    if (attributes->preserve && attributes->gid != (gid_t)-1)
        wanted.has |= SB_HAS_GID;
    wanted.mode = attributes->mode;
    wanted.uid = attributes->uid;
    wanted.gid = attributes->gid;
    return wanted;
}

unsigned sb_tree_change_of(const struct sb_tree_sink *sink, const struct sb_entry *entry,
                           const struct stat *st)
{
    struct sb_attributes attributes = sb_target_attributes(&sink->target, entry);
    struct sb_entry wanted = wanted_of(entry, &attributes), there = sb_tree_entry_of(st);

    if (sink->options.existing != SB_EXISTING_UPDATE)
        return 0;
    /* A directory inherits its set-group-id bit, which stays unless all bits are set. */
    if (!attributes.preserve && entry->type == SB_DIR)
        there.mode &= ~(mode_t)S_ISGID;
    if ((entry->has & SB_HAS_MTIME) && compare_times(st, entry->mtime_ns) == 0)
        there.mtime_ns = entry->mtime_ns;
    return sb_change_between(&wanted, &there);
}

static enum sb_code sum_block(void *context, const void *data, size_t size)
{
    uint32_t *sum = context;

    *sum = sb_crc32c_block(*sum, data, size);
    return SB_OK;
}

/* The mode last: another owner takes set-id bits away. */
static enum sb_code set_file(int fd, unsigned change, const struct sb_attributes *attributes)
{
    if (change & (SB_CHANGE_UID | SB_CHANGE_GID) && fchown(fd, attributes->uid, attributes->gid))
        return sb_fail_errno(errno, "its owner cannot be set");
    if (change & (SB_CHANGE_MODE | SB_CHANGE_UID | SB_CHANGE_GID) && attributes->mode_known &&
        fchmod(fd, attributes->mode))
        return sb_fail_errno(errno, "its mode cannot be set");
    if (change & SB_CHANGE_TIME && futimens(fd, attributes->times))
        return sb_fail_errno(errno, "its time cannot be set");
    return SB_OK;
}

static enum sb_code update_link(const struct sb_tree_sink *sink, int dir_fd, const char *component,
                                const char *link_target, const struct sb_attributes *attributes,
                                enum sb_decision *decision, unsigned change)
{
    *decision = SB_WRITE_REPLACE;
    if (!link_target || !is_link_to(dir_fd, component, link_target))
        return SB_OK;
    *decision = SB_LEAVE;
    if (sink->options.dry_run)
        return SB_OK;
    if (change & (SB_CHANGE_UID | SB_CHANGE_GID) &&
        fchownat(dir_fd, component, attributes->uid, attributes->gid, AT_SYMLINK_NOFOLLOW))
        return sb_fail_errno(errno, "its owner cannot be set");
    if (change & SB_CHANGE_TIME &&
        utimensat(dir_fd, component, attributes->times, AT_SYMLINK_NOFOLLOW))
        return sb_fail_errno(errno, "its time cannot be set");
    return SB_OK;
}

static enum sb_code update_file(const struct sb_tree_sink *sink, int dir_fd, const char *component,
                                const struct stat *st, const struct sb_entry *entry,
                                const struct sb_attributes *attributes, enum sb_decision *decision,
                                unsigned change)
{
    const struct sb_tree_sink_options *how = &sink->options;
    CLEANUP(sb_closep) int fd = -1;
    /* Times are compared as the file system may keep them, in whole seconds; but whether bytes have
     * to be compared, the fraction decides. */
    bool fraction = (entry->has & SB_HAS_MTIME) &&
                    st->st_mtim.tv_nsec != sb_time_split(entry->mtime_ns).tv_nsec;
    unsigned time = fraction ? SB_CHANGE_TIME : 0;
    unsigned sets = (change | time) & SB_CHANGE_VALUES & ~(unsigned)SB_CHANGE_SIZE;
    bool sum = how->checksum || (!how->size_only && ((change | time) & SB_CHANGE_TIME));
    uint32_t own_sum = 0;
    int64_t total = 0;
    struct stat now;
    enum sb_code code;

    *decision = SB_WRITE_REPLACE;
    if (change & SB_CHANGE_SIZE || (sum && !(entry->has & SB_HAS_CRC)))
        return SB_OK;
    *decision = SB_LEAVE;
    if (!sum && !sets)
        return SB_OK;
    fd = openat(dir_fd, component, OPEN_AS_IT_IS);
    /* It cannot be read, or is another by now. */
    if (fd < 0 || fstat(fd, &now) || !sb_is_same_file(&now, st) || !S_ISREG(now.st_mode)) {
        *decision = SB_WRITE_REPLACE;
        return SB_OK;
    }
    if (sum) {
        /* What cannot be read has other bytes. */
        code = sb_feed_file(fd, st, entry->size, sum_block, &own_sum, &total, entry->path);
        if (code == SB_INTERRUPT || code == SB_NOMEM)
            return code;
        if (code || total != entry->size || own_sum != entry->crc32c) {
            *decision = SB_WRITE_REPLACE;
            return SB_OK;
        }
    }
    return sets && !how->dry_run ? set_file(fd, sets, attributes) : SB_OK;
}

/* What has the name is no directory, nor an own file. */
static enum sb_code update(struct sb_tree_sink *sink, int dir_fd, const char *component,
                           const struct stat *st, const struct sb_entry *entry,
                           const char *link_target, enum sb_decision *decision, unsigned *change)
{
    struct sb_attributes attributes = sb_target_attributes(&sink->target, entry);

    *change = sb_tree_change_of(sink, entry, st);
    if (entry->type == SB_LINK)
        *change &= ~(unsigned)SB_CHANGE_SIZE;
    *decision = SB_WRITE_REPLACE;
    if (*change & SB_CHANGE_TYPE || !(S_ISREG(st->st_mode) || S_ISLNK(st->st_mode))) {
        *change |= SB_CHANGE_TYPE;
        return SB_OK;
    }
    if (entry->type == SB_LINK)
        return update_link(sink, dir_fd, component, link_target, &attributes, decision, *change);
    return update_file(sink, dir_fd, component, st, entry, &attributes, decision, *change);
}

static enum sb_code fail_item(struct sb_batch *batch, struct sb_item *item, const char *kind)
{
    struct sb_error cause = *sb_error();

    if (sb_ends_work(&cause))
        return sb_fail(cause.code, "%s: %s", item->member.entry.path, cause.text);
    return sb_item_fail(batch, item, kind, cause.text);
}

enum sb_code sb_tree_fail(struct sb_batch *batch, struct sb_item *item)
{
    return fail_item(batch, item, sb_error()->code == SB_EXISTS ? "exists" : "write");
}

bool sb_tree_open_up(struct sb_tree_sink *sink, int dir_fd, const struct sb_entry *entry)
{
    struct sb_tree_opened *opened = &sink->opened;
    struct sb_tree_opened_dir dir;
    bool done = false, changed;

    if (sb_error()->code != SB_SYSTEM || sb_error()->sys_errno != EACCES || sink->options.dry_run ||
        sink->options.existing != SB_EXISTING_UPDATE)
        return false;
    dir.name = strndup(entry->path, sb_parent_size(entry->path, entry->path_size));
    pthread_mutex_lock(&opened->mutex);
    if (dir.name &&
        IGNORED(sb_grow(&opened->dirs, &opened->capacity, opened->count, sizeof(dir))) == SB_OK &&
        sb_target_open_up(dir_fd, &dir.mode, &changed)) {
        /* If it was not changed, another thread did that. */
        done = true;
        if (changed) {
            opened->dirs[opened->count++] = dir;
            dir.name = NULL;
        }
    }
    pthread_mutex_unlock(&opened->mutex);
    free(dir.name);
    return done;
}

void sb_tree_close_up(struct sb_tree_sink *sink, struct sb_walk *walk)
{
    struct sb_tree_opened *opened = &sink->opened;
    int fd;

    while (opened->count > 0) {
        struct sb_tree_opened_dir *dir = &opened->dirs[--opened->count];

        if (!IGNORED(sb_walk_to(walk, dir->name, strlen(dir->name), SB_WALK_NO_MAKING, &fd)))
            sb_target_close_up(fd, dir->mode);
        free(dir->name);
    }
}

enum sb_code sb_tree_find_place(struct sb_tree_sink *sink, struct sb_walk *walk,
                                const struct sb_entry *entry, int *dir_fd, const char **component)
{
    mode_t make = sink->options.dry_run ? SB_WALK_NO_MAKING : SB_PERMISSIONS & ~sink->target.mask;

    TRY(sb_walk_to_parent(walk, entry->path, entry->path_size, make, dir_fd, component));
    return sb_target_spare(sink->options.own, *dir_fd, *component, NULL);
}

static enum sb_code decide_at(struct sb_tree_sink *sink, int dir_fd, const char *component,
                              const struct sb_entry *entry, const char *link_target,
                              enum sb_existing existing, enum sb_decision *decision,
                              unsigned *change)
{
    bool leave = false, updates = existing == SB_EXISTING_UPDATE;
    struct stat st;

    *decision = SB_WRITE_NEW;
    *change = updates ? SB_CHANGE_NEW : *change;
    if (fstatat(dir_fd, component, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? SB_OK : sb_fail_errno(errno, "cannot be looked up");
    if (S_ISDIR(st.st_mode))
        return sb_fail(SB_EXISTS, "a directory is in its place");
    if (existing == SB_EXISTING_FAIL)
        return sb_fail(SB_EXISTS, "exists already");
    if (existing == SB_EXISTING_SKIP)
        leave = is_same(dir_fd, component, &st, entry, link_target);
    else if (existing == SB_EXISTING_NEWER)
        leave = (entry->has & SB_HAS_MTIME) && compare_times(&st, entry->mtime_ns) >= 0;
    *decision = leave ? SB_LEAVE : SB_WRITE_REPLACE;
    if (leave)
        return SB_OK;
    TRY(sb_target_spare(sink->options.own, dir_fd, component, &st));
    return updates ? update(sink, dir_fd, component, &st, entry, link_target, decision, change)
                   : SB_OK;
}

enum sb_code sb_tree_decide(struct sb_tree_sink *sink, struct sb_walk *walk,
                            const struct sb_entry *entry, const char *link_target,
                            enum sb_decision *decision, unsigned *change)
{
    const char *component;
    enum sb_code code;
    int dir_fd;

    *decision = SB_WRITE_NEW;
    code = sb_tree_find_place(sink, walk, entry, &dir_fd, &component);
    if (code == SB_NOENT && sink->options.dry_run)
        return SB_OK;
    if (code)
        return code;
    return decide_at(sink, dir_fd, component, entry, link_target, sink->options.existing, decision,
                     change);
}

static const struct sb_making a_file = {0};

/*
 * Makes the newcomer for an item as `existing` says. SB_TREE_LEFT is set when nothing is to be
 * written.
 */
static enum sb_code make_newcomer(struct sb_tree_sink *sink, struct sb_walk *walk,
                                  struct sb_item *item, const struct sb_making *making,
                                  const struct sb_attributes *attributes,
                                  struct sb_newcomer *newcomer)
{
    const struct sb_entry *entry = &item->member.entry;
    enum sb_existing existing =
        item->mark & SB_TREE_OURS ? SB_EXISTING_REPLACE : sink->options.existing;
    enum sb_decision decision = item->mark & SB_TREE_REPLACES ? SB_WRITE_REPLACE : SB_WRITE_NEW;
    /* While a tree is brought up to date others use it: no file has its own name before it is
     * whole. */
    bool hidden = existing == SB_EXISTING_UPDATE && !making->link_target && !making->from;
    const char *component;
    enum sb_code code;
    int dir_fd;

    newcomer->fd = -1;
    if (decision == SB_WRITE_NEW)
        item->change = SB_CHANGE_NEW;
    TRY(sb_tree_find_place(sink, walk, entry, &dir_fd, &component));
    for (int tries = 0; tries < 2; tries++) {
        /* A temporary name is never taken: what was not looked at yet is first. */
        if (!hidden || tries > 0 || decision == SB_WRITE_REPLACE) {
            bool replace = hidden || decision == SB_WRITE_REPLACE;

            code = sb_newcomer_open(newcomer, dir_fd, component, making, attributes, replace,
                                    sb_walk_note(walk));
            if (code && sb_tree_open_up(sink, dir_fd, entry))
                code = sb_newcomer_open(newcomer, dir_fd, component, making, attributes, replace,
                                        sb_walk_note(walk));
            if (code != SB_EXISTS)
                return code;
        }
        TRY(decide_at(sink, dir_fd, component, entry, making->link_target, existing, &decision,
                      &item->change));
        if (decision == SB_LEAVE) {
            item->mark |= SB_TREE_LEFT;
            item->state = SB_ITEM_STORED;
            return SB_OK;
        }
    }
    return sb_fail(SB_EXISTS, "exists already");
}

static enum sb_code finish_item(struct sb_tree_sink *sink, struct sb_batch *batch,
                                struct sb_item *item, struct sb_newcomer *newcomer,
                                const struct sb_attributes *attributes)
{
    if (sb_newcomer_finish(newcomer, attributes, sink->options.sync))
        return sb_tree_fail(batch, item);
    item->state = SB_ITEM_STORED;
    if (newcomer->owner_refused)
        return sb_events_add(&batch->events, SB_PROBLEM, "owner", item->member.entry.path,
                             "unpacked, but its owner cannot be set");
    return SB_OK;
}

static enum sb_code write_bytes(int fd, const void *data, size_t size)
{
    if (!sb_write_full(fd, data, size, "file"))
        return SB_OK;
    if (sb_error()->code == SB_INTERRUPT)
        return sb_error()->code;
    return sb_fail_errno(sb_error()->sys_errno, "cannot be written");
}

/* The file is as long as it has come so far, for a hole may be the last of it. */
static enum sb_code leave_hole(int fd, size_t size)
{
    off_t end = lseek(fd, (off_t)size, SEEK_CUR);

    if (end >= 0 && ftruncate(fd, end) == 0)
        return SB_OK;
    /* A place that no file of this file system has. */
    return sb_fail_errno(errno == EINVAL || errno == EOVERFLOW ? EFBIG : errno,
                         "cannot be written");
}

static enum sb_code write_read(struct sb_tree_sink *sink, struct sb_walk *walk,
                               struct sb_batch *batch, struct sb_item *item,
                               const struct sb_attributes *attributes)
{
    const char *data = batch->data + item->data_at;
    char link_target[PATH_MAX];
    struct sb_making making = {0};
    struct sb_newcomer newcomer;

    if (item->member.entry.type == SB_LINK) {
        if (item->data_size == 0 || item->data_size > LINK_MAX_SIZE) {
            sb_fail(SB_INVALID, "a link whose target is empty or longer than %d bytes",
                    LINK_MAX_SIZE);
            return fail_item(batch, item, "row");
        }
        if (memchr(data, '\0', item->data_size)) {
            sb_fail(SB_INVALID, "a link whose target holds a NUL byte");
            return fail_item(batch, item, "row");
        }
        memcpy(link_target, data, item->data_size);
        link_target[item->data_size] = '\0';
        making.link_target = link_target;
    }
    if (make_newcomer(sink, walk, item, &making, attributes, &newcomer))
        return sb_tree_fail(batch, item);
    if (item->mark & SB_TREE_LEFT)
        return SB_OK;
    if (!making.link_target && write_bytes(newcomer.fd, data, item->data_size)) {
        sb_newcomer_drop(&newcomer);
        return sb_tree_fail(batch, item);
    }
    return finish_item(sink, batch, item, &newcomer, attributes);
}

/* Members too large for that: what was written is removed again when the bytes turn out wrong. */

struct writing {
    const struct sb_newcomer *newcomer;
    const struct sb_attributes *attributes;
    bool failed; /* the error is of the target, not of the source */
};

static enum sb_code write_block(void *context, const void *data, size_t size)
{
    struct writing *writing = context;

    if (sb_interrupted())
        return sb_fail_interrupt();
    writing->failed = (data ? write_bytes(writing->newcomer->fd, data, size)
                            : leave_hole(writing->newcomer->fd, size)) != SB_OK;
    sb_newcomer_backdate(writing->newcomer, writing->attributes);
    return writing->failed ? sb_error()->code : SB_OK;
}

static enum sb_code write_large(struct sb_tree_sink *sink, struct sb_walk *walk,
                                struct sb_batch *batch, struct sb_item *item,
                                const struct sb_attributes *attributes)
{
    struct sb_newcomer newcomer;
    struct writing writing = {.newcomer = &newcomer, .attributes = attributes};
    enum sb_code code;

    if (make_newcomer(sink, walk, item, &a_file, attributes, &newcomer))
        return sb_tree_fail(batch, item);
    if (item->mark & SB_TREE_LEFT)
        return SB_OK;
    sb_newcomer_backdate(&newcomer, attributes);
    code = sb_item_stream_sparse(batch, item, write_block, &writing);
    if (!code)
        return finish_item(sink, batch, item, &newcomer, attributes);
    sb_newcomer_drop(&newcomer);
    item->state = SB_ITEM_FAILED;
    if (writing.failed)
        return sb_tree_fail(batch, item);
    return code == SB_END ? SB_OK : code;
}

enum sb_code sb_tree_write(struct sb_tree_sink *sink, struct sb_walk *walk, struct sb_batch *batch,
                           struct sb_item *item)
{
    const struct sb_attributes attributes =
        sb_target_attributes(&sink->target, &item->member.entry);

    if (item->state == SB_ITEM_LARGE)
        return write_large(sink, walk, batch, item, &attributes);
    return write_read(sink, walk, batch, item, &attributes);
}

static void close_part(struct sb_tree_part *part)
{
    if (part->open)
        sb_newcomer_drop(&part->newcomer);
    part->open = false;
}

void sb_tree_part_release(struct sb_tree_part *part)
{
    close_part(part);
    sb_walk_release(&part->walk);
    sb_buf_release(&part->path);
}

static enum sb_code begin_part(struct sb_tree_sink *sink, struct sb_tree_part *part,
                               struct sb_item *item)
{
    struct sb_entry *entry = &item->member.entry;
    const char *path = entry->path;
    enum sb_code code;

    close_part(part);
    part->failed = part->left = false;
    if (entry->type == SB_LINK)
        return sb_fail(SB_INVALID, "a link whose target is longer than %d bytes", LINK_MAX_SIZE);
    TRY(sb_buf_set(&part->path, path, entry->path_size));
    part->attributes = sb_target_attributes(&sink->target, entry);
    /* The newcomer keeps its name beyond this batch. */
    entry->path = part->path.data;
    code = make_newcomer(sink, &part->walk, item, &a_file, &part->attributes, &part->newcomer);
    entry->path = path;
    part->left = item->mark & SB_TREE_LEFT;
    part->open = !code && !part->left;
    return code;
}

enum sb_code sb_tree_write_part(struct sb_tree_sink *sink, struct sb_tree_part *part,
                                struct sb_batch *batch, struct sb_item *item)
{
    struct writing writing = {.newcomer = &part->newcomer, .attributes = &part->attributes};
    enum sb_code code = SB_OK;

    if (item->part_offset == 0)
        code = begin_part(sink, part, item);
    if (!code && part->open && item->hole > 0)
        code = write_block(&writing, NULL, (size_t)item->hole);
    if (!code && part->open)
        code = write_block(&writing, batch->data + item->data_at, item->data_size);
    if (code) {
        close_part(part);
        part->failed = true;
        return sb_tree_fail(batch, item);
    }
    if (part->open && item->part_last) {
        part->open = false;
        return finish_item(sink, batch, item, &part->newcomer, &part->attributes);
    }
    /* The member's last part makes it what it has become. */
    item->state = part->failed ? SB_ITEM_FAILED : item->part_last ? SB_ITEM_STORED : SB_ITEM_PART;
    if (part->left)
        item->mark |= SB_TREE_LEFT;
    return SB_OK;
}

static bool links_are_missing(void)
{
    switch (sb_error()->sys_errno) {
    case EPERM:
    case EMLINK:
    case EXDEV:
    case ENOSYS:
    case EOPNOTSUPP:
        return sb_error()->code == SB_SYSTEM;
    default:
        return false;
    }
}

static enum sb_code copy_bytes(int from, struct writing *writing)
{
    CLEANUP(sb_freep) char *block = NULL;
    size_t got = COPY_BLOCK;

    TRY(sb_alloc(&block, COPY_BLOCK));
    while (got == COPY_BLOCK) {
        TRY(sb_read_full(from, block, COPY_BLOCK, &got, "what it links to"));
        TRY(write_block(writing, block, got));
    }
    return SB_OK;
}

static enum sb_code copy_file(struct sb_tree_sink *sink, struct sb_walk *walk,
                              struct sb_batch *batch, struct sb_item *item, int from_fd,
                              const char *from_name)
{
    CLEANUP(sb_closep)
    int from = openat(from_fd, from_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    struct sb_attributes attributes = sb_target_attributes(&sink->target, &item->member.entry);
    struct sb_newcomer newcomer;
    struct writing writing = {.newcomer = &newcomer, .attributes = &attributes};
    enum sb_code code;
    struct stat st;

    if (from < 0 || fstat(from, &st) || !S_ISREG(st.st_mode))
        return sb_fail(SB_INVALID, "cannot be linked here, and is no file to copy");
    TRY(make_newcomer(sink, walk, item, &a_file, &attributes, &newcomer));
    if (item->mark & SB_TREE_LEFT)
        return SB_OK;
    code = copy_bytes(from, &writing);
    if (!code)
        return finish_item(sink, batch, item, &newcomer, &attributes);
    sb_newcomer_drop(&newcomer);
    return code;
}

static enum sb_code fail_missing(struct sb_batch *batch, struct sb_item *item)
{
    sb_fail(SB_NOENT, "hard link to %s, which was not written; left out", item->member.hard_link);
    return fail_item(batch, item, "missing");
}

/* Is the link there already, so that there is nothing to do? */
static bool is_linked(struct sb_tree_sink *sink, struct sb_item *item, int dir_fd,
                      const char *component, const struct sb_making *making)
{
    bool ours = item->mark & SB_TREE_OURS;
    struct stat a, b;

    if ((!ours && sink->options.existing == SB_EXISTING_FAIL) ||
        fstatat(dir_fd, component, &a, AT_SYMLINK_NOFOLLOW) != 0 ||
        fstatat(making->from_fd, making->from, &b, AT_SYMLINK_NOFOLLOW) != 0 ||
        !sb_is_same_file(&a, &b))
        return false;
    item->state = SB_ITEM_STORED;
    if (!ours)
        item->mark |= SB_TREE_LEFT;
    return true;
}

enum sb_code sb_tree_link(struct sb_tree_sink *sink, struct sb_walk *walk,
                          struct sb_walk *from_walk, struct sb_batch *batch, struct sb_item *item)
{
    static const struct sb_attributes as_it_is = {0};
    const char *target = item->member.hard_link, *component;
    struct sb_making making = {0};
    struct sb_newcomer newcomer;
    enum sb_code code;
    int dir_fd;

    if (!(item->mark & SB_TREE_LINKABLE) ||
        sb_walk_to_parent(from_walk, target, strlen(target), SB_WALK_NO_MAKING, &making.from_fd,
                          &making.from))
        return fail_missing(batch, item);
    code = sb_tree_find_place(sink, walk, &item->member.entry, &dir_fd, &component);
    if (!code && is_linked(sink, item, dir_fd, component, &making))
        return SB_OK;
    if (!code)
        code = make_newcomer(sink, walk, item, &making, &as_it_is, &newcomer);
    if (!code && (item->mark & SB_TREE_LEFT))
        return SB_OK;
    if (!code)
        return finish_item(sink, batch, item, &newcomer, &as_it_is);
    if (code == SB_NOENT)
        return fail_missing(batch, item);
    if (links_are_missing())
        code = copy_file(sink, walk, batch, item, making.from_fd, making.from);
    return code ? sb_tree_fail(batch, item) : SB_OK;
}
