#include "core/interrupt.h"
#include "core/thread.h"
#include "store/feed/impl.h"

#include <pthread.h>
#include <stdlib.h>

#define BLOCKS_AHEAD 8

struct block {
    char *data;
    size_t size;
};

struct sb_flow {
    struct sb_feed *feed;
    struct sb_feed_watch watch;
    bool more_threads;                 /* than one may decompress */
    struct block blocks[BLOCKS_AHEAD]; /* without a thread: only the first */

    /* The rest only with a thread; below the lock, under it. */
    bool threaded;
    bool holds; /* the consumer has the block at `first` */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t filled;
    pthread_cond_t emptied;
    size_t first; /* of the blocks that are full */
    size_t full;
    enum sb_code code; /* what ended the thread */
    struct sb_error err;
};

/* Fills a block whole, but for the last one. */
static enum sb_code fill_block(struct sb_flow *flow, struct block *block)
{
    enum sb_code code = SB_OK;

    block->size = 0;
    while (!code && block->size < SB_FLOW_BLOCK && !atomic_load(&flow->watch.stop)) {
        size_t got = 0;

        code =
            sb_feed_fill(flow->feed, block->data + block->size, SB_FLOW_BLOCK - block->size, &got);
        if (!code || code == SB_DAMAGED)
            block->size += got;
    }
    return code;
}

static struct block *wait_for_empty(struct sb_flow *flow)
{
    struct block *block = NULL;

    pthread_mutex_lock(&flow->lock);
    while (flow->full == BLOCKS_AHEAD && !atomic_load(&flow->watch.stop))
        pthread_cond_wait(&flow->emptied, &flow->lock);
    if (!atomic_load(&flow->watch.stop))
        block = &flow->blocks[(flow->first + flow->full) % BLOCKS_AHEAD];
    pthread_mutex_unlock(&flow->lock);
    return block;
}

static void *run_ahead(void *context)
{
    struct sb_flow *flow = context;
    enum sb_code code = SB_OK;
    struct sb_error err = {0};
    struct block *block;

    while (!code && (block = wait_for_empty(flow))) {
        code = INTO(&err, fill_block(flow, block));
        pthread_mutex_lock(&flow->lock);
        flow->full += block->size > 0;
        flow->code = code;
        flow->err = err;
        pthread_cond_signal(&flow->filled);
        pthread_mutex_unlock(&flow->lock);
    }
    return NULL;
}

static enum sb_code next_ahead(struct sb_flow *flow, const void **data, size_t *size)
{
    enum sb_code code = SB_OK;

    pthread_mutex_lock(&flow->lock);
    /* The last one's bytes stay until all other blocks were filled, so also when nothing more
     * comes.
     */
    if (flow->holds) {
        flow->holds = false;
        flow->first = (flow->first + 1) % BLOCKS_AHEAD;
        flow->full--;
        pthread_cond_signal(&flow->emptied);
    }
    while (flow->full == 0 && !flow->code && !sb_interrupted())
        sb_feed_wait(&flow->filled, &flow->lock);
    if (flow->full > 0) {
        flow->holds = true;
        *data = flow->blocks[flow->first].data;
        *size = flow->blocks[flow->first].size;
    } else if (flow->code) {
        code = flow->code;
        *sb_error() = flow->err;
    } else {
        code = sb_fail_interrupt();
    }
    pthread_mutex_unlock(&flow->lock);
    return code;
}

enum sb_code sb_flow_next(struct sb_flow *flow, const void **data, size_t *size)
{
    if (flow->threaded)
        return next_ahead(flow, data, size);
    *data = flow->blocks[0].data;
    return sb_feed_fill(flow->feed, flow->blocks[0].data, SB_FLOW_BLOCK, size);
}

int64_t sb_flow_skip(struct sb_flow *flow, int64_t size)
{
    return flow->threaded ? 0 : sb_feed_skip(flow->feed, size);
}

bool sb_flow_filters(const struct sb_flow *flow)
{
    return sb_feed_layers(flow->feed) > 0;
}

bool sb_flow_in_one(struct sb_flow *flow)
{
    return flow->more_threads && atomic_load(&flow->watch.in_one);
}

int64_t sb_flow_taken(struct sb_flow *flow)
{
    return atomic_load_explicit(&flow->watch.taken, memory_order_relaxed);
}

void sb_flow_report_tail(struct sb_flow *flow, const char *name, const struct sb_notify *notify)
{
    const char *tail = atomic_load(&flow->watch.tail);

    if (tail == sb_tail_junk)
        sb_report(notify, SB_LOSS, "trailing", NULL,
                  "%s: junk follows the compressed data, and is ignored", name);
    else if (tail)
        sb_report(notify, SB_PROBLEM, "trailing", NULL,
                  "%s: %s follows the compressed data, and is not read; give each in an input of "
                  "its own",
                  name, tail);
}

bool sb_flow_is_whole(struct sb_flow *flow)
{
    return sb_flow_filters(flow) && atomic_load(&flow->watch.ends) == sb_feed_layers(flow->feed) &&
           !atomic_load(&flow->watch.tail);
}

enum sb_code sb_flow_open(struct sb_flow **out, const struct sb_input *input,
                          const struct sb_feed_options *options)
{
    CLEANUP(sb_flow_freep) struct sb_flow *flow = NULL;

    *out = NULL;
    TRY(SB_NEW(&flow));
    pthread_mutex_init(&flow->lock, NULL);
    pthread_cond_init(&flow->filled, NULL);
    pthread_cond_init(&flow->emptied, NULL);
    TRY(sb_feed_open(&flow->feed, input, options, &flow->watch));
    flow->more_threads = options->threads > 1;
    for (size_t i = 0; i < (sb_flow_filters(flow) ? BLOCKS_AHEAD : 1); i++)
        TRY(sb_alloc(&flow->blocks[i].data, SB_FLOW_BLOCK));
    /* Where no thread can be started, the consumer decompresses. */
    flow->threaded = sb_flow_filters(flow) && sb_thread_start(&flow->thread, run_ahead, flow);
    *out = TAKE(flow);
    return SB_OK;
}

void sb_flow_free(struct sb_flow *flow)
{
    if (!flow)
        return;
    if (flow->threaded) {
        pthread_mutex_lock(&flow->lock);
        atomic_store(&flow->watch.stop, true);
        pthread_cond_signal(&flow->emptied);
        pthread_mutex_unlock(&flow->lock);
        pthread_join(flow->thread, NULL);
    }
    pthread_cond_destroy(&flow->emptied);
    pthread_cond_destroy(&flow->filled);
    pthread_mutex_destroy(&flow->lock);
    for (size_t i = 0; i < BLOCKS_AHEAD; i++)
        free(flow->blocks[i].data);
    sb_feed_free(flow->feed);
    free(flow);
}
