#include "store/feed/impl.h"

#include "core/context.h"
#include "core/interrupt.h"
#include "core/little_endian.h"
#include "core/thread.h"

#include <bzlib.h>
#include <limits.h>
#include <lz4frame.h>
#include <lzma.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#define ZSTD_STATIC_LINKING_ONLY
#include <zstd.h>
#include <zstd_errors.h>

/* Where nothing else is said: as libarchive has it, for a dictionary of all but a GiB; */
#define MEMORY_USUAL ((uint64_t)1 << 30)

/* and for blocks that several threads decompress, with what these need; else one thread does it. */
#define MEMORY_USUAL_THREADS ((uint64_t)96 << 20)

#define THREADS_MAX 64

/* Of a stream's beginning: how long its header is, and the bits of a block's flags which say that
 * its sizes follow. Blocks without them can only be read one after the other. */
#define STREAM_HEADER LZMA_STREAM_HEADER_SIZE
#define SIZES_FOLLOW  0xc0

/* Of zstd. */
#define BLOCK_HEADER 3

struct stream_feed {
    struct sb_feed base;
    const struct format *format;
    unsigned threads;                  /* of xz */
    struct sb_thread_reserve *reserve; /* likewise; NULL: it has none */
    uint64_t memory;                   /* of xz and lzma, and a window of zstd, at most */
    bool ready; /* there is a decoder: of a stream, unless it has just ended */
    bool ended;
    bool begun;  /* there is something to decompress */
    bool looked; /* at the first block of xz, or need not */
    bool in_end; /* no more comes from below */
    const char *in;
    size_t in_size;
    size_t hint;    /* how many bytes the decoder of zstd wants next; 0: a frame begins */
    bool unwritten; /* that may hold bytes that had no place */

    /* A member of gzip whose beginning was decoded elsewhere: its trailer is compared here. */
    bool raw;
    bool at_trailer;
    uint32_t sum;  /* of what came out of it */
    uint32_t made; /* the same, modulo 2^32 */
    size_t trailer_size;
    unsigned char trailer[SB_GZIP_TRAILER];

    enum sb_code code; /* what comes after all that came out, and stays */
    struct sb_error err;
    union {
        z_stream gzip;
        lzma_stream xz;
        bz_stream bz;
        LZ4F_dctx *lz4;
        ZSTD_DCtx *zstd;
    } as;
    char buffer[SB_FEED_BUFFER];
};

struct format {
    enum sb_filter_kind kind;
    const char *word;
    bool (*begin)(struct stream_feed *feed); /* a stream. False: no memory */

    /* Takes some of the input, and sets *made. SB_END: a stream ended. */
    enum sb_code (*step)(struct stream_feed *feed, char *out, size_t capacity, size_t *made);
    void (*free)(struct stream_feed *feed);
};

static enum sb_code refuse(const struct stream_feed *feed, const char *text)
{
    return sb_fail(SB_DAMAGED, "%s: its %s data is damaged or cut short: %s", feed->base.name,
                   feed->format->word, text);
}

/* A decoder that neither takes nor makes anything waits for what does not come. */
static enum sb_code check_progress(const struct stream_feed *feed, size_t took, size_t made)
{
    return took == 0 && made == 0 && feed->in_end ? refuse(feed, "it ends too early") : SB_OK;
}

/* gzip */

static bool begin_gzip(struct stream_feed *feed)
{
    feed->raw = feed->at_trailer = false;
    return (feed->ready ? inflateReset2(&feed->as.gzip, SB_GZIP_ONLY)
                        : inflateInit2(&feed->as.gzip, SB_GZIP_ONLY)) == Z_OK;
}

/* Goes on within a member. */
static bool begin_inside(struct stream_feed *feed, const struct sb_part_past *past)
{
    feed->begun = feed->raw = true;
    feed->sum = past->sum;
    feed->made = (uint32_t)past->size;
    return inflateReset2(&feed->as.gzip, SB_GZIP_RAW) == Z_OK &&
           inflateSetDictionary(&feed->as.gzip, (const Bytef *)past->window,
                                (uInt)past->window_size) == Z_OK;
}

static enum sb_code refuse_gzip(const struct stream_feed *feed, const char *what)
{
    return sb_fail(SB_DAMAGED, "%s: its gzip data is damaged: %s", feed->base.name,
                   what ? what : "unknown error");
}

static enum sb_code take_trailer(struct stream_feed *feed)
{
    while (feed->in_size > 0 && feed->trailer_size < SB_GZIP_TRAILER) {
        feed->trailer[feed->trailer_size++] = (unsigned char)*feed->in++;
        feed->in_size--;
    }
    if (feed->trailer_size < SB_GZIP_TRAILER)
        return SB_OK;
    if (sb_get_u32(feed->trailer) != feed->sum)
        return refuse_gzip(feed, "incorrect data check");
    if (sb_get_u32(feed->trailer + 4) != feed->made)
        return refuse_gzip(feed, "incorrect length check");
    return SB_END;
}

static enum sb_code step_gzip(struct stream_feed *feed, char *out, size_t capacity, size_t *made)
{
    z_stream *stream = &feed->as.gzip;
    const uInt wanted = capacity < UINT_MAX ? (uInt)capacity : UINT_MAX;
    int result;

    if (feed->in_size == 0)
        return sb_fail(SB_DAMAGED, "%s: its gzip data is cut short", feed->base.name);
    if (feed->at_trailer)
        return take_trailer(feed);
    stream->next_in = (z_const Bytef *)feed->in;
    stream->avail_in = (uInt)feed->in_size;
    stream->next_out = (Bytef *)out;
    stream->avail_out = wanted;
    result = inflate(stream, Z_NO_FLUSH);
    feed->in = (const char *)stream->next_in;
    feed->in_size = stream->avail_in;
    *made = wanted - stream->avail_out;
    if (feed->raw) {
        feed->sum = (uint32_t)crc32(feed->sum, (const Bytef *)out, (uInt)*made);
        feed->made += (uint32_t)*made;
    }
    if (result == Z_STREAM_END && !feed->raw)
        return SB_END;
    feed->at_trailer = result == Z_STREAM_END;
    if (result == Z_OK || result == Z_BUF_ERROR || result == Z_STREAM_END)
        return SB_OK;
    return result == Z_MEM_ERROR ? sb_fail_memory() : refuse_gzip(feed, stream->msg);
}

static void free_gzip(struct stream_feed *feed)
{
    inflateEnd(&feed->as.gzip);
}

/* xz, lzma */

static void free_xz(struct stream_feed *feed)
{
    lzma_end(&feed->as.xz);
    sb_threads_release(feed->reserve);
    feed->reserve = NULL;
}

static bool begin_xz(struct stream_feed *feed)
{
    uint64_t given = (uint64_t)sb_context_now->decoder_memory;
    lzma_mt options = {
        .threads = feed->threads < THREADS_MAX ? feed->threads : THREADS_MAX,
        .timeout = SB_FEED_WAIT_MS,
        .memlimit_threading = given ? given : MEMORY_USUAL_THREADS,
        .memlimit_stop = given ? given : MEMORY_USUAL,
    };
    lzma_stream *stream = &feed->as.xz;

    free_xz(feed);
    feed->memory = options.memlimit_stop;
    if (feed->format->kind == SB_FILTER_LZMA)
        return lzma_alone_decoder(stream, feed->memory) == LZMA_OK;
    if (feed->threads > 1)
        feed->reserve = sb_threads_reserve(&options.threads);
    return (feed->reserve ? lzma_stream_decoder_mt(stream, &options)
                          : lzma_stream_decoder(stream, feed->memory, 0)) == LZMA_OK;
}

static enum sb_code refuse_xz(const struct stream_feed *feed, lzma_ret result)
{
    switch (result) {
    case LZMA_MEM_ERROR:
        return sb_fail_memory();
    case LZMA_MEMLIMIT_ERROR:
        return sb_feed_too_large(&feed->base, feed->format->word, feed->memory);
    case LZMA_FORMAT_ERROR:
        return refuse(feed, "Lzma library error: format not recognized");
    case LZMA_OPTIONS_ERROR:
        return refuse(feed, "Lzma library error: Invalid options");
    case LZMA_DATA_ERROR:
        return refuse(feed, "Lzma library error: Corrupted input data");
    case LZMA_BUF_ERROR:
        return refuse(feed, "Lzma library error:  No progress is possible");
    default:
        return refuse(feed, "Lzma decompression failed:  Unknown error");
    }
}

static enum sb_code step_xz(struct stream_feed *feed, char *out, size_t capacity, size_t *made)
{
    lzma_stream *stream = &feed->as.xz;
    lzma_ret result;

    if (!feed->looked)
        atomic_store(&feed->base.watch->in_one,
                     feed->in_size < STREAM_HEADER + 2 ||
                         (feed->in[STREAM_HEADER + 1] & SIZES_FOLLOW) != SIZES_FOLLOW);
    feed->looked = true;
    stream->next_in = (const uint8_t *)feed->in;
    stream->avail_in = feed->in_size;
    stream->next_out = (uint8_t *)out;
    stream->avail_out = capacity;
    sb_threads_use(feed->reserve);
    result = lzma_code(stream, feed->in_end ? LZMA_FINISH : LZMA_RUN);
    sb_threads_use(NULL);
    feed->in = (const char *)stream->next_in;
    feed->in_size = stream->avail_in;
    *made = capacity - stream->avail_out;
    if (result == LZMA_STREAM_END)
        return SB_END;
    return result == LZMA_OK ? SB_OK : refuse_xz(feed, result);
}

/* bzip2 */

static void free_bzip2(struct stream_feed *feed)
{
    if (feed->ready)
        BZ2_bzDecompressEnd(&feed->as.bz);
}

static bool begin_bzip2(struct stream_feed *feed)
{
    free_bzip2(feed);
    feed->ready = BZ2_bzDecompressInit(&feed->as.bz, 0, 0) == BZ_OK;
    return feed->ready;
}

static enum sb_code step_bzip2(struct stream_feed *feed, char *out, size_t capacity, size_t *made)
{
    bz_stream *stream = &feed->as.bz;
    unsigned wanted = capacity < INT_MAX ? (unsigned)capacity : INT_MAX;
    size_t took = feed->in_size;
    int result;

    stream->next_in = (char *)feed->in;
    stream->avail_in = (unsigned)feed->in_size;
    stream->next_out = out;
    stream->avail_out = wanted;
    result = BZ2_bzDecompress(stream);
    feed->in = stream->next_in;
    feed->in_size = stream->avail_in;
    *made = wanted - stream->avail_out;
    if (result == BZ_STREAM_END)
        return SB_END;
    if (result == BZ_MEM_ERROR)
        return sb_fail_memory();
    if (result != BZ_OK)
        return refuse(feed, "bzip decompression failed");
    return check_progress(feed, took - feed->in_size, *made);
}

/* lz4 */

static bool begin_lz4(struct stream_feed *feed)
{
    return feed->ready ||
           !LZ4F_isError(LZ4F_createDecompressionContext(&feed->as.lz4, LZ4F_VERSION));
}

static enum sb_code step_lz4(struct stream_feed *feed, char *out, size_t capacity, size_t *made)
{
    size_t took = feed->in_size;
    size_t result;

    *made = capacity;
    result = LZ4F_decompress(feed->as.lz4, out, made, feed->in, &took, NULL);
    if (LZ4F_isError(result)) {
        *made = 0;
        return strcmp(LZ4F_getErrorName(result), "ERROR_allocation_failed") == 0
                   ? sb_fail_memory()
                   : refuse(feed, LZ4F_getErrorName(result));
    }
    feed->in += took;
    feed->in_size -= took;
    return result == 0 ? SB_END : check_progress(feed, took, *made);
}

static void free_lz4(struct stream_feed *feed)
{
    LZ4F_freeDecompressionContext(feed->as.lz4);
}

/* zstd */

static bool begin_zstd(struct stream_feed *feed)
{
    const ZSTD_bounds logs = ZSTD_dParam_getBounds(ZSTD_d_windowLogMax);
    const uint64_t given = (uint64_t)sb_context_now->decoder_memory;
    int log = logs.lowerBound;

    if (feed->ready)
        return true;
    feed->memory = given ? given : SB_ZSTD_WINDOW_MAX;
    /* The largest window that fits into so much memory. */
    while (log < logs.upperBound && feed->memory >> (log + 1) > 0)
        log++;
    feed->as.zstd = ZSTD_createDCtx();
    return feed->as.zstd &&
           !ZSTD_isError(ZSTD_DCtx_setParameter(feed->as.zstd, ZSTD_d_windowLogMax, log));
}

static enum sb_code refuse_zstd(const struct stream_feed *feed, size_t result)
{
    if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation)
        return sb_fail_memory();
    if (ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge)
        return sb_feed_too_large(&feed->base, "zstd", feed->memory);
    return sb_fail(SB_DAMAGED,
                   "%s: its zstd data is damaged or cut short: Zstd decompression failed: %s",
                   feed->base.name, ZSTD_getErrorName(result));
}

/*
 * No more than to the end of a block at once: what came out in a call that fails is not known. The
 * hint counts the header of the next block, too.
 */
static enum sb_code step_zstd(struct stream_feed *feed, char *out, size_t capacity, size_t *made)
{
    const size_t hint = feed->hint > 0 ? feed->hint : ZSTD_FRAMEHEADERSIZE_MIN(ZSTD_f_zstd1);
    const size_t step = hint > BLOCK_HEADER ? hint - BLOCK_HEADER : hint;
    ZSTD_inBuffer from = {feed->in, step < feed->in_size ? step : feed->in_size, 0};
    ZSTD_outBuffer to = {.size = capacity};
    size_t result;

    to.dst = out;

    if (from.size == 0 && !feed->unwritten)
        return refuse(feed, "Truncated zstd input");
    result = ZSTD_decompressStream(feed->as.zstd, &to, &from);
    *made = to.pos;
    if (ZSTD_isError(result))
        return refuse_zstd(feed, result);
    feed->in += from.pos;
    feed->in_size -= from.pos;
    feed->hint = result;
    feed->unwritten = result > 0 && to.pos == to.size;
    return result == 0 ? SB_END : SB_OK;
}

static void free_zstd(struct stream_feed *feed)
{
    ZSTD_freeDCtx(feed->as.zstd);
}

static const struct format formats[] = {
    {SB_FILTER_GZIP, "gzip", begin_gzip, step_gzip, free_gzip},
    {SB_FILTER_XZ, "xz", begin_xz, step_xz, free_xz},
    {SB_FILTER_LZMA, "lzma", begin_xz, step_xz, free_xz},
    {SB_FILTER_BZIP2, "bzip2", begin_bzip2, step_bzip2, free_bzip2},
    {SB_FILTER_LZ4, "lz4", begin_lz4, step_lz4, free_lz4},
    {SB_FILTER_ZSTD, "zstd", begin_zstd, step_zstd, free_zstd},
};

/* All of them */

static enum sb_code take_input(struct stream_feed *feed)
{
    size_t got = 0;
    enum sb_code code;

    if (feed->in_size > 0 || feed->in_end || feed->unwritten)
        return SB_OK;
    code = sb_feed_fill(feed->base.from, feed->buffer, sizeof(feed->buffer), &got);
    feed->in_end = code == SB_END;
    feed->in = feed->buffer;
    feed->in_size = got;
    feed->begun |= got > 0;
    return feed->in_end && feed->begun ? SB_OK : code;
}

static enum sb_code step(struct stream_feed *feed, char *out, size_t capacity, size_t *made)
{
    enum sb_code code;

    if (feed->ended) {
        TRY(sb_feed_another(&feed->base, feed->format->kind, feed->in, &feed->in_size));
        feed->ended = false;
        if (!feed->format->begin(feed))
            return sb_fail_memory();
    }
    TRY(take_input(feed));
    if (sb_feed_is_over(&feed->base))
        return sb_fail_interrupt();
    code = feed->format->step(feed, out, capacity, made);
    if (code != SB_END)
        return code;
    feed->ended = true;
    sb_feed_count_end(&feed->base);
    return SB_OK;
}

static enum sb_code fill_stream(struct sb_feed *base, void *data, size_t capacity, size_t *got)
{
    struct stream_feed *feed = (struct stream_feed *)base;
    char *out = data;

    *got = 0;
    while (!feed->code && *got < capacity) {
        size_t made = 0;

        feed->code = INTO(&feed->err, step(feed, out + *got, capacity - *got, &made));
        *got += made;
    }
    if (!feed->code || *got > 0)
        return SB_OK;
    *sb_error() = feed->err;
    return feed->code;
}

static void free_stream(struct sb_feed *base)
{
    struct stream_feed *feed = (struct stream_feed *)base;

    feed->format->free(feed);
    free(feed);
}

enum sb_code sb_feed_streams(struct sb_feed **out, struct sb_feed *from, enum sb_filter_kind kind,
                             unsigned threads, const struct sb_part_past *past)
{
    static const struct sb_feed_ops ops = {.fill = fill_stream, .free = free_stream};
    struct stream_feed *feed;

    TRY(SB_NEW(&feed));
    feed->base = sb_feed_on(&ops, from);
    feed->format = formats;
    while (feed->format->kind != kind)
        feed->format++;
    feed->threads = threads;
    feed->looked = threads <= 1 || kind != SB_FILTER_XZ;
    feed->ended = past && past->any && !past->inside;
    if (!feed->format->begin(feed) || (past && past->inside && !begin_inside(feed, past))) {
        free_stream(&feed->base);
        return sb_fail_memory();
    }
    feed->ready = true;
    *out = &feed->base;
    return SB_OK;
}
