#include "ui/rows.h"

#include "ui/cells.h"
#include "ui/message.h"
#include "ui/output.h"

#include <string.h>

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
