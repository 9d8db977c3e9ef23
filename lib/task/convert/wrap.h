/*
 * Inputs of a conversion that are linked, not copied.
 */
#ifndef SB_TASK_CONVERT_WRAP_H
#define SB_TASK_CONVERT_WRAP_H

#include "store/store.h"
#include "task/transfer/transfer.h"

/*
 * The next members are in this input: a tar, cpio, zip or Syrah file. SB_INVALID says why it cannot
 * be wrapped, and what to do.
 */
enum sb_code sb_wrap_input(struct sb_sink *sink, const struct sb_store *store) SB_CHECKED;

struct sb_wrap {
    struct sb_sink *sink;
    const struct sb_source_options *source; /* with names */
    const struct sb_transfer_options *transfer;
    const struct sb_notify *notify;
    int64_t *members;
};

/*
 * All members of a container of several files (SB_CAN_PARTS); each file becomes a shard: all
 * records of a bag, whose first one has number `first` in names, or all live rows of a cache.
 * *records: the number of records. SB_INVALID: they are compressed.
 */
enum sb_code sb_wrap_files(const struct sb_wrap *wrap, struct sb_store *store, int64_t first,
                           int64_t *records) SB_CHECKED;

#endif
