#include "store/feed/impl.h"

#include "core/context.h"

#include <stdlib.h>
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#include <zstd_errors.h>

#define WINDOW_MAX   ((unsigned long long)1 << ZSTD_WINDOWLOG_LIMIT_DEFAULT)
#define BLOCK_HEADER 3

struct zstd_feed {
    struct sb_feed base;
    ZSTD_DCtx *context;
    uint64_t memory; /* of a window, at most */
    size_t hint;     /* how many bytes the decoder wants next; 0: a frame begins */
    bool between;    /* two frames: what follows the first was not looked at yet */
    bool unwritten;  /* the decoder may hold bytes that had no place */
    size_t used;
    size_t size;
    enum sb_code code; /* what comes after all that came out, and stays */
    struct sb_error err;
    char buffer[SB_FEED_BUFFER];
};

static enum sb_code refuse(struct zstd_feed *feed, size_t result)
{
    if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
        return sb_fail_memory();
    if (ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge)
        return sb_feed_too_large(&feed->base, "zstd", feed->memory);
    return sb_fail(SB_DAMAGED,
                   "%s: its zstd data is damaged or cut short: Zstd decompression failed: %s",
                   feed->base.name, ZSTD_getErrorName(result));
}

static enum sb_code take_input(struct zstd_feed *feed)
{
    enum sb_code code;
    size_t got = 0;

    if (feed->unwritten || feed->used < feed->size)
        return SB_OK;
    code = sb_feed_fill(feed->base.from, feed->buffer, sizeof(feed->buffer), &got);
    if (code == SB_END && feed->hint > 0)
        return sb_fail(SB_DAMAGED,
                       "%s: its zstd data is damaged or cut short: Truncated zstd input",
                       feed->base.name);
    feed->used = 0;
    feed->size = got;
    return code;
}

/*
 * No more than to the end of a block at once: what came out in a call that fails is not known. The
 * hint counts the header of the next block, too.
 */
static size_t step_size(const struct zstd_feed *feed)
{
    size_t hint = feed->hint > 0 ? feed->hint : (size_t)ZSTD_FRAMEHEADERSIZE_MIN(ZSTD_f_zstd1);
    size_t step = hint > BLOCK_HEADER ? hint - BLOCK_HEADER : hint;
    size_t left = feed->size - feed->used;

    return step < left ? step : left;
}

static enum sb_code decompress_some(struct zstd_feed *feed, ZSTD_outBuffer *out)
{
    ZSTD_inBuffer in = {feed->buffer + feed->used, step_size(feed), 0};
    size_t result = ZSTD_decompressStream(feed->context, out, &in);

    if (ZSTD_isError(result))
        return refuse(feed, result);
    feed->used += in.pos;
    feed->hint = result;
    feed->between = result == 0;
    if (result == 0)
        sb_feed_count_end(&feed->base);
    feed->unwritten = result > 0 && out->pos == out->size;
    return SB_OK;
}

static enum sb_code find_frame(struct zstd_feed *feed)
{
    size_t left = feed->size - feed->used;
    enum sb_code code =
        sb_feed_another(&feed->base, SB_FILTER_ZSTD, feed->buffer + feed->used, &left);

    feed->size = feed->used + left;
    feed->between = false;
    return code;
}

static enum sb_code fill_zstd(struct sb_feed *base, void *data, size_t capacity, size_t *got)
{
    struct zstd_feed *feed = (struct zstd_feed *)base;
    ZSTD_outBuffer out = {data, capacity, 0};

    while (!feed->code && out.pos < out.size) {
        feed->code = feed->between ? INTO(&feed->err, find_frame(feed)) : SB_OK;
        if (!feed->code)
            feed->code = INTO(&feed->err, take_input(feed));
        if (!feed->code)
            feed->code = INTO(&feed->err, decompress_some(feed, &out));
    }
    *got = out.pos;
    if (!feed->code || out.pos > 0)
        return SB_OK;
    *sb_error() = feed->err;
    return feed->code;
}

static void free_zstd(struct sb_feed *base)
{
    struct zstd_feed *feed = (struct zstd_feed *)base;

    ZSTD_freeDCtx(feed->context);
    free(feed);
}

enum sb_code sb_feed_zstd(struct sb_feed **out, struct sb_feed *from,
                          const struct sb_part_past *past)
{
    static const struct sb_feed_ops ops = {.fill = fill_zstd, .free = free_zstd};
    const ZSTD_bounds logs = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax);
    struct zstd_feed *feed;
    int log = logs.lowerBound;

    TRY(SB_NEW(&feed));
    feed->base = sb_feed_on(&ops, from);
    feed->between = past && past->any;
    feed->context = ZSTD_createDCtx();
    feed->memory = WINDOW_MAX;
    if (sb_context_now->decoder_memory > 0)
        feed->memory = (uint64_t)sb_context_now->decoder_memory;
    /* The largest window that fits into so much memory. */
    while (log < logs.upperBound && feed->memory >> (log + 1) > 0)
        log++;
    if (!feed->context ||
        ZSTD_isError(ZSTD_DCtx_setParameter(feed->context, ZSTD_d_windowLogMax, log))) {
        free_zstd(&feed->base);
        return sb_fail_memory();
    }
    *out = &feed->base;
    return SB_OK;
}

/* Of a frame that does not say what comes out of it, its blocks limit that. */
static enum sb_split split_zstd(const unsigned char *data, size_t size, bool inside,
                                struct sb_part *part)
{
    ZSTD_frameHeader header;
    size_t result = ZSTD_getFrameHeader(&header, data, size);
    unsigned long long content;

    (void)inside;
    if (ZSTD_isError(result))
        return SB_SPLIT_NONE;
    if (result > 0)
        return SB_SPLIT_MORE;
    if (header.frameType == ZSTD_skippableFrame)
        header.frameContentSize = 0;
    else if (header.windowSize > WINDOW_MAX ||
             (header.frameContentSize != ZSTD_CONTENTSIZE_UNKNOWN &&
              header.frameContentSize > SB_PART_MAX))
        return SB_SPLIT_NONE;
    result = ZSTD_findFrameCompressedSize(data, size);
    if (ZSTD_isError(result))
        return ZSTD_getErrorCode(result) == ZSTD_error_srcSize_wrong ? SB_SPLIT_MORE
                                                                     : SB_SPLIT_NONE;
    content = header.frameContentSize;
    if (content == ZSTD_CONTENTSIZE_UNKNOWN)
        content = ZSTD_decompressBound(data, result);
    if (content > SB_PART_MAX)
        return SB_SPLIT_NONE;
    *part = (struct sb_part){.size = result, .content = (size_t)content};
    return SB_SPLIT_PART;
}

static void *new_decoder(void)
{
    return ZSTD_createDCtx();
}

static void free_decoder(void *decoder)
{
    ZSTD_freeDCtx(decoder);
}

static bool decode(void *decoder, struct sb_part_run *run)
{
    run->made = ZSTD_decompressDCtx(decoder, run->out, run->capacity, run->in, run->in_size);
    return !ZSTD_isError(run->made);
}

const struct sb_parts_format sb_zstd_parts = {
    .split = split_zstd,
    .new_decoder = new_decoder,
    .free_decoder = free_decoder,
    .decode = decode,
    .stream = sb_feed_zstd,
};
