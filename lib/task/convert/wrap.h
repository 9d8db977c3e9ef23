/*
 * Inputs of a conversion that are pointed at, and not copied.
 */
#ifndef SB_TASK_CONVERT_WRAP_H
#define SB_TASK_CONVERT_WRAP_H

#include "store/store.h"
#include "task/transfer/transfer.h"

/* The next members lie in this input: a tar, cpio, zip or Syrah file. SB_INVALID says why it cannot
 * be, and what to do. */
enum sb_code sb_wrap_input(struct sb_sink *sink, const struct sb_store *store,
                           struct sb_error *err) SB_CHECKED;

struct sb_wrap {
    struct sb_sink *sink;
    const struct sb_source_options *source; /* with names */
    const struct sb_transfer_options *transfer;
    const struct sb_notify *notify;
    int64_t *members;
};

/*
 * All members of a container of several files (SB_CAN_PARTS), each of which becomes a shard: all
 * records of a bag, the first of which has number `first` among those that are named, or all rows
 * of a cache that count. *records says how many records there are. SB_INVALID: they are compressed.
 */
enum sb_code sb_wrap_files(const struct sb_wrap *wrap, struct sb_store *store, int64_t first,
                           int64_t *records, struct sb_error *err) SB_CHECKED;

#endif
