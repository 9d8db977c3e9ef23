/*
 * The bytes of a tar or cpio, in sequence: as they lie in the input, or as its filters give them.
 *
 * A feed belongs to one thread at a time, and may have threads of its own. gzip, zstd and xz are
 * decompressed by their own libraries, and the rest by libarchive.
 */
#ifndef SB_STORE_FEED_FEED_H
#define SB_STORE_FEED_FEED_H

#include "store/kind.h"

#include <stdatomic.h>

/* More than this many compressions in each other are refused. */
#define SB_FEED_FILTERS_MAX 2

struct sb_feed;

/* Between a feed and who looks at it from another thread. {0} to begin with. */
struct sb_feed_watch {
    atomic_bool stop;      /* set from outside: waiting for input ends with SB_INTERRUPT */
    atomic_bool in_one;    /* only one thread can decompress it */
    _Atomic int64_t taken; /* bytes of the input so far */
    atomic_uint ends;      /* of compressed streams that have a mark at their end, so far */

    /* What follows the end of the compressed data, as sb_tail_word says it; NULL: nothing, or
     * zeros */
    _Atomic(const char *) tail;
};

struct sb_feed_options {
    int64_t
        max_size; /* of what comes out of a filter, which then ends with SB_LIMIT; 0: no limit */
    unsigned threads; /* that decompress, where what is compressed has independent parts */
};

/*
 * The input and the watch stay as long as the feed. input->type.filter is the outermost filter;
 * where it is none, and for a second filter, the first bytes decide (but SB_FRAMES has no more than
 * that one, and may be empty). SB_FORMAT
 * when there are too many filters.
 */
enum sb_code sb_feed_open(struct sb_feed **out, const struct sb_input *input,
                          const struct sb_feed_options *options,
                          struct sb_feed_watch *watch) SB_CHECKED;
void sb_feed_free(struct sb_feed *feed); /* NULL is allowed */
FREEP(sb_feed_free, struct sb_feed)

/*
 * Some of the next bytes, at most `capacity`, never none; SB_END after the last. SB_DAMAGED:
 * compressed data is cut short or wrong; *got, which the caller sets to 0 before, then counts the
 * bytes that came before that. SB_LIMIT: more than max_size.
 */
enum sb_code sb_feed_fill(struct sb_feed *feed, void *data, size_t capacity,
                          size_t *got) SB_CHECKED;

/* Passes over what can be passed over without reading: at most size, 0 where nothing can. */
int64_t sb_feed_skip(struct sb_feed *feed, int64_t size);

/* How many compressions does it undo? */
unsigned sb_feed_layers(const struct sb_feed *feed);

/* What compresses data that begins so; SB_FILTER_NONE when nothing known does. */
enum sb_filter_kind sb_filter_by_content(const void *data, size_t size);

/*
 * What comes after the end of something, by its first bytes that are no zeros: "a tar", "a cpio",
 * "gzip data", ...; sb_tail_junk: nothing known. Looks at no more than a block of a tar.
 */
const char *sb_tail_word(const void *data, size_t size);
extern const char sb_tail_junk[], sb_tail_tar[];

/*
 * What comes out of a feed, in blocks; decompressed by a thread of its own, a few blocks ahead.
 *
 * Belongs to one thread. sb_flow_free ends the other one at any time.
 */
#define SB_FLOW_BLOCK ((size_t)256 << 10)

struct sb_flow;

/* As sb_feed_open. */
enum sb_code sb_flow_open(struct sb_flow **out, const struct sb_input *input,
                          const struct sb_feed_options *options) SB_CHECKED;
void sb_flow_free(struct sb_flow *flow); /* NULL is allowed */
FREEP(sb_flow_free, struct sb_flow)

/* The next block, which lives until the next call; SB_END after the last block, which then
 * stays. */
enum sb_code sb_flow_next(struct sb_flow *flow, const void **data, size_t *size) SB_CHECKED;

/* Passes over as much of size as can be passed over without reading, maybe nothing. */
int64_t sb_flow_skip(struct sb_flow *flow, int64_t size);

bool sb_flow_filters(const struct sb_flow *flow); /* is anything decompressed? */
bool sb_flow_in_one(struct sb_flow *flow);        /* by one thread, although more were allowed? */
int64_t sb_flow_taken(struct sb_flow *flow);      /* bytes of the input so far */

/*
 * After SB_END. Reports what follows the end of the compressed data: nothing of zeros; SB_LOSS
 * "trailing", or SB_PROBLEM where it looks like another container.
 */
void sb_flow_report_tail(struct sb_flow *flow, const char *name, const struct sb_notify *notify);

/* After SB_END: was all decompressed one stream, whose end was there, so that nothing is missing?
 */
bool sb_flow_is_whole(struct sb_flow *flow);

#endif
