/*
 * ARCHIVE.part: the archive that a run with checkpoints writes, until it is complete.
 *
 * It is an ordinary archive, with shards ARCHIVE.part-shard-NNNNN; the rows of progress.h in its
 * config show that it is one of ours. Meanwhile a writer of ARCHIVE (SB_CREATE or SB_REPLACE) is
 * open as the lock; its sb_writer_commit_part turns the part into ARCHIVE.
 */
#ifndef SB_ARCHIVE_OWN_PART_H
#define SB_ARCHIVE_OWN_PART_H

#include "archive/own/progress.h"

#include <stdbool.h>

/* "ARCHIVE.part", as sb_hold_path has it; the caller frees it. */
char *sb_part_path(const char *archive);

/*
 * *there: it exists, and progress, which the caller releases, is how far it is. SB_EXISTS for
 * something of that name that no run of ours left.
 */
enum sb_code sb_part_look(const char *part, bool *there, struct sb_progress *progress) SB_CHECKED;

/* Removes the part with its shards. If this is killed, the next run completes it. */
enum sb_code sb_part_remove(const char *part) SB_CHECKED;

#endif
