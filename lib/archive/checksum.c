#include "archive/checksum.h"

#include "core/buf.h"
#include "core/crc32c.h"
#include "core/pipeline.h"

#include <stdlib.h>
#include <string.h>

/*
 * Read at once. More would be no faster, and drop out of a core's cache before its CRC is computed.
 */
#define RUN_BYTES ((int64_t)512 << 10)

/* A hole that is cheaper to read than to seek over. */
#define GAP_BYTES ((int64_t)32 << 10)

#define RUN_PIECES     512
#define RUN_NAME_BYTES ((size_t)64 << 10)

#define SLOTS_PER_THREAD 4
#define SLOTS_MAX        32

/* An extent, or a part of a long one, within a run. */
struct piece {
    struct sb_checksum_extent extent; /* its name is at name_at of the run's names */
    size_t name_at;
    int64_t offset; /* of this part */
    int64_t size;
    bool hole; /* nothing is read for it, and it is alone in its run */
    uint32_t crc;
    enum sb_code code; /* why it could not be read */
};

/* Neighbouring pieces of one shard, read together: one slot of the pipeline. */
struct run {
    uint32_t shard;
    int64_t offset;
    int64_t end;
    struct piece *pieces;
    size_t count;
    struct sb_buf names;
    unsigned char *data;
    struct sb_error failure; /* of the first piece that has a code */
};

struct job {
    struct sb_shards *shards;
    const struct sb_checksum_ops *ops;
    void *context;

    /* The next piece, which did not fit into the last run; its extent's name is in `name`. */
    struct piece ahead;
    bool has_ahead;
    bool ended;
    struct sb_buf name;

    /* The checksum of a long extent's parts so far. */
    uint32_t crc;
    bool part_failed;
};

static void run_release(struct run *run)
{
    free(run->pieces);
    free(run->data);
    sb_buf_release(&run->names);
}

static bool is_last_part(const struct piece *piece)
{
    return piece->offset + piece->size == piece->extent.offset + piece->extent.size;
}

static void cut_part(const struct job *job, struct piece *piece, int64_t offset)
{
    int64_t left = piece->extent.offset + piece->extent.size - offset, run = left;

    piece->offset = offset;
    piece->hole = false;
    if (piece->extent.size > RUN_BYTES)
        run = sb_shards_run(job->shards, piece->extent.shard, offset, &piece->hole);
    piece->size = left < run ? left : run;
    if (!piece->hole && piece->size > RUN_BYTES)
        piece->size = RUN_BYTES;
}

/* Makes job->ahead the next piece: the next part of a long extent, or the next extent. */
static enum sb_code look_ahead(struct job *job)
{
    struct piece *piece = &job->ahead;
    enum sb_code code;

    if (job->has_ahead)
        return SB_OK;
    if (piece->size > 0 && !is_last_part(piece)) {
        cut_part(job, piece, piece->offset + piece->size);
        job->has_ahead = true;
        return SB_OK;
    }
    if (job->ended)
        return SB_END;
    code = job->ops->next(job->context, &piece->extent);
    if (code) {
        job->ended = true;
        piece->size = 0;
        return code;
    }
    TRY(sb_buf_set(&job->name, piece->extent.name, piece->extent.name_size));
    cut_part(job, piece, piece->extent.offset);
    job->has_ahead = true;
    return SB_OK;
}

static bool fits(const struct run *run, const struct job *job)
{
    const struct piece *piece = &job->ahead;

    if (run->count == 0)
        return true;
    return run->count < RUN_PIECES && !piece->hole && !run->pieces[0].hole &&
           piece->extent.shard == run->shard && piece->offset >= run->offset &&
           piece->offset - run->end <= GAP_BYTES &&
           piece->offset - run->offset <= RUN_BYTES - piece->size &&
           run->names.size + job->name.size < RUN_NAME_BYTES;
}

static enum sb_code add_piece(struct run *run, const struct job *job)
{
    struct piece *piece = &run->pieces[run->count];
    int64_t end = job->ahead.offset + job->ahead.size;

    *piece = job->ahead;
    piece->code = SB_OK;
    piece->name_at = run->names.size;
    TRY(sb_buf_add(&run->names, job->name.data, job->name.size));
    TRY(sb_buf_add_char(&run->names, '\0'));
    if (run->count == 0) {
        run->shard = piece->extent.shard;
        run->offset = piece->offset;
    }
    if (run->count == 0 || end > run->end)
        run->end = end;
    run->count++;
    return SB_OK;
}

static enum sb_code fill(void *context, void *slot)
{
    struct job *job = context;
    struct run *run = slot;

    run->count = 0;
    sb_buf_clear(&run->names);
    for (;;) {
        enum sb_code code = look_ahead(job);

        if (code)
            return code == SB_END && run->count > 0 ? SB_OK : code;
        if (!fits(run, job))
            return SB_OK;
        TRY(add_piece(run, job));
        job->has_ahead = false;
    }
}

/* Reads each piece by itself, so that one that cannot be read does not spoil its neighbours. */
static void read_apart(struct job *job, struct run *run)
{
    bool failed = false;

    for (size_t i = 0; i < run->count; i++) {
        struct piece *piece = &run->pieces[i];
        struct sb_error err;
        piece->code = INTO(&err, sb_shards_read(job->shards, run->shard, piece->offset, run->data,
                                                (size_t)piece->size));
        if (piece->code == SB_OK) {
            piece->crc = sb_crc32c(0, run->data, (size_t)piece->size);
        } else if (!failed) {
            run->failure = err;
            failed = true;
        }
    }
}

static enum sb_code work(void *context, void *slot, struct sb_pipeline *turns)
{
    struct job *job = context;
    struct run *run = slot;
    enum sb_code code;

    (void)turns;
    if (run->pieces[0].hole) {
        run->pieces[0].crc = sb_crc32c_zeros(0, run->pieces[0].size);
        return SB_OK;
    }
    code = sb_shards_read(job->shards, run->shard, run->offset, run->data,
                          (size_t)(run->end - run->offset));
    if (code == SB_NOMEM || code == SB_INTERRUPT)
        return code;
    if (code) {
        read_apart(job, run);
        return SB_OK;
    }
    for (size_t i = 0; i < run->count; i++) {
        struct piece *piece = &run->pieces[i];
        piece->crc = sb_crc32c(0, run->data + (piece->offset - run->offset), (size_t)piece->size);
    }
    return SB_OK;
}

static enum sb_code drain_piece(struct job *job, const struct run *run, const struct piece *piece)
{
    struct sb_checksum_extent extent = piece->extent;
    extent.name = run->names.data + piece->name_at;

    if (piece->offset == extent.offset) {
        job->crc = piece->crc;
        job->part_failed = false;
    } else {
        job->crc = sb_crc32c_combine(job->crc, piece->crc, piece->size);
    }
    if (job->part_failed)
        return SB_OK;
    if (piece->code != SB_OK) {
        job->part_failed = true;
        return job->ops->done(job->context, &extent, 0, &run->failure);
    }
    if (!is_last_part(piece))
        return SB_OK;
    return job->ops->done(job->context, &extent, job->crc, NULL);
}

static enum sb_code drain(void *context, void *slot)
{
    struct job *job = context;
    struct run *run = slot;

    for (size_t i = 0; i < run->count; i++) {
        TRY(drain_piece(job, run, &run->pieces[i]));
        if (job->ops->passed)
            job->ops->passed(job->context, run->pieces[i].size);
    }
    return SB_OK;
}

enum sb_code sb_checksum(struct sb_shards *shards, const struct sb_checksum_ops *ops, void *context,
                         unsigned threads)
{
    static const struct sb_pipeline_ops pipeline = {.fill = fill, .work = work, .drain = drain};
    struct job job = {.shards = shards, .ops = ops, .context = context};
    struct run slots[SLOTS_MAX] = {0};
    unsigned count =
        threads < SLOTS_MAX / SLOTS_PER_THREAD ? threads * SLOTS_PER_THREAD : SLOTS_MAX;
    enum sb_code code = SB_OK;

    for (unsigned i = 0; i < count && code == SB_OK; i++) {
        code = SB_NEW_ARRAY(&slots[i].pieces, RUN_PIECES);
        if (!code)
            code = sb_alloc(&slots[i].data, (size_t)RUN_BYTES);
    }
    if (code == SB_OK)
        code = sb_pipeline_run(&pipeline, &job, slots, sizeof(slots[0]), count, threads);
    for (unsigned i = 0; i < count; i++)
        run_release(&slots[i]);
    sb_buf_release(&job.name);
    return code;
}
