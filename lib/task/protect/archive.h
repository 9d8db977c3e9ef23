/*
 * Archives among the files that are protected. Which files an archive has is seen from their names
 * alone, so that a damaged index does not matter. Thread-safe.
 */
#ifndef SB_TASK_PROTECT_ARCHIVE_H
#define SB_TASK_PROTECT_ARCHIVE_H

#include "core/error.h"

#include <stdbool.h>

/*
 * Calls `each` for the path, and if files beside it have the names of its shards, for these, until
 * it returns false. Shards of which only the parity file is there come, too.
 */
enum sb_code sb_protect_walk(const char *path, bool (*each)(void *context, const char *path),
                             void *context, struct sb_error *err) SB_CHECKED;

/* Does a walk from the path `index` come to this path, as that of a shard? */
bool sb_protect_has_shard(const char *index, const char *path);

/*
 * Keeps writers of the archive away while a file that may be its index, or one of its shards, is
 * changed: ours by their lock, and Barecat by SQLite's; readers go on. *fd is to be closed then;
 * -1: there is no index. SB_LOCKED: somebody writes, or was interrupted; waits as the
 * context allows.
 */
enum sb_code sb_protect_hold(int *fd, const char *path, struct sb_error *err) SB_CHECKED;

#endif
