/*
 * Lines of columns: numbers, cells as wide as their column, and rows of them.
 */
#ifndef SB_CMD_UI_ROWS_H
#define SB_CMD_UI_ROWS_H

#include "core/buf.h"

#include <stdbool.h>
#include <stdint.h>

/* Lines of columns: numbers, and cells as wide as their column. */

#define NUMBER_SIZE 24

/* Decimal digits at the end of out; returns where they begin. */
const char *format_number(int64_t value, char out[NUMBER_SIZE]);

/* The same, or with `human` as -h shows it. */
const char *format_amount(int64_t value, bool human, char out[NUMBER_SIZE]);

/* Appends the text and a space after it. If the text is narrower than its column, more spaces
 * follow it, or precede it if `right`. Returns the size of the text. */
size_t add_cell(struct sb_buf *line, const char *text, size_t width, bool right);

/*
 * Rows in columns that are as wide as their widest cell: rows wait until they are flushed, or there
 * are many of them. Widths only grow.
 */

#define ROWS_COLUMNS 10

struct rows {
    size_t widths[ROWS_COLUMNS]; /* may be set beforehand */

    /* of rows.c */
    bool right[ROWS_COLUMNS];
    size_t column;  /* of the current row */
    size_t columns; /* of all */
    size_t waiting;
    struct sb_buf cells; /* of pending rows */
    struct sb_buf line;
};

void rows_release(struct rows *rows);

/* The next cell: text, aligned left; or a number, as -h shows it if `human`. */
void rows_text(struct rows *rows, const char *text);
void rows_number(struct rows *rows, int64_t value, bool human);

/* In place of a number. */
void rows_word(struct rows *rows, const char *word);

/* Are rows below a line with the names of their columns? On a terminal, or under -v. */
bool rows_have_heading(void);

/* Ends the row, with a name after its columns, which may be any bytes; NULL: none. */
void rows_end(struct rows *rows, const char *name, size_t size);

/* Writes pending rows. */
void rows_flush(struct rows *rows);

#endif
