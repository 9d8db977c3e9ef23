#include "store/out/lock.h"

#include "core/crc32c.h"
#include "core/file_lock.h"
#include "core/io.h"
#include "core/name.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Each means that another process had the file, and removed it, since it was opened. */
#define TRIES 1000

/* Each means that another process cleared the same left-over. */
#define CLEARED_TRIES 100

#define NAME_BYTES     255
#define CHECKSUM_BYTES 9 /* "-" and digits */

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

enum sb_code sb_out_hide(const char *path, const char *suffix, struct sb_buf *out)
{
    const char *name = sb_base_name(path);

    sb_buf_clear(out);
    return sb_buf_add_format(out, "%.*s.%s%s", (int)(name - path), path, name, suffix);
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

/* The number of bytes of the name that fit there, no character cut in two. */
static size_t fitting(const char *name, size_t size)
{
    size_t most = NAME_BYTES - 1 - strlen(SB_OUT_SUFFIX);

    if (size <= most)
        return size;
    most -= CHECKSUM_BYTES;
    while (most > 0 && ((unsigned char)name[most] & 0xc0) == 0x80)
        most--;
    return most;
}

enum sb_code sb_out_temporary_name(const char *path, struct sb_buf *out)
{
    const char *name = sb_base_name(path);
    size_t size = strlen(name), fit = fitting(name, size);

    sb_buf_clear(out);
    if (sb_buf_add_format(out, "%.*s.%.*s", (int)(name - path), path, (int)fit, name) ||
        (fit < size && sb_buf_add_format(out, "-%08" PRIx32, sb_crc32c(0, name, size))) ||
        sb_buf_add_text(out, SB_OUT_SUFFIX))
        return sb_fail_memory();
    return SB_OK;
}

enum sb_code sb_out_temporary_make(struct sb_out_lock *lock, const char *path, const char *name)
{
    CLEANUP(sb_buf_release) struct sb_buf temporary = {0};

    lock->fd = -1;
    lock->path = NULL;
    TRY(sb_out_temporary_name(path, &temporary));
    for (int i = 0; i < CLEARED_TRIES; i++) {
        TRY(sb_out_lock_take(lock, temporary.data, name));
        /* A left-over has the mode and the owner of then. */
        if (lock->made)
            return SB_OK;
        sb_out_lock_drop(lock);
    }
    return sb_fail(SB_LOCKED, "%s: other processes write it all the time; wait for them", name);
}

enum sb_code sb_out_refuse(const char *path, const struct stat *st, bool force)
{
    if (!S_ISREG(st->st_mode))
        return sb_fail(SB_EXISTS, "%s: is there, and not a regular file; choose another name",
                       path);
    if (!force)
        return sb_fail(SB_EXISTS, "%s: exists already; use --force to replace it", path);
    return SB_OK;
}

void sb_out_temporary_finish(const char *path)
{
    CLEANUP(sb_buf_release) struct sb_buf temporary = {0};
    struct stat made, named;

    if (IGNORED(sb_out_temporary_name(path, &temporary)) == SB_OK &&
        lstat(temporary.data, &made) == 0 && S_ISREG(made.st_mode) && lstat(path, &named) == 0 &&
        made.st_dev == named.st_dev && made.st_ino == named.st_ino)
        unlink(temporary.data);
}
