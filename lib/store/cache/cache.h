/*
 * torchcachex caches, for reading: rows of Arrow files, found by their keys.
 *
 * The format (dahlem/torchcachex, src/torchcachex/backend.py): DIR/segments/segment_NUMBER.arrow,
 * one record batch each (arrow.h), with a column `key`. Of a key that occurs several times the last
 * row counts, by the number of the segment and then the row. index.pkl (index.h) and
 * schema.json beside them are never needed: the first shortens a search, where it proves right, and
 * the second distinguishes a list from a tuple. *.tmp are left-overs of a crash, and are not looked
 * at.
 *
 * Several directories are one cache: their rows follow each other, and the last row of a key
 * counts.
 *
 * Opening lists the directories. A segment is mapped when first needed, and only some of them at a
 * time. A fault in a segment is reported once, and the segment then has no rows. Memory is some
 * bytes for each segment, a table of 64 MiB while superseded rows are looked for, and a bit for
 * each row. A cache belongs to one thread; readers, one for each thread, may be used beside each
 * other and beside the cache itself.
 */
#ifndef SB_STORE_CACHE_CACHE_H
#define SB_STORE_CACHE_CACHE_H

#include "core/buf.h"
#include "store/array/npy.h"
#include "store/arrow/arrow.h"
#include "store/table.h"

#include <stdbool.h>
#include <stddef.h>

struct sb_cache;

/* Names of its files; pure functions */

/* segment_000012.arrow: any number of digits that fit an int64_t. False: it is no segment. */
bool sb_cache_segment_number(const char *name, int64_t *number);

/*
 * What a writer leaves that was killed: the name of a segment, of index.pkl or schema.json with
 * ".tmp" after it, as torchcachex has it, or ".shardbox.tmp", as cache/writer.h has it; or the
 * temporary name of one of the latter two (out/lock.h), or one that earlier versions made.
 */
bool sb_cache_is_leftover(const char *name);

/* Is it the directory of a cache: one whose directory `segments` has a segment, or nothing but
 * left-overs and an index.pkl or schema.json beside it? */
bool sb_is_cache(const char *path);

/* Gives `each` the directories in path that are caches, by their paths and names, sorted. SB_END:
 * there is none. */
enum sb_code sb_cache_list(const char *path,
                           enum sb_code (*each)(void *context, const char *path, const char *name),
                           void *context) SB_CHECKED;

/* dirs are kept. What is wrong with a segment is reported as SB_PROBLEM ("damaged"), now or when it
 * is first needed, and the rest is used. SB_FORMAT: one of them is no cache. */
enum sb_code sb_cache_open(struct sb_cache **out, const char *const *dirs, size_t count,
                           const struct sb_notify *notify) SB_CHECKED;
void sb_cache_free(struct sb_cache *cache); /* NULL is allowed */
FREEP(sb_cache_free, struct sb_cache)

enum sb_cache_structure {
    SB_CACHE_TENSOR,
    SB_CACHE_DICT,
    SB_CACHE_TUPLE,
    SB_CACHE_LIST,
    SB_CACHE_BLOB,
};
extern const char *const sb_cache_structure_words[];

/* One thing that a key has: by the columns of its segment. */
struct sb_cache_field {
    const char *name; /* of a dict or "item0", ...; "" of a tensor or blob alone */
    bool blob;        /* a pickle: bytes */
    enum sb_dtype dtype;
    size_t data;  /* columns */
    size_t shape; /* not of a blob */
};

struct sb_cache_segment {
    const char *path;
    size_t dir;     /* of those given */
    int64_t number; /* in its name */
    int64_t bytes;  /* of the file */
    int64_t rows;   /* 0 where it cannot be read */
    enum sb_cache_structure structure;
    const struct sb_cache_field *fields;
    size_t field_count;
    bool damaged;
};
uint32_t sb_cache_segment_count(const struct sb_cache *cache);

/* Maps it where need be: what is said lives as long as the cache. */
enum sb_code sb_cache_segment(struct sb_cache *cache, uint32_t segment,
                              struct sb_cache_segment *out) SB_CHECKED;

/* SB_INVALID: no segment has an array of that name; `subject` is what the message calls the cache.
 */
enum sb_code sb_cache_need_array(struct sb_cache *cache, const char *name,
                                 const char *subject) SB_CHECKED;

struct sb_cache_place {
    uint32_t segment; /* in the order of the cache, not its number */
    int64_t row;
};
#define SB_CACHE_NOWHERE UINT32_MAX /* as a segment: there is no such key */

/*
 * Where these keys count: by index.pkl where there is one, whose every answer is held against the
 * segment, and by a look through key columns for what it does not know or what proves wrong; so
 * that a stale index costs time alone. One that names an earlier row of a key than the one that
 * counts, though it knows the segment that has that, may be believed, as the original does.
 */
enum sb_code sb_cache_find(struct sb_cache *cache, const struct sb_row_key *keys, size_t count,
                           struct sb_cache_place *places) SB_CHECKED;

/*
 * All rows in order; which of them count is found at the first call. SB_END after the last;
 * SB_INTERRUPT. seek goes on with the first row of a segment, rewind with the first of all.
 */
struct sb_cache_row {
    struct sb_cache_place place;
    struct sb_row_key key; /* lives until the next call on the cache */
    bool superseded;
};
enum sb_code sb_cache_next(struct sb_cache *cache, struct sb_cache_row *row) SB_CHECKED;
void sb_cache_seek(struct sb_cache *cache, uint32_t segment);
void sb_cache_rewind(struct sb_cache *cache);

/* Rows in all, and those that count: reads all keys, once. */
enum sb_code sb_cache_count(struct sb_cache *cache, int64_t *rows, int64_t *live) SB_CHECKED;

/* Where the row is that has this number among those that count, or among `all`. SB_INVALID: there
 * is none. */
enum sb_code sb_cache_row_at(struct sb_cache *cache, int64_t number, bool all,
                             struct sb_cache_place *out) SB_CHECKED;

/* Of a row that such a call found. */
bool sb_cache_superseded(const struct sb_cache *cache, struct sb_cache_place place);

struct sb_cache_reader;
enum sb_code sb_cache_reader_new(struct sb_cache_reader **out, struct sb_cache *cache) SB_CHECKED;
void sb_cache_reader_free(struct sb_cache_reader *reader); /* NULL is allowed; before its cache */
FREEP(sb_cache_reader_free, struct sb_cache_reader)

/* One value. It lives until the next call on the reader. */
struct sb_cache_value {
    struct sb_npy array;       /* type and shape; of a blob, data_size alone */
    const unsigned char *data; /* array.data_size bytes; bools are bytes of 0 and 1 */
    int64_t offset;            /* in the segment's file; -1 where bytes are not there as they are */
    int64_t shape_offset;      /* likewise, of array.dims int64 */
};

/* SB_DAMAGED: offsets lead out of the file, the shape does not fit the number of values, or the
 * file has shrunk; the text does not name the key. Call sb_cache_reader_check before `data` is
 * relied on that was used after this call. */
enum sb_code sb_cache_value(struct sb_cache_reader *reader, struct sb_cache_place place,
                            size_t field, struct sb_cache_value *out) SB_CHECKED;

/* A value as the bytes of a file. */
struct sb_cache_part {
    struct sb_cache_value value; /* without its data */
    int64_t size;                /* of the file */

    /* Of reader.c alone: */
    struct sb_cache_place place;
    struct sb_arrow_value raw;
    size_t head_size;
};

/*
 * Finds one of this form: SB_FORM_NPY, of a blob the same as SB_FORM_PICKLE; SB_FORM_RAW: the value
 * alone; SB_FORM_SHAPE. The values themselves are not read. SB_DAMAGED as of sb_cache_value.
 */
enum sb_code sb_cache_part_find(struct sb_cache_reader *reader, struct sb_cache_place place,
                                size_t field, enum sb_array_form form,
                                struct sb_cache_part *out) SB_CHECKED;

/*
 * Of the part that the reader found last, copies the `size` bytes from `at` on, which must be
 * within it, and sees that they were all there: bools, too, are bytes, and take no memory but
 * these. SB_DAMAGED: the file has shrunk.
 */
enum sb_code sb_cache_part_copy(struct sb_cache_reader *reader, const struct sb_cache_part *part,
                                int64_t at, size_t size, void *out) SB_CHECKED;

/* The same of some bytes from `at` on, which live until the next call on the reader. */
enum sb_code sb_cache_part_block(struct sb_cache_reader *reader, const struct sb_cache_part *part,
                                 int64_t at, const void **data, size_t *size) SB_CHECKED;

enum sb_code sb_cache_reader_check(struct sb_cache_reader *reader) SB_CHECKED;

/* Of the row that was looked at last: what one of its fields is called, or "". */
const char *sb_cache_field_name(const struct sb_cache_reader *reader, size_t field);

/* The key of a row. */
enum sb_code sb_cache_key_at(struct sb_cache_reader *reader, struct sb_cache_place place,
                             struct sb_row_key *out) SB_CHECKED;

/* Members of a cache */

struct sb_source;
struct sb_source_options;

/*
 * As sb_source_open_cache, of a cache that is the caller's and stays open as long; its rows are
 * gone through. segment: of rows in this one alone, so that what is located lies in its file;
 * SB_CACHE_NOWHERE: of all.
 */
enum sb_code sb_source_over_cache(struct sb_source **out, struct sb_cache *cache, uint32_t segment,
                                  const char *name, const struct sb_source_options *options,
                                  const struct sb_notify *notify) SB_CHECKED;

/* schema.json into out, which is empty, that of the cache in dir, followed by a NUL. SB_NOENT:
 * there is none. SB_FORMAT: it cannot be read, or has more than a megabyte; the text says so
 * without its name. */
enum sb_code sb_cache_load_schema(const char *dir, struct sb_buf *out) SB_CHECKED;

#endif
