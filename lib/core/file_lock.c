#include "core/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int sb_lock_first_byte(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};

    return fcntl(fd, F_OFD_SETLK, &lock) == 0 ? 0 : errno;
}

bool sb_locks_are_missing(int error_number)
{
    return error_number == ENOLCK || error_number == EOPNOTSUPP || error_number == ENOSYS ||
           error_number == EINVAL;
}

enum sb_code sb_fail_without_locks(struct sb_error *err, const char *path)
{
    return sb_fail(err, SB_SYSTEM,
                   "%s: locks do not work on this file system, so nothing can be written safely; "
                   "mount it with locks (Lustre: -o flock), or write on another file system and "
                   "copy the archive here",
                   path);
}
