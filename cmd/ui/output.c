#include "ui/output.h"
#include "ui/message.h"

#include "core/interrupt.h"
#include "core/io.h"
#include "core/number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    char data[65536];
    size_t used;
} pending;

static int64_t allowed;

void output_allow(int64_t size)
{
    allowed = size;
}

enum sb_code output_directly(void *context, const void *data, size_t size)
{
    int64_t *written = context;
    enum sb_code code;

    if (allowed > 0 && (int64_t)size > allowed - *written)
        return sb_fail(SB_LIMIT, "more than --max-size, %" PRId64 " bytes, comes out of it",
                       allowed);
    code = sb_write_full(STDOUT_FILENO, data, size, "standard output");
    *written += (int64_t)size;
    if (!code && !output_is_terminal())
        message_progress_update(*written, 0, 0);
    return code;
}

bool output_is_terminal(void)
{
    static enum { UNKNOWN, YES, NO } answer;

    if (answer == UNKNOWN)
        answer = isatty(STDOUT_FILENO) ? YES : NO;
    return answer == YES;
}

void output_check(int error_number)
{
    if (error_number == 0)
        return;
    sb_fail_errno(error_number, "standard output");
    message_failure();
    message_leave();
}

void output_need(enum sb_code code)
{
    if (code)
        output_check(ENOMEM);
}

/* Returns only after everything was written. */
static void write_out(const char *data, size_t size)
{
    enum sb_code code;

    message_progress_hide();
    code = sb_write_full(STDOUT_FILENO, data, size, "standard output");
    if (!code && sb_interrupted())
        code = sb_fail(SB_INTERRUPT, "interrupted");
    if (code) {
        message_failure();
        message_leave();
    }
}

void output_flush(void)
{
    size_t size = pending.used;

    pending.used = 0;
    write_out(pending.data, size);
}

void output_bytes(const void *data, size_t size)
{
    if (size == 0)
        return;
    if (size > sizeof(pending.data) - pending.used)
        output_flush();
    if (size > sizeof(pending.data)) {
        write_out(data, size);
        return;
    }
    memcpy(pending.data + pending.used, data, size);
    pending.used += size;
}

void output_text(const char *text)
{
    output_bytes(text, strlen(text));
}

void output_char(char c)
{
    if (pending.used == sizeof(pending.data))
        output_flush();
    pending.data[pending.used++] = c;
}

void output_format(const char *format, ...)
{
    size_t space = sizeof(pending.data) - pending.used;
    char *text = NULL;
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(pending.data + pending.used, space, format, args);
    va_end(args);
    if (length >= 0 && (size_t)length < space) {
        pending.used += (size_t)length;
        return;
    }
    va_start(args, format);
    length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        output_check(ENOMEM);
    output_bytes(text, (size_t)length);
    free(text);
}

void output_name(const char *name, size_t size)
{
    static struct sb_buf quoted;

    if (!output_is_terminal()) {
        output_bytes(name, size);
        return;
    }
    sb_buf_clear(&quoted);
    if (sb_quote(&quoted, name, size, SB_SHELL))
        output_check(ENOMEM);
    output_bytes(quoted.data, quoted.size);
}

void output_line(const char *name, size_t size, bool nul)
{
    if (nul)
        output_bytes(name, size);
    else
        output_name(name, size);
    output_char(nul ? '\0' : '\n');
}

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

const char *human_size(int64_t bytes)
{
    static char text[SB_HUMAN_SIZE];

    sb_format_human(bytes, text);
    return text;
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
