/*
 * How commands write to stdout: bytes, names, lines of columns. Main thread only.
 */
#ifndef SB_CMD_UI_OUTPUT_H
#define SB_CMD_UI_OUTPUT_H

#include "core/buf.h"
#include "core/name.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Buffered (64 KiB) writes to stdout. If one fails, or after SIGINT or SIGTERM, they end the
 * program as message_leave does: with a message and status 2, but for EPIPE with 141 and without
 * one. So a command must not have temporary files while it writes with these.
 */
void output_bytes(const void *data, size_t size);
void output_text(const char *text);
void output_char(char c);
void output_format(const char *format, ...) SB_PRINTF(1, 2);
void output_flush(void);

/* Ends the program in the same way when error_number is not 0. */
void output_check(int error_number);

/* Likewise if there was no memory for the output. */
void output_need(enum sb_code code);

/* Writes to stdout past that buffer, which must be empty, with progress: for large pieces. As
 * sb_fetch_output has it; context is an int64_t of bytes written so far. */
enum sb_code output_directly(void *context, const void *data, size_t size) SB_CHECKED;

/* Limits output_directly to so many bytes of a container, then SB_LIMIT, which names --max-size; 0:
 * no limit. */
void output_allow(int64_t size);

bool output_is_terminal(void);

/* Raw on a pipe, as GNU ls quotes on a terminal; `nul` ends it with NUL and writes raw. */
void output_name(const char *name, size_t size);
void output_line(const char *name, size_t size, bool nul);

/* Lines of columns: numbers, and cells as wide as their column. */

#define NUMBER_SIZE 24

/* Decimal digits at the end of out; returns where they begin. */
const char *format_number(int64_t value, char out[NUMBER_SIZE]);

/* The same, or with `human` as -h shows it. */
const char *format_amount(int64_t value, bool human, char out[NUMBER_SIZE]);

/* The same as -h shows it; lives until the next call. */
const char *human_size(int64_t bytes);

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

    /* of output.c */
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
