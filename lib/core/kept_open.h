/*
 * Files that may not be closed yet.
 *
 * Closing any descriptor of a file drops all POSIX locks that the process has on it, whoever took
 * them: SQLite's on an index, when the index is also met as one file among others. Whoever holds
 * such locks says so here, and whoever opened a file that may be anybody's closes it by
 * sb_close_kept: where it is such a file, its descriptor stays open until the last holder is gone.
 *
 * The locks are the process's, and so is this list. Thread-safe.
 */
#ifndef SB_CORE_KEPT_OPEN_H
#define SB_CORE_KEPT_OPEN_H

#include "core/error.h"

#include <stdbool.h>
#include <sys/stat.h>

/* `holder` is any pointer that is its own; one file each. */
enum sb_code sb_keep_open(const void *holder, const struct stat *file,
                          struct sb_error *err) SB_CHECKED;

/* The holder has let go of its locks. One that is not known is allowed. */
void sb_keep_no_longer(const void *holder);

/* Is it a file whose descriptors are kept? Then it had better not be opened. */
bool sb_is_kept_open(const struct stat *file);

/* close, now or later. st: of the file, or NULL where the caller has not asked. */
void sb_close_kept(int fd, const struct stat *st);

#endif
