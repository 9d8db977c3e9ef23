#include "store/codec/record_codec_impl.h"

#include <stdlib.h>
#include <string.h>
#include <zstd_errors.h>

#define MAGIC_SIZE 4

#define DESCRIPTOR_AT  4
#define SINGLE_SEGMENT 0x20
#define WINDOW_AT      5
#define WINDOW_LOG_MAX 27 /* also what zstd takes in pieces by default */

/* RFC 8878, 3.1.1.2: a block's header and a byte that is repeated; and what comes of a block. */
#define BLOCK_LEAST 4
#define BLOCK_MOST  ((int64_t)128 << 10)

struct sb_decoder {
    ZSTD_DCtx *zstd;
    bool dictionary; /* it has one */
    char *block;     /* of ZSTD_DStreamOutSize(), made at first use */

    /* Of a frame in pieces: */
    unsigned char head[MAGIC_SIZE];
    size_t head_size;
    bool ended;
};

enum sb_code sb_decoder_new(struct sb_decoder **out, struct sb_dictionary *dictionary)
{
    struct sb_decoder *decoder = calloc(1, sizeof(*decoder));

    *out = NULL;
    if (!decoder)
        return sb_fail_memory();
    decoder->dictionary = dictionary;
    decoder->zstd = ZSTD_createDCtx();
    if (!decoder->zstd ||
        (dictionary && ZSTD_isError(ZSTD_DCtx_refDDict(decoder->zstd, dictionary->decoding)))) {
        sb_decoder_free(decoder);
        return sb_fail_memory();
    }
    *out = decoder;
    return SB_OK;
}

void sb_decoder_free(struct sb_decoder *decoder)
{
    if (!decoder)
        return;
    ZSTD_freeDCtx(decoder->zstd);
    free(decoder->block);
    free(decoder);
}

/* Formats before zstd 1.0, and frames that are to be skipped, are no records. */
static bool is_magic(const unsigned char *data)
{
    return data[0] == (ZSTD_MAGICNUMBER & 0xff) && data[1] == (ZSTD_MAGICNUMBER >> 8 & 0xff) &&
           data[2] == (ZSTD_MAGICNUMBER >> 16 & 0xff) && data[3] == ZSTD_MAGICNUMBER >> 24;
}

static enum sb_code no_frame(void)
{
    return sb_fail(SB_DAMAGED, "is not zstd data; if it is stored as it is: --compression=none");
}

static enum sb_code cut_short(void)
{
    return sb_fail(SB_DAMAGED, "its zstd data are cut short");
}

static enum sb_code has_junk(void)
{
    return sb_fail(SB_DAMAGED, "has junk after its zstd data");
}

static enum sb_code window_too_large(void)
{
    return sb_fail(SB_DAMAGED, "its zstd data need a window of more than 128 MiB");
}

/* `without`: it was decoded without a dictionary. Where one was used, nothing in the frame need say
 * so. */
static enum sb_code decoding_failed(size_t result, bool without)
{
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation:
        return sb_fail_memory();
    case ZSTD_error_dictionary_wrong:
        return sb_fail(SB_DAMAGED, "was compressed with %s dictionary; --dictionary names it",
                       without ? "a" : "another");
    case ZSTD_error_corruption_detected:
        return sb_fail(SB_DAMAGED, "its zstd data are damaged%s",
                       without ? ", or need a --dictionary" : "");
    case ZSTD_error_frameParameter_windowTooLarge:
        return window_too_large();
    case ZSTD_error_prefix_unknown:
        return no_frame();
    case ZSTD_error_srcSize_wrong:
        return cut_short();
    default:
        return sb_fail(SB_DAMAGED, "its zstd data are damaged");
    }
}

/*
 * Decoding at once needs no window, and would do; but whether a frame is good must not depend on
 * the capacity that there happens to be. RFC 8878, 3.1.1.1.2: no window where the content is a
 * single segment.
 */
static bool has_large_window(const unsigned char *frame, size_t size)
{
    unsigned exponent, mantissa;

    if (size <= WINDOW_AT || frame[DESCRIPTOR_AT] & SINGLE_SEGMENT)
        return false;
    exponent = 10 + (frame[WINDOW_AT] >> 3);
    mantissa = frame[WINDOW_AT] & 7;
    return exponent > WINDOW_LOG_MAX || (exponent == WINDOW_LOG_MAX && mantissa > 0);
}

enum sb_code sb_frame_size(const void *frame, size_t size, int64_t stored, int64_t *content)
{
    unsigned long long declared;

    *content = -1;
    if (size < MAGIC_SIZE || !is_magic(frame))
        return no_frame();
    if (has_large_window(frame, size))
        return window_too_large();
    declared = ZSTD_getFrameContentSize(frame, size);
    if (declared == ZSTD_CONTENTSIZE_UNKNOWN)
        return SB_OK;
    if (declared == ZSTD_CONTENTSIZE_ERROR)
        return size < SB_FRAME_HEADER_MAX ? cut_short()
                                          : sb_fail(SB_DAMAGED, "its zstd data are damaged");
    if (declared > INT64_MAX || (int64_t)declared / BLOCK_MOST > stored / BLOCK_LEAST)
        return sb_fail(SB_DAMAGED, "declares a size that cannot be");
    *content = (int64_t)declared;
    return SB_OK;
}

static enum sb_code too_large(void)
{
    sb_error()->code = SB_LIMIT;
    sb_error()->text[0] = '\0';
    return SB_LIMIT;
}

enum sb_code sb_decode(struct sb_decoder *decoder, const void *frame, size_t frame_size, void *data,
                       size_t capacity, size_t *size)
{
    int64_t content;
    size_t result;

    *size = 0;
    if (frame_size == 0)
        return SB_OK;
    TRY(sb_frame_size(frame, frame_size, (int64_t)frame_size, &content));
    /* One frame, and nothing after it? The headers of its blocks show that. */
    result = ZSTD_findFrameCompressedSize(frame, frame_size);
    if (ZSTD_isError(result))
        return decoding_failed(result, false);
    if (result < frame_size)
        return has_junk();
    if (content > 0 && (uint64_t)content > capacity)
        return too_large();
    result = ZSTD_decompressDCtx(decoder->zstd, data, capacity, frame, frame_size);
    if (!ZSTD_isError(result)) {
        *size = result;
        return SB_OK;
    }
    (void)ZSTD_DCtx_reset(decoder->zstd, ZSTD_reset_session_only);
    /* Where the size is declared, the capacity is enough for what should come. */
    if (content < 0 && ZSTD_getErrorCode(result) == ZSTD_error_dstSize_tooSmall)
        return too_large();
    return decoding_failed(result, !decoder->dictionary);
}

enum sb_code sb_decode_begin(struct sb_decoder *decoder)
{
    if (!decoder->block)
        decoder->block = malloc(ZSTD_DStreamOutSize());
    if (!decoder->block)
        return sb_fail_memory();
    (void)ZSTD_DCtx_reset(decoder->zstd, ZSTD_reset_session_only);
    decoder->head_size = 0;
    decoder->ended = false;
    return SB_OK;
}

/* The first bytes decide before zstd sees what follows them. */
static enum sb_code look_at_head(struct sb_decoder *decoder, const void *piece, size_t size)
{
    size_t take = MAGIC_SIZE - decoder->head_size;

    if (take == 0)
        return SB_OK;
    if (take > size)
        take = size;
    memcpy(decoder->head + decoder->head_size, piece, take);
    decoder->head_size += take;
    return decoder->head_size < MAGIC_SIZE || is_magic(decoder->head) ? SB_OK : no_frame();
}

enum sb_code sb_decode_more(struct sb_decoder *decoder, const void *piece, size_t size,
                            sb_each_block *each, void *context)
{
    ZSTD_inBuffer in = {.src = piece, .size = size};
    ZSTD_outBuffer out = {.dst = decoder->block, .size = ZSTD_DStreamOutSize()};
    size_t result;

    TRY(look_at_head(decoder, piece, size));
    /* A full block may leave more inside. */
    while (!decoder->ended && (in.pos < in.size || out.pos == out.size)) {
        out.pos = 0;
        result = ZSTD_decompressStream(decoder->zstd, &out, &in);
        if (ZSTD_isError(result))
            return decoding_failed(result, !decoder->dictionary);
        decoder->ended = result == 0;
        if (out.pos > 0)
            TRY(each(context, out.dst, out.pos));
    }
    if (in.pos < in.size)
        return has_junk();
    return SB_OK;
}

enum sb_code sb_decode_end(struct sb_decoder *decoder)
{
    return decoder->ended || decoder->head_size == 0 ? SB_OK : cut_short();
}
