/*
 * index.pkl of a torchcachex cache, written anew: whole or not at all, by out/out_file.h. The job
 * that the cache belongs to reads it as its own user: it has the mode, and where that can be the
 * owner, of the one that it replaces.
 */
#ifndef SB_STORE_CACHE_INDEX_H
#define SB_STORE_CACHE_INDEX_H

#include "store/cache/cache.h"
#include "store/cache/pickle_index.h"

#include <sys/stat.h>

struct sb_cache_index {
    char *path;
    struct stat before; /* of what is replaced */
    bool existing;      /* there is something */
    struct sb_outfile *file;
    struct sb_pickle_writer entries; /* for sb_pickle_index_add */
};

/* Of the cache in dir. {0} may be released. SB_EXISTS: what is there is no regular file. */
enum sb_code sb_cache_index_begin(struct sb_cache_index *index, const char *dir) SB_CHECKED;

/* *done: it is there by now, also where this fails. */
enum sb_code sb_cache_index_commit(struct sb_cache_index *index, bool *done) SB_CHECKED;
void sb_cache_index_release(struct sb_cache_index *index);

/*
 * The whole of it, from the segments of the cache in dir, which is that one directory. SB_CHANGED:
 * since the cache was opened a job has written a segment, or an index, which is left alone. *done
 * as above.
 */
enum sb_code sb_cache_write_index(struct sb_cache *cache, const char *dir, bool *done) SB_CHECKED;

#endif
