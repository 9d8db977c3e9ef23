/* For a prepared dictionary in memory of ours: where there is none, ZSTD_createCDict of zstd 1.5.4
 * writes to address 0. */
#define ZSTD_STATIC_LINKING_ONLY
#include "store/record_codec_impl.h"

#include <stdlib.h>
#include <string.h>
#include <zstd_errors.h>

#define USUAL_LEVEL 3

/* A record of this size, and so many times that of the dictionary, is encoded with parameters for
 * its own size; so zstd does it by itself with dictionaries that it made. */
#define LARGE       ((size_t)128 << 10)
#define LARGE_TIMES 6

enum sb_compression sb_compression_of(enum sb_compression wanted, const char *path)
{
    size_t size = strlen(path);

    if (wanted != SB_COMPRESSION_AUTO)
        return wanted;
    return size >= 5 && strcmp(path + size - 5, ".bagz") == 0 ? SB_COMPRESSION_ZSTD
                                                              : SB_COMPRESSION_NONE;
}

/* Whole records are encoded by the prepared dictionary even where it is empty, as Bagz does: its
 * tables need not be set up for each record, which takes a third of the time. */
struct sb_encoder {
    ZSTD_CCtx *zstd;
    void *space;
    const ZSTD_CDict *prepared; /* in space */
    const struct sb_dictionary *dictionary;
    int level;
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

static enum sb_code prepare(struct sb_encoder *encoder, const void *bytes, size_t size,
                            struct sb_error *err)
{
    ZSTD_compressionParameters parameters = ZSTD_getCParams(encoder->level, 0, size);
    size_t room = ZSTD_estimateCDictSize_advanced(size, parameters, ZSTD_dlm_byCopy);

    encoder->space = malloc(room);
    if (!encoder->space)
        return sb_fail_memory(err);
    encoder->prepared = ZSTD_initStaticCDict(encoder->space, room, bytes, size, ZSTD_dlm_byCopy,
                                             ZSTD_dct_auto, parameters);
    return encoder->prepared ? SB_OK : sb_fail(err, SB_FORMAT, "the dictionary is damaged");
}

static enum sb_code set_up(struct sb_encoder *encoder, const struct sb_dictionary *dictionary,
                           struct sb_error *err)
{
    const void *bytes = dictionary ? dictionary->bytes.data : NULL;
    size_t size = dictionary ? dictionary->bytes.size : 0, result;

    encoder->dictionary = dictionary;
    encoder->zstd = ZSTD_createCCtx();
    if (!encoder->zstd)
        return sb_fail_memory(err);
    if (prepare(encoder, bytes, size, err))
        return err->code;
    result = size ? ZSTD_CCtx_refCDict(encoder->zstd, encoder->prepared)
                  : ZSTD_CCtx_setParameter(encoder->zstd, ZSTD_c_compressionLevel, encoder->level);
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
    encoder->level = level;
    if (set_up(encoder, dictionary, err)) {
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
    free(encoder->space);
    free(encoder->block);
    free(encoder);
}

static size_t encode_whole(struct sb_encoder *encoder, void *out, size_t room, const void *record,
                           size_t size)
{
    const struct sb_dictionary *dictionary = encoder->dictionary;
    size_t dictionary_size = dictionary ? dictionary->bytes.size : 0;

    if (size < LARGE || size / LARGE_TIMES < dictionary_size)
        return ZSTD_compress_usingCDict(encoder->zstd, out, room, record, size, encoder->prepared);
    return ZSTD_compress_usingDict(encoder->zstd, out, room, record, size,
                                   dictionary ? dictionary->bytes.data : NULL, dictionary_size,
                                   encoder->level);
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
    result = encode_whole(encoder, out->data + out->size, bound, record, size);
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
