#include "store/out/filter.h"

#include "core/interrupt.h"
#include "core/pipeline.h"
#include "core/thread.h"
#include "store/codec/codec.h"
#include "store/codec/part.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define BLOCKS      4
#define BLOCK_BYTES ((size_t)512 << 10)

/* zstd at its usual level: more threads than these would wait, and only take memory. */
#define FAST_THREADS 5

struct block {
    char *data;
    size_t size;
};

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

/*
 * Block n is blocks[n % BLOCKS]: those from `taken` to `pushed` wait for the thread, the next one
 * is being filled. What is below the mutex belongs to it.
 */
struct sb_outfilter {
    struct sb_outfilter_options options; /* threads: at least 1 */
    pthread_t thread;
    bool threaded; /* else, where the system gives no thread, the caller does the work */
    struct block blocks[BLOCKS];

    struct sb_codec *codec; /* of kinds that are not written in parts, with: */
    char *out;              /* SB_CODEC_CAPACITY */

    size_t part_size; /* 0: it has a codec */
    size_t used;      /* of the block that is taken next */
    struct part *parts;
    unsigned part_count;
    struct worker *workers;
    bool any;     /* a part was filled */
    bool begun;   /* something came out */
    uint32_t sum; /* of all bytes whose parts came out */
    uint64_t size;

    pthread_mutex_t mutex; /* and of workers: which are busy */
    pthread_cond_t changed;
    uint64_t pushed;
    uint64_t taken;
    bool closed;    /* nothing more will be pushed */
    bool abandoned; /* and what was is not wanted */
    enum sb_code code;
    struct sb_error error;
};

/* Keeps the first reason. */
static void note_failure(struct sb_outfilter *filter)
{
    pthread_mutex_lock(&filter->mutex);
    if (filter->code == SB_OK) {
        filter->error = *sb_error();
        filter->code = filter->error.code;
    }
    pthread_cond_broadcast(&filter->changed);
    pthread_mutex_unlock(&filter->mutex);
}

static void run_codec(struct sb_outfilter *filter, const struct block *block, bool end)
{
    struct sb_codec_io io = {.in = block->data,
                             .in_size = block->size,
                             .end = end,
                             .out = filter->out,
                             .capacity = SB_CODEC_CAPACITY};
    enum sb_code code;

    do {
        code = sb_heed_interrupt();
        if (!code)
            code = sb_codec_step(filter->codec, &io);
        if (!code && io.made > 0)
            code = filter->options.each(filter->options.context, io.out, io.made);
    } while (code == SB_OK && (io.in_size > 0 || io.more));
    if (code)
        note_failure(filter);
}

/* SB_END after the last block, and after a failure; SB_INTERRUPT where they are not wanted. */
static enum sb_code wait_for_block(struct sb_outfilter *filter)
{
    enum sb_code code = SB_OK;

    pthread_mutex_lock(&filter->mutex);
    while (filter->taken == filter->pushed && !filter->closed && !filter->code)
        pthread_cond_wait(&filter->changed, &filter->mutex);
    if (filter->abandoned)
        code = sb_fail_interrupt();
    else if (filter->code || filter->taken == filter->pushed)
        code = SB_END;
    pthread_mutex_unlock(&filter->mutex);
    return code;
}

static void free_block(struct sb_outfilter *filter)
{
    pthread_mutex_lock(&filter->mutex);
    filter->taken++;
    pthread_cond_broadcast(&filter->changed);
    pthread_mutex_unlock(&filter->mutex);
}

/* As many bytes as there is space for; fewer only at the end, and none after. */
static enum sb_code take_bytes(struct sb_outfilter *filter, char *data, size_t capacity,
                               size_t *got)
{
    enum sb_code code = SB_OK;

    *got = 0;
    while (*got < capacity && (code = wait_for_block(filter)) == SB_OK) {
        const struct block *block = &filter->blocks[filter->taken % BLOCKS];
        size_t left = block->size - filter->used, space = capacity - *got;
        size_t part = left < space ? left : space;

        memcpy(data + *got, block->data + filter->used, part);
        *got += part;
        filter->used = part < left ? filter->used + part : 0;
        if (part == left)
            free_block(filter);
    }
    return code == SB_INTERRUPT ? code : SB_OK;
}

static struct worker *borrow_worker(struct sb_outfilter *filter)
{
    struct worker *worker = filter->workers;

    pthread_mutex_lock(&filter->mutex);
    while (worker->busy)
        worker++;
    worker->busy = true;
    pthread_mutex_unlock(&filter->mutex);
    return worker;
}

static void return_worker(struct sb_outfilter *filter, struct worker *worker)
{
    pthread_mutex_lock(&filter->mutex);
    worker->busy = false;
    pthread_mutex_unlock(&filter->mutex);
}

static enum sb_code compress_part(void *context, void *slot, struct sb_pipeline *turns)
{
    struct sb_outfilter *filter = context;
    struct part *part = slot;
    struct worker *worker = borrow_worker(filter);
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
    return_worker(filter, worker);
    return code;
}

static enum sb_code pass_on(struct sb_outfilter *filter, const void *data, size_t size)
{
    uint8_t beginning[SB_PART_EDGE];
    size_t first = filter->begun ? 0 : sb_part_begin(filter->options.kind, beginning);

    filter->begun = true;
    if (first > 0)
        TRY(filter->options.each(filter->options.context, beginning, first));
    if (size > 0)
        TRY(filter->options.each(filter->options.context, data, size));
    return SB_OK;
}

static enum sb_code pass_part(void *context, void *slot)
{
    struct sb_outfilter *filter = context;
    struct part *part = slot;
    size_t size = part->size;

    filter->sum = (uint32_t)crc32_combine(filter->sum, part->sum, (z_off_t)part->made_of);
    filter->size += part->made_of;
    part->size = 0;
    return pass_on(filter, part->data, size);
}

/* The stream has no other part than this one if it is the first and not full. */
static void is_filled(struct sb_outfilter *filter, struct part *part)
{
    part->alone = !filter->any && part->size < filter->part_size;
    filter->any = true;
}

static enum sb_code fill_part(void *context, void *slot)
{
    struct sb_outfilter *filter = context;
    struct part *part = slot;

    TRY(take_bytes(filter, part->data, filter->part_size, &part->size));
    if (part->size == 0)
        return SB_END;
    is_filled(filter, part);
    return SB_OK;
}

/* The first part, by the calling thread. */
static enum sb_code compress_here(struct sb_outfilter *filter)
{
    is_filled(filter, filter->parts);
    TRY(compress_part(filter, filter->parts, NULL));
    return pass_part(filter, filter->parts);
}

static enum sb_code write_here(struct sb_outfilter *filter, const void *data, size_t size)
{
    struct part *part = filter->parts;
    const char *from = data;

    while (size > 0) {
        size_t space = filter->part_size - part->size;
        size_t some = size < space ? size : space;

        memcpy(part->data + part->size, from, some);
        part->size += some;
        from += some;
        size -= some;
        if (part->size == filter->part_size)
            TRY(compress_here(filter));
    }
    return SB_OK;
}

/* An empty stream has one part, which is empty. */
static enum sb_code finish_parts(struct sb_outfilter *filter)
{
    uint8_t end[SB_PART_EDGE];

    if (filter->parts->size > 0 || !filter->any)
        TRY(compress_here(filter));
    return pass_on(filter, end, sb_part_end(filter->options.kind, filter->sum, filter->size, end));
}

static void compress_next(struct sb_outfilter *filter)
{
    const struct block *block = &filter->blocks[filter->taken % BLOCKS];

    if (filter->codec)
        run_codec(filter, block, false);
    else if (write_here(filter, block->data, block->size))
        note_failure(filter);
}

static void end_stream(struct sb_outfilter *filter)
{
    if (filter->codec)
        run_codec(filter, &(struct block){0}, true);
    else if (finish_parts(filter))
        note_failure(filter);
}

static void *run_thread(void *argument)
{
    static const struct sb_pipeline_ops ops = {fill_part, compress_part, pass_part, NULL};
    struct sb_outfilter *filter = argument;
    enum sb_code code = SB_OK;

    while (filter->codec && (code = wait_for_block(filter)) == SB_OK) {
        compress_next(filter);
        free_block(filter);
    }
    if (!filter->codec && sb_pipeline_run(&ops, filter, filter->parts, sizeof(*filter->parts),
                                          filter->part_count, filter->options.threads))
        note_failure(filter);
    if (code != SB_INTERRUPT && !filter->code)
        end_stream(filter);
    return NULL;
}

static enum sb_code make_codec(struct sb_outfilter *filter)
{
    const struct sb_codec_options options = {.kind = filter->options.kind,
                                             .compress = true,
                                             .level = filter->options.level,
                                             .threads = filter->options.threads};

    TRY(sb_alloc(&filter->out, SB_CODEC_CAPACITY));
    TRY(sb_codec_new(&filter->codec, &options));
    return sb_codec_begin(filter->codec, -1);
}

static enum sb_code make_parts(struct sb_outfilter *filter)
{
    struct sb_outfilter_options *options = &filter->options;
    const size_t capacity = sb_part_capacity(options->kind, options->level);

    if (options->kind == SB_FILTER_ZSTD && filter->part_size == sb_part_size(SB_FILTER_ZSTD, 0) &&
        options->threads > FAST_THREADS)
        options->threads = FAST_THREADS;
    filter->part_count = options->threads > 1 ? options->threads + 1 : 1;
    TRY(SB_NEW_ARRAY(&filter->parts, filter->part_count));
    for (unsigned i = 0; i < filter->part_count; i++)
        TRY(sb_alloc(&filter->parts[i].data, capacity));
    TRY(SB_NEW_ARRAY(&filter->workers, options->threads));
    for (unsigned i = 0; i < options->threads; i++) {
        TRY(sb_alloc(&filter->workers[i].out, capacity));
        TRY(sb_part_codec_new(&filter->workers[i].codec, options->kind, options->level));
    }
    return SB_OK;
}

enum sb_code sb_outfilter_open(struct sb_outfilter **out,
                               const struct sb_outfilter_options *options)
{
    CLEANUP(sb_outfilter_freep) struct sb_outfilter *filter = NULL;

    *out = NULL;
    TRY(sb_codec_check_level(options->kind, options->level));
    TRY(SB_NEW(&filter));
    filter->options = *options;
    if (filter->options.threads == 0)
        filter->options.threads = 1;
    pthread_mutex_init(&filter->mutex, NULL);
    pthread_cond_init(&filter->changed, NULL);
    for (size_t i = 0; i < BLOCKS; i++)
        TRY(sb_alloc(&filter->blocks[i].data, BLOCK_BYTES));
    filter->part_size = sb_part_size(options->kind, options->level);
    TRY(filter->part_size > 0 ? make_parts(filter) : make_codec(filter));
    filter->threaded = sb_thread_start(&filter->thread, run_thread, filter);
    *out = TAKE(filter);
    return SB_OK;
}

/* With the mutex, or without a thread. */
static enum sb_code result(const struct sb_outfilter *filter)
{
    if (filter->code)
        *sb_error() = filter->error;
    return filter->code;
}

/* Gives the block that is full, or the last one, to the thread, and waits until another is free. */
static enum sb_code push(struct sb_outfilter *filter)
{
    enum sb_code code;

    pthread_mutex_lock(&filter->mutex);
    filter->pushed++;
    pthread_cond_broadcast(&filter->changed);
    while (filter->threaded && !filter->code && filter->pushed - filter->taken == BLOCKS)
        pthread_cond_wait(&filter->changed, &filter->mutex);
    pthread_mutex_unlock(&filter->mutex);
    if (!filter->threaded) {
        compress_next(filter);
        filter->taken++;
    }
    pthread_mutex_lock(&filter->mutex);
    code = result(filter);
    pthread_mutex_unlock(&filter->mutex);
    if (code == SB_OK)
        filter->blocks[filter->pushed % BLOCKS].size = 0;
    return code;
}

enum sb_code sb_outfilter_write(struct sb_outfilter *filter, const void *data, size_t size)
{
    const char *from = data;

    while (size > 0) {
        struct block *block = &filter->blocks[filter->pushed % BLOCKS];
        size_t space = BLOCK_BYTES - block->size;
        size_t part = size < space ? size : space;

        memcpy(block->data + block->size, from, part);
        block->size += part;
        from += part;
        size -= part;
        if (block->size == BLOCK_BYTES)
            TRY(push(filter));
    }
    return SB_OK;
}

static void end_thread(struct sb_outfilter *filter, bool abandoned)
{
    pthread_mutex_lock(&filter->mutex);
    filter->closed = true;
    filter->abandoned = abandoned;
    pthread_cond_broadcast(&filter->changed);
    pthread_mutex_unlock(&filter->mutex);
    pthread_join(filter->thread, NULL);
    filter->threaded = false;
}

enum sb_code sb_outfilter_finish(struct sb_outfilter *filter)
{
    enum sb_code code = SB_OK;

    if (filter->blocks[filter->pushed % BLOCKS].size > 0)
        code = push(filter);
    if (filter->threaded)
        end_thread(filter, false);
    else if (code == SB_OK)
        end_stream(filter);
    return result(filter);
}

void sb_outfilter_free(struct sb_outfilter *filter)
{
    if (!filter)
        return;
    if (filter->threaded)
        end_thread(filter, true);
    for (unsigned i = 0; filter->parts && i < filter->part_count; i++)
        free(filter->parts[i].data);
    for (unsigned i = 0; filter->workers && i < filter->options.threads; i++) {
        sb_part_codec_free(filter->workers[i].codec);
        free(filter->workers[i].out);
    }
    free(filter->parts);
    free(filter->workers);
    sb_codec_free(filter->codec);
    pthread_cond_destroy(&filter->changed);
    pthread_mutex_destroy(&filter->mutex);
    for (size_t i = 0; i < BLOCKS; i++)
        free(filter->blocks[i].data);
    free(filter->out);
    free(filter);
}
