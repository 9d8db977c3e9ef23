/*
 * The commits of a mover: moves, and shards that are made or removed.
 */
#include "archive/mover/private.h"

#include "archive/database.h"
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
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

/* The ranges that the queue fills, in its order; *count of them. The caller frees it. */
static struct range *find_ranges(const struct sb_mover *mover, size_t *count)
{
    struct range *ranges = calloc(mover->queued, sizeof(*ranges)), *last = ranges;

    *count = 0;
    if (!ranges)
        return NULL;
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
    return ranges;
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
    size_t count;
    CLEANUP(sb_freep) struct range *ranges = find_ranges(mover, &count);
    int64_t end = 0;

    if (!ranges)
        return sb_fail_memory();
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
    TRY(sb_mover_sync(mover));
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
    CLEANUP(sb_freep) char *path = sb_mover_shard_path(mover, 0);
    struct stat st;

    if (!path)
        return sb_error()->code;
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
    CLEANUP(sb_freep) char *path = sb_mover_shard_path(mover, number);
    CLEANUP(sb_freep) char *made = path ? sb_shard_name(mover->hold.note.path, 0) : NULL;
    struct sb_look look;

    if (!made)
        return sb_error()->code;
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
    CLEANUP(sb_freep) char *path = sb_mover_shard_path(mover, number);
    struct stat st;

    if (!path)
        return sb_error()->code;
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
