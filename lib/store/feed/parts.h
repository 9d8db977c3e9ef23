/*
 * A filter whose compressed bytes have parts that need nothing of each other: threads decompress
 * some of them at once. Private to the feed.
 *
 * Bytes come out in order. Where a part cannot be found, is too large, or is not what it should be,
 * a decoder of one thread goes on from its beginning: what is damaged, and how, is as that one
 * finds it.
 */
#ifndef SB_STORE_FEED_PARTS_H
#define SB_STORE_FEED_PARTS_H

#include "store/feed/impl.h"

/* A part: its compressed bytes, and how many come out of it at most. */
struct sb_part {
    size_t size;
    size_t content;
};

/* More, of both together, is not read as a part. */
#define SB_PART_MAX ((size_t)38 << 20)

enum sb_split {
    SB_SPLIT_PART,
    SB_SPLIT_MORE, /* more bytes are needed to find its end */
    SB_SPLIT_NONE, /* there is no part here */
};

struct sb_parts_format {
    /* The part that begins there; all of it must be there. */
    enum sb_split (*split)(const unsigned char *data, size_t size, struct sb_part *part);

    /* Of each thread. NULL: no memory. */
    void *(*new_decoder)(void);
    void (*free_decoder)(void *decoder);

    /* Parts that follow each other, whole; capacity is never 0. False: they are not sound. */
    bool (*decode)(void *decoder, const char *in, size_t in_size, char *out, size_t capacity,
                   size_t *made);

    /* The decoder of one thread. goes_on: parts came before. Takes over nothing. */
    enum sb_code (*stream)(struct sb_feed **out, struct sb_feed *from, bool goes_on,
                           struct sb_error *err);
};

extern const struct sb_parts_format sb_gzip_parts, sb_zstd_parts;

/* As sb_feed_gzip. threads: at least 2. */
enum sb_code sb_feed_parts(struct sb_feed **out, struct sb_feed *from,
                           const struct sb_parts_format *format, unsigned threads,
                           struct sb_error *err) SB_CHECKED;

#endif
