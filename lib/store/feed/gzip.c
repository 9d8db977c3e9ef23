#include "store/feed/parts.h"

#include "core/little_endian.h"

#include <stdlib.h>
#include <zlib.h>

#define GZIP_ONLY (MAX_WBITS + 16)

struct gzip_feed {
    struct sb_feed base;
    z_stream stream;
    bool begun;  /* a member, that is not at its end yet */
    bool any;    /* one came to its end */
    bool at_end; /* of the last member */
    char buffer[SB_FEED_BUFFER];
};

static enum sb_code take_input(struct gzip_feed *feed, struct sb_error *err)
{
    enum sb_code code;
    size_t got;

    if (feed->stream.avail_in > 0)
        return SB_OK;
    code = sb_feed_fill(feed->base.from, feed->buffer, sizeof(feed->buffer), &got, err);
    if (code == SB_END && feed->begun)
        return sb_fail(err, SB_DAMAGED, "%s: its gzip data is cut short", feed->base.name);
    if (code)
        return code;
    feed->stream.next_in = (Bytef *)feed->buffer;
    feed->stream.avail_in = (uInt)got;
    return SB_OK;
}

/*
 * Between two members: is there another one? SB_END if not; what follows then is padding, or junk
 * that gzip ignores as well.
 */
static enum sb_code begin_member(struct gzip_feed *feed, struct sb_error *err)
{
    enum sb_code code;

    if (feed->any && *feed->stream.next_in != 0x1f) {
        code = sb_feed_drain(feed->base.from, (const char *)feed->stream.next_in,
                             feed->stream.avail_in, feed->buffer, sizeof(feed->buffer), err);
        feed->at_end = true;
        return code ? code : SB_END;
    }
    feed->begun = true;
    return SB_OK;
}

static enum sb_code inflate_some(struct gzip_feed *feed, struct sb_error *err)
{
    int result = inflate(&feed->stream, Z_NO_FLUSH);

    if (result == Z_STREAM_END) {
        feed->begun = false;
        feed->any = true;
        result = inflateReset(&feed->stream);
    }
    if (result == Z_OK || result == Z_BUF_ERROR)
        return SB_OK;
    if (result == Z_MEM_ERROR)
        return sb_fail_memory(err);
    return sb_fail(err, SB_DAMAGED, "%s: its gzip data is damaged: %s", feed->base.name,
                   feed->stream.msg ? feed->stream.msg : "unknown error");
}

static enum sb_code fill_gzip(struct sb_feed *base, void *data, size_t capacity, size_t *got,
                              struct sb_error *err)
{
    struct gzip_feed *feed = (struct gzip_feed *)base;
    uInt wanted = capacity < SB_FEED_BUFFER ? (uInt)capacity : (uInt)SB_FEED_BUFFER;
    enum sb_code code = feed->at_end ? SB_END : SB_OK;

    feed->stream.next_out = data;
    feed->stream.avail_out = wanted;
    while (!code && feed->stream.avail_out > 0) {
        code = take_input(feed, err);
        if (!code && !feed->begun)
            code = begin_member(feed, err);
        if (!code)
            code = inflate_some(feed, err);
    }
    *got = wanted - feed->stream.avail_out;
    if (code == SB_END && *got > 0)
        return SB_OK;
    return code;
}

static void free_gzip(struct sb_feed *base)
{
    struct gzip_feed *feed = (struct gzip_feed *)base;

    inflateEnd(&feed->stream);
    free(feed);
}

enum sb_code sb_feed_gzip(struct sb_feed **out, struct sb_feed *from, bool goes_on,
                          struct sb_error *err)
{
    static const struct sb_feed_ops ops = {fill_gzip, NULL, free_gzip};
    struct gzip_feed *feed = calloc(1, sizeof(*feed));

    if (!feed)
        return sb_fail_memory(err);
    feed->base = sb_feed_on(&ops, from);
    feed->any = goes_on;
    if (inflateInit2(&feed->stream, GZIP_ONLY) != Z_OK) {
        free(feed);
        return sb_fail_memory(err);
    }
    *out = &feed->base;
    return SB_OK;
}

/*
 * Members with the extra field of bgzip say how long they are: the subfield "BC" has two bytes, of
 * the size less one (SAM/BAM format specification, section 4.1). None has more than 64 KiB.
 */
#define HEADER      12 /* to the end of the length of the extra field */
#define TRAILER     8
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

static enum sb_split split_gzip(const unsigned char *data, size_t size, struct sb_part *part)
{
    size_t header, whole;
    uint32_t content;

    if (data[0] != 0x1f || (size > 1 && data[1] != 0x8b) || (size > 2 && data[2] != Z_DEFLATED) ||
        (size > 3 && !(data[3] & HAS_EXTRA)))
        return SB_SPLIT_NONE;
    if (size < HEADER)
        return SB_SPLIT_MORE;
    header = HEADER + sb_get_u16(data + HEADER - 2);
    if (size < header)
        return SB_SPLIT_MORE;
    whole = member_size(data + HEADER, header - HEADER);
    if (whole < header + TRAILER)
        return SB_SPLIT_NONE;
    if (size < whole)
        return SB_SPLIT_MORE;
    content = sb_get_u32(data + whole - 4);
    if (content > CONTENT_MAX)
        return SB_SPLIT_NONE;
    *part = (struct sb_part){.size = whole, .content = content};
    return SB_SPLIT_PART;
}

static void *new_decoder(void)
{
    z_stream *stream = calloc(1, sizeof(*stream));

    if (stream && inflateInit2(stream, GZIP_ONLY) != Z_OK) {
        free(stream);
        return NULL;
    }
    return stream;
}

static void free_decoder(void *decoder)
{
    inflateEnd(decoder);
    free(decoder);
}

static bool decode(void *decoder, const char *in, size_t in_size, char *out, size_t capacity,
                   size_t *made)
{
    z_stream *stream = decoder;
    int result = Z_STREAM_END;

    stream->next_in = (z_const Bytef *)in;
    stream->avail_in = (uInt)in_size;
    stream->next_out = (Bytef *)out;
    stream->avail_out = (uInt)capacity;
    while (result == Z_STREAM_END && stream->avail_in > 0) {
        if (inflateReset(stream) != Z_OK)
            return false;
        result = inflate(stream, Z_FINISH);
    }
    *made = capacity - stream->avail_out;
    return result == Z_STREAM_END;
}

const struct sb_parts_format sb_gzip_parts = {
    .split = split_gzip,
    .new_decoder = new_decoder,
    .free_decoder = free_decoder,
    .decode = decode,
    .stream = sb_feed_gzip,
};
