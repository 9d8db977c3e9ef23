/*
 * Layers of a feed: the input itself, and the filters on top of it. Private to the feed.
 */
#ifndef SB_STORE_FEED_IMPL_H
#define SB_STORE_FEED_IMPL_H

#include "store/feed/feed.h"

#include <pthread.h>
#include <string.h>

#define SB_FEED_BUFFER  ((size_t)256 << 10) /* what a filter takes from below at once */
#define SB_FEED_WAIT_MS 100                 /* how soon whoever waits sees that it has to end */

struct sb_feed_ops {
    enum sb_code (*fill)(struct sb_feed *feed, void *data, size_t capacity, size_t *got);
    int64_t (*skip)(struct sb_feed *feed, int64_t size);      /* may be NULL */
    bool (*is_ready)(struct sb_feed *feed, int milliseconds); /* the same: it always is */
    void (*free)(struct sb_feed *feed);                       /* not of what is below */
};

/* What each layer begins with. */
struct sb_feed {
    const struct sb_feed_ops *ops;
    const char *name;     /* of the input, for messages */
    struct sb_feed *from; /* the layer below; NULL for the input */
    struct sb_feed_watch *watch;
    int64_t limit; /* of bytes that come out, 0 for any */
    int64_t out;
    bool over;  /* more than the limit would come */
    char *held; /* read already to look at it, comes again */
    size_t held_size;
    size_t held_used;
};

/* The beginning of a layer on top of this one. */
static inline struct sb_feed sb_feed_on(const struct sb_feed_ops *ops, struct sb_feed *from)
{
    return (struct sb_feed){.ops = ops, .name = from->name, .from = from, .watch = from->watch};
}

/* Copies as much of `from` as fits, and returns how much that is. */
static inline size_t sb_feed_copy(void *data, size_t capacity, const char *from, size_t size)
{
    size_t some = size < capacity ? size : capacity;

    if (some > 0)
        memcpy(data, from, some);
    return some;
}

/* Waits for a change, with the lock, but no longer than SB_FEED_WAIT_MS. */
void sb_feed_wait(pthread_cond_t *changed, pthread_mutex_t *lock);

/* Is nobody going to want what comes out? Then whoever waits ends with SB_INTERRUPT. */
bool sb_feed_is_over(const struct sb_feed *feed);

/* Will filling it wait for no longer than that? */
bool sb_feed_is_ready(struct sb_feed *feed, int milliseconds);

/*
 * A filter whose compressed bytes have parts that need nothing of each other: threads decompress
 * some of them at once.
 *
 * Bytes come out in order. Where a part cannot be found, is too large, or is not what it should be,
 * a decoder of one thread goes on from its beginning: what is damaged, and how, is as that one
 * finds it.
 */

/* A part: its compressed bytes, and how many come out of it at most. */
struct sb_part {
    size_t size;
    size_t content;
    bool inside; /* it does not end what it is a part of: the next one begins there */
};

/* More, of both together, is not read as a part. */
#define SB_PART_MAX ((size_t)38 << 20)

enum sb_split {
    SB_SPLIT_PART,
    SB_SPLIT_MORE,  /* more bytes are needed to find its end */
    SB_SPLIT_MAYBE, /* the same, but it is not worth a wait: most have no parts */
    SB_SPLIT_NONE,  /* there is no part here */
};

/* Parts that follow each other, whole, or a part that ends inside; and what becomes of them. */
struct sb_part_run {
    const char *in;
    size_t in_size;
    bool from_inside;
    bool to_inside;
    char *out;
    size_t capacity; /* never 0 */
    size_t made;
    uint32_t sum; /* for pass */
};

/* Bits of the window, for zlib; bytes after the data. */
#define SB_GZIP_ONLY    (MAX_WBITS + 16)
#define SB_GZIP_RAW     (-MAX_WBITS)
#define SB_GZIP_TRAILER 8

#define SB_ZSTD_WINDOW_MAX ((unsigned long long)1 << ZSTD_WINDOWLOG_LIMIT_DEFAULT)

#define SB_PAST_WINDOW ((size_t)32 << 10)

/* What a decoder of one thread has to know of what came before. */
struct sb_part_past {
    bool any;    /* something did */
    bool inside; /* and not at its end. Then, of what came out since the last end: */
    uint32_t sum;
    uint64_t size;
    size_t window_size;
    char window[SB_PAST_WINDOW]; /* the last of it */
};

struct sb_parts_format {
    enum sb_filter_kind kind; /* of the decoder of one thread */

    /* The part that begins there; all of it must be there. */
    enum sb_split (*split)(const unsigned char *data, size_t size, bool inside,
                           struct sb_part *part);

    /* Of each thread. NULL: no memory. */
    void *(*new_decoder)(void);
    void (*free_decoder)(void *decoder);

    /* Sets made and sum. False: they are not sound. */
    bool (*decode)(void *decoder, struct sb_part_run *run);

    /* Adds what was decoded to the past. May be NULL, where no part ends inside. */
    void (*pass)(struct sb_part_past *past, const struct sb_part_run *run);
};

extern const struct sb_parts_format sb_gzip_parts, sb_zstd_parts;

/* Each takes what it is given over, also on failure: nothing, but on SB_OK `from`. threads: at
 * least 2. */
enum sb_code sb_feed_parts(struct sb_feed **out, struct sb_feed *from,
                           const struct sb_parts_format *format, unsigned threads) SB_CHECKED;

/* gzip, xz, lzma, bzip2, zstd and the frames of lz4; threads: for xz. past: of gzip and zstd; NULL
 * where nothing came before. */
enum sb_code sb_feed_streams(struct sb_feed **out, struct sb_feed *from, enum sb_filter_kind kind,
                             unsigned threads, const struct sb_part_past *past) SB_CHECKED;

/* By libarchive: what the others do not have. */
enum sb_code sb_feed_filter(struct sb_feed **out, struct sb_feed *from,
                            enum sb_filter_kind kind) SB_CHECKED;

/* SB_LIMIT: its data, compressed by `word`, needs more memory than is allowed. */
enum sb_code sb_feed_too_large(const struct sb_feed *feed, const char *word, uint64_t allowed);

/*
 * After the end of a stream: does another one of the kind follow? Zeros before it are padding.
 * `left` is what the layer took from below and did not use; where *size becomes 0, that comes again
 * from below. SB_END: none follows; what does is noted in the watch, and read to its end.
 */
enum sb_code sb_feed_another(struct sb_feed *feed, enum sb_filter_kind kind, const void *left,
                             size_t *size) SB_CHECKED;

/* The end of a stream of this layer. */
static inline void sb_feed_count_end(struct sb_feed *feed)
{
    atomic_fetch_add(&feed->watch->ends, 1);
}

#endif
