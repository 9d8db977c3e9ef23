/*
 * torchcachex caches, and directories that hold several, for commands that read them.
 */
#ifndef SB_CMD_OPEN_CACHE_OPENING_H
#define SB_CMD_OPEN_CACHE_OPENING_H

#include "open/opening.h"
#include "store/cache/cache.h"

/* Is it no cache itself, but a directory that has some? */
bool holds_caches(const struct sb_store *store);

/* "key 'x': what is wrong", as a problem. */
void complain_of_key(const struct sb_cache_key *key, const char *what);

#endif
