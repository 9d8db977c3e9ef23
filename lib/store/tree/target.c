#include "store/tree/target.h"

#include "core/context.h"
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

#define TEMPORARY_TRIES 100
#define PERMISSIONS     0777
#define ALL_MODE_BITS   07777
#define OWNER_MAY_FILL  0700
#define CREATE_FILE     (O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)
#define OPEN_DIRECTORY  (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)

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
        target->made = mkdir(dir, PERMISSIONS & ~target->mask) == 0;
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

void sb_target_attributes(const struct sb_target *target, const struct sb_entry *entry,
                          bool preserve, struct sb_attributes *out)
{
    mode_t unknown = (entry->type == SB_DIR ? 0777 : 0666) & ~target->mask;
    mode_t kept = PERMISSIONS;

    *out = (struct sb_attributes){.uid = (uid_t)-1, .gid = (gid_t)-1, .mode = unknown};
    out->preserve = preserve && entry->has & (SB_HAS_UID | SB_HAS_GID);
    out->mode_known = entry->has & SB_HAS_MODE;
    if (out->preserve)
        kept = ALL_MODE_BITS &
               ~((entry->has & SB_HAS_UID ? 0 : S_ISUID) | (entry->has & SB_HAS_GID ? 0 : S_ISGID));
    if (out->mode_known)
        out->mode = entry->mode & kept;
    if (entry->has & SB_HAS_MTIME && !target->touch) {
        out->set_time = true;
        out->times[0].tv_nsec = UTIME_OMIT;
        out->times[1] = sb_time_split(entry->mtime_ns);
    }
    if (out->preserve && entry->has & SB_HAS_UID)
        out->uid = (uid_t)entry->uid;
    if (out->preserve && entry->has & SB_HAS_GID)
        out->gid = (gid_t)entry->gid;
    out->as_made = !out->preserve ||
                   (out->uid == target->uid && out->gid == target->gid && out->mode <= PERMISSIONS);
}

int sb_target_compare_times(const struct stat *st, int64_t mtime_ns)
{
    struct timespec stored = sb_time_split(mtime_ns);

    if (st->st_mtim.tv_sec != stored.tv_sec)
        return st->st_mtim.tv_sec < stored.tv_sec ? -1 : 1;
    if (st->st_mtim.tv_nsec == stored.tv_nsec || st->st_mtim.tv_nsec == 0)
        return 0;
    return st->st_mtim.tv_nsec < stored.tv_nsec ? -1 : 1;
}

bool sb_target_is_link_to(int dir_fd, const char *component, const char *link_target)
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
        return sb_target_is_link_to(dir_fd, component, link_target);
    return st->st_size == entry->size &&
           (!(entry->has & SB_HAS_MTIME) || sb_target_compare_times(st, entry->mtime_ns) == 0);
}

enum sb_code sb_target_spare(const struct sb_own_files *own, int dir_fd, const char *component,
                             const struct stat *st)
{
    const char *whose = sb_own_files_spare(own, dir_fd, component, st);

    return whose ? sb_fail(SB_INVALID, "belongs to the input %s, and is left as it is", whose)
                 : SB_OK;
}

enum sb_code sb_target_decide(const struct sb_own_files *own, int dir_fd, const char *component,
                              const struct sb_entry *entry, const char *link_target,
                              enum sb_existing existing, enum sb_decision *decision)
{
    struct stat st;
    bool leave = false;

    *decision = SB_WRITE_NEW;
    if (fstatat(dir_fd, component, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? SB_OK : sb_fail_errno(errno, "cannot be looked up");
    if (S_ISDIR(st.st_mode))
        return sb_fail(SB_EXISTS, "a directory is in its place");
    if (existing == SB_EXISTING_FAIL)
        return sb_fail(SB_EXISTS, "exists already");
    if (existing == SB_EXISTING_SKIP)
        leave = is_same(dir_fd, component, &st, entry, link_target);
    else if (existing == SB_EXISTING_NEWER)
        leave = (entry->has & SB_HAS_MTIME) && sb_target_compare_times(&st, entry->mtime_ns) >= 0;
    *decision = leave ? SB_LEAVE : SB_WRITE_REPLACE;
    return leave ? SB_OK : sb_target_spare(own, dir_fd, component, &st);
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
        *mode &= PERMISSIONS;
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
    same = (st.st_mode & ALL_MODE_BITS) == mode;
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
    *before = st.st_mode & ALL_MODE_BITS;
    *opened = (st.st_mode & OWNER_MAY_FILL) != OWNER_MAY_FILL;
    return !*opened || set_mode(dir_fd, *before | OWNER_MAY_FILL);
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

enum sb_code sb_target_make_directory(int dir_fd, const char *component,
                                      const struct sb_attributes *attributes, bool *made,
                                      struct stat *found)
{
    bool secret = attributes->preserve && attributes->mode_known;
    mode_t mode = secret ? 0 : attributes->mode;

    *made = mkdirat(dir_fd, component, mode | OWNER_MAY_FILL) == 0;
    if (*made)
        return SB_OK;
    if (errno != EEXIST)
        return sb_fail_errno(errno, "cannot be made");
    if (fstatat(dir_fd, component, found, AT_SYMLINK_NOFOLLOW))
        return sb_fail_errno(errno, "cannot be looked up");
    if (!S_ISDIR(found->st_mode))
        return sb_fail(SB_EXISTS, "exists already, and is not a directory");
    return SB_OK;
}

enum sb_code sb_target_finish_directory(int dir_fd, const char *component,
                                        const struct sb_attributes *attributes)
{
    CLEANUP(sb_closep) int fd = openat(dir_fd, component, OPEN_DIRECTORY);
    mode_t mode = attributes->mode;
    int owner_error = 0;
    struct stat st;

    if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
        return sb_fail(SB_INVALID, "is not a directory");
    if (fd < 0)
        return sb_fail_errno(errno, "cannot be opened to set its mode and time");
    if (attributes->preserve && fchown(fd, attributes->uid, attributes->gid)) {
        owner_error = errno;
        mode &= PERMISSIONS;
    }
    if (fstat(fd, &st))
        return sb_fail_errno(errno, "cannot be looked up");
    if (!attributes->preserve)
        mode |= st.st_mode & S_ISGID;
    if (attributes->mode_known && (st.st_mode & ALL_MODE_BITS) != mode && fchmod(fd, mode))
        return sb_fail_errno(errno, "its mode cannot be set");
    if (attributes->set_time && futimens(fd, attributes->times))
        return sb_fail_errno(errno, "its time cannot be set");
    if (owner_error)
        return sb_fail_errno(owner_error, "its owner cannot be set");
    return SB_OK;
}
