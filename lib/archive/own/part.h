/*
 * ARCHIVE.part: the archive that a run stores into stretch by stretch until it is whole.
 *
 * It is an archive like any other, with shards ARCHIVE.part-shard-NNNNN; the rows of progress.h in
 * its config show that it is one of ours. A writer of ARCHIVE (SB_CREATE or SB_REPLACE) is open
 * meanwhile as the lock, and its sb_writer_commit_part makes ARCHIVE of it.
 */
#ifndef SB_ARCHIVE_OWN_PART_H
#define SB_ARCHIVE_OWN_PART_H

#include "archive/own/progress.h"

#include <stdbool.h>

/* "ARCHIVE.part", as sb_hold_path has it; caller frees. */
char *sb_part_path(const char *archive, struct sb_error *err);

/*
 * *there: it stands, and progress, which the caller releases, says how far it is. SB_EXISTS for
 * something of that name that no run of ours left.
 */
enum sb_code sb_part_look(const char *part, bool *there, struct sb_progress *progress,
                          struct sb_error *err) SB_CHECKED;

/* Removes the part with its shards. A run of this that is killed is completed by the next. */
enum sb_code sb_part_remove(const char *part, struct sb_error *err) SB_CHECKED;

#endif
