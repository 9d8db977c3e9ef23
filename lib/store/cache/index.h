/*
 * index.pkl of a torchcachex cache: a pickled dict of keys and places, read without being executed.
 *
 * Of pickle (Python's pickletools says what each opcode is) only what such a dict consists of is
 * taken: PROTO, FRAME, EMPTY_DICT, MARK, the texts, MEMOIZE and the PUTs, the ints, TUPLE2,
 * SETITEM, SETITEMS and STOP. Anything else ends the reading with SB_FORMAT, and so does what does
 * not fit together: it is then ignored as a whole. Nothing is allocated on its word. Thread-safe.
 *
 * The file is written whole or not at all, by out/out_file.h. The job that the cache belongs to
 * reads it as its own user: it has the mode, and where that can be the owner, of the one that it
 * replaces.
 */
#ifndef SB_STORE_CACHE_INDEX_H
#define SB_STORE_CACHE_INDEX_H

#include "core/io.h"
#include "store/cache/cache.h"

#include <sys/stat.h>

struct sb_pickle_entry {
    const char *key; /* in the data */
    size_t key_size;
    int64_t segment;
    int64_t row;
};

/* Gives `each` every entry, in order; what that returns other than SB_OK ends it. */
typedef enum sb_code sb_pickle_each(void *context, const struct sb_pickle_entry *entry);
enum sb_code sb_pickle_index_read(const void *data, size_t size, sb_pickle_each *each,
                                  void *context) SB_CHECKED;

/* Writing one, as Python's pickle of protocol 4 reads it: begin, entries, end. Few bytes at a time
 * go to `each`, whose failure is returned. */
struct sb_pickle_writer {
    sb_each_block *each;
    void *context;
    int64_t entries;
};
enum sb_code sb_pickle_index_begin(struct sb_pickle_writer *writer, sb_each_block *each,
                                   void *context) SB_CHECKED;
enum sb_code sb_pickle_index_add(struct sb_pickle_writer *writer,
                                 const struct sb_pickle_entry *entry) SB_CHECKED;
enum sb_code sb_pickle_index_end(struct sb_pickle_writer *writer) SB_CHECKED;

struct sb_cache_index {
    struct sb_buf path;
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
