/*
 * The name under which an output that is one file is made: DIR/.NAME.shardbox-out for DIR/NAME.
 *
 * It belongs to that output, so that there is never more than one of them, and its maker holds a
 * lock on it (out/lock.h) until it is renamed. A file of this name that is not locked was left by a
 * killed run, and the next run removes it: a regular file that has no other name. Names of this
 * form are shardbox's own, since no other mark says that a tar or a zip is not whole. Anything else
 * there is refused: a directory, a link, a file of several names.
 *
 * Where it would be longer than 255 bytes, the first bytes of NAME and a checksum stand for the
 * whole. Thread-safe.
 */
#ifndef SB_STORE_OUT_TEMPORARY_H
#define SB_STORE_OUT_TEMPORARY_H

#include "core/buf.h"
#include "store/out/lock.h"

#include <sys/stat.h>

#define SB_OUT_SUFFIX ".shardbox-out"

/* DIR/.NAME and the suffix, for DIR/NAME: other files beside an output until it is done. Replaces
 * what the buffer holds. */
enum sb_code sb_out_hide(const char *path, const char *suffix, struct sb_buf *out) SB_CHECKED;

/* Likewise. */
enum sb_code sb_out_temporary_name(const char *path, struct sb_buf *out) SB_CHECKED;

/* Makes it, empty and with a mode by the umask. As sb_out_lock_take; name: for messages. */
enum sb_code sb_out_temporary_make(struct sb_out_lock *lock, const char *path,
                                   const char *name) SB_CHECKED;

/* SB_EXISTS unless force, or where what is there under that name is not a regular file. */
enum sb_code sb_out_refuse(const char *path, const struct stat *st, bool force) SB_CHECKED;

/* Removes it where it is another name of the output itself: a run that was killed when it had given
 * the output its name left that (sb_rename_new). */
void sb_out_temporary_finish(const char *path);

#endif
