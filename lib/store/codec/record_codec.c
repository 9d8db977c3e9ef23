/* For a prepared dictionary in memory of ours: where there is none, ZSTD_createCDict of zstd 1.5.4
 * writes to address 0. */
#define ZSTD_STATIC_LINKING_ONLY
#include "store/codec/record_codec.h"

#include "core/array.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#define MAGIC_SIZE 4

#define DESCRIPTOR_AT  4
#define SINGLE_SEGMENT 0x20
#define WINDOW_AT      5
#define WINDOW_LOG_MAX 27 /* also what zstd takes in pieces by default */

/* RFC 8878, 3.1.1.2: a block's header and a byte that is repeated; and what comes of a block. */
#define BLOCK_LEAST 4
#define BLOCK_MOST  ((int64_t)128 << 10)

/* What is wrong with a frame. */
#define NO_FRAME     "is not zstd data; if it is stored as it is: --compression=none"
#define CUT_SHORT    "its zstd data are cut short"
#define HAS_JUNK     "has junk after its zstd data"
#define LARGE_WINDOW "its zstd data need a window of more than 128 MiB"
#define DAMAGED      "its zstd data are damaged"

/* zstd's own trainer writes 110 KiB by default. */
#define DICTIONARY_MAX   ((size_t)128 << 20)
#define DICTIONARY_BLOCK ((size_t)64 << 10)

#define USUAL_LEVEL 3

/* A record of this size, and so many times that of the dictionary, is encoded with parameters for
 * its own size; so zstd does it by itself with dictionaries that it made. */
#define LARGE       ((size_t)128 << 10)
#define LARGE_TIMES 6

/* Smaller ones share the parameters that zstd has for up to so many bytes. */
static const size_t sizes[] = {(size_t)16 << 10, LARGE};

#define KINDS ARRAY_SIZE(sizes)

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

enum sb_code sb_dictionary_new(struct sb_dictionary **out, const void *data, size_t size)
{
    CLEANUP(sb_dictionary_freep) struct sb_dictionary *dictionary = NULL;

    *out = NULL;
    TRY(SB_NEW(&dictionary));
    atomic_init(&dictionary->holders, 1);
    TRY(sb_buf_set(&dictionary->bytes, data, size));
    dictionary->decoding = ZSTD_createDDict(dictionary->bytes.data, size);
    if (!dictionary->decoding)
        return sb_fail(SB_FORMAT, "is no zstd dictionary, though it begins as one");
    *out = TAKE(dictionary);
    return SB_OK;
}

static enum sb_code read_whole(int fd, struct sb_buf *out, const char *path)
{
    size_t got;

    do {
        TRY(sb_buf_reserve(out, DICTIONARY_BLOCK));
        TRY(sb_read_full(fd, out->data + out->size, DICTIONARY_BLOCK, &got, path));
        out->size += got;
        if (out->size > DICTIONARY_MAX)
            return sb_fail(SB_LIMIT, "%s: is too large for a dictionary", path);
    } while (got == DICTIONARY_BLOCK);
    return SB_OK;
}

enum sb_code sb_dictionary_read(struct sb_dictionary **out, const char *path)
{
    CLEANUP(sb_closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    CLEANUP(sb_buf_release) struct sb_buf bytes = {0};

    *out = NULL;
    if (fd < 0)
        return sb_fail_errno(errno, "%s", path);
    TRY(read_whole(fd, &bytes, path));
    if (sb_dictionary_new(out, bytes.data, bytes.size))
        return sb_fail(sb_error()->code, "%s: %s", path, sb_error()->text);
    return SB_OK;
}

struct sb_dictionary *sb_dictionary_ref(struct sb_dictionary *dictionary)
{
    if (dictionary)
        atomic_fetch_add(&dictionary->holders, 1);
    return dictionary;
}

bool sb_dictionary_same(const struct sb_dictionary *a, const struct sb_dictionary *b)
{
    if (!a || !b)
        return a == b;
    return a->bytes.size == b->bytes.size &&
           memcmp(a->bytes.data, b->bytes.data, a->bytes.size) == 0;
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
    bool dictionary; /* it has one */
    char *block;     /* of ZSTD_DStreamOutSize(), made at first use */

    /* Of a frame in pieces: */
    unsigned char head[MAGIC_SIZE];
    size_t head_size;
    bool ended;
};

enum sb_code sb_decoder_new(struct sb_decoder **out, struct sb_dictionary *dictionary)
{
    CLEANUP(sb_decoder_freep) struct sb_decoder *decoder = NULL;

    *out = NULL;
    TRY(SB_NEW(&decoder));
    decoder->dictionary = dictionary;
    decoder->zstd = ZSTD_createDCtx();
    if (!decoder->zstd ||
        (dictionary && ZSTD_isError(ZSTD_DCtx_refDDict(decoder->zstd, dictionary->decoding))))
        return sb_fail_memory();
    *out = TAKE(decoder);
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
        return sb_fail(SB_DAMAGED, LARGE_WINDOW);
    case ZSTD_error_prefix_unknown:
        return sb_fail(SB_DAMAGED, NO_FRAME);
    case ZSTD_error_srcSize_wrong:
        return sb_fail(SB_DAMAGED, CUT_SHORT);
    default:
        return sb_fail(SB_DAMAGED, DAMAGED);
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
        return sb_fail(SB_DAMAGED, NO_FRAME);
    if (has_large_window(frame, size))
        return sb_fail(SB_DAMAGED, LARGE_WINDOW);
    declared = ZSTD_getFrameContentSize(frame, size);
    if (declared == ZSTD_CONTENTSIZE_UNKNOWN)
        return SB_OK;
    if (declared == ZSTD_CONTENTSIZE_ERROR)
        return size < SB_FRAME_HEADER_MAX ? sb_fail(SB_DAMAGED, CUT_SHORT)
                                          : sb_fail(SB_DAMAGED, DAMAGED);
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
        return sb_fail(SB_DAMAGED, HAS_JUNK);
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
        TRY(sb_alloc(&decoder->block, ZSTD_DStreamOutSize()));
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
    return decoder->head_size < MAGIC_SIZE || is_magic(decoder->head)
               ? SB_OK
               : sb_fail(SB_DAMAGED, NO_FRAME);
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
        return sb_fail(SB_DAMAGED, HAS_JUNK);
    return SB_OK;
}

enum sb_code sb_decode_end(struct sb_decoder *decoder)
{
    return decoder->ended || decoder->head_size == 0 ? SB_OK : sb_fail(SB_DAMAGED, CUT_SHORT);
}

/* Encoding */

struct prepared {
    void *space;
    const ZSTD_CDict *dictionary; /* in space; NULL: not made yet */
};

/*
 * Whole records are encoded by a prepared dictionary even where it is empty, as Bagz does: tables
 * need not be set up for each record. Bagz has zstd take a record of unknown size, whose tables of
 * 768 kB on each thread are more than the caches hold.
 */
struct sb_encoder {
    ZSTD_CCtx *zstd;
    struct prepared prepared[KINDS]; /* the first alone where there is a dictionary */
    const struct sb_dictionary *dictionary;
    int level;
    char *block; /* of ZSTD_CStreamOutSize(), made at first use */
    bool begun;  /* a piece of the record was fed */
};

static enum sb_code encoding_failed(size_t result)
{
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation:
        return sb_fail_memory();
    case ZSTD_error_srcSize_wrong:
        return sb_fail(SB_CHANGED, "has not the size it was said to have");
    case ZSTD_error_dictionary_corrupted:
        return sb_fail(SB_FORMAT, "the dictionary is damaged");
    default:
        return sb_fail(SB_INVALID, "zstd cannot compress it: %s", ZSTD_getErrorName(result));
    }
}

static enum sb_code prepare(struct sb_encoder *encoder, size_t kind)
{
    const struct sb_dictionary *dictionary = encoder->dictionary;
    const void *bytes = dictionary ? dictionary->bytes.data : NULL;
    size_t size = dictionary ? dictionary->bytes.size : 0, needed;
    struct prepared *prepared = &encoder->prepared[kind];
    ZSTD_compressionParameters parameters;

    if (prepared->dictionary)
        return SB_OK;
    parameters = ZSTD_getCParams(encoder->level, size > 0 ? 0 : sizes[kind], size);
    needed = ZSTD_estimateCDictSize_advanced(size, parameters, ZSTD_dlm_byCopy);
    TRY(sb_alloc(&prepared->space, needed));
    prepared->dictionary = ZSTD_initStaticCDict(prepared->space, needed, bytes, size,
                                                ZSTD_dlm_byCopy, ZSTD_dct_auto, parameters);
    return prepared->dictionary ? SB_OK : sb_fail(SB_FORMAT, "the dictionary is damaged");
}

static enum sb_code set_up(struct sb_encoder *encoder, const struct sb_dictionary *dictionary)
{
    bool with_bytes = dictionary && dictionary->bytes.size > 0;
    size_t result;

    encoder->dictionary = dictionary;
    encoder->zstd = ZSTD_createCCtx();
    if (!encoder->zstd)
        return sb_fail_memory();
    if (with_bytes)
        TRY(prepare(encoder, 0));
    result = with_bytes
                 ? ZSTD_CCtx_refCDict(encoder->zstd, encoder->prepared[0].dictionary)
                 : ZSTD_CCtx_setParameter(encoder->zstd, ZSTD_c_compressionLevel, encoder->level);
    return ZSTD_isError(result) ? encoding_failed(result) : SB_OK;
}

enum sb_code sb_encoder_new(struct sb_encoder **out, struct sb_dictionary *dictionary, int level)
{
    CLEANUP(sb_encoder_freep) struct sb_encoder *encoder = NULL;

    *out = NULL;
    if (level == 0)
        level = USUAL_LEVEL;
    if (level < ZSTD_minCLevel() || level > ZSTD_maxCLevel())
        return sb_fail(SB_INVALID, "zstd has no level %d; they go up to %d", level,
                       ZSTD_maxCLevel());
    TRY(SB_NEW(&encoder));
    encoder->level = level;
    TRY(set_up(encoder, dictionary));
    *out = TAKE(encoder);
    return SB_OK;
}

void sb_encoder_free(struct sb_encoder *encoder)
{
    if (!encoder)
        return;
    ZSTD_freeCCtx(encoder->zstd);
    for (size_t i = 0; i < KINDS; i++)
        free(encoder->prepared[i].space);
    free(encoder->block);
    free(encoder);
}

static enum sb_code encode_whole(struct sb_encoder *encoder, void *out, size_t *out_size,
                                 const void *record, size_t size)
{
    const struct sb_dictionary *dictionary = encoder->dictionary;
    size_t dictionary_size = dictionary ? dictionary->bytes.size : 0, kind = 0, result;

    if (size < LARGE || size / LARGE_TIMES < dictionary_size) {
        while (dictionary_size == 0 && size > sizes[kind])
            kind++;
        TRY(prepare(encoder, kind));
        result = ZSTD_compress_usingCDict(encoder->zstd, out, *out_size, record, size,
                                          encoder->prepared[kind].dictionary);
    } else {
        result = ZSTD_compress_usingDict(encoder->zstd, out, *out_size, record, size,
                                         dictionary ? dictionary->bytes.data : NULL,
                                         dictionary_size, encoder->level);
    }
    if (ZSTD_isError(result))
        return encoding_failed(result);
    *out_size = result;
    return SB_OK;
}

enum sb_code sb_encode(struct sb_encoder *encoder, const void *record, size_t size,
                       struct sb_buf *out)
{
    size_t taken = ZSTD_compressBound(size);

    if (size == 0)
        return SB_OK;
    if (ZSTD_isError(taken) || sb_buf_reserve(out, taken))
        return sb_fail_memory();
    (void)ZSTD_CCtx_reset(encoder->zstd, ZSTD_reset_session_only);
    TRY(encode_whole(encoder, out->data + out->size, &taken, record, size));
    out->size += taken;
    out->data[out->size] = '\0';
    return SB_OK;
}

enum sb_code sb_encode_begin(struct sb_encoder *encoder, int64_t record_size)
{
    size_t result;

    if (!encoder->block)
        TRY(sb_alloc(&encoder->block, ZSTD_CStreamOutSize()));
    encoder->begun = false;
    (void)ZSTD_CCtx_reset(encoder->zstd, ZSTD_reset_session_only);
    if (record_size < 0)
        return SB_OK;
    result = ZSTD_CCtx_setPledgedSrcSize(encoder->zstd, (unsigned long long)record_size);
    return ZSTD_isError(result) ? encoding_failed(result) : SB_OK;
}

static enum sb_code encode(struct sb_encoder *encoder, ZSTD_inBuffer in, ZSTD_EndDirective end,
                           sb_each_block *each, void *context)
{
    enum sb_code code = SB_OK;
    size_t result;

    do {
        ZSTD_outBuffer out = {.dst = encoder->block, .size = ZSTD_CStreamOutSize()};

        result = ZSTD_compressStream2(encoder->zstd, &out, &in, end);
        if (ZSTD_isError(result))
            return encoding_failed(result);
        if (out.pos > 0)
            code = each(context, out.dst, out.pos);
    } while (!code && (end == ZSTD_e_end ? result > 0 : in.pos < in.size));
    return code;
}

enum sb_code sb_encode_more(struct sb_encoder *encoder, const void *piece, size_t size,
                            sb_each_block *each, void *context)
{
    if (size == 0)
        return SB_OK;
    encoder->begun = true;
    return encode(encoder, (ZSTD_inBuffer){.src = piece, .size = size}, ZSTD_e_continue, each,
                  context);
}

enum sb_code sb_encode_end(struct sb_encoder *encoder, sb_each_block *each, void *context)
{
    if (!encoder->begun)
        return SB_OK;
    return encode(encoder, (ZSTD_inBuffer){.src = "", .size = 0}, ZSTD_e_end, each, context);
}
