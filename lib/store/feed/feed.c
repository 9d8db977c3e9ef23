#include "store/feed/feed.h"

#include "core/array.h"
#include "core/interrupt.h"
#include "core/throttle.h"
#include "store/feed/impl.h"
#include "store/tar/raw.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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
    for (size_t i = 0; i < ARRAY_SIZE(magics); i++) {
        if (size >= magics[i].size && memcmp(data, magics[i].bytes, magics[i].size) == 0)
            return magics[i].kind;
    }
    if (is_bzip2(data, size))
        return SB_FILTER_BZIP2;
    if (is_lzma(data, size))
        return SB_FILTER_LZMA;
    return is_compress(data, size) ? SB_FILTER_COMPRESS : SB_FILTER_NONE;
}

const char sb_tail_junk[] = "junk", sb_tail_tar[] = "a tar";

const char *sb_tail_word(const void *data, size_t size)
{
    static const char *const words[] = {
        [SB_FILTER_NONE] = sb_tail_junk,  [SB_FILTER_GZIP] = "gzip data",
        [SB_FILTER_BZIP2] = "bzip2 data", [SB_FILTER_XZ] = "xz data",
        [SB_FILTER_ZSTD] = "zstd data",   [SB_FILTER_LZMA] = "lzma data",
        [SB_FILTER_LZ4] = "lz4 data",     [SB_FILTER_COMPRESS] = "data of compress",
        [SB_FILTER_LZIP] = "lzip data",
    };

    if (size >= SB_TAR_BLOCK && sb_tar_is_header(data))
        return sb_tail_tar;
    if (sb_cpio_begins(data, size))
        return "a cpio";
    return words[sb_filter_by_content(data, size)];
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

/* What is within the limit comes before this. */
static enum sb_code beyond_limit(const struct sb_feed *feed)
{
    return sb_fail(SB_LIMIT,
                   "%s: decompressed, it is larger than the %" PRId64
                   " bytes that --max-size allows",
                   feed->name, feed->limit);
}

enum sb_code sb_feed_fill(struct sb_feed *feed, void *data, size_t capacity, size_t *got)
{
    enum sb_code code;

    if (feed->held_used < feed->held_size) {
        *got = sb_feed_copy(data, capacity, feed->held + feed->held_used,
                            feed->held_size - feed->held_used);
        feed->held_used += *got;
        return SB_OK;
    }
    if (feed->over)
        return beyond_limit(feed);
    code = feed->ops->fill(feed, data, capacity, got);
    if (code && code != SB_DAMAGED)
        return code;
    if (feed->limit == 0 || (int64_t)*got <= feed->limit - feed->out) {
        feed->out += (int64_t)*got;
        return code;
    }
    feed->over = true;
    *got = (size_t)(feed->limit - feed->out);
    feed->out = feed->limit;
    return *got > 0 ? SB_OK : beyond_limit(feed);
}

int64_t sb_feed_skip(struct sb_feed *feed, int64_t size)
{
    return feed->ops->skip && feed->held_used == feed->held_size ? feed->ops->skip(feed, size) : 0;
}

enum sb_code sb_feed_too_large(const struct sb_feed *feed, const char *word, uint64_t allowed)
{
    return sb_fail(SB_LIMIT,
                   "%s: its %s data needs more than %lld MiB of memory to be decompressed; allow "
                   "more with --memlimit, or read it from its own tool through standard input",
                   feed->name, word, (long long)(allowed >> 20));
}

bool sb_feed_is_over(const struct sb_feed *feed)
{
    return atomic_load(&feed->watch->stop) || sb_interrupted();
}

void sb_feed_wait(pthread_cond_t *changed, pthread_mutex_t *lock)
{
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += SB_FEED_WAIT_MS * 1000000L;
    until.tv_sec += until.tv_nsec / 1000000000L;
    until.tv_nsec %= 1000000000L;
    pthread_cond_timedwait(changed, lock, &until);
}

bool sb_feed_is_ready(struct sb_feed *feed, int milliseconds)
{
    return feed->held || !feed->ops->is_ready || feed->ops->is_ready(feed, milliseconds);
}

unsigned sb_feed_layers(const struct sb_feed *feed)
{
    unsigned layers = 0;

    while ((feed = feed->from))
        layers++;
    return layers;
}

/*
 * A file: less than this is read rather than passed over. Where something was passed over, the next
 * reading may only be for a header: it begins small, and doubles.
 */
#define SKIP_MIN   ((int64_t)64 << 10)
#define STEP_FIRST ((size_t)8 << 10)

struct input_feed {
    struct sb_feed base;
    const struct sb_input *input;
    size_t head_used;
    int64_t offset; /* of a file: of what comes next */
    int64_t size;   /* of a file */
    size_t step;    /* of a file: how much to read at once */

    struct sb_source *from; /* another container, whose member it is; else NULL */
    const char *block;      /* what is left of a block of that */
    size_t block_size;
};

static enum sb_code wait_for_bytes(struct input_feed *feed, unsigned *tries)
{
    struct pollfd wanted = {.fd = feed->input->pipe->fd, .events = POLLIN};
    int ready = 0;

    while (ready == 0 || (ready < 0 && errno == EINTR && sb_may_try_again(tries))) {
        if (sb_feed_is_over(&feed->base))
            return sb_fail_interrupt();
        ready = poll(&wanted, 1, SB_FEED_WAIT_MS);
    }
    return ready > 0 ? SB_OK : sb_fail_errno(errno, "%s", feed->base.name);
}

static enum sb_code read_stream(struct input_feed *feed, void *data, size_t capacity, size_t *got)
{
    unsigned tries = 0;

    for (;;) {
        ssize_t size;

        TRY(wait_for_bytes(feed, &tries));
        size = read(feed->input->pipe->fd, data, sb_throttle_piece(capacity));
        if (size >= 0) {
            sb_throttle_read(size);
            *got = (size_t)size;
            return size > 0 ? SB_OK : SB_END;
        }
        if ((errno != EINTR && errno != EAGAIN) || !sb_may_try_again(&tries))
            return sb_fail_errno(errno, "%s", feed->base.name);
    }
}

static enum sb_code read_file(struct input_feed *feed, void *data, size_t capacity, size_t *got)
{
    size_t size = feed->step < capacity ? feed->step : capacity;

    if (feed->input->section && (int64_t)size > feed->size - feed->offset)
        size = (size_t)(feed->size - feed->offset);
    TRY(sb_file_read(feed->input->file, data, size, feed->offset, got));
    feed->offset += (int64_t)*got;
    if (feed->step < capacity)
        feed->step *= 2;
    return *got > 0 ? SB_OK : SB_END;
}

static enum sb_code read_member(struct input_feed *feed, void *data, size_t capacity, size_t *got)
{
    const void *block = feed->block;

    if (feed->block_size == 0)
        TRY(sb_source_block(feed->from, &block, &feed->block_size));
    *got = sb_feed_copy(data, capacity, block, feed->block_size);
    feed->block = (const char *)block + *got;
    feed->block_size -= *got;
    return SB_OK;
}

static enum sb_code fill_input(struct sb_feed *base, void *data, size_t capacity, size_t *got)
{
    struct input_feed *feed = (struct input_feed *)base;
    const struct sb_buf *head = &feed->input->head;

    if (feed->head_used < head->size) {
        *got = sb_feed_copy(data, capacity, head->data + feed->head_used,
                            head->size - feed->head_used);
        feed->head_used += *got;
    } else if (feed->from) {
        TRY(read_member(feed, data, capacity, got));
    } else if (!feed->input->pipe) {
        TRY(read_file(feed, data, capacity, got));
    } else {
        TRY(read_stream(feed, data, capacity, got));
    }
    atomic_fetch_add_explicit(&base->watch->taken, (int64_t)*got, memory_order_relaxed);
    return SB_OK;
}

static int64_t skip_input(struct sb_feed *base, int64_t size)
{
    struct input_feed *feed = (struct input_feed *)base;

    if (feed->input->pipe || feed->from || size < SKIP_MIN || feed->offset >= feed->size)
        return 0;
    if (size > feed->size - feed->offset)
        size = feed->size - feed->offset;
    feed->offset += size;
    feed->step = STEP_FIRST;
    atomic_fetch_add_explicit(&base->watch->taken, size, memory_order_relaxed);
    return size;
}

static bool input_is_ready(struct sb_feed *base, int milliseconds)
{
    struct input_feed *feed = (struct input_feed *)base;
    struct pollfd wanted = {.events = POLLIN};

    if (!feed->input->pipe || feed->head_used < feed->input->head.size)
        return true;
    wanted.fd = feed->input->pipe->fd;
    return poll(&wanted, 1, milliseconds) > 0;
}

static void free_input(struct sb_feed *base)
{
    free(base);
}

static enum sb_code open_input(struct sb_feed **out, const struct sb_input *input,
                               struct sb_feed_watch *watch)
{
    static const struct sb_feed_ops ops = {fill_input, skip_input, input_is_ready, free_input};
    struct input_feed *feed;

    TRY(SB_NEW(&feed));
    feed->base = (struct sb_feed){.ops = &ops, .name = input->name, .watch = watch};
    feed->input = input;
    feed->from = input->section ? input->section->from : NULL;
    feed->step = input->section ? STEP_FIRST : SIZE_MAX;
    if (input->section) {
        feed->offset = input->section->at;
        feed->size = input->section->at + input->section->size;
    } else if (!input->pipe) {
        feed->size = input->file->st.st_size;
    }
    *out = &feed->base;
    return SB_OK;
}

/* Puts bytes that were read of it, and what it holds, before those that come next. */
static enum sb_code put_back(struct sb_feed *feed, const void *data, size_t size)
{
    size_t rest = feed->held_size - feed->held_used;
    char *held;

    TRY(sb_alloc(&held, size + rest + 1));
    if (size > 0)
        memcpy(held, data, size);
    if (rest > 0)
        memcpy(held + size, feed->held + feed->held_used, rest);
    free(feed->held);
    feed->held = held;
    feed->held_size = size + rest;
    feed->held_used = 0;
    return SB_OK;
}

/* Looks at the first bytes, which come again. SB_END where there are none. */
static enum sb_code peek(struct sb_feed *feed)
{
    enum sb_code code = SB_OK;
    char bytes[PEEK];
    size_t size = 0, got;

    if (feed->held_size - feed->held_used >= PEEK)
        return SB_OK;
    while (!code && size < PEEK) {
        code = sb_feed_fill(feed, bytes + size, PEEK - size, &got);
        if (!code)
            size += got;
    }
    if (code && code != SB_END)
        return code;
    TRY(put_back(feed, bytes, size));
    return size > 0 ? SB_OK : SB_END;
}

/* Reads to the end, or with past_zeros to the first byte that is no zero, which comes again. */
static enum sb_code drain(struct sb_feed *feed, bool past_zeros)
{
    CLEANUP(sb_freep) char *buffer = NULL;
    size_t got = 0, zeros = 0;

    TRY(sb_alloc(&buffer, SB_FEED_BUFFER));
    while (zeros == got) {
        TRY(sb_feed_fill(feed, buffer, SB_FEED_BUFFER, &got));
        zeros = past_zeros ? 0 : got;
        while (zeros < got && buffer[zeros] == '\0')
            zeros++;
    }
    return put_back(feed, buffer + zeros, got - zeros);
}

/* Frames that are skipped are of either kind. */
static bool is_of(enum sb_filter_kind kind, const char *data, size_t size)
{
    return kind != SB_FILTER_NONE && size > 0 &&
           (sb_filter_by_content(data, size) == kind ||
            (kind == SB_FILTER_LZ4 && skippable((const unsigned char *)data, size) > 0));
}

static bool holds(const struct sb_feed *feed, enum sb_filter_kind kind)
{
    return is_of(kind, feed->held + feed->held_used, feed->held_size - feed->held_used);
}

enum sb_code sb_feed_another(struct sb_feed *feed, enum sb_filter_kind kind, const void *left,
                             size_t *size)
{
    struct sb_feed *from = feed->from;
    enum sb_code code;

    if (is_of(kind, left, *size))
        return SB_OK;
    code = put_back(from, left, *size);
    *size = 0;
    TRY(code);
    TRY(drain(from, true));
    /* More is waited for only where that may say something else. */
    if (holds(from, kind))
        return SB_OK;
    TRY(peek(from));
    if (holds(from, kind))
        return SB_OK;
    atomic_store(&feed->watch->tail,
                 sb_tail_word(from->held + from->held_used, from->held_size - from->held_used));
    return drain(from, false);
}

static enum sb_code make_filter(struct sb_feed **feed, enum sb_filter_kind kind, unsigned threads)
{
    struct sb_feed *from = *feed;

    /* Of lz4 the format of before its frames. */
    if (kind == SB_FILTER_LZIP || kind == SB_FILTER_COMPRESS ||
        (kind == SB_FILTER_LZ4 && IGNORED(peek(from)) == SB_OK && from->held[from->held_used] == 2))
        return sb_feed_filter(feed, *feed, kind);
    if (threads > 1 && (kind == SB_FILTER_GZIP || kind == SB_FILTER_ZSTD))
        return sb_feed_parts(feed, from, kind == SB_FILTER_GZIP ? &sb_gzip_parts : &sb_zstd_parts,
                             threads);
    return sb_feed_streams(feed, from, kind, threads, NULL);
}

static enum sb_code add_filter(struct sb_feed **feed, enum sb_filter_kind kind,
                               const struct sb_feed_options *options, unsigned threads)
{
    TRY(make_filter(feed, kind, threads));
    (*feed)->limit = options->max_size;
    return SB_OK;
}

/* Threads are for the outermost filter: what comes out of it is small, compressed as it is. */
static enum sb_code add_filters(struct sb_feed **feed, enum sb_filter_kind kind,
                                const struct sb_feed_options *options)
{
    enum sb_code code;

    for (int depth = 0; kind != SB_FILTER_NONE; depth++) {
        if (depth == SB_FEED_FILTERS_MAX)
            return sb_fail(SB_FORMAT, "%s: is compressed more than twice; decompress it first",
                           (*feed)->name);
        TRY(add_filter(feed, kind, options, depth == 0 ? options->threads : 1));
        code = peek(*feed);
        (*feed)->out = 0;
        if (code == SB_END)
            return sb_fail(SB_FORMAT, "%s: there is nothing in it, once it is decompressed",
                           (*feed)->name);
        TRY(code);
        kind = sb_filter_by_content((*feed)->held, (*feed)->held_size);
    }
    return SB_OK;
}

/* An input whose kind was given may be compressed all the same. */
static enum sb_code outermost(const struct sb_input *input, enum sb_filter_kind *kind)
{
    char head[PEEK];
    size_t size = 0;

    *kind = input->type.filter;
    if (*kind != SB_FILTER_NONE || input->section)
        return SB_OK;
    if (!input->pipe)
        TRY(sb_file_read(input->file, head, sizeof(head), 0, &size));
    *kind = input->pipe ? sb_filter_by_content(input->head.data, input->head.size)
                        : sb_filter_by_content(head, size);
    return SB_OK;
}

enum sb_code sb_feed_open(struct sb_feed **out, const struct sb_input *input,
                          const struct sb_feed_options *options, struct sb_feed_watch *watch)
{
    CLEANUP(sb_feed_freep) struct sb_feed *feed = NULL;
    enum sb_filter_kind kind;

    *out = NULL;
    TRY(open_input(&feed, input, watch));
    if (input->type.kind != SB_FRAMES) {
        TRY(outermost(input, &kind));
        TRY(add_filters(&feed, kind, options));
    } else if (input->type.filter != SB_FILTER_NONE) {
        TRY(add_filter(&feed, input->type.filter, options, options->threads));
    }
    *out = TAKE(feed);
    return SB_OK;
}
