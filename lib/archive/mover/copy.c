/*
 * Copies the bytes of queued moves from their old positions to the new ones.
 *
 * Moves to adjacent positions are copied as one block. The order of blocks does not matter: no move
 * of a queue reads where another one writes.
 */
#include "archive/mover/private.h"

#include "archive/parity/pieces.h"
#include "archive/shards.h"
#include "core/crc32c.h"
#include "core/io.h"
#include "core/number.h"
#include "core/pipeline.h"
#include "core/spool.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((int64_t)1 << 20)

/* From this size on, writing to disk is started at once. */
#define WRITE_BEHIND_BYTES ((int64_t)256 << 10)

/* The smallest hole that is worth the block after it, which is written to extend the file. */
#define HOLE_BYTES ((int64_t)64 << 10)

/* Blocks in flight. */
#define SLOTS   4
#define THREADS 2

/* Less than this is copied before threads have begun. */
#define THREADS_BYTES (4 * BLOCK_BYTES)

/* Whole files, or a part of one that is larger than a block. */
struct block {
    size_t first, count; /* in the queue */
    int64_t at;          /* where the part begins in its file; 0 for whole files */
    int64_t size;
    bool hole; /* a part that is a hole */
    struct sb_file *target;
    char *data;
    uint32_t crc32c; /* of a part */
    bool *damaged;   /* of each file */
    size_t capacity; /* of `damaged` */
};

struct copying {
    struct sb_mover *mover;
    size_t next;     /* in the queue ... */
    int64_t at;      /* ... and in that file */
    uint32_t crc32c; /* of the drained parts of the current file */
};

/* Does it go directly after a block of `size` bytes that begins with `first`? */
static bool goes_after(const struct move *move, const struct move *first, int64_t size)
{
    return move->shard == first->shard && move->offset == first->offset + size &&
           move->from.size <= BLOCK_BYTES - size;
}

static void take_files(struct copying *copying, struct block *block)
{
    const struct move *queue = copying->mover->queue, *first = &queue[block->first];

    do {
        block->size += queue[copying->next++].from.size;
    } while (copying->next < copying->mover->queued &&
             goes_after(&queue[copying->next], first, block->size));
    block->count = copying->next - block->first;
}

static void take_part(struct copying *copying, struct block *block)
{
    const struct sb_mover_file *from = &copying->mover->queue[block->first].from;
    int64_t rest = from->size - copying->at;
    int64_t run = sb_shards_run(copying->mover->reading, from->shard, from->offset + copying->at,
                                &block->hole);

    block->at = copying->at;
    block->size = rest < run ? rest : run;
    block->hole = block->hole && block->size >= HOLE_BYTES;
    if (!block->hole && block->size > BLOCK_BYTES)
        block->size = BLOCK_BYTES;
    copying->at += block->size;
    if (block->size == rest) {
        copying->next++;
        copying->at = 0;
    }
}

static bool comes_in_parts(const struct move *move)
{
    return move->from.size > BLOCK_BYTES;
}

static enum sb_code fill(void *context, void *slot)
{
    struct copying *copying = context;
    struct sb_mover *mover = copying->mover;
    struct block *block = slot;
    const struct move *first;

    while (copying->next < mover->queued && mover->queue[copying->next].from.size == 0)
        copying->next++;
    if (copying->next == mover->queued)
        return SB_END;
    first = &mover->queue[copying->next];
    block->first = copying->next;
    block->count = 1;
    block->at = 0;
    block->size = 0;
    block->hole = false;
    if (comes_in_parts(first))
        take_part(copying, block);
    else
        take_files(copying, block);
    mover->shards[first->shard].dirty = true;
    sb_file_free(TAKE(block->target));
    return sb_mover_target(mover, first->shard, &block->target);
}

/* Adjacent files are read at once. */
static enum sb_code read_files(struct sb_mover *mover, struct block *block)
{
    const struct move *move = &mover->queue[block->first], *end = move + block->count;
    const struct move *first;
    char *data = block->data;
    int64_t size;

    while (move < end) {
        first = move;
        size = 0;
        do {
            size += move++->from.size;
        } while (move < end && move->from.shard == first->from.shard &&
                 move->from.offset == first->from.offset + size);
        TRY(sb_shards_read(mover->reading, first->from.shard, first->from.offset, data,
                           (size_t)size));
        data += size;
    }
    return SB_OK;
}

static enum sb_code make_space(struct block *block)
{
    if (!block->data)
        TRY(sb_alloc(&block->data, (size_t)BLOCK_BYTES));
    return sb_grow(&block->damaged, &block->capacity, block->count, sizeof(*block->damaged));
}

static void check_files(const struct sb_mover *mover, struct block *block)
{
    const char *data = block->data;

    for (size_t i = 0; i < block->count; i++) {
        const struct sb_mover_file *file = &mover->queue[block->first + i].from;

        block->damaged[i] = file->has_crc && sb_crc32c(0, data, (size_t)file->size) != file->crc32c;
        data += file->size;
    }
}

static enum sb_code copy(void *context, void *slot, struct sb_pipeline *turns)
{
    struct copying *copying = context;
    struct sb_mover *mover = copying->mover;
    struct block *block = slot;
    const struct move *first = &mover->queue[block->first];
    int64_t offset = first->offset + block->at;

    (void)turns;
    TRY(make_space(block));
    if (block->hole) {
        block->crc32c = sb_crc32c_zeros(0, block->size);
        return sb_pwrite_hole(block->target->fd, offset, block->size, mover->hold.path);
    }
    if (comes_in_parts(first)) {
        TRY(sb_shards_read(mover->reading, first->from.shard, first->from.offset + block->at,
                           block->data, (size_t)block->size));
        block->crc32c = sb_crc32c(0, block->data, (size_t)block->size);
    } else {
        TRY(read_files(mover, block));
        check_files(mover, block);
    }
    TRY(sb_pwrite_full(block->target->fd, block->data, (size_t)block->size, offset,
                       mover->hold.path));
    /* So that the sync before the commit has little left to do. */
    if (block->size >= WRITE_BEHIND_BYTES)
        sync_file_range(block->target->fd, offset, block->size, SYNC_FILE_RANGE_WRITE);
    return SB_OK;
}

struct place {
    int fd;
    int64_t at;
    const char *name;
};

static enum sb_code write_block(void *context, const void *data, size_t size)
{
    struct place *place = context;
    enum sb_code code = data ? sb_pwrite_full(place->fd, data, size, place->at, place->name)
                             : sb_pwrite_hole(place->fd, place->at, (int64_t)size, place->name);

    place->at += (int64_t)size;
    return code;
}

/* The bytes that it should have go to its new place: the old one, whose bytes are wrong, is free
 * then. Otherwise it stays there, where its parity is, and what comes after it is not moved. */
static enum sb_code mend(struct sb_mover *mover, size_t number, int fd)
{
    const struct move *move = &mover->queue[number];
    CLEANUP(sb_spool_release) struct sb_spool made = {.fd = -1, .beside = mover->hold.path};
    struct place place = {.fd = fd, .at = move->offset, .name = mover->hold.path};
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    CLEANUP(sb_freep) char *shard = NULL;
    bool right = false;

    if (number >= mover->stop)
        return SB_OK;
    TRY(sb_mover_shard_path(mover, move->from.shard, &shard));
    TRY(sb_pieces_make(shard, move->from.offset, move->from.size, move->from.crc32c, &made,
                       &right));
    if (right)
        TRY(sb_spool_feed_sparse(&made, write_block, &place));
    else
        mover->stop = number;
    TRY(sb_mover_name(mover, move->from.row, &name));
    sb_report(mover->options.notify, right ? SB_WARNING : SB_PROBLEM, "checksum",
              name.data ? name.data : "",
              right ? "was damaged; its bytes are made by the parity file of its shard"
                    : "its bytes do not match its checksum, and no parity file makes them; it "
                      "stays where it is");
    return SB_OK;
}

static enum sb_code drain(void *context, void *slot)
{
    struct copying *copying = context;
    struct sb_mover *mover = copying->mover;
    const struct block *block = slot;
    const struct sb_mover_file *file = &mover->queue[block->first].from;
    enum sb_code code = SB_OK;

    if (comes_in_parts(&mover->queue[block->first])) {
        copying->crc32c = block->at == 0
                              ? block->crc32c
                              : sb_crc32c_combine(copying->crc32c, block->crc32c, block->size);
        /* After the last part of a file its checksum can be compared. */
        if (block->at + block->size == file->size && file->has_crc &&
            copying->crc32c != file->crc32c)
            code = mend(mover, block->first, block->target->fd);
    } else {
        for (size_t i = 0; code == SB_OK && i < block->count; i++) {
            if (block->damaged[i])
                code = mend(mover, block->first + i, block->target->fd);
        }
    }
    sb_count_up(&mover->moved, block->size);
    if (mover->options.progress)
        mover->options.progress(mover->options.context, mover->moved);
    return code;
}

static unsigned choose_threads(const struct sb_mover *mover)
{
    unsigned most = sb_default_threads();
    int64_t bytes = 0;

    for (size_t i = 0; i < mover->queued && bytes < THREADS_BYTES; i++)
        sb_count_up(&bytes, mover->queue[i].from.size);
    if (bytes < THREADS_BYTES)
        return 1;
    return most < THREADS ? most : THREADS;
}

enum sb_code sb_mover_copy(struct sb_mover *mover)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = copy, .drain = drain};
    struct copying copying = {.mover = mover};
    struct block blocks[SLOTS] = {0};
    enum sb_code code;

    code = sb_pipeline_run(&ops, &copying, blocks, sizeof(blocks[0]), SLOTS, choose_threads(mover));
    for (size_t i = 0; i < SLOTS; i++) {
        sb_file_free(blocks[i].target);
        free(blocks[i].data);
        free(blocks[i].damaged);
    }
    return code;
}
