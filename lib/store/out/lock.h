/*
 * The files beside an output while it is written, each locked by its writer, and gone with it.
 *
 * .NAME.shardbox-lock, of who writes a bag, a set or a cache; an append keeps its journal in it.
 * torchcachex has none for its caches, and does not look at this one.
 *
 * .NAME.shardbox-out, under which an output that is one file is made, and so needs no other lock.
 * It belongs to that output, so that there is never more than one of them, and its maker holds a
 * lock on it until it is renamed. A file of this name that is not locked was left by a killed run,
 * and the next run removes it: a regular file that has no other name. Names of this form are
 * shardbox's own, since no other mark says that a tar or a zip is not whole. Anything else there is
 * refused: a directory, a link, a file of several names. Where the name would be longer than 255
 * bytes, the first bytes of NAME and a checksum stand for the whole.
 *
 * Thread-safe, but for a struct, which belongs to its holder.
 */
#ifndef SB_STORE_OUT_LOCK_H
#define SB_STORE_OUT_LOCK_H

#include "core/buf.h"

#include <stdbool.h>
#include <sys/stat.h>

struct sb_out_lock {
    int fd; /* -1: not held */
    char *path;
    bool made; /* by this process: nothing was there */
};

/*
 * Makes the file, or takes over the one that a killed run left, as it is: a regular file that has
 * no other name. `name` is what is to be written, for messages. SB_LOCKED while another process
 * writes it, or where locks do not work and the file is there already; SB_EXISTS: what is there is
 * nothing that a run left.
 */
enum sb_code sb_out_lock_take(struct sb_out_lock *lock, const char *path,
                              const char *name) SB_CHECKED;

#define SB_OUT_LOCK_SUFFIX ".shardbox-lock"

/* Likewise, of the file beside what is at `path`; what is in it must be a journal or its beginning,
 * zeros (which a power failure may leave of one), or nothing. */
enum sb_code sb_out_lock_take_beside(struct sb_out_lock *lock, const char *path,
                                     const char *name) SB_CHECKED;

/* What every journal begins with. */
#define SB_OUT_JOURNAL "shardbox append to "

/* Removes the file, unless its name is another one's by now. A lock that is not held is allowed. */
void sb_out_lock_drop(struct sb_out_lock *lock);

/* Leaves the file to the next writer. */
void sb_out_lock_leave(struct sb_out_lock *lock);

#define SB_OUT_SUFFIX ".shardbox-out"

/* DIR/.NAME and the suffix, for DIR/NAME: other files beside an output until it is done. Replaces
 * what the buffer holds. */
enum sb_code sb_out_hide(const char *path, const char *suffix, struct sb_buf *out) SB_CHECKED;

/* Likewise with SB_OUT_SUFFIX, cut where it would be too long. */
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
