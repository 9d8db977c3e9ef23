/*
 * The parts of gzip and zstd.
 */
#include "store/feed/impl.h"

#include "core/little_endian.h"

#include <stdlib.h>
#include <string.h>
#define ZSTD_STATIC_LINKING_ONLY
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

/*
 * Members with the extra field of bgzip say how long they are: the subfield "BC" has two bytes, of
 * the size less one (SAM/BAM format specification, section 4.1). None has more than 64 KiB.
 */
#define HEADER      12 /* to the end of the length of the extra field */
#define HAS_EXTRA   0x04
#define CONTENT_MAX ((uint32_t)64 << 10)

/* The size of the member, as its extra field says; 0: it does not. */
static size_t member_size(const unsigned char *extra, size_t size)
{
    size_t at = 0, length;

    for (; at + 4 <= size; at += 4 + length) {
        length = sb_get_u16(extra + at + 2);
        if (extra[at] == 'B' && extra[at + 1] == 'C' && length == 2 && at + 6 <= size)
            return (size_t)sb_get_u16(extra + at + 4) + 1;
    }
    return 0;
}

static enum sb_split split_member(const unsigned char *data, size_t size, struct sb_part *part)
{
    size_t header, whole;
    uint32_t content;

    if (size < HEADER)
        return SB_SPLIT_MORE;
    header = HEADER + sb_get_u16(data + HEADER - 2);
    if (size < header)
        return SB_SPLIT_MORE;
    whole = member_size(data + HEADER, header - HEADER);
    if (whole < header + SB_GZIP_TRAILER)
        return SB_SPLIT_NONE;
    if (size < whole)
        return SB_SPLIT_MORE;
    content = sb_get_u32(data + whole - 4);
    if (content > CONTENT_MAX)
        return SB_SPLIT_NONE;
    *part = (struct sb_part){.size = whole, .content = content};
    return SB_SPLIT_PART;
}

/*
 * Within a member, pigz -i marks with two empty blocks, where a byte begins, that what follows does
 * not refer to what came before. Where data only looks so, inflating does not come to it, or what
 * follows does refer to something: then the part is not sound. Of all that says nothing of itself,
 * a part has at least as many bytes as keep it worth a thread, and at most as are worth a search.
 */
#define POINT_MARK    "\0\0\xff\xff\0\0\0\xff\xff"
#define POINT_SIZE    (sizeof(POINT_MARK) - 1)
#define POINT_MIN     ((size_t)2 << 10)
#define POINT_MAX     ((size_t)1088 << 10)
#define POINT_CONTENT ((size_t)4 << 20)

static enum sb_split split_at_point(const unsigned char *data, size_t size, bool inside,
                                    struct sb_part *part)
{
    const unsigned char *mark =
        size > POINT_MIN ? memmem(data + POINT_MIN, size - POINT_MIN, POINT_MARK, POINT_SIZE)
                         : NULL;

    if (mark) {
        *part = (struct sb_part){
            .size = (size_t)(mark - data) + POINT_SIZE, .content = POINT_CONTENT, .inside = true};
        return part->size <= POINT_MAX ? SB_SPLIT_PART : SB_SPLIT_NONE;
    }
    if (size >= POINT_MAX)
        return SB_SPLIT_NONE;
    return inside ? SB_SPLIT_MORE : SB_SPLIT_MAYBE;
}

static enum sb_split split_gzip(const unsigned char *data, size_t size, bool inside,
                                struct sb_part *part)
{
    enum sb_split split = SB_SPLIT_NONE;

    if (inside)
        return split_at_point(data, size, inside, part);
    if (data[0] != 0x1f || (size > 1 && data[1] != 0x8b) || (size > 2 && data[2] != Z_DEFLATED))
        return SB_SPLIT_NONE;
    if (size <= 3)
        return SB_SPLIT_MORE;
    if (data[3] & HAS_EXTRA)
        split = split_member(data, size, part);
    return split == SB_SPLIT_NONE ? split_at_point(data, size, inside, part) : split;
}

static void *new_gzip(void)
{
    z_stream *stream = calloc(1, sizeof(*stream));

    if (stream && inflateInit2(stream, SB_GZIP_ONLY) != Z_OK) {
        free(stream);
        return NULL;
    }
    return stream;
}

static void free_gzip(void *decoder)
{
    inflateEnd(decoder);
    free(decoder);
}

static bool inflate_members(z_stream *stream)
{
    int result = Z_STREAM_END;

    while (result == Z_STREAM_END && stream->avail_in > 0) {
        if (inflateReset2(stream, SB_GZIP_ONLY) != Z_OK)
            return false;
        result = inflate(stream, Z_FINISH);
    }
    return result == Z_STREAM_END;
}

#define AT_BLOCK   128 /* of data_type: between two blocks */
#define LAST_BLOCK 64

static bool inflate_to_point(z_stream *stream, bool from_inside)
{
    int result = inflateReset2(stream, from_inside ? SB_GZIP_RAW : SB_GZIP_ONLY);

    while (result == Z_OK && stream->avail_in > 0)
        result = inflate(stream, Z_BLOCK);
    return result == Z_OK && (stream->data_type & (AT_BLOCK | LAST_BLOCK)) == AT_BLOCK;
}

static bool decode_gzip(void *decoder, struct sb_part_run *run)
{
    z_stream *stream = decoder;
    bool sound;

    stream->next_in = (z_const Bytef *)run->in;
    stream->avail_in = (uInt)run->in_size;
    stream->next_out = (Bytef *)run->out;
    stream->avail_out = (uInt)run->capacity;
    sound = run->to_inside ? inflate_to_point(stream, run->from_inside) : inflate_members(stream);
    run->made = run->capacity - stream->avail_out;
    if (sound && run->to_inside)
        run->sum = (uint32_t)crc32(0, (const Bytef *)run->out, (uInt)run->made);
    return sound;
}

static void pass_gzip(struct sb_part_past *past, const struct sb_part_run *run)
{
    size_t fresh = run->made < SB_PAST_WINDOW ? run->made : SB_PAST_WINDOW;
    size_t kept = SB_PAST_WINDOW - fresh;

    past->inside = run->to_inside;
    if (!run->from_inside) {
        past->sum = 0;
        past->size = past->window_size = 0;
    }
    if (!run->to_inside)
        return;
    past->sum = (uint32_t)crc32_combine(past->sum, run->sum, (z_off_t)run->made);
    past->size += run->made;
    if (kept > past->window_size)
        kept = past->window_size;
    memmove(past->window, past->window + past->window_size - kept, kept);
    memcpy(past->window + kept, run->out + run->made - fresh, fresh);
    past->window_size = kept + fresh;
}

const struct sb_parts_format sb_gzip_parts = {
    .kind = SB_FILTER_GZIP,
    .split = split_gzip,
    .new_decoder = new_gzip,
    .free_decoder = free_gzip,
    .decode = decode_gzip,
    .pass = pass_gzip,
};

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
    else if (header.windowSize > SB_ZSTD_WINDOW_MAX ||
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

static void *new_zstd(void)
{
    return ZSTD_createDCtx();
}

static void free_zstd(void *decoder)
{
    ZSTD_freeDCtx(decoder);
}

static bool decode_zstd(void *decoder, struct sb_part_run *run)
{
    run->made = ZSTD_decompressDCtx(decoder, run->out, run->capacity, run->in, run->in_size);
    return !ZSTD_isError(run->made);
}

const struct sb_parts_format sb_zstd_parts = {
    .kind = SB_FILTER_ZSTD,
    .split = split_zstd,
    .new_decoder = new_zstd,
    .free_decoder = free_zstd,
    .decode = decode_zstd,
};
