#include "core/file_lock.h"

#include "core/interrupt.h"
#include "core/number.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define WAIT_SECONDS_MOST 86400
#define TRY_MILLISECONDS  100 /* between two attempts to get a lock */

static int set(int fd, short type, off_t start, off_t size)
{
    struct flock lock = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = size};

    return fcntl(fd, F_OFD_SETLK, &lock) == 0 ? 0 : errno;
}

int sb_lock_bytes(int fd, off_t start, off_t size)
{
    return set(fd, F_WRLCK, start, size);
}

int sb_lock_first_byte(int fd)
{
    return sb_lock_bytes(fd, 0, 1);
}

int sb_lock_shared(int fd, off_t start, off_t size)
{
    return set(fd, F_RDLCK, start, size);
}

void sb_unlock_first_byte(int fd)
{
    (void)set(fd, F_UNLCK, 0, 1);
}

int sb_lock_wait(int usual)
{
    const char *text = getenv("SHARDBOX_LOCK_WAIT");
    int64_t seconds;

    if (!text || !sb_parse_integer(text, 0, WAIT_SECONDS_MOST, &seconds))
        return usual;
    return (int)seconds * 1000;
}

bool sb_lock_await(enum sb_code *code, unsigned *tries)
{
    const struct sb_context *context = sb_context_now;
    const struct timespec moment = {.tv_nsec = TRY_MILLISECONDS * 1000000L};

    if (*code != SB_LOCKED || context->lock_wait == 0 ||
        (context->lock_wait > 0 && *tries >= context->lock_wait * (1000 / TRY_MILLISECONDS)))
        return false;
    if ((*tries)++ == 0 && context->waits)
        context->waits(sb_error()->text);
    nanosleep(&moment, NULL);
    if (sb_interrupted())
        *code = sb_fail_interrupt();
    return *code == SB_LOCKED;
}

bool sb_locks_are_missing(int error_number)
{
    return error_number == ENOLCK || error_number == EOPNOTSUPP || error_number == ENOSYS ||
           error_number == EINVAL;
}

enum sb_code sb_fail_without_locks(const char *path)
{
    sb_fail(SB_SYSTEM,
            "%s: locks do not work on this file system, so nothing can be written safely; "
            "mount it with locks (Lustre: -o flock), or write on another file system and "
            "copy the archive here",
            path);
    sb_error()->sys_errno = ENOLCK;
    return SB_SYSTEM;
}

enum sb_code sb_fail_to_lock(int error_number, const char *path)
{
    if (sb_locks_are_missing(error_number))
        return sb_fail_without_locks(path);
    return sb_fail_errno(error_number, "%s: cannot be locked", path);
}
