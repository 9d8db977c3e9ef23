/*
 * Files that may not be closed yet.
 *
 * Closing any descriptor of a file drops all POSIX locks that the process has on it, whoever took
 * them. That concerns SQLite's locks on an index when the same file is also met as one among
 * others. The holder of such locks registers here, and a file that may be an index is closed by
 * sb_close_kept: if it is registered, its descriptor stays open until the last holder is gone.
 *
 * The locks belong to the process, and so does this list. Thread-safe.
 */
#ifndef SB_CORE_KEPT_OPEN_H
#define SB_CORE_KEPT_OPEN_H

#include "core/error.h"

#include <stdbool.h>
#include <sys/stat.h>

/* `holder` is any unique pointer; one file each. */
enum sb_code sb_keep_open(const void *holder, const struct stat *file) SB_CHECKED;

/* The holder has released its locks. An unknown holder is allowed. */
void sb_keep_no_longer(const void *holder);

/* Are descriptors of this file kept? Then it is better not opened. */
bool sb_is_kept_open(const struct stat *file);

/* close, now or later. st: of the file, or NULL if the caller has not called fstat. */
void sb_close_kept(int fd, const struct stat *st);

#endif
