#include "store/codec/part.h"

#include "core/little_endian.h"
#include "store/codec/codec.h"

#include <bzlib.h>
#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

/* As bgzip: what does not become less still fits into 64 KiB. */
#define GZIP_PART    0xff00
#define GZIP_MEMBER  0x10000
#define GZIP_HEADER  18
#define GZIP_TRAILER 8
#define STORED_MORE  5 /* bytes of deflate beside those that it stores */

#define FRAME_HEADER 12
#define FRAME_MAGIC  0x184d2a50

struct sb_part_codec {
    enum sb_filter_kind kind;
    int level;
    size_t capacity;
    bool ready; /* z was initialised */
    z_stream z;
    ZSTD_CCtx *zc;
};

static int level_of(enum sb_filter_kind kind, int level)
{
    return level ? level : sb_codec_usual_level(kind);
}

/* At least twice the window of the level: less of it costs ratio, more of it memory. */
static size_t frame_size(int level)
{
    size_t size = (size_t)4 << 20;

    if (level >= 18)
        return size * 4;
    return level >= 9 ? size * 2 : size;
}

/* One block of it, unless there are bytes that repeat four times and no more. */
static size_t block_size(int level)
{
    return (size_t)level * 100000 - 19;
}

size_t sb_part_size(enum sb_filter_kind kind, int level)
{
    level = level_of(kind, level);
    switch (kind) {
    case SB_FILTER_GZIP:
        return GZIP_PART;
    case SB_FILTER_ZSTD:
        return frame_size(level);
    case SB_FILTER_BZIP2:
        return block_size(level);
    default:
        return 0;
    }
}

size_t sb_part_capacity(enum sb_filter_kind kind, int level)
{
    size_t size = sb_part_size(kind, level);

    switch (kind) {
    case SB_FILTER_GZIP:
        return GZIP_MEMBER;
    case SB_FILTER_ZSTD:
        return FRAME_HEADER + ZSTD_compressBound(size);
    case SB_FILTER_BZIP2:
        return size + size / 100 + 600;
    default:
        return 0;
    }
}

static enum sb_code begin(struct sb_part_codec *codec, struct sb_error *err)
{
    if (codec->kind == SB_FILTER_GZIP)
        codec->ready = deflateInit2(&codec->z, codec->level, Z_DEFLATED, -MAX_WBITS,
                                    MAX_MEM_LEVEL - 1, Z_DEFAULT_STRATEGY) == Z_OK;
    if (codec->kind == SB_FILTER_GZIP && !codec->ready)
        return sb_fail_memory(err);
    if (codec->kind != SB_FILTER_ZSTD)
        return SB_OK;
    codec->zc = ZSTD_createCCtx();
    if (!codec->zc ||
        ZSTD_isError(ZSTD_CCtx_setParameter(codec->zc, ZSTD_c_compressionLevel, codec->level)) ||
        ZSTD_isError(ZSTD_CCtx_setParameter(codec->zc, ZSTD_c_checksumFlag, 1)))
        return sb_fail_memory(err);
    return SB_OK;
}

enum sb_code sb_part_codec_new(struct sb_part_codec **out, enum sb_filter_kind kind, int level,
                               struct sb_error *err)
{
    struct sb_part_codec *codec = calloc(1, sizeof(*codec));
    enum sb_code code;

    *out = NULL;
    if (!codec)
        return sb_fail_memory(err);
    codec->kind = kind;
    codec->level = level_of(kind, level);
    codec->capacity = sb_part_capacity(kind, level);
    code = begin(codec, err);
    if (code)
        sb_part_codec_free(codec);
    else
        *out = codec;
    return code;
}

void sb_part_codec_free(struct sb_part_codec *codec)
{
    if (!codec)
        return;
    if (codec->ready)
        deflateEnd(&codec->z);
    ZSTD_freeCCtx(codec->zc);
    free(codec);
}

static size_t store(const uint8_t *data, size_t size, uint8_t *out)
{
    uint8_t *at = out;

    *at++ = 1; /* the last block, stored */
    at = sb_put_u16(at, (unsigned)size);
    at = sb_put_u16(at, (unsigned)~size);
    memcpy(at, data, size);
    return STORED_MORE + size;
}

/* What would become more is stored, so that the member never has more than 64 KiB. */
static size_t deflate_part(z_stream *z, const uint8_t *data, size_t size, uint8_t *out)
{
    size_t most = size + STORED_MORE;

    deflateReset(z);
    z->next_in = (z_const Bytef *)data;
    z->avail_in = (uInt)size;
    z->next_out = out;
    z->avail_out = (uInt)most;
    if (deflate(z, Z_FINISH) == Z_STREAM_END)
        return most - z->avail_out;
    return store(data, size, out);
}

static size_t make_member(struct sb_part_codec *codec, const uint8_t *data, size_t size,
                          uint8_t *out)
{
    static const uint8_t header[] = {0x1f, 0x8b, 8, 4, 0, 0, 0, 0, 0, 0xff, 6, 0, 'B', 'C', 2, 0};
    size_t deflated = deflate_part(&codec->z, data, size, out + GZIP_HEADER);
    size_t made = GZIP_HEADER + deflated + GZIP_TRAILER;
    uint8_t *trailer = out + GZIP_HEADER + deflated;

    memcpy(out, header, sizeof(header));
    sb_put_u16(out + sizeof(header), (unsigned)(made - 1));
    trailer = sb_put_u32(trailer, (uint32_t)crc32(0, data, (uInt)size));
    sb_put_u32(trailer, (uint32_t)size);
    return made;
}

static enum sb_code make_frame(struct sb_part_codec *codec, const void *data, size_t size,
                               uint8_t *out, size_t *made, struct sb_error *err)
{
    size_t result =
        ZSTD_compress2(codec->zc, out + FRAME_HEADER, codec->capacity - FRAME_HEADER, data, size);

    if (ZSTD_isError(result))
        return sb_fail_memory(err);
    out = sb_put_u32(out, FRAME_MAGIC);
    out = sb_put_u32(out, sizeof(uint32_t));
    sb_put_u32(out, (uint32_t)result);
    *made = FRAME_HEADER + result;
    return SB_OK;
}

static enum sb_code make_stream(struct sb_part_codec *codec, const void *data, size_t size,
                                void *out, size_t *made, struct sb_error *err)
{
    unsigned result = (unsigned)codec->capacity;

    if (BZ2_bzBuffToBuffCompress(out, &result, (char *)data, (unsigned)size, codec->level, 0, 0))
        return sb_fail_memory(err);
    *made = result;
    return SB_OK;
}

/* Only memory can fail: the capacity is always enough. */
enum sb_code sb_part_compress(struct sb_part_codec *codec, const void *data, size_t size, void *out,
                              size_t *made, struct sb_error *err)
{
    if (codec->kind == SB_FILTER_ZSTD)
        return make_frame(codec, data, size, out, made, err);
    if (codec->kind == SB_FILTER_BZIP2)
        return make_stream(codec, data, size, out, made, err);
    *made = make_member(codec, data, size, out);
    return SB_OK;
}
