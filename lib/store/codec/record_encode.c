/* For a prepared dictionary in memory of ours: where there is none, ZSTD_createCDict of zstd 1.5.4
 * writes to address 0. */
#define ZSTD_STATIC_LINKING_ONLY
#include "store/codec/record_codec_impl.h"

#include "core/array.h"

#include <stdlib.h>
#include <string.h>
#include <zstd_errors.h>

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
        encoder->block = malloc(ZSTD_CStreamOutSize());
    if (!encoder->block)
        return sb_fail_memory();
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
