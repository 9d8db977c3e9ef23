#include "ui/columns.h"
#include "ui/output.h"

#include "core/buf.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

#define CELLS_MOST 20000
#define GAP        2 /* spaces between columns */
#define WIDTH      80

struct cell {
    size_t text, size; /* bytes, with the sequences */
    size_t width;      /* columns of the terminal */
};

static struct {
    struct cell *cells;
    size_t count;
    struct sb_buf text;
} waiting;

static size_t terminal_width(void)
{
    const char *columns = getenv("COLUMNS");
    long number = columns ? strtol(columns, NULL, 10) : 0;
    struct winsize size;

    if (number > 0)
        return (size_t)number;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        return size.ws_col;
    return WIDTH;
}

/* Names are UTF-8 whatever the user's locale; what is not counts a column a byte. */
static size_t width_of(const char *text, size_t size)
{
    static bool ready;
    size_t width = 0, taken;
    mbstate_t state = {0};
    wchar_t c;
    int columns;

    if (!ready)
        setlocale(LC_CTYPE, "C.UTF-8");
    ready = true;
    while (size > 0) {
        taken = mbrtowc(&c, text, size, &state);
        if (taken == 0 || taken > size) {
            state = (mbstate_t){0};
            taken = 1;
            columns = 1;
        } else {
            columns = wcwidth(c);
        }
        width += columns > 0 ? (size_t)columns : 0;
        text += taken;
        size -= taken;
    }
    return width;
}

void columns_add(const char *text, size_t size, const char *before, const char *after)
{
    struct cell *cell;

    if (!waiting.cells)
        waiting.cells = calloc(CELLS_MOST, sizeof(*waiting.cells));
    if (!waiting.cells)
        output_check(ENOMEM);
    if (waiting.count == CELLS_MOST)
        columns_end();
    cell = &waiting.cells[waiting.count++];
    cell->text = waiting.text.size;
    cell->width = width_of(text, size);
    if (sb_buf_add_text(&waiting.text, before) || sb_buf_add(&waiting.text, text, size) ||
        sb_buf_add_text(&waiting.text, after))
        output_check(ENOMEM);
    cell->size = waiting.text.size - cell->text;
}

/* Width of a column of `rows` names that begins at `first`. */
static size_t column_width(size_t first, size_t rows)
{
    size_t width = 0, i;

    for (i = first; i < first + rows && i < waiting.count; i++) {
        if (waiting.cells[i].width > width)
            width = waiting.cells[i].width;
    }
    return width;
}

static bool fits(size_t rows, size_t available)
{
    size_t width = 0, first;

    for (first = 0; first < waiting.count; first += rows) {
        width += column_width(first, rows) + (first ? GAP : 0);
        if (width > available)
            return false;
    }
    return true;
}

/* The fewest rows that fit; one name a row always does. */
static size_t choose_rows(size_t available)
{
    size_t least = (waiting.count + available - 1) / available, rows;

    for (rows = least ? least : 1; rows < waiting.count; rows++) {
        if (fits(rows, available))
            break;
    }
    return rows;
}

static void write_row(size_t row, size_t rows)
{
    size_t i, spaces;

    for (i = row; i < waiting.count; i += rows) {
        output_bytes(waiting.text.data + waiting.cells[i].text, waiting.cells[i].size);
        if (i + rows >= waiting.count)
            break;
        spaces = column_width(i - row, rows) - waiting.cells[i].width + GAP;
        while (spaces-- > 0)
            output_char(' ');
    }
    output_char('\n');
}

void columns_end(void)
{
    size_t rows, row;

    if (waiting.count > 0) {
        rows = choose_rows(terminal_width());
        for (row = 0; row < rows; row++)
            write_row(row, rows);
    }
    waiting.count = 0;
    sb_buf_clear(&waiting.text);
}
