/*
 * The lock of who writes a torchcachex cache, or repairs it: .NAME.shardbox-lock beside its
 * directory (bag/lock.h). torchcachex has none, and does not look at it.
 */
#ifndef SB_STORE_CACHE_LOCK_H
#define SB_STORE_CACHE_LOCK_H

#include "store/bag/lock.h"

/* path: of the cache, absolute; name: for messages. As sb_bag_lock_take. */
enum sb_code sb_cache_lock_take(struct sb_bag_lock *lock, const char *path, const char *name,
                                struct sb_error *err) SB_CHECKED;

#endif
