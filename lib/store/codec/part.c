#include "store/codec/part.h"

#include "core/little_endian.h"
#include "store/codec/codec.h"

#include <stdlib.h>
#include <zlib.h>
#include <zstd.h>

/* The 32 KiB that a part cannot refer to cost little of it, and readers need not hold much. */
#define GZIP_PART   ((size_t)1 << 20)
#define GZIP_FLUSH  32 /* of a part beside what deflate may need for its bytes: marks, and bits */
#define GZIP_WINDOW (-MAX_WBITS)

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
size_t sb_part_size(enum sb_filter_kind kind, int level)
{
    size_t frame = (size_t)4 << 20;

    if (kind == SB_FILTER_GZIP)
        return GZIP_PART;
    if (kind != SB_FILTER_ZSTD)
        return 0;
    level = level_of(kind, level);
    return level >= 18 ? 4 * frame : level >= 9 ? 2 * frame : frame;
}

size_t sb_part_capacity(enum sb_filter_kind kind, int level)
{
    switch (kind) {
    case SB_FILTER_GZIP:
        return compressBound(GZIP_PART) + GZIP_FLUSH;
    case SB_FILTER_ZSTD:
        return FRAME_HEADER + ZSTD_compressBound(sb_part_size(kind, level));
    default:
        return 0;
    }
}

enum sb_code sb_part_codec_new(struct sb_part_codec **out, enum sb_filter_kind kind, int level)
{
    CLEANUP(sb_part_codec_freep) struct sb_part_codec *codec = NULL;

    *out = NULL;
    TRY(SB_NEW(&codec));
    codec->kind = kind;
    codec->level = level_of(kind, level);
    codec->capacity = sb_part_capacity(kind, level);
    if (kind == SB_FILTER_GZIP) {
        codec->ready = deflateInit2(&codec->z, codec->level, Z_DEFLATED, GZIP_WINDOW,
                                    MAX_MEM_LEVEL - 1, Z_DEFAULT_STRATEGY) == Z_OK;
        if (!codec->ready)
            return sb_fail_memory();
    } else {
        codec->zc = ZSTD_createCCtx();
        if (!codec->zc ||
            ZSTD_isError(
                ZSTD_CCtx_setParameter(codec->zc, ZSTD_c_compressionLevel, codec->level)) ||
            ZSTD_isError(ZSTD_CCtx_setParameter(codec->zc, ZSTD_c_checksumFlag, 1)))
            return sb_fail_memory();
    }
    *out = TAKE(codec);
    return SB_OK;
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

/* The capacity is always enough. The second flush only writes its mark. */
static void deflate_part(struct sb_part_codec *codec, struct sb_part_work *work)
{
    z_stream *z = &codec->z;

    deflateReset(z);
    z->next_in = (z_const Bytef *)work->data;
    z->avail_in = (uInt)work->size;
    z->next_out = work->out;
    z->avail_out = (uInt)codec->capacity;
    deflate(z, Z_SYNC_FLUSH);
    deflate(z, Z_FULL_FLUSH);
    work->made = codec->capacity - z->avail_out;
    work->sum = (uint32_t)crc32(0, work->data, (uInt)work->size);
}

/* Only memory can fail. */
static enum sb_code make_frame(struct sb_part_codec *codec, struct sb_part_work *work)
{
    size_t header = work->alone ? 0 : FRAME_HEADER;
    uint8_t *out = work->out;
    size_t size =
        ZSTD_compress2(codec->zc, out + header, codec->capacity - header, work->data, work->size);

    if (ZSTD_isError(size))
        return sb_fail_memory();
    work->made = header + size;
    if (work->alone)
        return SB_OK;
    out = sb_put_u32(out, FRAME_MAGIC);
    out = sb_put_u32(out, sizeof(uint32_t));
    sb_put_u32(out, (uint32_t)size);
    return SB_OK;
}

enum sb_code sb_part_compress(struct sb_part_codec *codec, struct sb_part_work *work)
{
    work->sum = 0;
    if (codec->kind == SB_FILTER_ZSTD)
        return make_frame(codec, work);
    deflate_part(codec, work);
    return SB_OK;
}

size_t sb_part_begin(enum sb_filter_kind kind, uint8_t out[SB_PART_EDGE])
{
    static const uint8_t header[SB_PART_EDGE] = {0x1f, 0x8b, Z_DEFLATED, [9] = 3}; /* Unix */

    if (kind != SB_FILTER_GZIP)
        return 0;
    memcpy(out, header, sizeof(header));
    return sizeof(header);
}

size_t sb_part_end(enum sb_filter_kind kind, uint32_t sum, uint64_t size, uint8_t out[SB_PART_EDGE])
{
    if (kind != SB_FILTER_GZIP)
        return 0;
    out = sb_put_u16(out, 3); /* a last block, empty */
    out = sb_put_u32(out, sum);
    sb_put_u32(out, (uint32_t)size);
    return SB_PART_EDGE;
}
