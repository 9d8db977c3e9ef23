#include "store/feed/impl.h"

#include "core/context.h"
#include "core/interrupt.h"
#include "core/thread.h"

#include <lzma.h>
#include <stdlib.h>

/* Where nothing else is said: as libarchive has it, for a dictionary of all but a GiB; */
#define MEMORY_USUAL ((uint64_t)1 << 30)

/* and for blocks that several threads decompress, with what these need; else one thread does it. */
#define MEMORY_USUAL_THREADS ((uint64_t)96 << 20)

#define THREADS_MAX 64
#define WAIT_MS     100 /* how soon a wait for a thread sees that it has to end */

/* Of a stream's beginning: how long its header is, and the bits of a block's flags which say that
 * its sizes follow. Blocks without them can only be read one after the other. */
#define STREAM_HEADER LZMA_STREAM_HEADER_SIZE
#define SIZES_FOLLOW  0xc0

struct xz_feed {
    struct sb_feed base;
    lzma_stream stream;
    struct sb_thread_reserve *reserve;
    uint64_t memory;   /* at most */
    bool looked;       /* at the first block, or need not */
    bool in_end;       /* no more comes from below */
    enum sb_code code; /* what comes after all that came out, and stays */
    struct sb_error err;
    unsigned char buffer[SB_FEED_BUFFER];
};

static enum sb_code refuse(struct xz_feed *feed, lzma_ret result, struct sb_error *err)
{
    const char *text = "Lzma decompression failed:  Unknown error";

    switch (result) {
    case LZMA_MEM_ERROR:
        return sb_fail_memory(err);
    case LZMA_MEMLIMIT_ERROR:
        return sb_feed_too_large(&feed->base, "xz", feed->memory, err);
    case LZMA_FORMAT_ERROR:
        text = "Lzma library error: format not recognized";
        break;
    case LZMA_OPTIONS_ERROR:
        text = "Lzma library error: Invalid options";
        break;
    case LZMA_DATA_ERROR:
        text = "Lzma library error: Corrupted input data";
        break;
    case LZMA_BUF_ERROR:
        text = "Lzma library error:  No progress is possible";
        break;
    default:
        break;
    }
    return sb_fail(err, SB_DAMAGED, "%s: its xz data is damaged or cut short: %s", feed->base.name,
                   text);
}

static enum sb_code take_input(struct xz_feed *feed, struct sb_error *err)
{
    enum sb_code code;
    size_t got = 0;

    if (feed->stream.avail_in > 0 || feed->in_end)
        return SB_OK;
    code = sb_feed_fill(feed->base.from, feed->buffer, sizeof(feed->buffer), &got, err);
    feed->in_end = code == SB_END;
    if (code && code != SB_END)
        return code;
    if (!feed->looked)
        atomic_store(&feed->base.watch->in_one,
                     got < STREAM_HEADER + 2 ||
                         (feed->buffer[STREAM_HEADER + 1] & SIZES_FOLLOW) != SIZES_FOLLOW);
    feed->looked = true;
    feed->stream.next_in = feed->buffer;
    feed->stream.avail_in = got;
    return SB_OK;
}

static enum sb_code decompress_some(struct xz_feed *feed, struct sb_error *err)
{
    lzma_ret result;

    if (sb_feed_is_over(&feed->base))
        return sb_fail_interrupt(err);
    sb_threads_use(feed->reserve);
    result = lzma_code(&feed->stream, feed->in_end ? LZMA_FINISH : LZMA_RUN);
    sb_threads_use(NULL);
    if (result == LZMA_STREAM_END)
        return SB_END;
    return result == LZMA_OK ? SB_OK : refuse(feed, result, err);
}

static enum sb_code fill_xz(struct sb_feed *base, void *data, size_t capacity, size_t *got,
                            struct sb_error *err)
{
    struct xz_feed *feed = (struct xz_feed *)base;

    feed->stream.next_out = data;
    feed->stream.avail_out = capacity;
    while (!feed->code && feed->stream.avail_out > 0) {
        feed->code = take_input(feed, &feed->err);
        if (!feed->code)
            feed->code = decompress_some(feed, &feed->err);
    }
    *got = capacity - feed->stream.avail_out;
    if (!feed->code || *got > 0)
        return SB_OK;
    *err = feed->err;
    return feed->code;
}

static void free_xz(struct sb_feed *base)
{
    struct xz_feed *feed = (struct xz_feed *)base;

    lzma_end(&feed->stream);
    sb_threads_release(feed->reserve);
    free(feed);
}

static lzma_ret begin(struct xz_feed *feed, unsigned threads)
{
    uint64_t given = (uint64_t)sb_context_now->decoder_memory;
    lzma_mt options = {
        .flags = LZMA_CONCATENATED,
        .threads = threads < THREADS_MAX ? threads : THREADS_MAX,
        .timeout = WAIT_MS,
        .memlimit_threading = given ? given : MEMORY_USUAL_THREADS,
        .memlimit_stop = given ? given : MEMORY_USUAL,
    };

    if (threads > 1)
        feed->reserve = sb_threads_reserve(&options.threads);
    feed->memory = options.memlimit_stop;
    feed->stream = (lzma_stream)LZMA_STREAM_INIT;
    return feed->reserve ? lzma_stream_decoder_mt(&feed->stream, &options)
                         : lzma_stream_decoder(&feed->stream, feed->memory, LZMA_CONCATENATED);
}

enum sb_code sb_feed_xz(struct sb_feed **out, struct sb_feed *from, unsigned threads,
                        struct sb_error *err)
{
    static const struct sb_feed_ops ops = {.fill = fill_xz, .free = free_xz};
    struct xz_feed *feed = calloc(1, sizeof(*feed));

    if (!feed)
        return sb_fail_memory(err);
    feed->base = sb_feed_on(&ops, from);
    feed->looked = threads <= 1;
    if (begin(feed, threads) != LZMA_OK) {
        free_xz(&feed->base);
        return sb_fail_memory(err);
    }
    *out = &feed->base;
    return SB_OK;
}
