/*
 * The directory of an archive that a side of sync names.
 */
#ifndef SB_TASK_SYNC_WITHIN_H
#define SB_TASK_SYNC_WITHIN_H

#include "archive/archive.h"

/* name: for messages. SB_INVALID if a file has this stored name, or one above it; SB_NOENT if
 * nothing has, unless it `may_miss`. */
enum sb_code sb_sync_check_within(struct sb_archive *archive, const char *name, const char *within,
                                  bool may_miss, struct sb_error *err) SB_CHECKED;

#endif
