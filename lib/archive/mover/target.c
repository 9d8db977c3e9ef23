/*
 * The shards that a mover writes to.
 */
#include "archive/mover/private.h"

#include "archive/parity/note.h"
#include "archive/shards.h"
#include "archive/writer/linked.h"
#include "core/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static enum sb_code open_target(struct sb_mover *mover, uint32_t shard, int *fd)
{
    int flags = O_RDWR | O_CLOEXEC | O_NONBLOCK | (mover->options.follow ? 0 : O_NOFOLLOW);
    const struct mover_shard *known = &mover->shards[shard];
    CLEANUP(sb_freep) char *path = NULL;
    CLEANUP(sb_closep) int opened = -1;
    struct stat st;

    *fd = -1;
    TRY(sb_mover_may_write(mover, shard));
    path = sb_mover_shard_path(mover, shard);
    if (!path)
        return sb_error()->code;
    opened = open(path, flags);
    if (opened < 0 || fstat(opened, &st))
        return sb_fail_errno(errno, "%s", path);
    if (!S_ISREG(st.st_mode))
        return sb_fail(SB_FORMAT, "%s: a shard must be a regular file", path);
    if (st.st_dev != known->device || st.st_ino != known->inode)
        return sb_fail(SB_LOCKED, "%s: was replaced by another file meanwhile", path);
    *fd = TAKE_FD(opened);
    return SB_OK;
}

static struct target *find_target(struct sb_mover *mover, uint32_t shard)
{
    for (size_t i = 0; i < TARGETS_MOST; i++) {
        if (mover->targets[i].fd >= 0 && mover->targets[i].shard == shard)
            return &mover->targets[i];
    }
    return NULL;
}

/* A free one, or the least recently used. */
static struct target *make_space(struct sb_mover *mover)
{
    struct target *oldest = mover->targets;

    for (size_t i = 0; i < TARGETS_MOST; i++) {
        if (mover->targets[i].fd < 0)
            return &mover->targets[i];
        if (mover->targets[i].last_use < oldest->last_use)
            oldest = &mover->targets[i];
    }
    close(oldest->fd);
    oldest->fd = -1;
    return oldest;
}

enum sb_code sb_mover_target(struct sb_mover *mover, uint32_t shard, int *fd)
{
    struct target *target = find_target(mover, shard);
    enum sb_code code = SB_OK;

    if (!target) {
        target = make_space(mover);
        target->shard = shard;
        code = open_target(mover, shard, &target->fd);
    }
    target->last_use = ++mover->uses;
    *fd = target->fd;
    return code;
}

void sb_mover_close_targets(struct sb_mover *mover)
{
    for (size_t i = 0; i < TARGETS_MOST; i++) {
        if (mover->targets[i].fd >= 0)
            close(mover->targets[i].fd);
        mover->targets[i].fd = -1;
    }
}

enum sb_code sb_mover_sync(struct sb_mover *mover)
{
    for (uint32_t i = 0; i < mover->shard_count; i++) {
        CLEANUP(sb_freep) char *path = NULL;
        int fd;

        if (!mover->shards[i].dirty)
            continue;
        path = sb_mover_shard_path(mover, i);
        if (!path)
            return sb_error()->code;
        TRY(sb_mover_target(mover, i, &fd));
        TRY(sb_fsync(fd, path));
    }
    return SB_OK;
}

/* Is it not a regular file of one name? Then its bytes may belong to others. */
static bool is_shared(const char *path)
{
    struct stat st;

    return lstat(path, &st) || !S_ISREG(st.st_mode) || st.st_nlink > 1;
}

enum sb_code sb_mover_put_empty(const struct sb_hold *hold, const char *path, struct stat *file)
{
    CLEANUP(sb_freep) char *made = sb_shard_name(hold->note.path, 0);
    int fd = -1;

    if (!made)
        return sb_error()->code;
    TRY(sb_note_confirm(&hold->note));
    TRY(sb_hold_make_file(made, &fd));
    if (fstat(fd, file) || close(fd))
        return sb_fail_errno(errno, "%s", made);
    TRY(sb_protect_drop(path));
    return sb_rename(made, path);
}

/* Puts an empty file in place of a link, whose target is unchanged. */
static enum sb_code replace_by_empty(struct sb_mover *mover, uint32_t shard, const char *path)
{
    struct stat file = {0};

    TRY(sb_mover_put_empty(&mover->hold, path, &file));
    TRY(sb_sync_directory_of(path));
    mover->shards[shard].device = file.st_dev;
    mover->shards[shard].inode = file.st_ino;
    sb_mover_close_targets(mover);
    return sb_mover_reopen_shards(mover);
}

/* The record of a linked file will no longer hold. */
static enum sb_code unwatch(struct sb_mover *mover, uint32_t shard)
{
    struct sb_linked linked;

    TRY(sb_linked_get(mover->db, shard, &linked));
    if (!linked.watched)
        return SB_OK;
    TRY(sb_exclude_readers(mover->db, mover->hold.file));
    TRY(sb_linked_unwatch(mover->db, shard));
    return sb_mover_commit_index(mover);
}

static enum sb_code cut(struct sb_mover *mover, uint32_t shard, int64_t size, const char *path)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_OMIT}};
    struct stat index;
    int fd;

    if (size == 0 && is_shared(path))
        return replace_by_empty(mover, shard, path);
    TRY(sb_mover_target(mover, shard, &fd));
    if (ftruncate(fd, size))
        return sb_fail_errno(errno, "%s", path);
    /*
     * It gets the time of the index, where it can, so that it is not newer than that, which knows
     * of all that it has.
     */
    if (fstat(mover->hold.fd, &index) == 0) {
        times[1] = index.st_mtim;
        (void)!futimens(fd, times);
    }
    return sb_fsync(fd, path);
}

enum sb_code sb_mover_shorten(struct sb_mover *mover, uint32_t shard, int64_t size)
{
    CLEANUP(sb_freep) char *path = NULL;
    int64_t end;

    TRY(sb_mover_end_before(mover, shard, INT64_MAX, &end));
    if (mover->queued > 0 || end > size)
        return sb_fail(SB_INVALID, "%s: shard %05u has files after byte %lld", mover->hold.path,
                       shard, (long long)size);
    if (size >= mover->shards[shard].size)
        return SB_OK;
    path = sb_mover_shard_path(mover, shard);
    if (!path)
        return sb_error()->code;
    TRY(unwatch(mover, shard));
    TRY(cut(mover, shard, size, path));
    mover->shards[shard].size = size;
    return SB_OK;
}
