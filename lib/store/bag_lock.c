#include "store/bag_lock.h"

#include "core/file_lock.h"
#include "core/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Each means that another process had the file, and removed it, since it was opened. */
#define TRIES 1000

/* Where locks do not work, the file itself is one: nobody else can have made it. */
static enum sb_code lock_file(int fd, const char *path, bool made, const char *name,
                              struct sb_error *err)
{
    int error_number = sb_lock_first_byte(fd);

    if (error_number == 0)
        return SB_OK;
    if (error_number == EACCES || error_number == EAGAIN)
        return sb_fail(err, SB_LOCKED,
                       "%s: another process, perhaps on another machine, is writing it; "
                       "wait for it",
                       name);
    if (made)
        return SB_OK;
    return sb_fail(err, SB_LOCKED,
                   "%s: another process is writing it, or was killed, which cannot be told apart "
                   "where locks do not work; if none runs, remove %s",
                   name, path);
}

static enum sb_code open_file(const char *path, bool *made, int *fd, const char *name,
                              struct sb_error *err)
{
    *made = true;
    *fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (*fd < 0 && errno == EEXIST) {
        *made = false;
        *fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    }
    if (*fd >= 0)
        return SB_OK;
    return sb_fail_errno(err, errno, "%s: cannot be written, for %s cannot be made", name, path);
}

/* *fd: -1 when whoever held it removed the file before it let go. */
static enum sb_code try(const char *path, int *fd, const char *name, struct sb_error *err)
{
    bool made, named = false;
    enum sb_code code = open_file(path, &made, fd, name, err);

    if (code == SB_OK)
        code = lock_file(*fd, path, made, name, err);
    if (code == SB_OK)
        code = sb_is_named(*fd, path, &named, err);
    if ((code || !named) && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return code;
}

enum sb_code sb_bag_lock_take(struct sb_bag_lock *lock, const char *path, const char *name,
                              struct sb_error *err)
{
    enum sb_code code = SB_OK;

    lock->fd = -1;
    lock->path = strdup(path);
    if (!lock->path)
        return sb_fail_memory(err);
    for (int i = 0; code == SB_OK && lock->fd < 0 && i < TRIES; i++)
        code = try(path, &lock->fd, name, err);
    if (code == SB_OK && lock->fd < 0)
        code = sb_fail(err, SB_LOCKED, "%s: other processes write it all the time; wait for them",
                       name);
    if (code) {
        free(lock->path);
        lock->path = NULL;
    }
    return code;
}

void sb_bag_lock_drop(struct sb_bag_lock *lock)
{
    if (lock->fd >= 0)
        unlink(lock->path);
    sb_bag_lock_leave(lock);
}

void sb_bag_lock_leave(struct sb_bag_lock *lock)
{
    if (lock->fd >= 0)
        close(lock->fd);
    lock->fd = -1;
    free(lock->path);
    lock->path = NULL;
}
