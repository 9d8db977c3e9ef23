#include "store/out/temporary.h"

#include "core/crc32c.h"
#include "core/name.h"

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define NAME_BYTES     255
#define CHECKSUM_BYTES 9 /* "-" and digits */

/* Each means that another process cleared the same left-over. */
#define TRIES 100

enum sb_code sb_out_hide(const char *path, const char *suffix, struct sb_buf *out)
{
    const char *name = sb_base_name(path);

    sb_buf_clear(out);
    return sb_buf_add_format(out, "%.*s.%s%s", (int)(name - path), path, name, suffix);
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
    for (int i = 0; i < TRIES; i++) {
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
