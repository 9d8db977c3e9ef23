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

    /* The decoder of one thread. Takes over nothing. */
    enum sb_code (*stream)(struct sb_feed **out, struct sb_feed *from,
                           const struct sb_part_past *past);
};

extern const struct sb_parts_format sb_gzip_parts, sb_zstd_parts;

/* As sb_feed_gzip. threads: at least 2. */
enum sb_code sb_feed_parts(struct sb_feed **out, struct sb_feed *from,
                           const struct sb_parts_format *format, unsigned threads) SB_CHECKED;

#endif
