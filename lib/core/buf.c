#include "core/buf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ELEMENTS 16 /* of a new array */

void sb_buf_release(struct sb_buf *buf)
{
    free(buf->data);
    *buf = (struct sb_buf){0};
}

void sb_buf_clear(struct sb_buf *buf)
{
    sb_buf_cut(buf, 0);
}

enum sb_code sb_buf_reserve(struct sb_buf *buf, size_t more)
{
    size_t need, capacity;
    char *data;

    if (__builtin_add_overflow(buf->size, more, &need) || __builtin_add_overflow(need, 1, &need))
        return sb_fail_memory();
    if (need <= buf->capacity)
        return SB_OK;
    capacity = buf->capacity < 32 ? 32 : buf->capacity;
    while (capacity < need) {
        if (__builtin_mul_overflow(capacity, 2, &capacity))
            return sb_fail_memory();
    }
    data = realloc(buf->data, capacity);
    if (!data)
        return sb_fail_memory();
    buf->data = data;
    buf->capacity = capacity;
    buf->data[buf->size] = '\0';
    return SB_OK;
}

enum sb_code sb_buf_add(struct sb_buf *buf, const void *data, size_t size)
{
    TRY(sb_buf_reserve(buf, size));
    if (size)
        memcpy(buf->data + buf->size, data, size);
    buf->size += size;
    buf->data[buf->size] = '\0';
    return SB_OK;
}

enum sb_code sb_buf_add_text(struct sb_buf *buf, const char *text)
{
    return sb_buf_add(buf, text, strlen(text));
}

enum sb_code sb_buf_add_char(struct sb_buf *buf, char c)
{
    return sb_buf_add(buf, &c, 1);
}

enum sb_code sb_buf_add_format(struct sb_buf *buf, const char *format, ...)
{
    va_list args;
    int length;

    va_start(args, format);
    length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0)
        return sb_fail_memory();
    TRY(sb_buf_reserve(buf, (size_t)length));
    va_start(args, format);
    vsnprintf(buf->data + buf->size, (size_t)length + 1, format, args);
    va_end(args);
    buf->size += (size_t)length;
    return SB_OK;
}

enum sb_code sb_buf_set(struct sb_buf *buf, const void *data, size_t size)
{
    sb_buf_clear(buf);
    return sb_buf_add(buf, data, size);
}

void sb_buf_cut(struct sb_buf *buf, size_t size)
{
    buf->size = size;
    if (buf->data)
        buf->data[size] = '\0';
}

enum sb_code sb_grow(void *array, size_t *capacity, size_t count, size_t size)
{
    size_t more = *capacity ? *capacity : ELEMENTS / 2;
    void *grown;

    if (count < *capacity)
        return SB_OK;
    do {
        more *= 2;
    } while (more <= count);
    memcpy(&grown, array, sizeof(grown));
    grown = reallocarray(grown, more, size);
    if (!grown)
        return sb_fail_memory();
    memcpy(array, &grown, sizeof(grown));
    *capacity = more;
    return SB_OK;
}

int sb_compare_bytes(const void *a, size_t a_size, const void *b, size_t b_size)
{
    size_t common = a_size < b_size ? a_size : b_size;
    int order = common ? memcmp(a, b, common) : 0;

    return order ? order : (a_size > b_size) - (a_size < b_size);
}
