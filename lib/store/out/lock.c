#include "store/out/lock.h"

#include "core/file_lock.h"
#include "core/io.h"
#include "store/out/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each means that another process had the file, and removed it, since it was opened. */
#define TRIES 1000

/* Where locks do not work, the file itself is one: nobody else can have made it. */
static enum sb_code lock_file(int fd, const char *path, bool made, const char *name)
{
    int error_number;
    unsigned tries = 0;
    enum sb_code code;

    do {
        error_number = sb_lock_first_byte(fd);
        code = error_number == EACCES || error_number == EAGAIN
                   ? sb_fail(SB_LOCKED,
                             "%s: another process, perhaps on another machine, is writing it; "
                             "wait for it, or give --wait",
                             name)
                   : SB_OK;
    } while (sb_lock_await(&code, &tries));
    if (code || error_number == 0 || made)
        return code;
    return sb_fail(SB_LOCKED,
                   "%s: another process is writing it, or was killed, which look the same "
                   "where locks do not work; if none runs, remove %s",
                   name, path);
}

static enum sb_code fail_foreign(const char *path, const char *name)
{
    return sb_fail(SB_EXISTS,
                   "%s: cannot be written, for %s is in the way, and nothing that an interrupted "
                   "run left; move it away",
                   name, path);
}

static enum sb_code open_file(const char *path, bool *made, int *fd, const char *name)
{
    *made = true;
    *fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (*fd < 0 && errno == EEXIST) {
        *made = false;
        *fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    }
    if (*fd >= 0)
        return SB_OK;
    if (errno == ELOOP || errno == EISDIR)
        return fail_foreign(path, name);
    return sb_fail_errno(errno, "%s: cannot be written, for %s cannot be made", name, path);
}

static enum sb_code refuse_foreign(int fd, const char *path, const char *name)
{
    struct stat st;

    if (fstat(fd, &st))
        return sb_fail_errno(errno, "%s: cannot be looked at", path);
    if (S_ISREG(st.st_mode) && st.st_nlink <= 1)
        return SB_OK;
    return fail_foreign(path, name);
}

/* *fd: -1 when whoever held it removed the file before it let go. */
static enum sb_code try(const char *path, int *fd, bool *made, const char *name)
{
    bool named = false;
    enum sb_code code = open_file(path, made, fd, name);

    if (code == SB_OK && !*made)
        code = refuse_foreign(*fd, path, name);
    if (code == SB_OK)
        code = lock_file(*fd, path, *made, name);
    if (code == SB_OK)
        code = sb_is_named(*fd, path, &named);
    if (code && code != SB_LOCKED && *fd >= 0 && *made)
        unlink(path);
    if ((code || !named) && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return code;
}

enum sb_code sb_out_lock_take(struct sb_out_lock *lock, const char *path, const char *name)
{
    enum sb_code code = SB_OK;

    lock->fd = -1;
    TRY(sb_copy_text(&lock->path, path));
    for (int i = 0; code == SB_OK && lock->fd < 0 && i < TRIES; i++)
        code = try(path, &lock->fd, &lock->made, name);
    if (code == SB_OK && lock->fd < 0)
        code = sb_fail(SB_LOCKED, "%s: other processes write it all the time; wait for them", name);
    if (code) {
        free(lock->path);
        lock->path = NULL;
    }
    return code;
}

static enum sb_code vet_journal(const struct sb_out_lock *lock, const char *name)
{
    static const char begin[] = SB_OUT_JOURNAL, zeros[sizeof(begin)];
    char head[sizeof(begin) - 1];
    size_t got;

    TRY(sb_pread_full(lock->fd, head, sizeof(head), 0, &got, lock->path));
    if (memcmp(head, begin, got) == 0 || memcmp(head, zeros, got) == 0)
        return SB_OK;
    return fail_foreign(lock->path, name);
}

enum sb_code sb_out_lock_take_beside(struct sb_out_lock *lock, const char *path, const char *name)
{
    CLEANUP(sb_buf_release) struct sb_buf file = {0};
    enum sb_code code;

    *lock = (struct sb_out_lock){.fd = -1};
    TRY(sb_out_hide(path, SB_OUT_LOCK_SUFFIX, &file));
    TRY(sb_out_lock_take(lock, file.data, name));
    code = vet_journal(lock, name);
    if (code)
        sb_out_lock_leave(lock);
    return code;
}

void sb_out_lock_drop(struct sb_out_lock *lock)
{
    bool named;

    if (lock->fd >= 0 && (IGNORED(sb_is_named(lock->fd, lock->path, &named)) || named))
        unlink(lock->path);
    sb_out_lock_leave(lock);
}

void sb_out_lock_leave(struct sb_out_lock *lock)
{
    if (lock->fd >= 0)
        close(lock->fd);
    lock->fd = -1;
    free(lock->path);
    lock->path = NULL;
}
