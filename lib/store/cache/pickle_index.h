/*
 * index.pkl of a torchcachex cache: a pickled dict of keys and places, read without being executed.
 *
 * Of pickle (Python's pickletools says what each opcode is) only what such a dict consists of is
 * taken: PROTO, FRAME, EMPTY_DICT, MARK, the texts, MEMOIZE and the PUTs, the ints, TUPLE2,
 * SETITEM, SETITEMS and STOP. Anything else ends the reading with SB_FORMAT, and so does what does
 * not fit together: it is then ignored as a whole. Nothing is allocated on its word. Thread-safe.
 */
#ifndef SB_STORE_CACHE_PICKLE_INDEX_H
#define SB_STORE_CACHE_PICKLE_INDEX_H

#include "core/io.h"

#include <stddef.h>

struct sb_pickle_entry {
    const char *key; /* in the data */
    size_t key_size;
    int64_t segment;
    int64_t row;
};

/* Gives `each` every entry, in order; what that returns other than SB_OK ends it. */
enum sb_code sb_pickle_index_read(const void *data, size_t size,
                                  enum sb_code (*each)(void *context,
                                                       const struct sb_pickle_entry *entry),
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

#endif
