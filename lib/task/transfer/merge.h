/*
 * Part of sb_transfer: names that several sources have which are merged.
 */
#ifndef SB_TASK_TRANSFER_MERGE_H
#define SB_TASK_TRANSFER_MERGE_H

#include "task/transfer/transfer.h"

/*
 * Notes the member, which has its stored name, as options->merged says. SB_END: it is passed over,
 * which *left counts if it is a file, or left out, which was told; SB_EXISTS names both sources.
 */
enum sb_code sb_transfer_meet(const struct sb_transfer_options *options,
                              const struct sb_member *member, const char *source, int64_t *left,
                              struct sb_error *err) SB_CHECKED;

#endif
