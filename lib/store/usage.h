/* The space that a table takes, by files or by columns. */
#ifndef SB_STORE_USAGE_H
#define SB_STORE_USAGE_H

#include "store/table.h"

/* A measure and its word: "records", "stored", ...; a count, unless `bytes`. */
struct sb_measure {
    const char *word;
    bool bytes;
};

#define SB_MEASURES_MOST 5

struct sb_usage_line {
    const char *name;  /* of the file or column, as long as the table; or "metadata" for the rest */
    const char *dtype; /* of a column */
    bool rest;         /* bytes that belong to no file or column */
    int64_t amounts[SB_MEASURES_MOST]; /* at most INT64_MAX, even if the container claims more; -1:
                                          none */
};

/* The caller frees the lines. */
struct sb_usage {
    const struct sb_measure *measures;
    size_t measure_count;
    const char *line_word; /* what a line is for: "path", "array", "extension" */
    bool typed;            /* lines have a dtype */
    bool packed;           /* "bytes" are kept as "stored" */
    struct sb_usage_line *lines;
    size_t line_count;
    struct sb_usage_line total;
};

struct sb_usage_options {
    const char *const *columns; /* count only these; SB_INVALID: one does not exist */
    size_t column_count;        /* 0: all */
    unsigned threads;
    void (*progress)(void *context, int64_t bytes, int64_t total, int64_t rows); /* may be NULL */
    const struct sb_notify *notify;
};

/* Reports what cannot be read as SB_PROBLEM ("damaged"); the rest counts. */
enum sb_code sb_table_usage(struct sb_table *table, const struct sb_usage_options *options,
                            struct sb_usage *usage) SB_CHECKED;

/* Adds the amounts of `more` to `sum`. */
void sb_usage_add(struct sb_usage_line *sum, const struct sb_usage_line *more);

/* For tables: makes a usage of empty lines whose line_word is "path"; drops the lines that have no
 * name, and adds up the others in `total`. */
enum sb_code sb_usage_begin(struct sb_usage *usage, const struct sb_measure *measures,
                            size_t measure_count, size_t lines) SB_CHECKED;
void sb_usage_sum_up(struct sb_usage *usage);

#endif
