#include "store/tree/target.h"
#include "core/context.h"
#include "core/name.h"
#include "core/time.h"
#include "store/own_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

void sb_walk_init(struct sb_walk *walk, int root, const struct sb_own_files *own)
{
    *walk = (struct sb_walk){.root = root, .own = own};
}

static void leave(struct sb_walk *walk)
{
    close(walk->levels[--walk->count].fd);
}

void sb_walk_release(struct sb_walk *walk)
{
    while (walk->count > 0)
        leave(walk);
    sb_buf_release(&walk->path);
}

static int innermost(const struct sb_walk *walk)
{
    return walk->count > 0 ? walk->levels[walk->count - 1].fd : walk->root;
}

/* Goes up to the nearest remembered directory that dir is, or is below. */
static void go_up(struct sb_walk *walk, const char *dir, size_t size)
{
    while (walk->count > 0) {
        size_t level_size = walk->levels[walk->count - 1].size;

        if (sb_name_within(dir, size, walk->path.data, level_size))
            break;
        leave(walk);
    }
    sb_buf_cut(&walk->path, walk->count > 0 ? walk->levels[walk->count - 1].size : 0);
}

static enum sb_code open_component(const struct sb_walk *walk, const char *component, mode_t make,
                                   int *fd)
{
    int at = innermost(walk);
    int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

    *fd = openat(at, component, flags);
    if (*fd < 0 && errno == ENOENT && make != SB_WALK_NO_MAKING) {
        TRY(sb_target_spare(walk->own, at, component, NULL));
        if (mkdirat(at, component, make) && errno != EEXIST)
            return sb_fail_errno(errno, "cannot make the directory %s", component);
        *fd = openat(at, component, flags);
    }
    if (*fd >= 0)
        return SB_OK;
    if (errno == ENOTDIR || errno == ELOOP)
        return sb_fail(SB_INVALID,
                       "%s, in the way to it, is not a directory (links are not followed)",
                       component);
    return sb_fail_errno(errno, "cannot open the directory %s", component);
}

static enum sb_code go_down(struct sb_walk *walk, const char *name, size_t size, mode_t make)
{
    CLEANUP(sb_closep) int fd = -1;
    char component[NAME_MAX + 1];

    if (size > NAME_MAX)
        return sb_fail_errno(ENAMETOOLONG, "cannot make a directory above it");
    memcpy(component, name, size);
    component[size] = '\0';
    TRY(open_component(walk, component, make, &fd));
    if (walk->path.size > 0)
        TRY(sb_buf_add_char(&walk->path, '/'));
    TRY(sb_buf_add(&walk->path, name, size));
    if (walk->count == SB_WALK_KEPT) {
        close(walk->levels[0].fd);
        memmove(walk->levels, walk->levels + 1, sizeof(walk->levels) - sizeof(walk->levels[0]));
        walk->count--;
    }
    walk->levels[walk->count++] =
        (struct sb_walk_level){.size = walk->path.size, .fd = TAKE_FD(fd)};
    return SB_OK;
}

enum sb_code sb_walk_to(struct sb_walk *walk, const char *dir, size_t size, mode_t make, int *fd)
{
    *fd = -1;
    go_up(walk, dir, size);
    while (walk->path.size < size) {
        const char *next = dir + walk->path.size + (walk->path.size > 0);
        size_t left = size - (size_t)(next - dir);
        const char *slash = memchr(next, '/', left);

        if (go_down(walk, next, slash ? (size_t)(slash - next) : left, make)) {
            go_up(walk, "", 0);
            return sb_error()->code;
        }
    }
    *fd = innermost(walk);
    return SB_OK;
}

enum sb_code sb_walk_to_parent(struct sb_walk *walk, const char *name, size_t size, mode_t make,
                               int *fd, const char **component)
{
    size_t parent = sb_parent_size(name, size);

    *component = name + parent + (parent > 0);
    return sb_walk_to(walk, name, parent, make, fd);
}

mode_t *sb_walk_note(struct sb_walk *walk)
{
    return walk->count > 0 ? &walk->levels[walk->count - 1].note : &walk->root_note;
}

#define TEMPORARY_TRIES 100
#define CREATE_FILE     (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)

enum sb_code sb_target_open(struct sb_target *target, const char *dir, bool dry)
{
    *target = (struct sb_target){
        .fd = -1, .uid = geteuid(), .gid = getegid(), .mask = sb_context_now->umask};
    (void)!unshare(CLONE_FS);
    target->former = umask(0);
    target->fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (target->fd < 0 && errno == ENOENT && dry)
        return SB_OK;
    if (target->fd < 0 && errno == ENOENT) {
        target->made = mkdir(dir, SB_PERMISSIONS & ~target->mask) == 0;
        if (target->made)
            target->fd = open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    }
    if (target->fd >= 0)
        return SB_OK;
    sb_fail_errno(errno, "%s", dir);
    sb_target_release(target);
    return sb_error()->code;
}

void sb_target_release(struct sb_target *target)
{
    if (target->fd >= 0)
        close(target->fd);
    /* 0 may be that of another target in a thread from which this one could not be parted. */
    umask(target->former ? target->former : target->mask);
}

struct sb_attributes sb_target_attributes(const struct sb_target *target,
                                          const struct sb_entry *entry)
{
    mode_t unknown = (entry->type == SB_DIR ? 0777 : 0666) & ~target->mask;
    mode_t kept = SB_PERMISSIONS;
    struct sb_attributes out = {
        .uid = (uid_t)-1,
        .gid = (gid_t)-1,
        .mode = unknown,
        .mode_known = entry->has & SB_HAS_MODE,
        .preserve = target->preserve && entry->has & (SB_HAS_UID | SB_HAS_GID),
    };

    if (out.preserve)
        kept = SB_MODE_BITS &
               ~((entry->has & SB_HAS_UID ? 0 : S_ISUID) | (entry->has & SB_HAS_GID ? 0 : S_ISGID));
    if (out.mode_known)
        out.mode = entry->mode & kept;
    if (entry->has & SB_HAS_MTIME && !target->touch) {
        out.set_time = true;
        out.times[0].tv_nsec = UTIME_OMIT;
        out.times[1] = sb_time_split(entry->mtime_ns);
    }
    if (out.preserve && entry->has & SB_HAS_UID)
        out.uid = (uid_t)entry->uid;
    if (out.preserve && entry->has & SB_HAS_GID)
        out.gid = (gid_t)entry->gid;
    out.as_made = !out.preserve ||
                  (out.uid == target->uid && out.gid == target->gid && out.mode <= SB_PERMISSIONS);
    return out;
}

enum sb_code sb_target_spare(const struct sb_own_files *own, int dir_fd, const char *component,
                             const struct stat *st)
{
    const char *whose = sb_own_files_spare(own, dir_fd, component, st);

    return whose ? sb_fail(SB_INVALID, "belongs to the input %s, and is left as it is", whose)
                 : SB_OK;
}

static int create(struct sb_newcomer *newcomer, const char *name, const struct sb_making *making,
                  mode_t mode)
{
    if (making->link_target)
        return symlinkat(making->link_target, newcomer->dir_fd, name);
    if (making->from)
        return linkat(making->from_fd, making->from, newcomer->dir_fd, name, 0);
    newcomer->fd = openat(newcomer->dir_fd, name, CREATE_FILE, mode);
    return newcomer->fd < 0 ? -1 : 0;
}

enum sb_code sb_newcomer_open(struct sb_newcomer *newcomer, int dir_fd, const char *component,
                              const struct sb_making *making,
                              const struct sb_attributes *attributes, bool replace,
                              mode_t *kept_mode)
{
    bool ours = attributes->as_made && (!attributes->preserve || (kept_mode && *kept_mode));
    /* Nobody else may open what is going to change hands or run as somebody. */
    mode_t mode = ours ? attributes->mode : 0600;
    uint64_t random;

    *newcomer = (struct sb_newcomer){.dir_fd = dir_fd, .component = component, .fd = -1};
    newcomer->kept_mode = kept_mode;
    if (!replace) {
        if (create(newcomer, component, making, mode) == 0)
            return SB_OK;
        if (errno == EEXIST)
            return sb_fail(SB_EXISTS, "exists already");
        return sb_fail_errno(errno, "cannot be created");
    }
    for (int i = 0; i < TEMPORARY_TRIES; i++) {
        if (getrandom(&random, sizeof(random), 0) != sizeof(random))
            return sb_fail_errno(errno, "random number");
        snprintf(newcomer->temporary, sizeof(newcomer->temporary), ".shardbox-%016" PRIx64, random);
        if (create(newcomer, newcomer->temporary, making, mode) == 0)
            return SB_OK;
        if (errno != EEXIST)
            break;
    }
    return sb_fail_errno(errno, "cannot be created under a temporary name");
}

static const char *present_name(const struct sb_newcomer *newcomer)
{
    return newcomer->temporary[0] ? newcomer->temporary : newcomer->component;
}

void sb_newcomer_drop(struct sb_newcomer *newcomer)
{
    if (newcomer->fd >= 0)
        close(newcomer->fd);
    newcomer->fd = -1;
    unlinkat(newcomer->dir_fd, present_name(newcomer), 0);
}

void sb_newcomer_backdate(const struct sb_newcomer *newcomer,
                          const struct sb_attributes *attributes)
{
    time_t last = attributes->times[1].tv_sec;
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = last > 0 ? 0 : last - 1}};

    /* On a file system that refuses this the file keeps its new time; finish reports it. */
    if (attributes->set_time && !newcomer->temporary[0])
        (void)!futimens(newcomer->fd, times);
}

/* Without its owner, no file has set-id bits. */
static void set_owner(struct sb_newcomer *newcomer, const struct sb_attributes *attributes,
                      mode_t *mode)
{
    newcomer->owner_refused = fchown(newcomer->fd, attributes->uid, attributes->gid) != 0;
    if (newcomer->owner_refused)
        *mode &= SB_PERMISSIONS;
}

/*
 * An access control list inherited from the directory may have taken bits away, or its set-group-id
 * bit have given another group: the same to all files of a mode.
 */
static enum sb_code finish_access(struct sb_newcomer *newcomer,
                                  const struct sb_attributes *attributes)
{
    mode_t mode = attributes->mode;
    mode_t *kept = attributes->as_made ? newcomer->kept_mode : NULL;
    struct stat st;
    bool same;

    if (kept && *kept == (S_IFREG | mode))
        return SB_OK;
    if (!attributes->as_made)
        set_owner(newcomer, attributes, &mode);
    if (fstat(newcomer->fd, &st))
        return SB_OK;
    if (attributes->as_made && attributes->preserve &&
        (st.st_uid != attributes->uid || st.st_gid != attributes->gid)) {
        kept = NULL;
        set_owner(newcomer, attributes, &mode);
    }
    same = (st.st_mode & SB_MODE_BITS) == mode;
    if (!same && fchmod(newcomer->fd, mode))
        return sb_fail_errno(errno, "its mode cannot be set");
    if (kept)
        *kept = S_IFREG | (same ? mode : 0);
    return SB_OK;
}

static enum sb_code finish_file(struct sb_newcomer *newcomer,
                                const struct sb_attributes *attributes, bool sync)
{
    int fd = newcomer->fd;

    TRY(finish_access(newcomer, attributes));
    if (attributes->set_time && futimens(fd, attributes->times))
        return sb_fail_errno(errno, "its time cannot be set");
    if (sync && fsync(fd))
        return sb_fail_errno(errno, "fsync");
    return SB_OK;
}

enum sb_code sb_newcomer_finish(struct sb_newcomer *newcomer,
                                const struct sb_attributes *attributes, bool sync)
{
    const char *name = present_name(newcomer);
    enum sb_code code = SB_OK;

    if (newcomer->fd >= 0) {
        code = finish_file(newcomer, attributes, sync);
        if (close(newcomer->fd) && !code && errno != EINTR)
            code = sb_fail_errno(errno, "close");
        newcomer->fd = -1;
    } else {
        newcomer->owner_refused =
            attributes->preserve && fchownat(newcomer->dir_fd, name, attributes->uid,
                                             attributes->gid, AT_SYMLINK_NOFOLLOW) != 0;
        if (attributes->set_time &&
            utimensat(newcomer->dir_fd, name, attributes->times, AT_SYMLINK_NOFOLLOW))
            code = sb_fail_errno(errno, "its time cannot be set");
    }
    if (!code && newcomer->temporary[0] &&
        renameat(newcomer->dir_fd, newcomer->temporary, newcomer->dir_fd, newcomer->component)) {
        if (errno == EISDIR)
            code = sb_fail(SB_EXISTS, "a directory is in its place");
        else
            code = sb_fail_errno(errno, "cannot be renamed into place");
    }
    if (code)
        sb_newcomer_drop(newcomer);
    return code;
}

/* By its descriptor, which is only a path, also where it cannot be searched. */
static bool set_mode(int dir_fd, mode_t mode)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", dir_fd);
    return chmod(path, mode) == 0;
}

bool sb_target_open_up(int dir_fd, mode_t *before, bool *opened)
{
    struct stat st;

    *opened = false;
    if (fstat(dir_fd, &st) || st.st_uid != geteuid())
        return false;
    *before = st.st_mode & SB_MODE_BITS;
    *opened = (st.st_mode & SB_OWNER_MAY_FILL) != SB_OWNER_MAY_FILL;
    return !*opened || set_mode(dir_fd, *before | SB_OWNER_MAY_FILL);
}

void sb_target_close_up(int dir_fd, mode_t mode)
{
    (void)set_mode(dir_fd, mode);
}

bool sb_target_unlink(int dir_fd, const char *component, int flags)
{
    bool done = unlinkat(dir_fd, component, flags) == 0, opened = false;
    mode_t mode;

    if (done || errno != EACCES || !sb_target_open_up(dir_fd, &mode, &opened))
        return done;
    done = unlinkat(dir_fd, component, flags) == 0;
    if (opened) {
        int failed = errno;

        sb_target_close_up(dir_fd, mode);
        errno = failed;
    }
    return done;
}
