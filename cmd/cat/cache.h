/*
 * What `cat` does with caches: arrays by their keys.
 */
#ifndef SB_CMD_CAT_CACHE_H
#define SB_CMD_CAT_CACHE_H

#include "cat/records.h"
#include "store/array/name.h"

/* Of the options parsed last, one that means nothing for a cache, without "--"; or NULL. */
const char *cat_cache_clash(void);

/* Does all of it; returns the exit status. */
int cat_cache(const struct cat_request *request, enum sb_array_as as);

#endif
