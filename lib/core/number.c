#include "core/number.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Powers of 1024 or 1000, from the first on. */
static const char unit_letters[] = "KMGTPE";

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Reads digits while the value fits; false at overflow or without any digit. */
static bool take_digits(const char **text, int64_t *value)
{
    const char *at = *text;

    *value = 0;
    if (!is_digit(*at))
        return false;
    for (; is_digit(*at); at++) {
        if (__builtin_mul_overflow(*value, 10, value) ||
            __builtin_add_overflow(*value, *at - '0', value))
            return false;
    }
    *text = at;
    return true;
}

/* The factor of a unit; 0 if it is none. */
static int64_t unit_factor(const char *unit)
{
    int64_t base, factor = 1;

    if (!*unit || !strcasecmp(unit, "B"))
        return 1;
    if (!unit[1] || !strcasecmp(unit + 1, "iB"))
        base = 1024;
    else if (!strcasecmp(unit + 1, "B"))
        base = 1000;
    else
        return 0;
    for (const char *letter = unit_letters; *letter; letter++) {
        factor *= base;
        if (!strncasecmp(unit, letter, 1))
            return factor;
    }
    return 0;
}

bool sb_parse_size(const char *text, int64_t *out)
{
    int64_t whole, factor, fraction = 0, scale = 1;
    __int128 value;

    *out = 0;
    if (!take_digits(&text, &whole))
        return false;
    if (*text == '.') {
        if (!is_digit(*++text))
            return false;
        /* Digits after the 18th are less than a byte even of 2^60. */
        for (; is_digit(*text); text++) {
            if (scale < 1000000000000000000) {
                fraction = fraction * 10 + (*text - '0');
                scale *= 10;
            }
        }
        /* There are no parts of a byte. */
        if (unit_factor(text) == 1)
            return false;
    }
    factor = unit_factor(text);
    if (!factor)
        return false;
    value = (__int128)whole * factor + (__int128)fraction * factor / scale;
    if (value > INT64_MAX)
        return false;
    *out = (int64_t)value;
    return true;
}

bool sb_parse_integer(const char *text, int64_t low, int64_t high, int64_t *out)
{
    bool negative = *text == '-';
    int64_t value;

    *out = 0;
    text += negative;
    if (!take_digits(&text, &value) || *text)
        return false;
    if (negative)
        value = -value;
    if (value < low || value > high)
        return false;
    *out = value;
    return true;
}

/* The seconds of a unit letter, including the end of the text; 0: not a unit. */
static int64_t letter_seconds(char letter)
{
    switch (letter) {
    case '\0':
    case 's':
        return 1;
    case 'm':
        return 60;
    case 'h':
        return 60 * 60;
    case 'd':
        return 24 * 60 * 60;
    case 'w':
        return 7 * 24 * 60 * 60;
    default:
        return 0;
    }
}

bool sb_parse_duration(const char *text, int64_t *out)
{
    int64_t sum = 0, count, seconds;

    *out = 0;
    do {
        if (!take_digits(&text, &count))
            return false;
        seconds = letter_seconds(*text);
        /* A number without a letter among others is a mistake. */
        if (seconds == 0 || (*text == '\0' && sum > 0))
            return false;
        if (__builtin_mul_overflow(count, seconds, &count) ||
            __builtin_add_overflow(sum, count, &sum) || sum > SB_DURATION_MOST)
            return false;
        text += *text != '\0';
    } while (*text);
    *out = sum;
    return sum > 0;
}

void sb_format_human(int64_t size, char out[SB_HUMAN_SIZE])
{
    const char *sign = size < 0 ? "-" : "";
    uint64_t bytes = size < 0 ? -(uint64_t)size : (uint64_t)size;
    uint64_t unit = 1024, tenths, whole;
    size_t letter = 0;

    if (bytes < 1024) {
        snprintf(out, SB_HUMAN_SIZE, "%s%llu", sign, (unsigned long long)bytes);
        return;
    }
    while (letter + 1 < strlen(unit_letters) && bytes / unit >= 1024) {
        unit *= 1024;
        letter++;
    }
    whole = bytes / unit + (bytes % unit != 0);
    if (whole >= 1024 && letter + 1 < strlen(unit_letters)) {
        snprintf(out, SB_HUMAN_SIZE, "%s1.0%c", sign, unit_letters[letter + 1]);
        return;
    }
    tenths = (uint64_t)(((unsigned __int128)bytes * 10 + unit - 1) / unit);
    if (tenths < 100)
        snprintf(out, SB_HUMAN_SIZE, "%s%u.%u%c", sign, (unsigned)tenths / 10,
                 (unsigned)tenths % 10, unit_letters[letter]);
    else
        snprintf(out, SB_HUMAN_SIZE, "%s%u%c", sign, (unsigned)whole, unit_letters[letter]);
}
