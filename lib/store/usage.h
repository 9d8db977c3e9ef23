/*
 * How much is in a table: what each of its files, or of its columns, takes.
 */
#ifndef SB_STORE_USAGE_H
#define SB_STORE_USAGE_H

#include "store/table.h"

/* What is measured, by its word: "records", "stored", ...; bytes, or else a count. */
struct sb_measure {
    const char *word;
    bool bytes;
};

#define SB_MEASURES_MOST 5

struct sb_usage_line {
    const char *name;  /* of the file or column, as long as the table; or of neither: "metadata" */
    const char *dtype; /* of a column */
    bool rest;         /* what is neither */
    int64_t amounts[SB_MEASURES_MOST]; /* at most INT64_MAX, whatever is claimed; -1: none */
};

/* The caller frees the lines. */
struct sb_usage {
    const struct sb_measure *measures;
    size_t measure_count;
    const char *line_word; /* what lines are of: "path", "array", "extension" */
    bool typed;            /* these have a dtype */
    bool packed;           /* "bytes" are kept as "stored" */
    struct sb_usage_line *lines;
    size_t line_count;
    struct sb_usage_line total;
};

struct sb_usage_options {
    const char *const *columns; /* only these count; SB_INVALID: one is not there */
    size_t column_count;        /* 0: all */
    unsigned threads;
    void (*progress)(void *context, int64_t bytes, int64_t total, int64_t rows); /* may be NULL */
    const struct sb_notify *notify;
};

/* What cannot be read is told as SB_PROBLEM ("damaged"), and what is sound counts. */
enum sb_code sb_table_usage(struct sb_table *table, const struct sb_usage_options *options,
                            struct sb_usage *usage, struct sb_error *err) SB_CHECKED;

/* Adds the amounts. */
void sb_usage_add(struct sb_usage_line *sum, const struct sb_usage_line *more);

/* For tables: an empty one, of paths at first; drops lines that have no name, and adds the others
 * to the total. */
enum sb_code sb_usage_begin(struct sb_usage *usage, const struct sb_measure *measures,
                            size_t measure_count, size_t lines, struct sb_error *err) SB_CHECKED;
void sb_usage_sum_up(struct sb_usage *usage);

#endif
