#include "store/feed/impl.h"

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

enum sb_code sb_feed_gzip(struct sb_feed **out, struct sb_feed *from, struct sb_error *err)
{
    static const struct sb_feed_ops ops = {fill_gzip, NULL, free_gzip};
    struct gzip_feed *feed = calloc(1, sizeof(*feed));

    if (!feed)
        return sb_fail_memory(err);
    feed->base =
        (struct sb_feed){.ops = &ops, .name = from->name, .from = from, .watch = from->watch};
    if (inflateInit2(&feed->stream, GZIP_ONLY) != Z_OK) {
        free(feed);
        return sb_fail_memory(err);
    }
    *out = &feed->base;
    return SB_OK;
}
