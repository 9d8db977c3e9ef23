#include "store/out/parts.h"

#include "core/interrupt.h"
#include "core/pipeline.h"
#include "store/codec/part.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* zstd at its usual level: more threads than these would wait, and only take memory. */
#define FAST_THREADS 5

/* What a part is made of, then what it became. */
struct part {
    char *data;
    size_t size;
    size_t made_of; /* bytes, whose sum is: */
    uint32_t sum;
    bool alone;
};

struct worker {
    struct sb_part_codec *codec;
    char *out; /* what a part becomes; little of it is touched if that is little */
    bool busy;
};

struct sb_parts {
    struct sb_outfilter_options options; /* threads: at least 1 */
    size_t part_size;
    struct part *ring;
    unsigned count;
    struct worker *workers;
    bool any;     /* a part was filled */
    bool begun;   /* something came out */
    uint32_t sum; /* of all bytes whose parts came out */
    uint64_t size;
    sb_take_bytes *take;
    void *context;
    pthread_mutex_t mutex; /* which workers are busy */
};

static struct worker *borrow_worker(struct sb_parts *parts)
{
    struct worker *worker = parts->workers;

    pthread_mutex_lock(&parts->mutex);
    while (worker->busy)
        worker++;
    worker->busy = true;
    pthread_mutex_unlock(&parts->mutex);
    return worker;
}

static void return_worker(struct sb_parts *parts, struct worker *worker)
{
    pthread_mutex_lock(&parts->mutex);
    worker->busy = false;
    pthread_mutex_unlock(&parts->mutex);
}

static enum sb_code compress_part(void *context, void *slot, struct sb_pipeline *turns)
{
    struct sb_parts *parts = context;
    struct part *part = slot;
    struct worker *worker = borrow_worker(parts);
    struct sb_part_work work = {
        .data = part->data, .size = part->size, .alone = part->alone, .out = worker->out};
    enum sb_code code = sb_heed_interrupt();

    (void)turns;
    if (code == SB_OK)
        code = sb_part_compress(worker->codec, &work);
    if (code == SB_OK) {
        memcpy(part->data, work.out, work.made);
        part->made_of = part->size;
        part->size = work.made;
        part->sum = work.sum;
    }
    return_worker(parts, worker);
    return code;
}

static enum sb_code pass_on(struct sb_parts *parts, const void *data, size_t size)
{
    uint8_t beginning[SB_PART_EDGE];
    size_t first = parts->begun ? 0 : sb_part_begin(parts->options.kind, beginning);

    parts->begun = true;
    if (first > 0)
        TRY(parts->options.each(parts->options.context, beginning, first));
    if (size > 0)
        TRY(parts->options.each(parts->options.context, data, size));
    return SB_OK;
}

static enum sb_code pass_part(void *context, void *slot)
{
    struct sb_parts *parts = context;
    struct part *part = slot;
    size_t size = part->size;

    parts->sum = (uint32_t)crc32_combine(parts->sum, part->sum, (z_off_t)part->made_of);
    parts->size += part->made_of;
    part->size = 0;
    return pass_on(parts, part->data, size);
}

/* The stream has no other part than this one if it is the first and not full. */
static void is_filled(struct sb_parts *parts, struct part *part)
{
    part->alone = !parts->any && part->size < parts->part_size;
    parts->any = true;
}

static enum sb_code fill_part(void *context, void *slot)
{
    struct sb_parts *parts = context;
    struct part *part = slot;

    TRY(parts->take(parts->context, part->data, parts->part_size, &part->size));
    if (part->size == 0)
        return SB_END;
    is_filled(parts, part);
    return SB_OK;
}

enum sb_code sb_parts_run(struct sb_parts *parts, sb_take_bytes *take, void *context)
{
    static const struct sb_pipeline_ops ops = {fill_part, compress_part, pass_part, NULL};

    parts->take = take;
    parts->context = context;
    return sb_pipeline_run(&ops, parts, parts->ring, sizeof(*parts->ring), parts->count,
                           parts->options.threads);
}

/* The first part, by the calling thread. */
static enum sb_code compress_here(struct sb_parts *parts)
{
    is_filled(parts, parts->ring);
    TRY(compress_part(parts, parts->ring, NULL));
    return pass_part(parts, parts->ring);
}

enum sb_code sb_parts_write(struct sb_parts *parts, const void *data, size_t size)
{
    struct part *part = parts->ring;
    const char *from = data;

    while (size > 0) {
        size_t space = parts->part_size - part->size;
        size_t some = size < space ? size : space;

        memcpy(part->data + part->size, from, some);
        part->size += some;
        from += some;
        size -= some;
        if (part->size == parts->part_size)
            TRY(compress_here(parts));
    }
    return SB_OK;
}

/* An empty stream has one part, which is empty. */
enum sb_code sb_parts_finish(struct sb_parts *parts)
{
    uint8_t end[SB_PART_EDGE];

    if (parts->ring->size > 0 || !parts->any)
        TRY(compress_here(parts));
    return pass_on(parts, end, sb_part_end(parts->options.kind, parts->sum, parts->size, end));
}

static enum sb_code make_workers(struct sb_parts *parts, size_t capacity)
{
    TRY(SB_NEW_ARRAY(&parts->workers, parts->options.threads));
    for (unsigned i = 0; i < parts->options.threads; i++) {
        struct worker *worker = &parts->workers[i];

        TRY(sb_alloc(&worker->out, capacity));
        TRY(sb_part_codec_new(&worker->codec, parts->options.kind, parts->options.level));
    }
    return SB_OK;
}

enum sb_code sb_parts_new(struct sb_parts **out, const struct sb_outfilter_options *options)
{
    CLEANUP(sb_parts_freep) struct sb_parts *parts = NULL;
    unsigned threads = options->threads ? options->threads : 1;
    size_t capacity;

    *out = NULL;
    TRY(SB_NEW(&parts));
    pthread_mutex_init(&parts->mutex, NULL);
    parts->options = *options;
    parts->part_size = sb_part_size(options->kind, options->level);
    if (options->kind == SB_FILTER_ZSTD && parts->part_size == sb_part_size(SB_FILTER_ZSTD, 0) &&
        threads > FAST_THREADS)
        threads = FAST_THREADS;
    parts->options.threads = threads;
    parts->count = threads > 1 ? threads + 1 : 1;
    capacity = sb_part_capacity(options->kind, options->level);
    TRY(SB_NEW_ARRAY(&parts->ring, parts->count));
    for (unsigned i = 0; i < parts->count; i++) {
        TRY(sb_alloc(&parts->ring[i].data, capacity));
    }
    TRY(make_workers(parts, capacity));
    *out = TAKE(parts);
    return SB_OK;
}

void sb_parts_free(struct sb_parts *parts)
{
    if (!parts)
        return;
    for (unsigned i = 0; parts->ring && i < parts->count; i++)
        free(parts->ring[i].data);
    for (unsigned i = 0; parts->workers && i < parts->options.threads; i++) {
        sb_part_codec_free(parts->workers[i].codec);
        free(parts->workers[i].out);
    }
    pthread_mutex_destroy(&parts->mutex);
    free(parts->ring);
    free(parts->workers);
    free(parts);
}
