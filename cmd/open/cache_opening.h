/*
 * torchcachex caches, and directories that hold several, for commands that read them.
 */
#ifndef SB_CMD_OPEN_CACHE_OPENING_H
#define SB_CMD_OPEN_CACHE_OPENING_H

#include "open/opening.h"
#include "store/cache/cache.h"

/* Is it no cache itself, but a directory that has some? */
bool holds_caches(const struct sb_store *store);

/* What it has to say is printed. SB_FORMAT: it is none, or none of its segments can be read. */
enum sb_code open_cache(struct sb_cache **out, struct sb_store *store,
                        struct sb_error *err) SB_CHECKED;

/* The cache at a path, with its store, which is freed after it. */
enum sb_code open_cache_at(struct sb_store **store, struct sb_cache **out, const char *path,
                           struct sb_error *err) SB_CHECKED;

/* Are the arrays of --array in the cache? SB_INVALID: one is not. */
enum sb_code need_given_arrays(struct sb_cache *cache, const char *path,
                               struct sb_error *err) SB_CHECKED;

/* "key 'x': what is wrong", as a problem. */
void complain_of_key(const struct sb_cache_key *key, const char *what);

#endif
