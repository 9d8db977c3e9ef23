/*
 * A container as a table: rows, by number or by key, each with one or more columns. A cell is the
 * bytes in one column of one row.
 *
 * Tables are: a bag, with one column that has no name; a set of Syrah files, whose columns are its
 * arrays; a cache, where each row's segment decides on its columns; samples (samples/samples.h),
 * whose columns are those of their files. Each kind has a struct that begins with struct sb_table,
 * in its table.c. A table belongs to one thread. Any number of threads may make readers of a
 * `const` table; each reader belongs to one thread.
 */
#ifndef SB_STORE_TABLE_H
#define SB_STORE_TABLE_H

#include "core/buf.h"
#include "core/extent.h"
#include "core/io.h"
#include "store/array/array.h"

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
    bool npy; /* given as a .npy file */
};

/* A cell that was looked up; places are in the order of the bytes on disk. */
struct sb_stored_cell {
    struct sb_cell cell;
    struct sb_place place;
    struct sb_extent extent;
};

struct sb_column {
    const char *name; /* "" if it is the only one and has no name. Lives until the next call; if all
                         rows have the same columns, as long as the table */
    /* as a file: SB_FORM_NPY, with no dtype if the stored cell is a .npy file already */
    enum sb_array_form form;
    enum sb_dtype dtype;
};

#define SB_NO_ROW (-1)

/* The name of a row: any bytes. */
struct sb_row_key {
    const char *text;
    size_t size;
};

/* A file that a table consists of, or a part of such a file. */
struct sb_table_part {
    const char *path; /* lives as long as the table */
    int64_t rows;
    int64_t bytes;         /* of the rows alone, if known; else of the file */
    bool zstd;             /* each row is compressed by itself */
    bool separate;         /* it has a limits file (bag.h) */
    const char *structure; /* as in facts.h; NULL: rows have none, or it is damaged */
};

/* Texts of SB_DAMAGED begin with their subject, unless the function says otherwise. */
struct sb_table_ops {
    void (*free)(struct sb_table *table); /* does not free the struct itself */

    /* The number of rows that have numbers. */
    enum sb_code (*count)(struct sb_table *table, int64_t *count);

    /* Finds the row of a number. NULL: they are the same. */
    enum sb_code (*row)(struct sb_table *table, int64_t number, int64_t *row);

    /* The number of columns of a row. This and the next two are NULL if the table has one column
     * without a name. */
    enum sb_code (*columns)(struct sb_table *table, int64_t row, uint32_t *count);

    /* One column of the row of the last `columns` call; the column of a name, -1: the row has none.
     */
    struct sb_column (*column)(struct sb_table *table, uint32_t column);
    int64_t (*find)(struct sb_table *table, const char *name, size_t size);

    /* SB_INVALID: no row has such a column. NULL: `find` is used. */
    enum sb_code (*need)(struct sb_table *table, const char *name);

    /* Appends the name of the row as a member: "00000017", a key. NULL: its number is its only
     * name. */
    enum sb_code (*row_name)(struct sb_table *table, int64_t row, struct sb_buf *out);

    /* The rows of these names, SB_NO_ROW if there is none; *bytes: about how many bytes the found
     * rows have. NULL: rows cannot be found by name. */
    enum sb_code (*find_rows)(struct sb_table *table, const struct sb_row_key *keys, size_t count,
                              int64_t *rows, int64_t *bytes);

    /* A file by its number; SB_END after the last. NULL: the table has no files of its own. */
    enum sb_code (*part)(struct sb_table *table, uint32_t number, struct sb_table_part *out);

    /* Fill in what is known (facts.h): of a row (NULL: only its number); of a column of the row
     * that was described last. Damage is not an error but a fact, whose text may be that of the
     * last failure. */
    enum sb_code (*describe_row)(struct sb_table *table, int64_t row, struct sb_facts *facts);
    enum sb_code (*describe)(struct sb_table *table, int64_t row, uint32_t column,
                             struct sb_facts *facts);

    /* The bag itself, for tasks that read many records at once and find them by their bytes; owned
     * by the table. NULL: rows are not records. */
    struct sb_bag *(*records)(struct sb_table *table);

    /* As sb_table_usage (usage.h). */
    enum sb_code (*usage)(struct sb_table *table, const struct sb_usage_options *options,
                          struct sb_usage *usage);

    /* One reader for each worker. */
    enum sb_code (*reader_new)(const struct sb_table *table, void **out);
    void (*reader_free)(void *reader);

    /* Where stored bytes are, for users that read many extents at once. All three NULL: there are
     * no extents, and decode reads what it needs. */
    struct sb_place (*place_of)(const struct sb_table *table, const struct sb_cell *cell);
    enum sb_code (*extents)(void *reader, struct sb_place first, size_t count,
                            struct sb_extent *out, size_t *good);
    enum sb_code (*read)(void *reader, uint32_t shard, int64_t offset, void *data, size_t size);

    /* Do the bytes given differ from the stored ones? NULL: they always do. */
    bool (*is_encoded)(const struct sb_table *table, const struct sb_stored_cell *cell);

    /* Give the bytes of a cell. stored: its stored bytes; NULL: they are read from the extent. If
     * there are extents, only the extent and the column count, not the row. SB_LIMIT, without text:
     * the cell has more than `capacity` bytes. The text of SB_DAMAGED does not say which cell it
     * is. */
    enum sb_code (*decode)(void *reader, const struct sb_stored_cell *cell, const void *stored,
                           void *data, size_t capacity, size_t *size);
    enum sb_code (*size)(void *reader, const struct sb_stored_cell *cell, int64_t *size);
    enum sb_code (*stream)(void *reader, const struct sb_stored_cell *cell, sb_each_block *each,
                           void *context);

    /* Appends the cell's name for messages: "record 7", "item 3, array 'x'". */
    enum sb_code (*subject)(void *reader, const struct sb_cell *cell, struct sb_buf *out);
};

struct sb_table {
    const struct sb_table_ops *ops;
    const char *name;      /* for messages; kept */
    const char *row_word;  /* "record", "item", "key", "sample" */
    const char *cell_word; /* "file"; NULL: "array" */
    bool numbered;     /* a row is known by its number; else frames with numbers count the cells */
    bool varied;       /* rows may have different columns */
    int64_t cell_size; /* bytes in a typical cell, at least 1 */
    const struct sb_listing *listing;

    /* Superseded rows are rows, too; takes effect at the next `count`. Set by the caller. */
    bool superseded;

    /* Names of rows; NULL: those of the kind. The caller's. */
    struct sb_record_names *names;

    struct sb_buf row_name; /* for table.c */
};

/* Of files that are already open; the table owns them, also on failure. */
enum sb_code sb_table_of_bag(struct sb_table **out, struct sb_bag *bag) SB_CHECKED;
enum sb_code sb_table_of_syrah(struct sb_table **out, struct sb_syrah_set *set) SB_CHECKED;
void sb_table_free(struct sb_table *table); /* NULL is allowed */
FREEP(sb_table_free, struct sb_table)

/* The operations above, for any table. */
enum sb_code sb_table_columns(struct sb_table *table, int64_t row, uint32_t *count) SB_CHECKED;
struct sb_column sb_table_column(struct sb_table *table, uint32_t column);
const char *sb_table_cell_word(const struct sb_table *table);

/* The form of its cells as files, as .npy or not. */
enum sb_array_form sb_column_form(const struct sb_column *column, bool npy);

/* Looks up one cell; leaves place and extent unset if the table has no extents. */
enum sb_code sb_table_cell_find(const struct sb_table *table, void *reader,
                                struct sb_stored_cell *cell) SB_CHECKED;

/* SB_INVALID: no row has one of these columns. */
enum sb_code sb_table_need(struct sb_table *table, const char *const *names,
                           size_t count) SB_CHECKED;

/* A column of the current row, by its name or by the name of its cell as a file, with suffix;
 * *as_file: the latter was a .npy file. -1: the row has none. */
int64_t sb_table_find(struct sb_table *table, const char *name, size_t size, bool *as_file);

/* Does a cell have a name of its own in a frame? */
bool sb_table_has_names(const struct sb_table *table);

/* Replaces out by the cell's name as a file, "00000017/image.npy". SB_DAMAGED, SB_LIMIT: it has
 * none. */
enum sb_code sb_table_cell_name(struct sb_table *table, const struct sb_cell *cell,
                                struct sb_buf *out) SB_CHECKED;

#endif
