#include "store/bag/record_names.h"

#include <stdlib.h>
#include <string.h>

#define WIDTH_MAX   200
#define DIGITS_MOST 20 /* of a number */

/* More than any system takes for a name; what is between is for whoever takes it. */
#define KEY_MAX ((size_t)64 << 10)

struct sb_record_names {
    int64_t first, step; /* of the records that are named, among all */

    /* By a format: what comes before the number, and after it. */
    struct sb_buf before, after;
    bool zeros, left;
    int width;

    /* By keys; NULL: by a format. */
    struct sb_bag *keys;
    struct sb_bag_reader *reader;
    struct sb_bag_window window;
};

static enum sb_code new_names(struct sb_record_names **out)
{
    TRY(SB_NEW(out));
    (*out)->step = 1;
    return SB_OK;
}

void sb_record_names_free(struct sb_record_names *names)
{
    if (!names)
        return;
    sb_bag_window_release(&names->window);
    sb_bag_reader_free(names->reader);
    sb_bag_free(names->keys);
    sb_buf_release(&names->before);
    sb_buf_release(&names->after);
    free(names);
}

/* Text up to a conversion, or the end; "%%" is a percent sign. */
static const char *take_text(const char *format, struct sb_buf *out)
{
    while (*format && (*format != '%' || format[1] == '%')) {
        format += *format == '%';
        if (sb_buf_add_char(out, *format++))
            return NULL;
    }
    return format;
}

/* The conversion at format; NULL: it is none. */
static const char *take_number(const char *format, struct sb_record_names *names)
{
    char *end;
    long width;

    for (format++; *format == '0' || *format == '-'; format++) {
        names->zeros |= *format == '0';
        names->left |= *format == '-';
    }
    width = strtol(format, &end, 10);
    if (*format == '+' || *format == ' ' || width < 0 || width > WIDTH_MAX || *end != 'd')
        return NULL;
    names->width = (int)width;
    return end + 1;
}

static enum sb_code parse_format(struct sb_record_names *names, const char *format)
{
    const char *at = take_text(format, &names->before);

    if (!at)
        return sb_fail_memory();
    at = *at ? take_number(at, names) : NULL;
    if (at) {
        at = take_text(at, &names->after);
        if (!at)
            return sb_fail_memory();
    }
    if (!at || *at)
        return sb_fail(SB_INVALID,
                       "--name-format: '%s' must have one %%d in it, or %%08d for a number of 8 "
                       "digits, and %%%% for a percent sign",
                       format);
    return SB_OK;
}

enum sb_code sb_record_names_by_format(struct sb_record_names **out, const char *format)
{
    CLEANUP(sb_record_names_freep) struct sb_record_names *names = NULL;

    *out = NULL;
    TRY(new_names(&names));
    TRY(parse_format(names, format));
    *out = TAKE(names);
    return SB_OK;
}

enum sb_code sb_record_names_by_keys(struct sb_record_names **out, const char *keys,
                                     const struct sb_bag_options *options,
                                     const struct sb_notify *notify)
{
    CLEANUP(sb_record_names_freep) struct sb_record_names *names = NULL;

    *out = NULL;
    TRY(new_names(&names));
    TRY(sb_bag_open(&names->keys, keys, options, notify));
    TRY(sb_bag_reader_new(&names->reader, names->keys));
    *out = TAKE(names);
    return SB_OK;
}

void sb_record_names_place(struct sb_record_names *names, int64_t first, int64_t step)
{
    names->first = first;
    names->step = step;
}

int64_t sb_record_names_count(const struct sb_record_names *names)
{
    return names && names->keys ? sb_bag_count(names->keys) : -1;
}

/* By hand: printf takes a third of all the time that a small record does. */
static enum sb_code add_number(const struct sb_record_names *names, uint64_t number,
                               struct sb_buf *out)
{
    char digits[DIGITS_MOST], text[WIDTH_MAX + DIGITS_MOST];
    size_t count = 0, width = (size_t)names->width, size;

    do {
        digits[sizeof(digits) - ++count] = (char)('0' + number % 10);
    } while (number /= 10);
    size = count > width ? count : width;
    memset(text, names->zeros && !names->left ? '0' : ' ', size);
    memcpy(text + (names->left ? 0 : size - count), digits + sizeof(digits) - count, count);
    return sb_buf_add(out, text, size);
}

static enum sb_code format_name(const struct sb_record_names *names, int64_t number,
                                struct sb_buf *out)
{
    const struct sb_buf *before = &names->before, *after = &names->after;

    if ((before->size > 0 && sb_buf_set(out, before->data, before->size)) ||
        add_number(names, (uint64_t)number, out) ||
        (after->size > 0 && sb_buf_add(out, after->data, after->size)))
        return sb_fail_memory();
    return SB_OK;
}

static enum sb_code read_key(struct sb_record_names *names, int64_t number, struct sb_buf *out)
{
    struct sb_place place = sb_bag_place_of(names->keys, number);
    struct sb_extent extent;
    size_t good;
    enum sb_code code;

    TRY(sb_buf_reserve(out, KEY_MAX));
    code = sb_bag_extents(names->reader, place, 1, &extent, &good);
    if (!code)
        code = sb_bag_window_load(&names->window, names->reader, &extent, out->data, KEY_MAX,
                                  &out->size);
    out->data[out->size] = '\0';
    if (code == SB_LIMIT)
        return sb_fail(SB_DAMAGED, "its key in %s is longer than any name",
                       sb_bag_name(names->keys));
    if (code == SB_DAMAGED)
        return sb_fail(SB_DAMAGED, "its key in %s cannot be read: %s", sb_bag_name(names->keys),
                       sb_error()->text);
    return code;
}

enum sb_code sb_record_name(struct sb_record_names *names, int64_t record, struct sb_buf *out)
{
    int64_t number;

    sb_buf_clear(out);
    if (__builtin_mul_overflow(record, names->step, &number) ||
        __builtin_add_overflow(number, names->first, &number))
        return sb_fail(SB_LIMIT, "there are more than 2^63 records");
    if (!names->keys)
        return format_name(names, number, out);
    if (number >= sb_bag_count(names->keys))
        return sb_fail(SB_LIMIT, "%s: has %lld keys; there is none for record %lld",
                       sb_bag_name(names->keys), (long long)sb_bag_count(names->keys),
                       (long long)number);
    return read_key(names, number, out);
}
