/*
 * The lock of who writes a bag, a set or a cache: .NAME.shardbox-lock beside it, gone with the
 * process that holds it. An append keeps its journal in it. torchcachex has none for its caches,
 * and does not look at this one. An output that is one file has none: it is locked itself while it
 * is made (out/temporary.h).
 *
 * Belongs to whoever holds the struct.
 */
#ifndef SB_STORE_OUT_LOCK_H
#define SB_STORE_OUT_LOCK_H

#include "core/error.h"

#include <stdbool.h>

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

#endif
