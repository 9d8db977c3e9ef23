/*
 * The part of a transfer that compresses or decompresses the files of a batch.
 *
 * Internal to transfer.c.
 */
#ifndef SB_TASK_TRANSFER_RECODE_MEMBER_H
#define SB_TASK_TRANSFER_RECODE_MEMBER_H

#include "store/batch.h"
#include "task/transfer/recode.h"

/*
 * A worker: recodes the items of a batch whose original name is set. Bytes that are not of the
 * format of their name are an event ("damaged"), and the item is left out.
 */
enum sb_code sb_recode_batch(const struct sb_recode *recode, struct sb_batch *batch,
                             const char *beside) SB_CHECKED;

/*
 * The calling thread: recodes the member whose bytes come in sequence from the source, and which is
 * the only item of the batch, into a temporary file; without an original name, stores its bytes and
 * holes there unchanged.
 */
enum sb_code sb_recode_sequence(const struct sb_recode *recode, struct sb_source *source,
                                struct sb_batch *batch, const char *beside) SB_CHECKED;

#endif
