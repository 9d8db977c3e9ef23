/*
 * torchcachex caches, and directories that hold several, for commands that read them.
 */
#ifndef SB_CMD_OPEN_CACHE_OPENING_H
#define SB_CMD_OPEN_CACHE_OPENING_H

#include "open/opening.h"
#include "store/cache/cache.h"
#include "store/table.h"

/* Is it a directory of caches, and not itself one? */
bool holds_caches(const struct sb_store *store);

/* Opens each cache in the directory and passes it to `take`, with its path and its name. An error
 * of one is printed, and the others follow, unless it ends the work. */
typedef enum sb_code take_cache(void *context, struct sb_table *table, const char *path,
                                const char *name);
enum sb_code each_cache(const char *path, take_cache *take, void *context) SB_CHECKED;

/* "key 'x': what is wrong", as a problem. */
void complain_of_key(const struct sb_row_key *key, const char *what);

#endif
