#include "ui/rows.h"
#include "ui/message.h"
#include "ui/output.h"

#include "core/number.h"

#include <string.h>

const char *format_number(int64_t value, char out[NUMBER_SIZE])
{
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    char *at = &out[NUMBER_SIZE - 1];

    *at = '\0';
    do {
        *--at = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (value < 0)
        *--at = '-';
    return at;
}

const char *format_amount(int64_t value, bool human, char out[NUMBER_SIZE])
{
    if (!human || value < 0)
        return format_number(value, out);
    sb_format_human(value, out);
    return out;
}

size_t add_cell(struct sb_buf *line, const char *text, size_t width, bool right)
{
    size_t size = strlen(text), spaces = size < width ? width - size : 0;

    output_need(sb_buf_reserve(line, spaces + size + 1));
    if (!right)
        memcpy(line->data + line->size, text, size);
    memset(line->data + line->size + (right ? 0 : size), ' ', spaces);
    if (right)
        memcpy(line->data + line->size + spaces, text, size);
    line->size += spaces + size;
    line->data[line->size++] = ' ';
    line->data[line->size] = '\0';
    return size;
}

#define WAITING_MOST 4096
#define BYTES_MOST   ((size_t)1 << 20)

void rows_release(struct rows *rows)
{
    sb_buf_release(&rows->cells);
    sb_buf_release(&rows->line);
}

static void add(struct rows *rows, const char *text, size_t size, bool right)
{
    output_need(sb_buf_add(&rows->cells, text, size + 1));
    if (size > rows->widths[rows->column])
        rows->widths[rows->column] = size;
    rows->right[rows->column++] = right;
}

bool rows_have_heading(void)
{
    return output_is_terminal() || message_is_verbose();
}

void rows_text(struct rows *rows, const char *text)
{
    add(rows, text, strlen(text), false);
}

void rows_word(struct rows *rows, const char *word)
{
    add(rows, word, strlen(word), true);
}

void rows_number(struct rows *rows, int64_t value, bool human)
{
    char number[NUMBER_SIZE];
    const char *text = format_amount(value, human, number);

    /* Plain digits are at the end of their buffer. */
    add(rows, text, human ? strlen(text) : (size_t)(number + NUMBER_SIZE - 1 - text), true);
}

/* What a row ends with: the size of its name, and the name; or that there is none. */
void rows_end(struct rows *rows, const char *name, size_t size)
{
    int64_t stored = name ? (int64_t)size : -1;

    output_need(sb_buf_add(&rows->cells, &stored, sizeof(stored)));
    output_need(sb_buf_add(&rows->cells, name ? name : "", size));
    rows->columns = rows->column;
    rows->column = 0;
    rows->waiting++;
    if (rows->waiting == WAITING_MOST || rows->cells.size > BYTES_MOST)
        rows_flush(rows);
}

void rows_flush(struct rows *rows)
{
    struct sb_buf *line = &rows->line;
    const char *at = rows->cells.data;

    for (; rows->waiting > 0; rows->waiting--) {
        int64_t size;

        sb_buf_clear(line);
        for (size_t i = 0; i < rows->columns; i++)
            at += add_cell(line, at, rows->widths[i], rows->right[i]) + 1;
        memcpy(&size, at, sizeof(size));
        at += sizeof(size);
        /* Nothing follows the last cell of a line, not even a space. */
        if (size < 0)
            line->data[line->size - 1] = '\n';
        output_bytes(line->data, line->size);
        if (size >= 0) {
            output_line(at, (size_t)size, false);
            at += size;
        }
    }
    sb_buf_clear(&rows->cells);
}
