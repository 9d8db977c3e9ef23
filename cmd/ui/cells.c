#include "ui/cells.h"
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
