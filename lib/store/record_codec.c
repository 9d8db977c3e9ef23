#include "store/record_codec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>
#include <zstd_errors.h>

#define USUAL_LEVEL 3
#define MAGIC_SIZE  4

#define DESCRIPTOR_AT  4
#define SINGLE_SEGMENT 0x20
#define WINDOW_AT      5
#define WINDOW_LOG_MAX 27 /* also what zstd takes in pieces, unless told otherwise */

/* zstd's own writes 110 KiB where it is not told otherwise. */
#define DICTIONARY_MAX   ((size_t)128 << 20)
#define DICTIONARY_BLOCK ((size_t)64 << 10)

enum sb_compression sb_compression_of(enum sb_compression wanted, const char *path)
{
    size_t size = strlen(path);

    if (wanted != SB_COMPRESSION_AUTO)
        return wanted;
    return size >= 5 && strcmp(path + size - 5, ".bagz") == 0 ? SB_COMPRESSION_ZSTD
                                                              : SB_COMPRESSION_NONE;
}

/* Dictionaries */

struct sb_dictionary {
    atomic_uint holders;
    struct sb_buf bytes;
    ZSTD_DDict *decoding;
};

static enum sb_code digest(struct sb_dictionary *dictionary, struct sb_error *err)
{
    const struct sb_buf *bytes = &dictionary->bytes;

    dictionary->decoding = ZSTD_createDDict(bytes->data, bytes->size);
    if (!dictionary->decoding)
        return sb_fail(err, SB_FORMAT, "is no zstd dictionary, though it begins as one");
    return SB_OK;
}

enum sb_code sb_dictionary_new(struct sb_dictionary **out, const void *data, size_t size,
                               struct sb_error *err)
{
    struct sb_dictionary *dictionary = calloc(1, sizeof(*dictionary));

    *out = NULL;
    if (!dictionary)
        return sb_fail_memory(err);
    atomic_init(&dictionary->holders, 1);
    if (sb_buf_set(&dictionary->bytes, data, size) ? sb_fail_memory(err)
                                                   : digest(dictionary, err)) {
        sb_dictionary_free(dictionary);
        return err->code;
    }
    *out = dictionary;
    return SB_OK;
}

static enum sb_code read_whole(int fd, struct sb_buf *out, const char *path, struct sb_error *err)
{
    size_t got;
    enum sb_code code;

    do {
        if (sb_buf_reserve(out, DICTIONARY_BLOCK))
            return sb_fail_memory(err);
        code = sb_read_full(fd, out->data + out->size, DICTIONARY_BLOCK, &got, path, err);
        if (code)
            return code;
        out->size += got;
        if (out->size > DICTIONARY_MAX)
            return sb_fail(err, SB_LIMIT, "%s: is too large for a dictionary", path);
    } while (got == DICTIONARY_BLOCK);
    return SB_OK;
}

enum sb_code sb_dictionary_read(struct sb_dictionary **out, const char *path, struct sb_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct sb_buf bytes = {0};
    struct sb_error inner;
    enum sb_code code;

    *out = NULL;
    if (fd < 0)
        return sb_fail_errno(err, errno, "%s", path);
    code = read_whole(fd, &bytes, path, err);
    if (!code && sb_dictionary_new(out, bytes.data, bytes.size, &inner))
        code = sb_fail(err, inner.code, "%s: %s", path, inner.text);
    sb_buf_release(&bytes);
    close(fd);
    return code;
}

struct sb_dictionary *sb_dictionary_ref(struct sb_dictionary *dictionary)
{
    if (dictionary)
        atomic_fetch_add(&dictionary->holders, 1);
    return dictionary;
}

void sb_dictionary_free(struct sb_dictionary *dictionary)
{
    if (!dictionary || atomic_fetch_sub(&dictionary->holders, 1) > 1)
        return;
    ZSTD_freeDDict(dictionary->decoding);
    sb_buf_release(&dictionary->bytes);
    free(dictionary);
}

/* Decoding */

struct sb_decoder {
    ZSTD_DCtx *zstd;
    char *block; /* of ZSTD_DStreamOutSize(), made at first use */

    /* Of a frame in pieces: */
    unsigned char head[MAGIC_SIZE];
    size_t head_size;
    bool ended;
};

enum sb_code sb_decoder_new(struct sb_decoder **out, struct sb_dictionary *dictionary,
                            struct sb_error *err)
{
    struct sb_decoder *decoder = calloc(1, sizeof(*decoder));

    *out = NULL;
    if (!decoder)
        return sb_fail_memory(err);
    decoder->zstd = ZSTD_createDCtx();
    if (!decoder->zstd ||
        (dictionary && ZSTD_isError(ZSTD_DCtx_refDDict(decoder->zstd, dictionary->decoding)))) {
        sb_decoder_free(decoder);
        return sb_fail_memory(err);
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

static enum sb_code no_frame(struct sb_error *err)
{
    return sb_fail(err, SB_DAMAGED, "is not zstd data; was it stored uncompressed?");
}

static enum sb_code cut_short(struct sb_error *err)
{
    return sb_fail(err, SB_DAMAGED, "its zstd data are cut short");
}

static enum sb_code has_junk(struct sb_error *err)
{
    return sb_fail(err, SB_DAMAGED, "has junk behind its zstd data");
}

static enum sb_code window_too_large(struct sb_error *err)
{
    return sb_fail(err, SB_DAMAGED, "its zstd data need a window of more than 128 MiB");
}

static enum sb_code decoding_failed(size_t result, struct sb_error *err)
{
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation:
        return sb_fail_memory(err);
    case ZSTD_error_dictionary_wrong:
        return sb_fail(err, SB_DAMAGED,
                       "was compressed with another dictionary, or with one at all; --dictionary "
                       "names it");
    case ZSTD_error_frameParameter_windowTooLarge:
        return window_too_large(err);
    case ZSTD_error_prefix_unknown:
        return no_frame(err);
    case ZSTD_error_srcSize_wrong:
        return cut_short(err);
    default:
        return sb_fail(err, SB_DAMAGED, "its zstd data are damaged");
    }
}

/*
 * Decoding at once needs no window, and would do; but a frame must not be good or bad by the room
 * that there happens to be. RFC 8878, 3.1.1.1.2: no window where the content is a single segment.
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

enum sb_code sb_frame_size(const void *frame, size_t size, int64_t *content, struct sb_error *err)
{
    unsigned long long declared;

    *content = -1;
    if (size < MAGIC_SIZE || !is_magic(frame))
        return no_frame(err);
    if (has_large_window(frame, size))
        return window_too_large(err);
    declared = ZSTD_getFrameContentSize(frame, size);
    if (declared == ZSTD_CONTENTSIZE_UNKNOWN)
        return SB_OK;
    if (declared == ZSTD_CONTENTSIZE_ERROR)
        return size < SB_FRAME_HEADER_MAX ? cut_short(err)
                                          : sb_fail(err, SB_DAMAGED, "its zstd data are damaged");
    if (declared > INT64_MAX)
        return sb_fail(err, SB_DAMAGED, "declares a size that cannot be");
    *content = (int64_t)declared;
    return SB_OK;
}

/* One frame, and nothing behind it? That is seen by its blocks' headers. */
static enum sb_code check_frame(const void *frame, size_t size, struct sb_error *err)
{
    size_t length = ZSTD_findFrameCompressedSize(frame, size);

    if (ZSTD_isError(length))
        return decoding_failed(length, err);
    return length < size ? has_junk(err) : SB_OK;
}

static enum sb_code too_large(struct sb_error *err)
{
    err->code = SB_LIMIT;
    err->text[0] = '\0';
    return SB_LIMIT;
}

enum sb_code sb_decode(struct sb_decoder *decoder, const void *frame, size_t frame_size, void *data,
                       size_t room, size_t *size, struct sb_error *err)
{
    int64_t content;
    size_t result;

    *size = 0;
    if (frame_size == 0)
        return SB_OK;
    if (sb_frame_size(frame, frame_size, &content, err) || check_frame(frame, frame_size, err))
        return err->code;
    if (content > 0 && (uint64_t)content > room)
        return too_large(err);
    result = ZSTD_decompressDCtx(decoder->zstd, data, room, frame, frame_size);
    if (!ZSTD_isError(result)) {
        *size = result;
        return SB_OK;
    }
    (void)ZSTD_DCtx_reset(decoder->zstd, ZSTD_reset_session_only);
    /* Where the size is declared, there is room for what should come. */
    if (content < 0 && ZSTD_getErrorCode(result) == ZSTD_error_dstSize_tooSmall)
        return too_large(err);
    return decoding_failed(result, err);
}

enum sb_code sb_decode_begin(struct sb_decoder *decoder, struct sb_error *err)
{
    if (!decoder->block)
        decoder->block = malloc(ZSTD_DStreamOutSize());
    if (!decoder->block)
        return sb_fail_memory(err);
    (void)ZSTD_DCtx_reset(decoder->zstd, ZSTD_reset_session_only);
    decoder->head_size = 0;
    decoder->ended = false;
    return SB_OK;
}

/* The first bytes decide before zstd sees what is behind them. */
static enum sb_code look_at_head(struct sb_decoder *decoder, const void *piece, size_t size,
                                 struct sb_error *err)
{
    size_t take = MAGIC_SIZE - decoder->head_size;

    if (take == 0)
        return SB_OK;
    if (take > size)
        take = size;
    memcpy(decoder->head + decoder->head_size, piece, take);
    decoder->head_size += take;
    return decoder->head_size < MAGIC_SIZE || is_magic(decoder->head) ? SB_OK : no_frame(err);
}

enum sb_code sb_decode_more(struct sb_decoder *decoder, const void *piece, size_t size,
                            sb_each_block *each, void *context, struct sb_error *err)
{
    ZSTD_inBuffer in = {.src = piece, .size = size};
    ZSTD_outBuffer out = {.dst = decoder->block, .size = ZSTD_DStreamOutSize()};
    enum sb_code code = look_at_head(decoder, piece, size, err);
    size_t result;

    /* A full block may leave more inside. */
    while (!code && !decoder->ended && (in.pos < in.size || out.pos == out.size)) {
        out.pos = 0;
        result = ZSTD_decompressStream(decoder->zstd, &out, &in);
        if (ZSTD_isError(result))
            return decoding_failed(result, err);
        decoder->ended = result == 0;
        if (out.pos > 0)
            code = each(context, out.dst, out.pos, err);
    }
    if (!code && in.pos < in.size)
        code = has_junk(err);
    return code;
}

enum sb_code sb_decode_end(struct sb_decoder *decoder, struct sb_error *err)
{
    return decoder->ended || decoder->head_size == 0 ? SB_OK : cut_short(err);
}

/* Encoding */

/* Whole records are encoded by the prepared dictionary even where it is empty, as Bagz does: its
 * tables need not be set up for each record, which takes a third of the time. */
struct sb_encoder {
    ZSTD_CCtx *zstd;
    ZSTD_CDict *prepared;
    char *block; /* of ZSTD_CStreamOutSize(), made at first use */
    bool begun;  /* a piece of the record was fed */
};

static enum sb_code encoding_failed(size_t result, struct sb_error *err)
{
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation:
        return sb_fail_memory(err);
    case ZSTD_error_srcSize_wrong:
        return sb_fail(err, SB_CHANGED, "has not the size it was said to have");
    case ZSTD_error_dictionary_corrupted:
        return sb_fail(err, SB_FORMAT, "the dictionary is damaged");
    default:
        return sb_fail(err, SB_INVALID, "zstd cannot compress it: %s", ZSTD_getErrorName(result));
    }
}

static enum sb_code set_up(struct sb_encoder *encoder, const struct sb_dictionary *dictionary,
                           int level, struct sb_error *err)
{
    const void *bytes = dictionary ? dictionary->bytes.data : NULL;
    size_t size = dictionary ? dictionary->bytes.size : 0, result;

    encoder->zstd = ZSTD_createCCtx();
    encoder->prepared = ZSTD_createCDict(bytes, size, level);
    if (!encoder->zstd)
        return sb_fail_memory(err);
    if (!encoder->prepared)
        return size ? sb_fail(err, SB_FORMAT, "the dictionary is damaged") : sb_fail_memory(err);
    result = size ? ZSTD_CCtx_refCDict(encoder->zstd, encoder->prepared)
                  : ZSTD_CCtx_setParameter(encoder->zstd, ZSTD_c_compressionLevel, level);
    return ZSTD_isError(result) ? encoding_failed(result, err) : SB_OK;
}

enum sb_code sb_encoder_new(struct sb_encoder **out, struct sb_dictionary *dictionary, int level,
                            struct sb_error *err)
{
    struct sb_encoder *encoder;

    *out = NULL;
    if (level == 0)
        level = USUAL_LEVEL;
    if (level < ZSTD_minCLevel() || level > ZSTD_maxCLevel())
        return sb_fail(err, SB_INVALID, "zstd has no level %d; they go up to %d", level,
                       ZSTD_maxCLevel());
    encoder = calloc(1, sizeof(*encoder));
    if (!encoder)
        return sb_fail_memory(err);
    if (set_up(encoder, dictionary, level, err)) {
        sb_encoder_free(encoder);
        return err->code;
    }
    *out = encoder;
    return SB_OK;
}

void sb_encoder_free(struct sb_encoder *encoder)
{
    if (!encoder)
        return;
    ZSTD_freeCCtx(encoder->zstd);
    ZSTD_freeCDict(encoder->prepared);
    free(encoder->block);
    free(encoder);
}

enum sb_code sb_encode(struct sb_encoder *encoder, const void *record, size_t size,
                       struct sb_buf *out, struct sb_error *err)
{
    size_t bound = ZSTD_compressBound(size), result;

    if (size == 0)
        return SB_OK;
    if (ZSTD_isError(bound) || sb_buf_reserve(out, bound))
        return sb_fail_memory(err);
    (void)ZSTD_CCtx_reset(encoder->zstd, ZSTD_reset_session_only);
    result = ZSTD_compress_usingCDict(encoder->zstd, out->data + out->size, bound, record, size,
                                      encoder->prepared);
    if (ZSTD_isError(result))
        return encoding_failed(result, err);
    out->size += result;
    out->data[out->size] = '\0';
    return SB_OK;
}

enum sb_code sb_encode_begin(struct sb_encoder *encoder, int64_t record_size, struct sb_error *err)
{
    size_t result;

    if (!encoder->block)
        encoder->block = malloc(ZSTD_CStreamOutSize());
    if (!encoder->block)
        return sb_fail_memory(err);
    encoder->begun = false;
    (void)ZSTD_CCtx_reset(encoder->zstd, ZSTD_reset_session_only);
    if (record_size < 0)
        return SB_OK;
    result = ZSTD_CCtx_setPledgedSrcSize(encoder->zstd, (unsigned long long)record_size);
    return ZSTD_isError(result) ? encoding_failed(result, err) : SB_OK;
}

static enum sb_code encode(struct sb_encoder *encoder, ZSTD_inBuffer in, ZSTD_EndDirective end,
                           sb_each_block *each, void *context, struct sb_error *err)
{
    enum sb_code code = SB_OK;
    size_t result;

    do {
        ZSTD_outBuffer out = {.dst = encoder->block, .size = ZSTD_CStreamOutSize()};

        result = ZSTD_compressStream2(encoder->zstd, &out, &in, end);
        if (ZSTD_isError(result))
            return encoding_failed(result, err);
        if (out.pos > 0)
            code = each(context, out.dst, out.pos, err);
    } while (!code && (end == ZSTD_e_end ? result > 0 : in.pos < in.size));
    return code;
}

enum sb_code sb_encode_more(struct sb_encoder *encoder, const void *piece, size_t size,
                            sb_each_block *each, void *context, struct sb_error *err)
{
    if (size == 0)
        return SB_OK;
    encoder->begun = true;
    return encode(encoder, (ZSTD_inBuffer){.src = piece, .size = size}, ZSTD_e_continue, each,
                  context, err);
}

enum sb_code sb_encode_end(struct sb_encoder *encoder, sb_each_block *each, void *context,
                           struct sb_error *err)
{
    if (!encoder->begun)
        return SB_OK;
    return encode(encoder, (ZSTD_inBuffer){.src = "", .size = 0}, ZSTD_e_end, each, context, err);
}
