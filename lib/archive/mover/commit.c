/*
 * The shards that a mover writes to, and its commits: moves, and shards that are shortened, made or
 * removed.
 */
#include "archive/database.h"
#include "archive/mover/private.h"
#include "archive/own/settle.h"
#include "archive/own/state.h"
#include "archive/parity/note.h"
#include "archive/shards.h"
#include "archive/writer/linked.h"
#include "core/array.h"
#include "core/interrupt.h"
#include "core/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum sb_code open_target(struct sb_mover *mover, uint32_t shard, struct sb_file **out)
{
    int flags = O_RDWR | O_CLOEXEC | O_NONBLOCK | (mover->options.follow ? 0 : O_NOFOLLOW);
    const struct mover_shard *known = &mover->shards[shard];
    CLEANUP(sb_file_freep) struct sb_file *file = NULL;
    CLEANUP(sb_freep) char *path = NULL;
    int fd;

    TRY(sb_mover_may_write(mover, shard));
    TRY(sb_mover_shard_path(mover, shard, &path));
    fd = open(path, flags);
    if (fd < 0)
        return sb_fail_errno(errno, "%s", path);
    TRY(sb_file_take(&file, fd, path));
    if (!S_ISREG(file->st.st_mode))
        return sb_fail(SB_FORMAT, "%s: a shard must be a regular file", path);
    if (file->st.st_dev != known->device || file->st.st_ino != known->inode)
        return sb_fail(SB_LOCKED, "%s: was replaced by another file meanwhile", path);
    *out = TAKE(file);
    return SB_OK;
}

enum sb_code sb_mover_target(struct sb_mover *mover, uint32_t shard, struct sb_file **out)
{
    *out = sb_open_files_find(&mover->targets, shard, 0);
    if (*out)
        return SB_OK;
    TRY(open_target(mover, shard, out));
    sb_open_files_keep(&mover->targets, shard, 0, *out);
    return SB_OK;
}

void sb_mover_close_targets(struct sb_mover *mover)
{
    sb_open_files_end(&mover->targets);
    sb_open_files_begin(&mover->targets, TARGETS_MOST);
}

/* Syncs every shard that was written to. */
static enum sb_code sync_targets(struct sb_mover *mover)
{
    for (uint32_t i = 0; i < mover->shard_count; i++) {
        CLEANUP(sb_file_freep) struct sb_file *target = NULL;

        if (!mover->shards[i].dirty)
            continue;
        TRY(sb_mover_target(mover, i, &target));
        TRY(sb_fsync(target->fd, target->name));
    }
    return SB_OK;
}

/* A range of bytes that moves of the queue fill. */
struct range {
    uint32_t shard;
    int64_t begin, end;
};

enum sb_code sb_mover_move(struct sb_mover *mover, const struct sb_mover_file *from, uint32_t shard,
                           int64_t offset)
{
    TRY(sb_grow(&mover->queue, &mover->queue_capacity, mover->queued, sizeof(*mover->queue)));
    mover->queue[mover->queued++] = (struct move){.from = *from, .shard = shard, .offset = offset};
    return SB_OK;
}

/* The ranges that the queue fills, in its order; *count of them. There is space for all. */
static void find_ranges(const struct sb_mover *mover, struct range *ranges, size_t *count)
{
    struct range *last = ranges;

    *count = 0;
    for (size_t i = 0; i < mover->queued; i++) {
        const struct move *move = &mover->queue[i];

        if (move->from.size == 0)
            continue;
        if (*count == 0 || last->shard != move->shard || last->end != move->offset) {
            last = &ranges[(*count)++];
            *last = (struct range){.shard = move->shard, .begin = move->offset};
        }
        last->end = move->offset + move->from.size;
    }
}

static int compare_ranges(const void *a, const void *b)
{
    const struct range *x = a, *y = b;

    if (x->shard != y->shard)
        return COMPARE(x->shard, y->shard);
    return COMPARE(x->begin, y->begin);
}

/* A mistake in a caller's plan must not cost data. */
static enum sb_code refuse_taken(struct sb_mover *mover)
{
    CLEANUP(sb_freep) struct range *ranges = NULL;
    int64_t end = 0;
    size_t count;

    TRY(SB_NEW_ARRAY(&ranges, mover->queued));
    find_ranges(mover, ranges, &count);
    qsort(ranges, count, sizeof(*ranges), compare_ranges);
    for (size_t i = 0; i < count; i++) {
        TRY(sb_mover_end_before(mover, ranges[i].shard, ranges[i].end, &end));
        if (i > 0 && ranges[i - 1].shard == ranges[i].shard && ranges[i - 1].end > end)
            end = ranges[i - 1].end;
        if (end > ranges[i].begin)
            return sb_fail(SB_INVALID,
                           "%s: shard %05u, byte %lld: taken, so nothing is moved there",
                           mover->hold.path, ranges[i].shard, (long long)ranges[i].begin);
    }
    return SB_OK;
}

static enum sb_code update_rows(struct sb_mover *mover)
{
    for (size_t i = 0; i < mover->queued; i++) {
        const struct move *move = &mover->queue[i];

        TRY(SB_RUN(mover->update, move->from.row, move->shard, move->offset));
        if (sqlite3_changes(mover->db) != 1)
            return sb_fail(SB_DAMAGED, "%s: a row is gone; run 'shardbox verify'",
                           mover->hold.file);
    }
    return SB_OK;
}

/* Begins the next transaction; another program may write between two of them. */
static enum sb_code begin_again(struct sb_mover *mover)
{
    int64_t version = mover->version;

    TRY(sb_database_run(mover->db, "BEGIN IMMEDIATE"));
    TRY(sb_database_integer(mover->db, "PRAGMA data_version", 0, &version));
    if (version == mover->version && !sb_database_has_moved(mover->db))
        return SB_OK;
    return sb_fail(SB_CHANGED,
                   "%s: another program changed it meanwhile; it is whole, so run this again",
                   mover->hold.file);
}

enum sb_code sb_mover_commit_index(struct sb_mover *mover)
{
    enum sb_code code;

    /*
     * A commit that fails may be on disk all the same: then the bytes that it refers to must be
     * kept.
     */
    mover->broken = true;
    code = sb_database_run(mover->db, "COMMIT");
    if (code == SB_OK)
        code = begin_again(mover);
    mover->broken = code != SB_OK;
    /* Others may have made links to the shards meanwhile, to bytes that are free from now on. */
    mover->may_free = false;
    sb_mover_close_targets(mover);
    return code;
}

/* Updates the shards' records after the commit of the queue. */
static void settle(struct sb_mover *mover)
{
    for (size_t i = 0; i < mover->queued; i++) {
        const struct move *move = &mover->queue[i];
        struct mover_shard *shard = &mover->shards[move->shard];

        mover->shards[move->from.shard].used -= move->from.size;
        shard->used += move->from.size;
        if (move->from.size > 0 && move->offset + move->from.size > shard->size)
            shard->size = move->offset + move->from.size;
    }
    for (uint32_t i = 0; i < mover->shard_count; i++)
        mover->shards[i].dirty = false;
    mover->queued = 0;
}

enum sb_code sb_mover_commit(struct sb_mover *mover)
{
    bool stopped;
    enum sb_code code;

    if (mover->queued == 0)
        return SB_OK;
    TRY(sb_heed_interrupt());
    code = refuse_taken(mover);
    mover->stop = mover->queued;
    if (code == SB_OK)
        code = sb_mover_copy(mover);
    stopped = mover->stop < mover->queued;
    mover->queued = mover->stop;
    TRY(code);
    TRY(sync_targets(mover));
    TRY(sb_exclude_readers(mover->db, mover->hold.file));
    TRY(update_rows(mover));
    /* The records of linked files no longer hold. */
    for (uint32_t i = 0; i < mover->shard_count; i++) {
        if (mover->shards[i].dirty)
            TRY(sb_linked_unwatch(mover->db, i));
    }
    TRY(sb_shard_count_record(mover->db, mover->shard_count));
    TRY(sb_mover_commit_index(mover));
    settle(mover);
    if (!stopped)
        return SB_OK;
    return sb_fail(SB_DAMAGED,
                   "%s: ended at a damaged file, which is not moved; bring it back with 'shardbox "
                   "verify --repair' or --repair-from, or remove it, and run this again",
                   mover->hold.path);
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
    CLEANUP(sb_file_freep) struct sb_file *target = NULL;
    struct stat index;

    if (size == 0 && is_shared(path))
        return replace_by_empty(mover, shard, path);
    TRY(sb_mover_target(mover, shard, &target));
    if (ftruncate(target->fd, size))
        return sb_fail_errno(errno, "%s", path);
    /*
     * It gets the time of the index, where it can, so that it is not newer than that, which knows
     * of all that it has.
     */
    if (fstat(mover->hold.fd, &index) == 0) {
        times[1] = index.st_mtim;
        (void)!futimens(target->fd, times);
    }
    return sb_fsync(target->fd, path);
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
    TRY(sb_mover_shard_path(mover, shard, &path));
    TRY(unwatch(mover, shard));
    TRY(cut(mover, shard, size, path));
    mover->shards[shard].size = size;
    return SB_OK;
}

/* Records the number of the archive's shards, in a transaction of its own. */
static enum sb_code commit_count(struct sb_mover *mover, uint32_t count)
{
    TRY(sb_exclude_readers(mover->db, mover->hold.file));
    TRY(sb_shard_count_record(mover->db, count));
    TRY(sb_linked_drop_from(mover->db, count));
    return sb_mover_commit_index(mover);
}

/* Users of the first shard may use the others too: its files are moved into them. */
static enum sb_code find_mode(struct sb_mover *mover, mode_t *mode)
{
    CLEANUP(sb_freep) char *path = NULL;
    struct stat st;

    TRY(sb_mover_shard_path(mover, 0, &path));
    if (stat(path, &st))
        return sb_fail_errno(errno, "%s", path);
    *mode = (st.st_mode & 0777) | S_IRUSR | S_IWUSR;
    return SB_OK;
}

/*
 * Makes the file under a name that the next run would remove, until the note says that it is
 * removed unless the index counts it.
 */
static enum sb_code make_empty(struct sb_mover *mover, uint32_t number, mode_t mode,
                               const char *made)
{
    struct sb_look look;
    struct stat st;
    int fd;
    enum sb_code code;

    TRY(sb_hold_make_file(made, &fd));
    code = fchmod(fd, mode) || fstat(fd, &st) ? sb_fail_errno(errno, "%s", made)
                                              : sb_look_into(fd, made, &look);
    close(fd);
    TRY(code);
    mover->shards[number] = (struct mover_shard){.device = st.st_dev, .inode = st.st_ino};
    return sb_note_claim(&mover->hold.note, SB_CLAIM_GONE, number, &look.identity);
}

static enum sb_code make_shard(struct sb_mover *mover, uint32_t number, mode_t mode)
{
    CLEANUP(sb_freep) char *made = sb_shard_name(mover->hold.note.path, 0);
    CLEANUP(sb_freep) char *path = NULL;
    struct sb_look look;

    if (!made)
        return sb_error()->code;
    TRY(sb_mover_shard_path(mover, number, &path));
    TRY(make_empty(mover, number, mode, made));
    TRY(sb_look_at(path, &look));
    return sb_is_empty_file(&look) ? sb_rename(made, path) : sb_rename_new(made, path);
}

/*
 * Removes the shard if it is still the emptied one: no index counts it, so another program may have
 * taken its name.
 */
static enum sb_code remove_shard(struct sb_mover *mover, uint32_t number)
{
    const struct mover_shard *known = &mover->shards[number];
    CLEANUP(sb_freep) char *path = NULL;
    struct stat st;

    TRY(sb_mover_shard_path(mover, number, &path));
    TRY(sb_note_confirm(&mover->hold.note));
    if (lstat(path, &st) == 0 && st.st_dev == known->device && st.st_ino == known->inode &&
        st.st_size == 0) {
        TRY(sb_protect_drop(path));
        if (unlink(path) && errno != ENOENT)
            return sb_fail_errno(errno, "%s", path);
    }
    return SB_OK;
}

/* The files first: a killed run leaves empty ones, which the next one removes. */
enum sb_code sb_mover_add_shards(struct sb_mover *mover, uint32_t count)
{
    uint32_t old = mover->shard_count;
    struct mover_shard *grown;
    mode_t mode = 0;

    if (count > SB_SHARD_MAX + 1 - old)
        return sb_fail(SB_LIMIT, "more than %d shards; give a larger shard size", SB_SHARD_MAX + 1);
    grown = reallocarray(mover->shards, old + count, sizeof(*grown));
    if (!grown)
        return sb_fail_memory();
    mover->shards = grown;
    memset(grown + old, 0, count * sizeof(*grown));
    TRY(find_mode(mover, &mode));
    for (uint32_t i = old; i < old + count; i++)
        TRY(make_shard(mover, i, mode));
    TRY(sb_sync_directory_of(mover->hold.path));
    TRY(commit_count(mover, old + count));
    mover->counted = mover->shard_count += count;
    return SB_OK;
}

enum sb_code sb_mover_shards_filled(struct sb_mover *mover, uint32_t *count)
{
    TRY(sb_shard_count_filled(mover->db, mover->hold.path, count));
    if (*count == 0)
        *count = 1;
    return SB_OK;
}

enum sb_code sb_mover_note_surplus(struct sb_mover *mover, uint32_t count)
{
    for (uint32_t i = count; i < mover->shard_count; i++)
        TRY(sb_settle_claim_gone(&mover->hold, i));
    return SB_OK;
}

/*
 * Shards are emptied first, while the index still counts them; then it no longer does; then they
 * are removed, the last one first. So no killed run leaves unexplained bytes, or a gap in the
 * numbers.
 */
enum sb_code sb_mover_drop_empty_shards(struct sb_mover *mover, uint32_t keep)
{
    uint32_t filled;
    enum sb_code code = SB_OK;

    TRY(sb_mover_shards_filled(mover, &filled));
    if (keep < filled)
        keep = filled;
    if (keep >= mover->shard_count)
        return SB_OK;
    for (uint32_t i = keep; code == SB_OK && i < mover->shard_count; i++)
        code = sb_mover_shorten(mover, i, 0);
    if (code == SB_OK)
        code = sb_mover_note_surplus(mover, keep);
    if (code == SB_OK)
        code = commit_count(mover, keep);
    sb_mover_close_targets(mover);
    TRY(code);
    mover->counted = keep;
    for (; mover->shard_count > keep; mover->shard_count--)
        TRY(remove_shard(mover, mover->shard_count - 1));
    TRY(sb_sync_directory_of(mover->hold.path));
    return sb_mover_reopen_shards(mover);
}
