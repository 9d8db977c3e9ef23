#include "split/shares.h"
#include "ui/message.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define RATIO_SLACK 1e-9 /* 0.8 + 0.1 + 0.1 is not quite 1 */

void shares_release(struct shares *shares)
{
    for (size_t i = 0; i < shares->count; i++)
        free((char *)shares->all[i].name);
    free(shares->all);
    *shares = (struct shares){0};
}

bool shares_is_name(const char *name, size_t size)
{
    return size > 0 && !memchr(name, '/', size);
}

static bool add(struct shares *shares, const char *name, size_t name_size, const char *list,
                double ratio)
{
    struct sb_split_share *all = reallocarray(shares->all, shares->count + 1, sizeof(*shares->all));
    char *copy = strndup(name, name_size);

    if (all)
        shares->all = all;
    if (!all || !copy) {
        free(copy);
        message_error("out of memory");
        return false;
    }
    all[shares->count++] = (struct sb_split_share){.name = copy, .list = list, .ratio = ratio};
    return true;
}

static bool is_named(const struct shares *shares, const char *name, size_t size)
{
    for (size_t i = 0; i < shares->count; i++) {
        if (strlen(shares->all[i].name) == size && memcmp(shares->all[i].name, name, size) == 0)
            return true;
    }
    return false;
}

/* "0.8" or "80%". */
static bool parse_ratio(const char *text, const char *end, double *out)
{
    char *stop;

    *out = strtod(text, &stop);
    if (stop == text || !isfinite(*out))
        return false;
    if (*stop == '%') {
        *out /= 100;
        stop++;
    }
    return stop == end;
}

static bool add_ratio(struct shares *shares, const char *text, size_t size)
{
    const char *sign = memchr(text, '=', size);
    size_t name_size = sign ? (size_t)(sign - text) : 0;
    double ratio;

    if (!sign || !shares_is_name(text, name_size) || !parse_ratio(sign + 1, text + size, &ratio)) {
        message_usage("--ratio: '%.*s' is not NAME=NUMBER, such as train=0.8", (int)size, text);
        return false;
    }
    if (ratio <= 0 || ratio > 1) {
        message_usage("--ratio: '%.*s': all is 1, and a part of it a number from 0 to 1, such as "
                      "0.8, or 80%%",
                      (int)size, text);
        return false;
    }
    if (is_named(shares, text, name_size)) {
        message_usage("--ratio: '%.*s' is named twice", (int)name_size, text);
        return false;
    }
    return add(shares, text, name_size, NULL, ratio);
}

bool shares_add_ratios(struct shares *shares, const char *text)
{
    double sum = 0;

    for (const char *end; text; text = *end ? end + 1 : NULL) {
        end = strchrnul(text, ',');
        if (!add_ratio(shares, text, (size_t)(end - text)))
            return false;
    }
    for (size_t i = 0; i < shares->count; i++)
        sum += shares->all[i].ratio;
    if (sum <= 1 + RATIO_SLACK)
        return true;
    message_usage("--ratio: the numbers add up to %g, which is more than 1", sum);
    return false;
}

bool shares_add_list(struct shares *shares, const char *text)
{
    const char *sign = strchr(text, '=');

    if (sign && sign[1] && shares_is_name(text, (size_t)(sign - text)))
        return add(shares, text, (size_t)(sign - text), sign + 1, 0);
    message_usage("--by-list: '%s' is not NAME=FILE, such as train=train.txt", text);
    return false;
}
