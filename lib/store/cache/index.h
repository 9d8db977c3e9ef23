/*
 * index.pkl of a torchcachex cache, written anew from its segments.
 */
#ifndef SB_STORE_CACHE_INDEX_H
#define SB_STORE_CACHE_INDEX_H

#include "store/cache/cache.h"

/*
 * Of the cache in dir, which is that one directory: by out/out_file.h, with the mode and owner of
 * the one that stands. SB_CHANGED: since the cache was opened a job has written a segment, or an
 * index, which is left alone. SB_EXISTS: what stands there is no regular file.
 */
enum sb_code sb_cache_write_index(struct sb_cache *cache, const char *dir,
                                  struct sb_error *err) SB_CHECKED;

#endif
