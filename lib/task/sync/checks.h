/*
 * What sync refuses in both directions (archive.c).
 */
#ifndef SB_TASK_SYNC_CHECKS_H
#define SB_TASK_SYNC_CHECKS_H

#include "archive/archive.h"

struct sb_store;

/* The directory of an archive that a side names. name: for messages. SB_INVALID if a file has this
 * stored name, or one above it; SB_NOENT if nothing has, unless it `may_miss`. */
enum sb_code sb_sync_check_within(struct sb_archive *archive, const char *name, const char *within,
                                  bool may_miss) SB_CHECKED;

/* Always fails: the source has no members, and all of the target would be removed. */
enum sb_code sb_sync_fail_empty(const struct sb_store *from);

#endif
