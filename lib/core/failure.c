#include "core/failure.h"

#include <errno.h>

static const char *word_of_system(int error_number)
{
    switch (error_number) {
    case ENOENT:
    case ENOTDIR:
        return "missing";
    case ENOSPC:
    case EDQUOT:
        return "no-space";
    case EFBIG:
        return "limit";
    case EACCES:
    case EPERM:
        return "permission";
    case EROFS:
        return "read-only";
    case EIO:
    case EREMOTEIO:
    case ESTALE:
    case ETIMEDOUT:
    case ENXIO:
    case ENODEV:
    case ENOTCONN:
        return "unreadable";
    case EMFILE:
    case ENFILE:
    case EAGAIN:
        return "no-resources";
    case EBUSY:
    case ETXTBSY:
        return "locked";
    case ENOLCK:
        return "no-locks";
    default:
        return "system";
    }
}

const char *sb_failure_word(const struct sb_error *err)
{
    switch (err->code) {
    case SB_NOMEM:
        return "no-memory";
    case SB_SYSTEM:
        return word_of_system(err->sys_errno);
    case SB_NOENT:
        return "missing";
    case SB_EXISTS:
        return "exists";
    case SB_FORMAT:
        return "format";
    case SB_DAMAGED:
        return "damaged";
    case SB_LOCKED:
        return "locked";
    case SB_INVALID:
        return "invalid";
    case SB_LIMIT:
        return "limit";
    case SB_CHANGED:
        return "changed";
    case SB_INTERRUPT:
        return "interrupted";
    default:
        return "error";
    }
}
