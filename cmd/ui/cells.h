/*
 * Lines of columns: numbers, and cells as wide as their column.
 */
#ifndef SB_CMD_UI_CELLS_H
#define SB_CMD_UI_CELLS_H

#include "core/buf.h"

#include <stdbool.h>
#include <stdint.h>

#define NUMBER_SIZE 24

/* Decimal digits at the end of out; returns where they begin. */
const char *format_number(int64_t value, char out[NUMBER_SIZE]);

/* The same, or with `human` as -h shows it. */
const char *format_amount(int64_t value, bool human, char out[NUMBER_SIZE]);

/* Appends the text and a space after it. If the text is narrower than its column, more spaces
 * follow it, or precede it if `right`. Returns the size of the text. */
size_t add_cell(struct sb_buf *line, const char *text, size_t width, bool right);

#endif
