#include "core/look.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#define WANTED                                                                                     \
    (STATX_TYPE | STATX_MODE | STATX_UID | STATX_NLINK | STATX_INO | STATX_SIZE | STATX_BTIME)

static void take(const struct statx *st, struct sb_look *out)
{
    *out = (struct sb_look){
        .there = true,
        .identity.inode = st->stx_ino,
        .mode = st->stx_mode,
        .owner = st->stx_uid,
        .links = st->stx_nlink,
        .size = (int64_t)st->stx_size,
    };
    if ((st->stx_mask & STATX_BTIME) &&
        (__builtin_mul_overflow((int64_t)st->stx_btime.tv_sec, 1000000000, &out->identity.born) ||
         __builtin_add_overflow(out->identity.born, st->stx_btime.tv_nsec, &out->identity.born) ||
         out->identity.born < 0))
        out->identity.born = 0;
}

enum sb_code sb_look_at(const char *path, struct sb_look *out, struct sb_error *err)
{
    struct statx st;

    *out = (struct sb_look){0};
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, WANTED, &st) == 0)
        take(&st, out);
    else if (errno != ENOENT && errno != ENOTDIR)
        return sb_fail_errno(err, errno, "%s", path);
    return SB_OK;
}

enum sb_code sb_look_into(int fd, const char *what, struct sb_look *out, struct sb_error *err)
{
    struct statx st;

    *out = (struct sb_look){0};
    if (statx(fd, "", AT_EMPTY_PATH, WANTED, &st))
        return sb_fail_errno(err, errno, "%s", what);
    take(&st, out);
    return SB_OK;
}

bool sb_is_identical(const struct sb_identity *a, const struct sb_identity *b)
{
    return a->inode != 0 && a->inode == b->inode &&
           (a->born == b->born || a->born == 0 || b->born == 0);
}

bool sb_is_empty_file(const struct sb_look *look)
{
    return look->there && S_ISREG(look->mode) && look->size == 0 && look->links == 1;
}
