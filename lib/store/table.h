/*
 * A container as a table: rows, found by number or by key, each with one or more columns; where
 * they meet is a cell, which is bytes.
 *
 * Tables are a bag, of one column without a name; a set of Syrah files, whose columns are its
 * arrays; a cache, where the segment of a row says which columns it has; samples
 * (samples/samples.h), which have those of their files. A kind fills in a struct
 * that begins with struct sb_table, in its table.c. A table belongs to one thread; what a reader is
 * made of may be used by any number of them, and each reader by one.
 */
#ifndef SB_STORE_TABLE_H
#define SB_STORE_TABLE_H

#include "core/buf.h"
#include "core/extent.h"
#include "core/io.h"
#include "store/array/name.h"

#include <stdbool.h>

struct sb_bag;
struct sb_facts;
struct sb_listing;
struct sb_record_names;
struct sb_syrah_set;
struct sb_table;
struct sb_usage;
struct sb_usage_options;

struct sb_cell {
    int64_t row;
    uint32_t column;
    bool npy; /* given out as a .npy file */
};

/* A cell that was looked up; places sort as the bytes lie on disk. */
struct sb_stored_cell {
    struct sb_cell cell;
    struct sb_place place;
    struct sb_extent extent;
};

struct sb_column {
    const char *name; /* "" of the only one, which has none; lives until the next call, where all
                         rows have the same columns as long as the table */
    enum sb_array_form form; /* of its files: SB_FORM_NPY, of dtype none where they are kept so */
    enum sb_dtype dtype;
};

#define SB_NO_ROW (-1)

/* What a row is called: any bytes. */
struct sb_row_key {
    const char *text;
    size_t size;
};

/* A file that a table is made of, or that is a part of it. */
struct sb_table_part {
    const char *path; /* as long as the table */
    int64_t rows;
    int64_t bytes;         /* of rows alone, where these are by themselves; else of the file */
    bool zstd;             /* rows are compressed, each by itself */
    bool separate;         /* there is a limits file (bag.h) */
    const char *structure; /* as facts.h has it; NULL: rows have none, or it is damaged */
};

/* What is damaged has its subject before it, where nothing else is said. */
struct sb_table_ops {
    void (*free)(struct sb_table *table); /* but for the struct itself */

    /* How many rows there are, by number. */
    enum sb_code (*count)(struct sb_table *table, int64_t *count, struct sb_error *err);

    /* The row of a number. NULL: the number is the row. */
    enum sb_code (*row)(struct sb_table *table, int64_t number, int64_t *row, struct sb_error *err);

    /* Its columns; this and the next two are NULL of a table with a single column, without name. */
    enum sb_code (*columns)(struct sb_table *table, int64_t row, uint32_t *count,
                            struct sb_error *err);

    /* One column of the row that was asked for last; and by its name, -1: it has none such. */
    struct sb_column (*column)(struct sb_table *table, uint32_t column);
    int64_t (*find)(struct sb_table *table, const char *name, size_t size);

    /* SB_INVALID: no row has such a column. NULL: `find` tells. */
    enum sb_code (*need)(struct sb_table *table, const char *name, struct sb_error *err);

    /* Appends what the row is called as a member: "00000017", a key. NULL: it has no name but its
     * number. */
    enum sb_code (*row_name)(struct sb_table *table, int64_t row, struct sb_buf *out,
                             struct sb_error *err);

    /* Where rows of these names are, SB_NO_ROW: nowhere; *bytes: about so many those take that were
     * found. NULL: rows have no names by which they could be found. */
    enum sb_code (*find_rows)(struct sb_table *table, const struct sb_row_key *keys, size_t count,
                              int64_t *rows, int64_t *bytes, struct sb_error *err);

    /* A file by its number. SB_END: there are no more. NULL: no files are its own. */
    enum sb_code (*part)(struct sb_table *table, uint32_t number, struct sb_table_part *out,
                         struct sb_error *err);

    /* Fills in what is known (facts.h) of a row, NULL: nothing but its number; and of a column of
     * the row that was looked at last. What is damaged is a fact, whose text may be that of err. */
    enum sb_code (*describe_row)(struct sb_table *table, int64_t row, struct sb_facts *facts,
                                 struct sb_error *err);
    enum sb_code (*describe)(struct sb_table *table, int64_t row, uint32_t column,
                             struct sb_facts *facts, struct sb_error *err);

    /* NULL: rows are not records of bytes, to be looked at many at once and found by what they
     * hold. Of the table. */
    struct sb_bag *(*records)(struct sb_table *table);

    /* How much there is, as sb_table_usage (usage.h) has it. */
    enum sb_code (*usage)(struct sb_table *table, const struct sb_usage_options *options,
                          struct sb_usage *usage, struct sb_error *err);

    /* For a worker. */
    enum sb_code (*reader_new)(const struct sb_table *table, void **out, struct sb_error *err);
    void (*reader_free)(void *reader);

    /* Where its stored bytes are, which are read many at a time. All three NULL: there are none to
     * be read, and decode has all that it needs. */
    struct sb_place (*place_of)(const struct sb_table *table, const struct sb_cell *cell);
    enum sb_code (*extents)(void *reader, struct sb_place first, size_t count,
                            struct sb_extent *out, size_t *good, struct sb_error *err);
    enum sb_code (*read)(void *reader, uint32_t shard, int64_t offset, void *data, size_t size,
                         struct sb_error *err);

    /* Is it given out as something else than the bytes that are stored? NULL: all are. */
    bool (*is_encoded)(const struct sb_table *table, const struct sb_stored_cell *cell);

    /* From its stored bytes, NULL: those of its extent are read. Where there are extents, by that
     * and the column alone, not by the row. SB_LIMIT, without text: it has more than `room` bytes.
     * The text of SB_DAMAGED does not say which cell it is. */
    enum sb_code (*decode)(void *reader, const struct sb_stored_cell *cell, const void *stored,
                           void *data, size_t room, size_t *size, struct sb_error *err);
    enum sb_code (*size)(void *reader, const struct sb_stored_cell *cell, int64_t *size,
                         struct sb_error *err);
    enum sb_code (*stream)(void *reader, const struct sb_stored_cell *cell, sb_each_block *each,
                           void *context, struct sb_error *err);

    /* Appends what it is called in messages: "record 7", "item 3, array 'x'". */
    enum sb_code (*subject)(void *reader, const struct sb_cell *cell, struct sb_buf *out);
};

struct sb_table {
    const struct sb_table_ops *ops;
    const char *name;      /* for messages; kept */
    const char *row_word;  /* "record", "item", "key", "sample" */
    const char *cell_word; /* "file"; NULL: "array" */
    bool numbered;         /* a row is its number; else frames that have numbers count cells */
    bool varied;           /* columns are not the same for all rows */
    int64_t cell_size;     /* about so many bytes, above 0 */
    const struct sb_listing *listing;

    /* Rows that no longer count are rows, too, from the next count on. Of the caller. */
    bool superseded;

    /* How rows are called, instead; NULL: as the kind has it. Of the caller. */
    struct sb_record_names *names;

    struct sb_buf row_name; /* of table.c */
};

/* Of files that are open already; they are freed with the table, and also when this fails. */
enum sb_code sb_table_of_syrah(struct sb_table **out, struct sb_syrah_set *set,
                               struct sb_error *err) SB_CHECKED;
void sb_table_free(struct sb_table *table); /* NULL is allowed */

/* The same of any table. */
enum sb_code sb_table_columns(struct sb_table *table, int64_t row, uint32_t *count,
                              struct sb_error *err) SB_CHECKED;
struct sb_column sb_table_column(struct sb_table *table, uint32_t column);
const char *sb_table_cell_word(const struct sb_table *table);

/* What its cells are as files, of .npy or not. */
enum sb_array_form sb_column_form(const struct sb_column *column, bool npy);

/* Where a single cell lies, by a reader; nothing is filled in where there are no extents. */
enum sb_code sb_table_cell_find(const struct sb_table *table, void *reader,
                                struct sb_stored_cell *cell, struct sb_error *err) SB_CHECKED;

/* SB_INVALID: one of these columns is in no row. */
enum sb_code sb_table_need(struct sb_table *table, const char *const *names, size_t count,
                           struct sb_error *err) SB_CHECKED;

/* Of the row that was looked at: a column by its name, or by the name that a cell of it has as a
 * file, with a suffix; then *as_file, if that is .npy. -1: there is none. */
int64_t sb_table_find(struct sb_table *table, const char *name, size_t size, bool *as_file);

/* Has a cell a name of its own in a frame? */
bool sb_table_has_names(const struct sb_table *table);

/* Replaces out by it: that of a file, "00000017/image.npy". SB_DAMAGED, SB_LIMIT: it has none. */
enum sb_code sb_table_cell_name(struct sb_table *table, const struct sb_cell *cell,
                                struct sb_buf *out, struct sb_error *err) SB_CHECKED;

#endif
