#include "store/out/filter.h"

#include "core/interrupt.h"
#include "core/thread.h"
#include "store/codec/codec.h"
#include "store/codec/part.h"
#include "store/out/parts.h"

#include <stdlib.h>
#include <string.h>

#define BLOCKS      4
#define BLOCK_BYTES ((size_t)512 << 10)

struct block {
    char *data;
    size_t size;
};

/*
 * Block n is blocks[n % BLOCKS]: those from `taken` to `pushed` wait for the thread, the next one
 * is being filled. What is below the mutex belongs to it.
 */
struct sb_outfilter {
    struct sb_parts *parts; /* of kinds that are written in parts; else NULL, and: */
    struct sb_codec *codec;
    sb_each_block *each;
    void *context;
    pthread_t thread;
    bool threaded; /* else, where the system gives no thread, the caller does the work */
    struct block blocks[BLOCKS];
    size_t used; /* of the block that is taken next, by parts */
    char *out;   /* SB_CODEC_CAPACITY, for codec */

    pthread_mutex_t mutex;
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
            code = filter->each(filter->context, io.out, io.made);
    } while (code == SB_OK && (io.in_size > 0 || io.more));
    if (code)
        note_failure(filter);
}

static void compress_next(struct sb_outfilter *filter)
{
    const struct block *block = &filter->blocks[filter->taken % BLOCKS];

    if (!filter->parts)
        run_codec(filter, block, false);
    else if (sb_parts_write(filter->parts, block->data, block->size))
        note_failure(filter);
}

static void end_stream(struct sb_outfilter *filter)
{
    if (!filter->parts)
        run_codec(filter, &(struct block){0}, true);
    else if (sb_parts_finish(filter->parts))
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

/* A sb_take_bytes. */
static enum sb_code take_bytes(void *context, char *data, size_t capacity, size_t *got)
{
    struct sb_outfilter *filter = context;
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

static void *run_thread(void *argument)
{
    struct sb_outfilter *filter = argument;
    enum sb_code code;

    if (filter->parts) {
        code = sb_parts_run(filter->parts, take_bytes, filter);
        if (code)
            note_failure(filter);
        else
            code = SB_END;
    }
    while (!filter->parts && (code = wait_for_block(filter)) == SB_OK) {
        compress_next(filter);
        free_block(filter);
    }
    if (code == SB_END && !filter->code)
        end_stream(filter);
    return NULL;
}

static enum sb_code make_codec(struct sb_outfilter *filter,
                               const struct sb_outfilter_options *options)
{
    struct sb_codec_options codec = {.kind = options->kind,
                                     .compress = true,
                                     .level = options->level,
                                     .threads = options->threads ? options->threads : 1};

    TRY(sb_alloc(&filter->out, SB_CODEC_CAPACITY));
    TRY(sb_codec_new(&filter->codec, &codec));
    return sb_codec_begin(filter->codec, -1);
}

enum sb_code sb_outfilter_open(struct sb_outfilter **out,
                               const struct sb_outfilter_options *options)
{
    CLEANUP(sb_outfilter_freep) struct sb_outfilter *filter = NULL;

    *out = NULL;
    TRY(sb_codec_check_level(options->kind, options->level));
    TRY(SB_NEW(&filter));
    filter->each = options->each;
    filter->context = options->context;
    pthread_mutex_init(&filter->mutex, NULL);
    pthread_cond_init(&filter->changed, NULL);
    for (size_t i = 0; i < BLOCKS; i++) {
        TRY(sb_alloc(&filter->blocks[i].data, BLOCK_BYTES));
    }
    TRY(sb_part_size(options->kind, options->level) > 0 ? sb_parts_new(&filter->parts, options)
                                                        : make_codec(filter, options));
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
    sb_parts_free(filter->parts);
    sb_codec_free(filter->codec);
    pthread_cond_destroy(&filter->changed);
    pthread_mutex_destroy(&filter->mutex);
    for (size_t i = 0; i < BLOCKS; i++)
        free(filter->blocks[i].data);
    free(filter->out);
    free(filter);
}
