#include "store/codec/codec.h"

#include "core/array.h"
#include "core/thread.h"

#include <bzlib.h>
#include <lz4frame.h>
#include <lzma.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#define WINDOW_LOG_MAX 27
#define XZ_MEMORY_MAX  (UINT64_C(136) << 20) /* a dictionary of 128 MiB, and what is around it */

/* windowBits of zlib: the largest window, with gzip's header and trailer. */
#define GZIP_WINDOW (15 + 16)

/* At a time: the counters of zlib and libbz2 have 32 bits. */
#define STEP_MAX ((size_t)1 << 30)

/* At most two blocks of 256 KiB wait in lz4 then, and one of them comes out. */
#define LZ4_STEP ((size_t)256 << 10)

/* Milliseconds after which xz comes back from its threads, so that an interrupt is seen. */
#define PATIENCE 200

struct format {
    const char *name;
    int usual, highest; /* levels */
};

static const struct format formats[] = {
    [SB_FILTER_GZIP] = {"gzip", 6, 9}, [SB_FILTER_BZIP2] = {"bzip2", 9, 9},
    [SB_FILTER_XZ] = {"xz", 6, 9},     [SB_FILTER_ZSTD] = {"zstd", 3, 19},
    [SB_FILTER_LZMA] = {"lzma", 6, 9}, [SB_FILTER_LZ4] = {"lz4", 1, 9},
};

#define FORMATS ARRAY_SIZE(formats)

struct codec_ops {
    enum sb_code (*begin)(struct sb_codec *codec);
    enum sb_code (*step)(struct sb_codec *codec, struct sb_codec_io *io);
    void (*free)(struct sb_codec *codec);
};

struct sb_codec {
    const struct codec_ops *ops;
    const struct format *format;
    int level;
    unsigned threads;
    int64_t size;                      /* of what comes in; -1: it is not known */
    struct sb_thread_reserve *reserve; /* those of these that could be started */

    /* Of a decompressor: */
    bool inside;  /* a member or frame, or before the first */
    bool padding; /* zeros after the last member */
    bool whole;   /* one was complete */

    bool ready; /* z, bz: it was initialised; lz4: its frame has begun */
    union {
        z_stream z;
        bz_stream bz;
        lzma_stream xz;
        ZSTD_CCtx *zc;
        ZSTD_DCtx *zd;
        LZ4F_cctx *lz4;
    } as;
};

static enum sb_code damaged(const struct sb_codec *codec)
{
    return sb_fail(SB_DAMAGED, "its %s data are damaged", codec->format->name);
}

static enum sb_code cut_short(const struct sb_codec *codec)
{
    return sb_fail(SB_DAMAGED, "its %s data are cut short", codec->format->name);
}

/* What should be the beginning of a member or frame is none. */
static enum sb_code no_beginning(const struct sb_codec *codec)
{
    if (codec->whole)
        return sb_fail(SB_DAMAGED, "has junk after its %s data", codec->format->name);
    return sb_fail(SB_DAMAGED, "is not %s data, whatever its name says", codec->format->name);
}

static enum sb_code window_too_large(const struct sb_codec *codec)
{
    return sb_fail(SB_LIMIT, "its %s data need more than %d MiB of memory", codec->format->name,
                   1 << (WINDOW_LOG_MAX - 20));
}

static unsigned step_size(size_t size)
{
    return (unsigned)(size < STEP_MAX ? size : STEP_MAX);
}

static void took(struct sb_codec_io *io, size_t size)
{
    io->in += size;
    io->in_size -= size;
}

static void end_member(struct sb_codec *codec)
{
    codec->inside = false;
    codec->whole = true;
}

/* gzip */

static enum sb_code begin_gunzip(struct sb_codec *codec)
{
    int result =
        codec->ready ? inflateReset(&codec->as.z) : inflateInit2(&codec->as.z, GZIP_WINDOW);

    if (result != Z_OK)
        return sb_fail_memory();
    codec->ready = true;
    return SB_OK;
}

static enum sb_code skip_zeros(const struct sb_codec *codec, struct sb_codec_io *io)
{
    while (io->in_size > 0 && *io->in == '\0')
        took(io, 1);
    return io->in_size > 0 ? no_beginning(codec) : SB_OK;
}

static enum sb_code step_gunzip(struct sb_codec *codec, struct sb_codec_io *io)
{
    z_stream *z = &codec->as.z;
    unsigned in = step_size(io->in_size), out = step_size(io->capacity);
    bool fresh;
    int result;

    if (!codec->inside && io->in_size > 0 && (codec->padding || *io->in == '\0')) {
        codec->padding = true;
        return skip_zeros(codec, io);
    }
    if (!codec->inside && io->in_size > 0) {
        inflateReset(z);
        codec->inside = true;
    }
    if (!codec->inside)
        return SB_OK;
    fresh = z->total_out == 0;
    z->next_in = (z_const Bytef *)io->in;
    z->avail_in = in;
    z->next_out = (Bytef *)io->out;
    z->avail_out = out;
    result = inflate(z, Z_NO_FLUSH);
    took(io, in - z->avail_in);
    io->made = out - z->avail_out;
    io->more = z->avail_out == 0;
    if (result == Z_STREAM_END)
        end_member(codec);
    else if (result == Z_MEM_ERROR)
        return sb_fail_memory();
    else if (result != Z_OK && result != Z_BUF_ERROR)
        return fresh && z->total_out == 0 ? no_beginning(codec) : damaged(codec);
    else if (io->end && io->in_size == 0 && !io->more)
        return cut_short(codec);
    return SB_OK;
}

static void free_gunzip(struct sb_codec *codec)
{
    inflateEnd(&codec->as.z);
}

/* Without a name and a time: zlib leaves both out by itself. */
static enum sb_code begin_gzip(struct sb_codec *codec)
{
    int result = codec->ready ? deflateReset(&codec->as.z)
                              : deflateInit2(&codec->as.z, codec->level, Z_DEFLATED, GZIP_WINDOW,
                                             MAX_MEM_LEVEL - 1, Z_DEFAULT_STRATEGY);

    if (result != Z_OK)
        return sb_fail_memory();
    codec->ready = true;
    return SB_OK;
}

static enum sb_code step_gzip(struct sb_codec *codec, struct sb_codec_io *io)
{
    z_stream *z = &codec->as.z;
    unsigned in = step_size(io->in_size), out = step_size(io->capacity);
    bool last = io->end && in == io->in_size;
    int result;

    z->next_in = (z_const Bytef *)io->in;
    z->avail_in = in;
    z->next_out = (Bytef *)io->out;
    z->avail_out = out;
    result = deflate(z, last ? Z_FINISH : Z_NO_FLUSH);
    took(io, in - z->avail_in);
    io->made = out - z->avail_out;
    io->more = io->end && result != Z_STREAM_END;
    return SB_OK;
}

static void free_gzip(struct sb_codec *codec)
{
    deflateEnd(&codec->as.z);
}

/* bzip2 */

static void free_bunzip2(struct sb_codec *codec)
{
    BZ2_bzDecompressEnd(&codec->as.bz);
}

static enum sb_code begin_bunzip2(struct sb_codec *codec)
{
    if (codec->ready)
        free_bunzip2(codec);
    codec->ready = BZ2_bzDecompressInit(&codec->as.bz, 0, 0) == BZ_OK;
    codec->inside = true;
    return codec->ready ? SB_OK : sb_fail_memory();
}

static enum sb_code step_bunzip2(struct sb_codec *codec, struct sb_codec_io *io)
{
    bz_stream *bz = &codec->as.bz;
    unsigned in = step_size(io->in_size), out = step_size(io->capacity);
    int result;

    if (!codec->inside && io->in_size > 0)
        TRY(begin_bunzip2(codec));
    if (!codec->inside)
        return SB_OK;
    bz->next_in = (char *)io->in;
    bz->avail_in = in;
    bz->next_out = io->out;
    bz->avail_out = out;
    result = BZ2_bzDecompress(bz);
    took(io, in - bz->avail_in);
    io->made = out - bz->avail_out;
    io->more = bz->avail_out == 0;
    if (result == BZ_STREAM_END)
        end_member(codec);
    else if (result == BZ_MEM_ERROR)
        return sb_fail_memory();
    else if (result == BZ_DATA_ERROR_MAGIC)
        return no_beginning(codec);
    else if (result != BZ_OK)
        return damaged(codec);
    else if (io->end && io->in_size == 0 && !io->more)
        return cut_short(codec);
    return SB_OK;
}

static void free_bzip2(struct sb_codec *codec)
{
    BZ2_bzCompressEnd(&codec->as.bz);
}

static enum sb_code begin_bzip2(struct sb_codec *codec)
{
    if (codec->ready)
        free_bzip2(codec);
    codec->ready = BZ2_bzCompressInit(&codec->as.bz, codec->level, 0, 0) == BZ_OK;
    return codec->ready ? SB_OK : sb_fail_memory();
}

static enum sb_code step_bzip2(struct sb_codec *codec, struct sb_codec_io *io)
{
    bz_stream *bz = &codec->as.bz;
    unsigned in = step_size(io->in_size), out = step_size(io->capacity);
    bool last = io->end && in == io->in_size;
    int result;

    /* It takes a call that has nothing to do for an error. */
    if (in == 0 && !last)
        return SB_OK;
    bz->next_in = (char *)io->in;
    bz->avail_in = in;
    bz->next_out = io->out;
    bz->avail_out = out;
    result = BZ2_bzCompress(bz, last ? BZ_FINISH : BZ_RUN);
    took(io, in - bz->avail_in);
    io->made = out - bz->avail_out;
    io->more = io->end && result != BZ_STREAM_END;
    return SB_OK;
}

/* xz */

static enum sb_code xz_failure(const struct sb_codec *codec, lzma_ret result)
{
    switch (result) {
    case LZMA_MEM_ERROR:
        return sb_fail_memory();
    case LZMA_MEMLIMIT_ERROR:
        return window_too_large(codec);
    case LZMA_FORMAT_ERROR:
        return no_beginning(codec);
    case LZMA_BUF_ERROR:
        return cut_short(codec);
    case LZMA_OPTIONS_ERROR:
        return sb_fail(SB_DAMAGED, "its xz data need what this version does not have");
    default:
        return damaged(codec);
    }
}

static enum sb_code begin_unxz(struct sb_codec *codec)
{
    lzma_ret result = lzma_stream_decoder(&codec->as.xz, XZ_MEMORY_MAX, LZMA_CONCATENATED);

    return result == LZMA_OK ? SB_OK : xz_failure(codec, result);
}

static enum sb_code begin_lzma(struct sb_codec *codec)
{
    lzma_options_lzma options;
    lzma_ret result = LZMA_OPTIONS_ERROR;

    if (!lzma_lzma_preset(&options, (uint32_t)codec->level))
        result = lzma_alone_encoder(&codec->as.xz, &options);
    return result == LZMA_OK ? SB_OK : xz_failure(codec, result);
}

/* The dictionary of a small file is small: it has to be made, and cleared, for each. */
static enum sb_code begin_xz(struct sb_codec *codec)
{
    lzma_options_lzma options;
    lzma_filter filters[] = {{LZMA_FILTER_LZMA2, &options}, {LZMA_VLI_UNKNOWN, NULL}};
    unsigned threads = codec->threads;
    /* The size of blocks, and so the bytes, follow from the level alone. */
    lzma_mt blocks = {
        .timeout = PATIENCE, .preset = (uint32_t)codec->level, .check = LZMA_CHECK_CRC64};
    lzma_ret result;

    if (lzma_lzma_preset(&options, (uint32_t)codec->level))
        return sb_fail(SB_INVALID, "xz has no level %d", codec->level);
    if (codec->size >= 0 && codec->size < (int64_t)options.dict_size)
        options.dict_size =
            codec->size < LZMA_DICT_SIZE_MIN ? LZMA_DICT_SIZE_MIN : (uint32_t)codec->size;
    if (threads > 0)
        codec->reserve = sb_threads_reserve(&threads);
    blocks.threads = threads;
    /* Where none can be started it is one block. */
    result = threads > 0 ? lzma_stream_encoder_mt(&codec->as.xz, &blocks)
                         : lzma_stream_encoder(&codec->as.xz, filters, LZMA_CHECK_CRC64);
    return result == LZMA_OK ? SB_OK : xz_failure(codec, result);
}

static lzma_ret run_xz(struct sb_codec *codec, struct sb_codec_io *io)
{
    lzma_stream *xz = &codec->as.xz;
    lzma_ret result;

    xz->next_in = (const uint8_t *)io->in;
    xz->avail_in = io->in_size;
    xz->next_out = (uint8_t *)io->out;
    xz->avail_out = io->capacity;
    sb_threads_use(codec->reserve);
    result = lzma_code(xz, io->end ? LZMA_FINISH : LZMA_RUN);
    sb_threads_use(NULL);
    took(io, io->in_size - xz->avail_in);
    io->made = io->capacity - xz->avail_out;
    return result;
}

static enum sb_code step_unxz(struct sb_codec *codec, struct sb_codec_io *io)
{
    lzma_ret result;

    if (io->in_size == 0 && !io->end)
        return SB_OK;
    result = run_xz(codec, io);
    io->more = result == LZMA_OK && (io->end || io->made == io->capacity);
    if (result == LZMA_OK || result == LZMA_STREAM_END || (result == LZMA_BUF_ERROR && !io->end))
        return SB_OK;
    return xz_failure(codec, result);
}

static enum sb_code step_xz(struct sb_codec *codec, struct sb_codec_io *io)
{
    lzma_ret result;

    if (io->in_size == 0 && !io->end)
        return SB_OK;
    result = run_xz(codec, io);
    io->more = io->end && result == LZMA_OK;
    return result == LZMA_OK || result == LZMA_STREAM_END ? SB_OK : xz_failure(codec, result);
}

static void free_xz(struct sb_codec *codec)
{
    lzma_end(&codec->as.xz);
    sb_threads_release(codec->reserve);
}

/* zstd */

static enum sb_code begin_unzstd(struct sb_codec *codec)
{
    if (!codec->as.zd)
        codec->as.zd = ZSTD_createDCtx();
    if (!codec->as.zd || ZSTD_isError(ZSTD_DCtx_reset(codec->as.zd, ZSTD_reset_session_only)) ||
        ZSTD_isError(ZSTD_DCtx_setParameter(codec->as.zd, ZSTD_d_windowLogMax, WINDOW_LOG_MAX)))
        return sb_fail_memory();
    return SB_OK;
}

static enum sb_code zstd_failure(const struct sb_codec *codec, size_t result)
{
    switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation:
        return sb_fail_memory();
    case ZSTD_error_frameParameter_windowTooLarge:
        return window_too_large(codec);
    case ZSTD_error_prefix_unknown:
        return no_beginning(codec);
    case ZSTD_error_dictionary_wrong:
        return sb_fail(SB_DAMAGED, "its zstd data need a dictionary");
    default:
        return damaged(codec);
    }
}

static enum sb_code step_unzstd(struct sb_codec *codec, struct sb_codec_io *io)
{
    ZSTD_inBuffer in = {io->in, io->in_size, 0};
    ZSTD_outBuffer out = {io->out, io->capacity, 0};
    size_t result;

    /* A call after the end of a frame would begin another. */
    if (!codec->inside && io->in_size == 0)
        return SB_OK;
    result = ZSTD_decompressStream(codec->as.zd, &out, &in);
    took(io, in.pos);
    io->made = out.pos;
    if (ZSTD_isError(result))
        return zstd_failure(codec, result);
    codec->inside = result != 0;
    codec->whole |= result == 0;
    io->more = result != 0 && out.pos == out.size;
    if (codec->inside && io->end && io->in_size == 0 && !io->more)
        return cut_short(codec);
    return SB_OK;
}

static void free_unzstd(struct sb_codec *codec)
{
    ZSTD_freeDCtx(codec->as.zd);
}

static enum sb_code begin_zstd(struct sb_codec *codec)
{
    unsigned long long pledged =
        codec->size < 0 ? ZSTD_CONTENTSIZE_UNKNOWN : (unsigned long long)codec->size;
    ZSTD_CCtx *zc = codec->as.zc;

    if (!zc)
        codec->as.zc = zc = ZSTD_createCCtx();
    if (!zc || ZSTD_isError(ZSTD_CCtx_reset(zc, ZSTD_reset_session_only)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(zc, ZSTD_c_compressionLevel, codec->level)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(zc, ZSTD_c_checksumFlag, 1)) ||
        ZSTD_isError(ZSTD_CCtx_setPledgedSrcSize(zc, pledged)))
        return sb_fail_memory();
    return SB_OK;
}

/* The end comes in a call of its own: a whole file in one call would be compressed otherwise. */
static enum sb_code step_zstd(struct sb_codec *codec, struct sb_codec_io *io)
{
    bool last = io->end && io->in_size == 0;
    ZSTD_inBuffer in = {io->in, io->in_size, 0};
    ZSTD_outBuffer out = {io->out, io->capacity, 0};
    size_t result =
        ZSTD_compressStream2(codec->as.zc, &out, &in, last ? ZSTD_e_end : ZSTD_e_continue);

    took(io, in.pos);
    io->made = out.pos;
    io->more = io->end && (!last || result != 0);
    if (!ZSTD_isError(result))
        return SB_OK;
    if (ZSTD_getErrorCode(result) == ZSTD_error_srcSize_wrong)
        return sb_fail(SB_CHANGED, "changed its size while it was read; left out");
    return zstd_failure(codec, result);
}

static void free_zstd(struct sb_codec *codec)
{
    ZSTD_freeCCtx(codec->as.zc);
}

/* lz4 */

static enum sb_code begin_lz4(struct sb_codec *codec)
{
    codec->ready = false;
    if (!codec->as.lz4 && LZ4F_isError(LZ4F_createCompressionContext(&codec->as.lz4, LZ4F_VERSION)))
        return sb_fail_memory();
    return SB_OK;
}

/* Only memory can fail: the capacity is always enough. */
static enum sb_code step_lz4(struct sb_codec *codec, struct sb_codec_io *io)
{
    /* Blocks of their own: where they are cut does not depend on how the bytes come. */
    LZ4F_preferences_t preferences = {
        .frameInfo = {.blockSizeID = LZ4F_max256KB,
                      .blockMode = LZ4F_blockIndependent,
                      .contentChecksumFlag = LZ4F_contentChecksumEnabled},
        .compressionLevel = codec->level,
    };
    size_t in = io->in_size < LZ4_STEP ? io->in_size : LZ4_STEP;
    size_t result;

    io->more = true;
    if (!codec->ready) {
        result = LZ4F_compressBegin(codec->as.lz4, io->out, io->capacity, &preferences);
        codec->ready = true;
    } else if (in > 0) {
        result = LZ4F_compressUpdate(codec->as.lz4, io->out, io->capacity, io->in, in, NULL);
        took(io, in);
    } else {
        result = io->end ? LZ4F_compressEnd(codec->as.lz4, io->out, io->capacity, NULL) : 0;
        io->more = false;
    }
    if (LZ4F_isError(result))
        return sb_fail_memory();
    io->made = result;
    return SB_OK;
}

static void free_lz4(struct sb_codec *codec)
{
    LZ4F_freeCompressionContext(codec->as.lz4);
}

static const struct codec_ops decompressors[] = {
    [SB_FILTER_GZIP] = {begin_gunzip, step_gunzip, free_gunzip},
    [SB_FILTER_BZIP2] = {begin_bunzip2, step_bunzip2, free_bunzip2},
    [SB_FILTER_XZ] = {begin_unxz, step_unxz, free_xz},
    [SB_FILTER_ZSTD] = {begin_unzstd, step_unzstd, free_unzstd},
};

static const struct codec_ops compressors[] = {
    [SB_FILTER_GZIP] = {begin_gzip, step_gzip, free_gzip},
    [SB_FILTER_BZIP2] = {begin_bzip2, step_bzip2, free_bzip2},
    [SB_FILTER_XZ] = {begin_xz, step_xz, free_xz},
    [SB_FILTER_ZSTD] = {begin_zstd, step_zstd, free_zstd},
    [SB_FILTER_LZMA] = {begin_lzma, step_xz, free_xz},
    [SB_FILTER_LZ4] = {begin_lz4, step_lz4, free_lz4},
};

enum sb_code sb_codec_check_level(enum sb_filter_kind kind, int level)
{
    const struct format *format = (size_t)kind < FORMATS ? &formats[kind] : NULL;

    if (!format || !format->name)
        return sb_fail(SB_INVALID, "this kind of compression is only read, never written");
    if (level >= 0 && level <= format->highest)
        return SB_OK;
    return sb_fail(SB_INVALID, "level %d: %s has 1 to %d", level, format->name, format->highest);
}

int sb_codec_usual_level(enum sb_filter_kind kind)
{
    return formats[kind].usual;
}

enum sb_code sb_codec_new(struct sb_codec **out, const struct sb_codec_options *options)
{
    struct sb_codec *codec;

    *out = NULL;
    TRY(sb_codec_check_level(options->kind, options->level));
    TRY(SB_NEW(&codec));
    codec->ops = options->compress ? &compressors[options->kind] : &decompressors[options->kind];
    codec->format = &formats[options->kind];
    codec->level = options->level ? options->level : codec->format->usual;
    codec->threads = options->threads;
    *out = codec;
    return SB_OK;
}

void sb_codec_free(struct sb_codec *codec)
{
    if (codec)
        codec->ops->free(codec);
    free(codec);
}

enum sb_code sb_codec_begin(struct sb_codec *codec, int64_t size)
{
    codec->size = size;
    codec->inside = true;
    codec->padding = codec->whole = false;
    return codec->ops->begin(codec);
}

enum sb_code sb_codec_step(struct sb_codec *codec, struct sb_codec_io *io)
{
    io->made = 0;
    io->more = false;
    return codec->ops->step(codec, io);
}
