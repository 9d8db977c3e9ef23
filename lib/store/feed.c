#include "store/feed.h"

#include "store/feed_impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PEEK 512

static const struct {
    enum sb_filter_kind kind;
    size_t size;
    const char *magic;
} magics[] = {
    {SB_FILTER_GZIP, 3, "\x1f\x8b\x08"},
    {SB_FILTER_BZIP2, 3, "BZh"},
    {SB_FILTER_XZ, 6,
     "\xfd"
     "7zXZ\0"},
    {SB_FILTER_LZMA, 3, "\x5d\0\0"},
    {SB_FILTER_ZSTD, 4, "\x28\xb5\x2f\xfd"},
    {SB_FILTER_LZ4, 4, "\x04\x22\x4d\x18"},
    {SB_FILTER_LZ4, 4, "\x02\x21\x4c\x18"},
    {SB_FILTER_COMPRESS, 2, "\x1f\x9d"},
};

/* A frame that decoders of zstd and lz4 pass over. */
static bool is_skippable(const unsigned char *data, size_t size)
{
    return size >= 4 && (data[0] & 0xf0) == 0x50 && memcmp(data + 1, "\x2a\x4d\x18", 3) == 0;
}

enum sb_filter_kind sb_filter_by_content(const void *data, size_t size)
{
    for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
        if (size >= magics[i].size && memcmp(data, magics[i].magic, magics[i].size) == 0)
            return magics[i].kind;
    }
    return is_skippable(data, size) ? SB_FILTER_ZSTD : SB_FILTER_NONE;
}

bool sb_all_zeros(const char *data, size_t size)
{
    return size == 0 || (data[0] == 0 && memcmp(data, data + 1, size - 1) == 0);
}

void sb_feed_free(struct sb_feed *feed)
{
    while (feed) {
        struct sb_feed *from = feed->from;

        free(feed->held);
        feed->ops->free(feed);
        feed = from;
    }
}

static size_t take_held(struct sb_feed *feed, void *data, size_t room)
{
    size_t size = feed->held_size - feed->held_used;

    if (size > room)
        size = room;
    memcpy(data, feed->held + feed->held_used, size);
    feed->held_used += size;
    return size;
}

enum sb_code sb_feed_fill(struct sb_feed *feed, void *data, size_t room, size_t *got,
                          struct sb_error *err)
{
    enum sb_code code;

    if (feed->held_used < feed->held_size) {
        *got = take_held(feed, data, room);
        return SB_OK;
    }
    code = feed->ops->fill(feed, data, room, got, err);
    if (code)
        return code;
    feed->out += (int64_t)*got;
    if (feed->limit > 0 && feed->out > feed->limit)
        return sb_fail(err, SB_LIMIT,
                       "%s: decompressed, it is larger than the %" PRId64
                       " bytes that --max-size allows",
                       feed->name, feed->limit);
    return SB_OK;
}

int64_t sb_feed_skip(struct sb_feed *feed, int64_t size)
{
    return feed->ops->skip && feed->held_used == feed->held_size ? feed->ops->skip(feed, size) : 0;
}

bool sb_feed_filters(const struct sb_feed *feed)
{
    return feed->from != NULL;
}

enum sb_code sb_feed_drain(struct sb_feed *feed, const char *data, size_t size, char *room,
                           size_t room_size, struct sb_error *err)
{
    enum sb_code code = SB_OK;

    while (!code) {
        if (!sb_all_zeros(data, size))
            atomic_store(&feed->watch->junk, true);
        data = room;
        code = sb_feed_fill(feed, room, room_size, &size, err);
    }
    return code == SB_END ? SB_OK : code;
}

/* Looks at the first bytes, which come again. SB_END where there are none. */
static enum sb_code peek(struct sb_feed *feed, struct sb_error *err)
{
    enum sb_code code = SB_OK;
    size_t size = 0, got;
    char *held = malloc(PEEK);

    if (!held)
        return sb_fail_memory(err);
    while (!code && size < PEEK) {
        code = sb_feed_fill(feed, held + size, PEEK - size, &got, err);
        if (!code)
            size += got;
    }
    if (code && code != SB_END) {
        free(held);
        return code;
    }
    feed->held = held;
    feed->held_size = size;
    feed->out = 0;
    return size > 0 ? SB_OK : SB_END;
}

static enum sb_code add_filter(struct sb_feed **feed, enum sb_filter_kind kind, int64_t max_size,
                               struct sb_error *err)
{
    enum sb_code code = kind == SB_FILTER_GZIP ? sb_feed_gzip(feed, *feed, err)
                                               : sb_feed_filter(feed, *feed, kind, err);

    if (!code)
        (*feed)->limit = max_size;
    return code;
}

static enum sb_code add_filters(struct sb_feed **feed, enum sb_filter_kind kind, int64_t max_size,
                                struct sb_error *err)
{
    enum sb_code code;

    for (int depth = 0; kind != SB_FILTER_NONE; depth++) {
        if (depth == SB_FEED_FILTERS_MAX)
            return sb_fail(err, SB_FORMAT, "%s: is compressed more than twice; decompress it first",
                           (*feed)->name);
        code = add_filter(feed, kind, max_size, err);
        if (!code)
            code = peek(*feed, err);
        if (code == SB_END)
            return sb_fail(err, SB_FORMAT, "%s: holds nothing but compressed emptiness",
                           (*feed)->name);
        if (code)
            return code;
        kind = sb_filter_by_content((*feed)->held, (*feed)->held_size);
    }
    return SB_OK;
}

enum sb_code sb_feed_open(struct sb_feed **out, const struct sb_input *input, int64_t max_size,
                          struct sb_feed_watch *watch, struct sb_error *err)
{
    struct sb_feed *feed;
    enum sb_code code = sb_feed_input(&feed, input, watch, err);

    *out = NULL;
    if (code)
        return code;
    code = add_filters(&feed, input->type.filter, max_size, err);
    if (code) {
        sb_feed_free(feed);
        return code;
    }
    *out = feed;
    return SB_OK;
}
