/*
 * du of caches: keys, rows and bytes of each segment; and of directories that hold caches, of each
 * of these.
 */
#ifndef SB_CMD_DU_CACHE_H
#define SB_CMD_DU_CACHE_H

#include <stdbool.h>
#include <stddef.h>

struct sb_store;

struct du_cache {
    bool human, json, summarize;
};

/* The command, from its operands on: the first of them is a cache. Returns the exit status. */
int du_cache(const struct du_cache *wanted, struct sb_store *store, int operands);

/* And where it is a directory of caches. */
int du_caches(const struct du_cache *wanted, const char *path, int operands);

#endif
