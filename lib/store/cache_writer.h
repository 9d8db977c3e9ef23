/*
 * A torchcachex cache that is written, or added to: as cache.h reads it, and the original.
 *
 * On disk: of a new cache, a directory beside its own under a temporary name, that is synced and
 * renamed at the commit. Of one that is added to, segments under names that end in .tmp, which at
 * the commit are synced and take the next free numbers, one after the other and none over
 * another's; then index.pkl is replaced. A run that is killed between leaves some of its segments,
 * each whole, and an index.pkl that does not know them, which `verify --repair` writes anew. The
 * first row sets the schema, or the cache that is added to has set it. Belongs to one thread at a
 * time.
 */
#ifndef SB_STORE_CACHE_WRITER_H
#define SB_STORE_CACHE_WRITER_H

#include "store/cache.h"

struct sb_cache_writer_options {
    const char *path;
    bool append;          /* adds to a cache that is there; makes it where there is none */
    bool force;           /* replaces a cache that is there, and nothing else */
    int64_t segment_size; /* bytes of values, about; 0: 64 MiB */
    int64_t segment_rows; /* 0: 65,536 */
    const struct sb_notify *notify;
};

struct sb_cache_writer;

/* SB_EXISTS, SB_INVALID: something else is there. */
enum sb_code sb_cache_writer_open(struct sb_cache_writer **out,
                                  const struct sb_cache_writer_options *options,
                                  struct sb_error *err) SB_CHECKED;
void sb_cache_writer_free(struct sb_cache_writer *writer); /* NULL is allowed; undoes */

/* What a row consists of. The columns' numbers in the fields are not looked at. */
struct sb_cache_form {
    enum sb_cache_structure structure;
    const struct sb_cache_field *fields;
    size_t field_count;
};

/*
 * A row: its form and key, then for each field in its order the array's type and shape (of a blob
 * data_size alone) and its bytes in one or more pieces, then its end. SB_INVALID: it is not of the
 * form of the first one, and the text says how ("key 'x': has no 'features'"); or a type that the
 * format cannot hold.
 */
enum sb_code sb_cache_writer_begin_row(struct sb_cache_writer *writer,
                                       const struct sb_cache_form *form,
                                       const struct sb_cache_key *key,
                                       struct sb_error *err) SB_CHECKED;
enum sb_code sb_cache_writer_value(struct sb_cache_writer *writer, const struct sb_npy *array,
                                   struct sb_error *err) SB_CHECKED;
enum sb_code sb_cache_writer_write(struct sb_cache_writer *writer, const void *data, size_t size,
                                   struct sb_error *err) SB_CHECKED;
enum sb_code sb_cache_writer_end_row(struct sb_cache_writer *writer,
                                     struct sb_error *err) SB_CHECKED;
enum sb_code sb_cache_writer_drop_row(struct sb_cache_writer *writer,
                                      struct sb_error *err) SB_CHECKED;

struct sb_cache_writer_counts {
    int64_t rows;
    int64_t bytes; /* of values */
    int64_t segments;
    int64_t foreign_keys; /* that do not begin with the name of the directory and ':', so that the
                             cache of that name would not look for them */
};
struct sb_cache_writer_counts sb_cache_writer_counts(const struct sb_cache_writer *writer);

enum sb_code sb_cache_writer_commit(struct sb_cache_writer *writer,
                                    struct sb_error *err) SB_CHECKED;

/* Writes index.pkl of a cache anew, from its segments: atomically. cache: that one directory. */
enum sb_code sb_cache_write_index(struct sb_cache *cache, const char *dir,
                                  struct sb_error *err) SB_CHECKED;

#endif
