#include "store/feed/impl.h"

#include "core/little_endian.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define GZIP_ONLY (MAX_WBITS + 16)
#define RAW       (-MAX_WBITS)
#define TRAILER   8

struct gzip_feed {
    struct sb_feed base;
    z_stream stream;
    bool begun;  /* a member, that is not at its end yet */
    bool any;    /* one came to its end */
    bool at_end; /* of the last member */

    /* A member whose beginning was decoded elsewhere: its trailer is compared here. */
    bool raw;
    uint32_t sum;  /* of what came out of it */
    uint32_t size; /* the same, modulo 2^32 */
    bool at_trailer;
    size_t trailer_size;
    unsigned char trailer[TRAILER];

    char buffer[SB_FEED_BUFFER];
};

static enum sb_code take_input(struct gzip_feed *feed)
{
    enum sb_code code;
    size_t got;

    if (feed->stream.avail_in > 0)
        return SB_OK;
    code = sb_feed_fill(feed->base.from, feed->buffer, sizeof(feed->buffer), &got);
    if (code == SB_END && feed->begun)
        return sb_fail(SB_DAMAGED, "%s: its gzip data is cut short", feed->base.name);
    TRY(code);
    feed->stream.next_in = (Bytef *)feed->buffer;
    feed->stream.avail_in = (uInt)got;
    return SB_OK;
}

/* Between two members. SB_END where no other follows. */
static enum sb_code find_member(struct gzip_feed *feed)
{
    size_t left = feed->stream.avail_in;
    enum sb_code code = sb_feed_another(&feed->base, SB_FILTER_GZIP, feed->stream.next_in, &left);

    feed->stream.avail_in = (uInt)left;
    feed->at_end = code == SB_END;
    return code;
}

static enum sb_code damaged(const struct gzip_feed *feed, const char *what)
{
    return sb_fail(SB_DAMAGED, "%s: its gzip data is damaged: %s", feed->base.name,
                   what ? what : "unknown error");
}

static int end_member(struct gzip_feed *feed)
{
    feed->begun = feed->raw = feed->at_trailer = false;
    feed->any = true;
    sb_feed_count_end(&feed->base);
    return inflateReset2(&feed->stream, GZIP_ONLY);
}

static enum sb_code take_trailer(struct gzip_feed *feed)
{
    while (feed->stream.avail_in > 0 && feed->trailer_size < TRAILER) {
        feed->trailer[feed->trailer_size++] = *feed->stream.next_in++;
        feed->stream.avail_in--;
    }
    if (feed->trailer_size < TRAILER)
        return SB_OK;
    if (sb_get_u32(feed->trailer) != feed->sum)
        return damaged(feed, "incorrect data check");
    if (sb_get_u32(feed->trailer + 4) != feed->size)
        return damaged(feed, "incorrect length check");
    return end_member(feed) == Z_OK ? SB_OK : sb_fail_memory();
}

static enum sb_code inflate_some(struct gzip_feed *feed)
{
    const Bytef *out = feed->stream.next_out;
    int result = inflate(&feed->stream, Z_NO_FLUSH);

    if (feed->raw) {
        uInt made = (uInt)(feed->stream.next_out - out);

        feed->sum = (uint32_t)crc32(feed->sum, out, made);
        feed->size += made;
    }
    if (result == Z_STREAM_END) {
        feed->at_trailer = feed->raw;
        result = feed->raw ? Z_OK : end_member(feed);
    }
    if (result == Z_OK || result == Z_BUF_ERROR)
        return SB_OK;
    if (result == Z_MEM_ERROR)
        return sb_fail_memory();
    return damaged(feed, feed->stream.msg);
}

static enum sb_code step(struct gzip_feed *feed)
{
    if (feed->any && !feed->begun)
        TRY(find_member(feed));
    TRY(take_input(feed));
    if (feed->at_trailer)
        return take_trailer(feed);
    feed->begun = true;
    return inflate_some(feed);
}

static enum sb_code fill_gzip(struct sb_feed *base, void *data, size_t capacity, size_t *got)
{
    struct gzip_feed *feed = (struct gzip_feed *)base;
    uInt wanted = capacity < SB_FEED_BUFFER ? (uInt)capacity : (uInt)SB_FEED_BUFFER;
    enum sb_code code = feed->at_end ? SB_END : SB_OK;

    feed->stream.next_out = data;
    feed->stream.avail_out = wanted;
    while (!code && feed->stream.avail_out > 0)
        code = step(feed);
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

static bool begin_inside(struct gzip_feed *feed, const struct sb_part_past *past)
{
    feed->begun = feed->raw = true;
    feed->sum = past->sum;
    feed->size = (uint32_t)past->size;
    return inflateReset2(&feed->stream, RAW) == Z_OK &&
           inflateSetDictionary(&feed->stream, (const Bytef *)past->window,
                                (uInt)past->window_size) == Z_OK;
}

enum sb_code sb_feed_gzip(struct sb_feed **out, struct sb_feed *from,
                          const struct sb_part_past *past)
{
    static const struct sb_feed_ops ops = {.fill = fill_gzip, .free = free_gzip};
    struct gzip_feed *feed;

    TRY(SB_NEW(&feed));
    feed->base = sb_feed_on(&ops, from);
    feed->any = past && past->any;
    if (inflateInit2(&feed->stream, GZIP_ONLY) != Z_OK ||
        (past && past->inside && !begin_inside(feed, past))) {
        free_gzip(&feed->base);
        return sb_fail_memory();
    }
    *out = &feed->base;
    return SB_OK;
}

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

static bool inflate_members(z_stream *stream)
{
    int result = Z_STREAM_END;

    while (result == Z_STREAM_END && stream->avail_in > 0) {
        if (inflateReset2(stream, GZIP_ONLY) != Z_OK)
            return false;
        result = inflate(stream, Z_FINISH);
    }
    return result == Z_STREAM_END;
}

#define AT_BLOCK   128 /* of data_type: between two blocks */
#define LAST_BLOCK 64

static bool inflate_to_point(z_stream *stream, bool from_inside)
{
    int result = inflateReset2(stream, from_inside ? RAW : GZIP_ONLY);

    while (result == Z_OK && stream->avail_in > 0)
        result = inflate(stream, Z_BLOCK);
    return result == Z_OK && (stream->data_type & (AT_BLOCK | LAST_BLOCK)) == AT_BLOCK;
}

static bool decode(void *decoder, struct sb_part_run *run)
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

static void pass(struct sb_part_past *past, const struct sb_part_run *run)
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
    .split = split_gzip,
    .new_decoder = new_decoder,
    .free_decoder = free_decoder,
    .decode = decode,
    .pass = pass,
    .stream = sb_feed_gzip,
};
