#include "store/feed/feed.h"

#include "core/interrupt.h"
#include "store/feed/parts.h"
#include "store/tar/raw.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PEEK 512

static const struct {
    enum sb_filter_kind kind;
    size_t size;
    const char *bytes;
} magics[] = {
    {SB_FILTER_GZIP, 3, "\x1f\x8b\x08"},     {SB_FILTER_XZ, 6, "\xfd\x37zXZ\0"},
    {SB_FILTER_ZSTD, 4, "\x28\xb5\x2f\xfd"}, {SB_FILTER_LZ4, 4, "\x04\x22\x4d\x18"},
    {SB_FILTER_LZ4, 4, "\x02\x21\x4c\x18"},  {SB_FILTER_LZIP, 5, "LZIP\1"},
};

/* The level, then the mark of a first block, or of the end. */
static bool is_bzip2(const unsigned char *data, size_t size)
{
    return size >= 10 && memcmp(data, "BZh", 3) == 0 && data[3] >= '1' && data[3] <= '9' &&
           (memcmp(data + 4, "1AY&SY", 6) == 0 || memcmp(data + 4, "\x17rE8P\x90", 6) == 0);
}

/*
 * There is no mark: the usual parameters, a size of the dictionary that encoders choose, and a
 * plausible size of the whole, or -1.
 */
static bool is_lzma(const unsigned char *data, size_t size)
{
    uint32_t dictionary;

    if (size < 14 || (data[0] != 0x5d && data[0] != 0x5e))
        return false;
    dictionary =
        data[1] | (uint32_t)data[2] << 8 | (uint32_t)data[3] << 16 | (uint32_t)data[4] << 24;
    if (dictionary < 1 << 12 || dictionary > 1 << 29 ||
        ((dictionary & (dictionary - 1)) != 0 && dictionary % (1 << 20) != 0))
        return false;
    return memcmp(data + 5, "\xff\xff\xff\xff\xff\xff\xff\xff", 8) == 0 ||
           (data[11] == 0 && data[12] == 0);
}

/* The width of its codes, 9 to 16 bits, and a flag. */
static bool is_compress(const unsigned char *data, size_t size)
{
    return size >= 3 && data[0] == 0x1f && data[1] == 0x9d && (data[2] & 0x60) == 0 &&
           (data[2] & 0x1f) >= 9 && (data[2] & 0x1f) <= 16;
}

/* Frames that decoders of zstd and lz4 skip; what follows shows which of the two it is. */
static size_t skippable(const unsigned char *data, size_t size)
{
    size_t at = 0;

    while (size >= 8 && at <= size - 8 && (data[at] & 0xf0) == 0x50 &&
           memcmp(data + at + 1, "\x2a\x4d\x18", 3) == 0)
        at += 8 + (data[at + 4] | (size_t)data[at + 5] << 8 | (size_t)data[at + 6] << 16 |
                   (size_t)data[at + 7] << 24);
    return at;
}

enum sb_filter_kind sb_filter_by_content(const void *data, size_t size)
{
    size_t skipped = skippable(data, size);

    if (skipped > 0 && skipped < size && ((const char *)data)[skipped] == 4)
        return SB_FILTER_LZ4;
    if (skipped > 0)
        return SB_FILTER_ZSTD;
    for (size_t i = 0; i < sizeof(magics) / sizeof(magics[0]); i++) {
        if (size >= magics[i].size && memcmp(data, magics[i].bytes, magics[i].size) == 0)
            return magics[i].kind;
    }
    if (is_bzip2(data, size))
        return SB_FILTER_BZIP2;
    if (is_lzma(data, size))
        return SB_FILTER_LZMA;
    return is_compress(data, size) ? SB_FILTER_COMPRESS : SB_FILTER_NONE;
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

static size_t take_held(struct sb_feed *feed, void *data, size_t capacity)
{
    size_t size = feed->held_size - feed->held_used;

    if (size > capacity)
        size = capacity;
    memcpy(data, feed->held + feed->held_used, size);
    feed->held_used += size;
    return size;
}

/* What is within the limit comes before this. */
static enum sb_code beyond_limit(const struct sb_feed *feed, struct sb_error *err)
{
    return sb_fail(err, SB_LIMIT,
                   "%s: decompressed, it is larger than the %" PRId64
                   " bytes that --max-size allows",
                   feed->name, feed->limit);
}

enum sb_code sb_feed_fill(struct sb_feed *feed, void *data, size_t capacity, size_t *got,
                          struct sb_error *err)
{
    enum sb_code code;

    if (feed->held_used < feed->held_size) {
        *got = take_held(feed, data, capacity);
        return SB_OK;
    }
    if (feed->over)
        return beyond_limit(feed, err);
    code = feed->ops->fill(feed, data, capacity, got, err);
    if (code && code != SB_DAMAGED)
        return code;
    if (feed->limit == 0 || (int64_t)*got <= feed->limit - feed->out) {
        feed->out += (int64_t)*got;
        return code;
    }
    feed->over = true;
    *got = (size_t)(feed->limit - feed->out);
    feed->out = feed->limit;
    return *got > 0 ? SB_OK : beyond_limit(feed, err);
}

int64_t sb_feed_skip(struct sb_feed *feed, int64_t size)
{
    return feed->ops->skip && feed->held_used == feed->held_size ? feed->ops->skip(feed, size) : 0;
}

enum sb_code sb_feed_too_large(const struct sb_feed *feed, const char *word, uint64_t allowed,
                               struct sb_error *err)
{
    return sb_fail(err, SB_LIMIT,
                   "%s: its %s data needs more than %lld MiB of memory to be decompressed; allow "
                   "more with --memlimit, or read it from its own tool through standard input",
                   feed->name, word, (long long)(allowed >> 20));
}

bool sb_feed_is_over(const struct sb_feed *feed)
{
    return atomic_load(&feed->watch->stop) || sb_interrupted();
}

bool sb_feed_is_ready(struct sb_feed *feed, int milliseconds)
{
    return feed->held || !feed->ops->is_ready || feed->ops->is_ready(feed, milliseconds);
}

bool sb_feed_filters(const struct sb_feed *feed)
{
    return feed->from != NULL;
}

enum sb_code sb_feed_drain(struct sb_feed *feed, const char *data, size_t size, char *buffer,
                           size_t capacity, struct sb_error *err)
{
    enum sb_code code = SB_OK;

    while (!code) {
        if (!sb_tar_all_zeros(data, size))
            atomic_store(&feed->watch->junk, true);
        data = buffer;
        code = sb_feed_fill(feed, buffer, capacity, &size, err);
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

static enum sb_code make_filter(struct sb_feed **feed, enum sb_filter_kind kind, unsigned threads,
                                struct sb_error *err)
{
    if (kind == SB_FILTER_XZ)
        return sb_feed_xz(feed, *feed, threads, err);
    if (kind != SB_FILTER_GZIP && kind != SB_FILTER_ZSTD)
        return sb_feed_filter(feed, *feed, kind, err);
    if (threads > 1)
        return sb_feed_parts(feed, *feed, kind == SB_FILTER_GZIP ? &sb_gzip_parts : &sb_zstd_parts,
                             threads, err);
    return kind == SB_FILTER_GZIP ? sb_feed_gzip(feed, *feed, NULL, err)
                                  : sb_feed_zstd(feed, *feed, err);
}

static enum sb_code add_filter(struct sb_feed **feed, enum sb_filter_kind kind,
                               const struct sb_feed_options *options, unsigned threads,
                               struct sb_error *err)
{
    enum sb_code code = make_filter(feed, kind, threads, err);

    if (!code)
        (*feed)->limit = options->max_size;
    return code;
}

/* Threads are for the outermost filter: what comes out of it is small, compressed as it is. */
static enum sb_code add_filters(struct sb_feed **feed, enum sb_filter_kind kind,
                                const struct sb_feed_options *options, struct sb_error *err)
{
    enum sb_code code;

    for (int depth = 0; kind != SB_FILTER_NONE; depth++) {
        if (depth == SB_FEED_FILTERS_MAX)
            return sb_fail(err, SB_FORMAT, "%s: is compressed more than twice; decompress it first",
                           (*feed)->name);
        code = add_filter(feed, kind, options, depth == 0 ? options->threads : 1, err);
        if (!code)
            code = peek(*feed, err);
        if (code == SB_END)
            return sb_fail(err, SB_FORMAT, "%s: there is nothing in it, once it is decompressed",
                           (*feed)->name);
        if (code)
            return code;
        kind = sb_filter_by_content((*feed)->held, (*feed)->held_size);
    }
    return SB_OK;
}

/* An input whose kind was given may be compressed all the same. */
static enum sb_code outermost(const struct sb_input *input, enum sb_filter_kind *kind,
                              struct sb_error *err)
{
    char head[PEEK];
    size_t size = 0;

    *kind = input->type.filter;
    if (*kind != SB_FILTER_NONE)
        return SB_OK;
    if (input->pipe)
        *kind = sb_filter_by_content(input->head.data, input->head.size);
    else if (sb_file_read(input->file, head, sizeof(head), 0, &size, err))
        return err->code;
    else
        *kind = sb_filter_by_content(head, size);
    return SB_OK;
}

static enum sb_code find_filters(struct sb_feed **feed, const struct sb_input *input,
                                 const struct sb_feed_options *options, struct sb_error *err)
{
    enum sb_filter_kind kind;
    enum sb_code code = outermost(input, &kind, err);

    return code ? code : add_filters(feed, kind, options, err);
}

enum sb_code sb_feed_open(struct sb_feed **out, const struct sb_input *input,
                          const struct sb_feed_options *options, struct sb_feed_watch *watch,
                          struct sb_error *err)
{
    struct sb_feed *feed;
    enum sb_code code = sb_feed_input(&feed, input, watch, err);

    *out = NULL;
    if (code)
        return code;
    if (input->type.kind != SB_FRAMES)
        code = find_filters(&feed, input, options, err);
    else if (input->type.filter != SB_FILTER_NONE)
        code = add_filter(&feed, input->type.filter, options, options->threads, err);
    if (code) {
        sb_feed_free(feed);
        return code;
    }
    *out = feed;
    return SB_OK;
}
