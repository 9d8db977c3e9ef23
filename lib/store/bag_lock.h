/*
 * The lock of who writes a bag or a set: .NAME.shardbox-lock beside it, gone with the process that
 * holds it. An append keeps its journal in it.
 *
 * Belongs to whoever holds the struct.
 */
#ifndef SB_STORE_BAG_LOCK_H
#define SB_STORE_BAG_LOCK_H

#include "core/error.h"

struct sb_bag_lock {
    int fd; /* -1: not held */
    char *path;
};

/*
 * Makes the file, or takes over the one that a killed run left, as it is. `name` is what is to be
 * written, for messages. SB_LOCKED while another process writes it, or where locks do not work
 * and the file is there already.
 */
enum sb_code sb_bag_lock_take(struct sb_bag_lock *lock, const char *path, const char *name,
                              struct sb_error *err) SB_CHECKED;

/* Removes the file. A lock that is not held is allowed. */
void sb_bag_lock_drop(struct sb_bag_lock *lock);

/* Leaves the file to the next writer. */
void sb_bag_lock_leave(struct sb_bag_lock *lock);

#endif
