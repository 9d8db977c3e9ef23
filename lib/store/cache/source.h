/*
 * Members of a cache that is open: of all its segments, or of one.
 */
#ifndef SB_STORE_CACHE_SOURCE_H
#define SB_STORE_CACHE_SOURCE_H

#include "store/cache/cache.h"
#include "store/source.h"

/*
 * As sb_source_open_cache, of a cache that is the caller's and stays open as long; its rows are
 * gone through. segment: of rows in this one alone, so that what is located lies in its file;
 * SB_CACHE_NOWHERE: of all.
 */
enum sb_code sb_source_over_cache(struct sb_source **out, struct sb_cache *cache, uint32_t segment,
                                  const char *name, const struct sb_source_options *options,
                                  const struct sb_notify *notify) SB_CHECKED;

#endif
