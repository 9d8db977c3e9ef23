/*
 * The parts of the writer of caches.
 */
#ifndef SB_STORE_CACHE_WRITER_PRIVATE_H
#define SB_STORE_CACHE_WRITER_PRIVATE_H

#include "store/arrow/writer.h"
#include "store/cache/impl.h"
#include "store/cache/index.h"
#include "store/cache/writer.h"
#include "store/out/lock.h"
#include "store/out/out_file.h"

#define SB_CACHE_TEMPORARY ".shardbox.tmp"

/* What a cache is called that is being replaced: DIR/.NAME and this. */
#define SB_CACHE_OLD_SUFFIX ".shardbox-old"

/* What a row must be, of the writer's own memory. */
struct sb_cache_columns {
    bool known;
    enum sb_cache_structure structure;
    struct sb_cache_field *fields; /* data and shape are columns of the file */
    size_t count;
    size_t *order; /* of the present row */
    struct sb_arrow_column *columns;
    size_t column_count;
};

struct sb_cache_writer {
    struct sb_cache_writer_options options;
    char *name;        /* for messages: as it was given */
    char *path;        /* without links */
    const char *title; /* the last component of path */
    struct sb_out_lock lock;
    bool existing;      /* it is added to */
    bool replaces;      /* something is there that is replaced */
    struct sb_buf work; /* the directory that is written in */
    bool made;          /* which was made, and is removed unless the commit renames it */

    int64_t *numbers; /* of the existing segments, increasing */
    size_t number_count, number_capacity;
    int64_t base;    /* number of the first new segment */
    int64_t written; /* new segments, finished */
    int64_t renamed; /* of these, that have their own names */
    bool done;       /* nothing is to be undone any more */

    struct sb_cache_columns columns;
    struct sb_arrow_pair pair; /* the schema's metadata, */
    struct sb_buf tensor_keys; /* and its value */
    struct sb_arrow_writer *segment;
    int64_t segment_bytes;         /* of its values and keys */
    struct sb_pickle_writer index; /* of the new rows: index.pkl, or where there is one, a temporary
                                      file, whose entries are added to it */
    int index_fd;
    struct sb_outbuf index_out;

    /* The present row. */
    struct sb_buf key;
    bool in_row;
    bool in_value;
    size_t value; /* the next one */
    int64_t left; /* bytes of the one that is written */
    int64_t row_bytes;

    struct sb_cache_writer_counts counts;
};

/* cache/writer_form.c */

/* Vets the form, and takes it over. */
enum sb_code sb_cache_columns_set(struct sb_cache_columns *layout, const struct sb_cache_form *form,
                                  const char *subject) SB_CHECKED;
void sb_cache_columns_release(struct sb_cache_columns *layout);

/* Fills in layout->order for a row of this form. */
enum sb_code sb_cache_columns_arrange(struct sb_cache_columns *layout,
                                      const struct sb_cache_form *form,
                                      const char *subject) SB_CHECKED;

/* The schema's metadata: at most one pair. Its value lives as long as `value`. */
enum sb_code sb_cache_schema_pair(const struct sb_cache_columns *layout, struct sb_buf *value,
                                  struct sb_arrow_pair *pair, size_t *count) SB_CHECKED;

/* Appends schema.json. */
enum sb_code sb_cache_schema_text(const struct sb_cache_columns *layout,
                                  struct sb_buf *out) SB_CHECKED;

/* cache/writer_dir.c */

/* Takes path and lock, looks at what is there, and makes what is to be written in. */
enum sb_code sb_cache_writer_prepare(struct sb_cache_writer *writer) SB_CHECKED;

/* SB_EXISTS: the directory of the existing cache has something in it that is not a cache's. */
enum sb_code sb_cache_vet(const struct sb_cache_writer *writer) SB_CHECKED;

/* Removes the directory of a cache, with all that may be in one. What is not there is no error. */
enum sb_code sb_cache_remove_all(const char *path) SB_CHECKED;

/* Replaces out by the path of a new segment, which is final or not. */
enum sb_code sb_cache_new_segment_name(const struct sb_cache_writer *writer, int64_t segment,
                                       bool final, struct sb_buf *out) SB_CHECKED;

/* A new file, or the same anew. */
enum sb_code sb_cache_create_file(int *fd, const char *path) SB_CHECKED;

#endif
