/*
 * A torchcachex cache that is written, or added to: as cache.h reads it, and the original.
 *
 * On disk: of a new cache, the directory .NAME.shardbox-new beside its own, whose files are synced
 * and which takes its name at the commit; of one that is replaced, the two change their names in
 * one step, and the old one is removed. Where a file system cannot do that, the old one is called
 * .NAME.shardbox-old for a moment in which there is none of its own name. Of one that is added to,
 * segments whose names end in .shardbox.tmp, which at the commit take the next free numbers, one
 * after the other and none over another's; then index.pkl is replaced (out/out_file.h), by which
 * the original finds keys: to it all of them are there at that moment, and from then on nothing is
 * undone, whatever fails. A run that is killed before leaves some of the segments, each whole, and
 * an index.pkl that does not know them, which the next run or `verify
 * --repair` writes anew. The next run of this writer puts back or removes the other left-overs.
 * .NAME.shardbox-lock beside it is held meanwhile (out/lock.h).
 *
 * The first row sets the schema, or the cache that is added to has set it: later rows have the same
 * fields, in whatever order; a tuple and a list are of one form. Belongs to one thread at a time.
 */
#ifndef SB_STORE_CACHE_WRITER_H
#define SB_STORE_CACHE_WRITER_H

#include "store/cache/cache.h"

struct sb_cache_writer_options {
    const char *path;
    bool append;          /* adds to a cache that is there; makes it where there is none */
    bool force;           /* replaces a cache that is there, with nothing else in its directory */
    int64_t segment_size; /* bytes of values and keys, before which a segment ends; 0: 64 MiB */
    int64_t segment_rows; /* 0: 65,536 */
    const struct sb_notify *notify;
};

struct sb_cache_writer;

/* SB_EXISTS, SB_INVALID: something else is there. SB_LOCKED: another process writes it. */
enum sb_code sb_cache_writer_open(struct sb_cache_writer **out,
                                  const struct sb_cache_writer_options *options) SB_CHECKED;
void sb_cache_writer_free(struct sb_cache_writer *writer); /* NULL is allowed; undoes */
FREEP(sb_cache_writer_free, struct sb_cache_writer)

/* What a row consists of. The columns' numbers in the fields are not looked at. */
struct sb_cache_form {
    enum sb_cache_structure structure;
    const struct sb_cache_field *fields;
    size_t field_count;
};

#define SB_CACHE_FIELDS_MOST 4096

/*
 * A row: its form and key and the bytes of all its values, then the values in the order that comes
 * back: order[i] is the number in form->fields of the one that comes as number i. It lives until
 * the next row. Of each value the array's type and shape (of a blob data_size alone), then its
 * bytes in one or more pieces; then the row's end. SB_INVALID: it is not of the form of the first
 * one, and the text says how ("x: has no 'features', which the first key has"); or a type, a name
 * or a key that the format cannot hold. SB_LIMIT: a value is larger than a segment can be.
 */
enum sb_code sb_cache_writer_begin_row(struct sb_cache_writer *writer,
                                       const struct sb_cache_form *form,
                                       const struct sb_row_key *key, int64_t bytes,
                                       const size_t **order) SB_CHECKED;
enum sb_code sb_cache_writer_value(struct sb_cache_writer *writer,
                                   const struct sb_npy *array) SB_CHECKED;
enum sb_code sb_cache_writer_write(struct sb_cache_writer *writer, const void *data,
                                   size_t size) SB_CHECKED;
enum sb_code sb_cache_writer_end_row(struct sb_cache_writer *writer) SB_CHECKED;
void sb_cache_writer_drop_row(struct sb_cache_writer *writer);

struct sb_cache_writer_counts {
    int64_t rows;
    int64_t bytes; /* of values */
    int64_t segments;
    int64_t foreign_keys; /* that do not begin with the name of the directory and ':', so that the
                             cache of that name would not look for them */
};
struct sb_cache_writer_counts sb_cache_writer_counts(const struct sb_cache_writer *writer);

/* Foreign keys are reported, once, as SB_WARNING ("key"). */
enum sb_code sb_cache_writer_commit(struct sb_cache_writer *writer) SB_CHECKED;

#endif
