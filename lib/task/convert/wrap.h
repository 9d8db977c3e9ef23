/*
 * Inputs of a conversion that are pointed at, and not copied.
 */
#ifndef SB_TASK_CONVERT_WRAP_H
#define SB_TASK_CONVERT_WRAP_H

#include "store/container.h"
#include "task/transfer/transfer.h"

/* The next members lie in this input: a tar, cpio, zip or Syrah file. SB_INVALID says why it cannot
 * be, and what to do. */
enum sb_code sb_wrap_input(struct sb_sink *sink, const struct sb_input *input,
                           struct sb_error *err) SB_CHECKED;

struct sb_wrap {
    struct sb_sink *sink;
    const struct sb_source_options *source; /* with names */
    const struct sb_transfer_options *transfer;
    const struct sb_notify *notify;
    int64_t *members;
};

/*
 * All records of a bag, whose files become shards; the first has number `first` among those that
 * are named. *records says how many there are. SB_INVALID: they are compressed.
 */
enum sb_code sb_wrap_bag(const struct sb_wrap *wrap, const struct sb_input *input, int64_t first,
                         int64_t *records, struct sb_error *err) SB_CHECKED;

/* All rows of a cache that count; each segment that has such becomes a shard. */
enum sb_code sb_wrap_cache(const struct sb_wrap *wrap, const struct sb_input *input,
                           struct sb_error *err) SB_CHECKED;

#endif
