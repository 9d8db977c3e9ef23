/*
 * ls of caches: a row for each key, or for each array of each key; and of directories that hold
 * caches, a row for each of these.
 */
#ifndef SB_CMD_LS_CACHE_H
#define SB_CMD_LS_CACHE_H

#include <stdbool.h>
#include <stddef.h>

struct sb_store;

struct ls_cache {
    bool details, human, json, count;
    bool all; /* superseded rows, too */
    bool nul;
    const char *files_from; /* keys; NULL: none */
};

/* The command, from its operands on: the first of them is a cache. Returns the exit status. */
int ls_cache(const struct ls_cache *wanted, struct sb_store *store, char **keys, size_t key_count);

/* Of the options parsed last, one that means nothing for caches, without "--"; or NULL. */
const char *ls_cache_clash(void);

/* And where it is a directory of caches. */
int ls_caches(const struct ls_cache *wanted, const char *path, size_t key_count);

#endif
