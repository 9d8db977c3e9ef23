/*
 * What comes out of a feed, in blocks; decompressed by a thread of its own, a few blocks ahead.
 *
 * Belongs to one thread. sb_flow_free ends the other one at any time.
 */
#ifndef SB_STORE_FEED_FLOW_H
#define SB_STORE_FEED_FLOW_H

#include "store/feed/feed.h"

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
