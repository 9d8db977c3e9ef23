#include "archive/own/look.h"

#include "archive/own/own_names.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define WANTED                                                                                     \
    (STATX_TYPE | STATX_MODE | STATX_UID | STATX_NLINK | STATX_INO | STATX_SIZE | STATX_MTIME |    \
     STATX_BTIME)

/*
 * On an overlay the first change of a file makes a copy of it, with the same inode but a birth of
 * its own. The answer for the last device is kept.
 */
static bool is_overlay(const struct statx *st, const char *path, int fd)
{
    static _Atomic uint64_t known;
    uint64_t device = (uint64_t)st->stx_dev_major << 32 | st->stx_dev_minor;
    uint64_t last = atomic_load(&known);
    struct statfs fs;
    bool is;

    /* File systems on a disk have a number other than 0. */
    if (st->stx_dev_major != 0)
        return false;
    if (last >> 1 == device + 1)
        return last & 1;
    if (fd >= 0 ? fstatfs(fd, &fs) : S_ISLNK(st->stx_mode) || statfs(path, &fs))
        return true;
    is = fs.f_type == OVERLAYFS_SUPER_MAGIC;
    atomic_store(&known, (device + 1) << 1 | is);
    return is;
}

static void take(const struct statx *st, const char *path, int fd, struct sb_look *out)
{
    *out = (struct sb_look){
        .there = true,
        .identity.inode = st->stx_ino,
        .mode = st->stx_mode,
        .owner = st->stx_uid,
        .links = st->stx_nlink,
        .size = (int64_t)st->stx_size,
        .changed = {.tv_sec = st->stx_mtime.tv_sec, .tv_nsec = st->stx_mtime.tv_nsec},
    };
    if ((st->stx_mask & STATX_BTIME) &&
        (__builtin_mul_overflow((int64_t)st->stx_btime.tv_sec, 1000000000, &out->identity.born) ||
         __builtin_add_overflow(out->identity.born, st->stx_btime.tv_nsec, &out->identity.born) ||
         out->identity.born < 0 || is_overlay(st, path, fd)))
        out->identity.born = 0;
}

enum sb_code sb_look_at(const char *path, struct sb_look *out)
{
    struct statx st;

    *out = (struct sb_look){0};
    if (statx(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, WANTED, &st) == 0)
        take(&st, path, -1, out);
    else if (errno != ENOENT && errno != ENOTDIR)
        return sb_fail_errno(errno, "%s", path);
    return SB_OK;
}

enum sb_code sb_look_into(int fd, const char *what, struct sb_look *out)
{
    struct statx st;

    *out = (struct sb_look){0};
    if (statx(fd, "", AT_EMPTY_PATH, WANTED, &st))
        return sb_fail_errno(errno, "%s", what);
    take(&st, what, fd, out);
    return SB_OK;
}

void sb_named_release(struct sb_named *named)
{
    free(named->path);
    *named = (struct sb_named){0};
}

/* Takes over the path, also on failure. */
static enum sb_code look_at_named(struct sb_named *out, char *path)
{
    *out = (struct sb_named){.path = path};
    return path ? sb_look_at(path, &out->look) : sb_error()->code;
}

enum sb_code sb_look_at_own(struct sb_named *out, const char *path, const char *suffix)
{
    return look_at_named(out, sb_own_name(path, suffix));
}

enum sb_code sb_look_at_shard(struct sb_named *out, const char *path, const char *suffix,
                              uint32_t number)
{
    CLEANUP(sb_freep) char *prefix = sb_own_name(path, suffix);

    return look_at_named(out, prefix ? sb_shard_name(prefix, number) : NULL);
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
