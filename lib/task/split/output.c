#include "task/split/impl.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Where the name of a part goes in its path: "{}", "{:06d}" or "{0000..0127}". */
struct place {
    const char *begin, *end;
    int width;           /* of a number; 0: as it is */
    int64_t first, last; /* numbers that there are; last -1: any, from 0 */
};

static bool find_place(const char *text, struct place *place)
{
    char width[3], first[19], last[19];

    for (const char *at = strchr(text, '{'); at; at = strchr(at + 1, '{')) {
        int end = 0;

        *place = (struct place){.begin = at, .last = -1};
        if (at[1] == '}')
            end = 2;
        else if (sscanf(at, "{:0%2[0-9]d}%n", width, &end) == 1 && end > 0)
            place->width = (int)strtol(width, NULL, 10);
        else if (sscanf(at, "{%18[0-9]..%18[0-9]}%n", first, last, &end) == 2 && end > 0) {
            place->first = strtoll(first, NULL, 10);
            place->last = strtoll(last, NULL, 10);
            place->width = *first == '0' ? (int)strlen(first) : 0;
        }
        place->end = at + end;
        if (end > 0)
            return true;
    }
    return false;
}

/* The name as the place wants it, if it is a number. */
static enum sb_code add_name(struct sb_buf *out, const struct place *place, const char *name)
{
    size_t digits = strspn(name, "0123456789");
    int64_t number;

    if (!*name || name[digits] || digits > 18 || (place->width == 0 && place->last < 0))
        return sb_buf_add_text(out, name);
    number = strtoll(name, NULL, 10) + place->first;
    if (place->last >= 0 && number > place->last)
        return sb_fail(SB_INVALID, "%.*s: there are more parts than it has numbers",
                       (int)(place->end - place->begin), place->begin);
    return sb_buf_add_format(out, "%0*" PRId64, place->width, number);
}

enum sb_code sb_split_output(const char *output, const char *name, struct sb_buf *out)
{
    const char *rest = output;
    struct place place;

    sb_buf_clear(out);
    for (; find_place(rest, &place); rest = place.end) {
        TRY(sb_buf_add(out, rest, (size_t)(place.begin - rest)));
        TRY(add_name(out, &place, name));
    }
    TRY(sb_buf_add_text(out, rest));
    if (strcmp(out->data, "-") == 0)
        return sb_fail(SB_INVALID, "a part named '-' would go to standard output; say -o ./-");
    return SB_OK;
}

size_t sb_split_output_fixed(const char *output)
{
    struct place place;

    return find_place(output, &place) ? (size_t)(place.begin - output) : strlen(output);
}

enum sb_code sb_split_output_check(const char *output, int64_t parts)
{
    struct place place;

    if (parts < 2 || find_place(output, &place))
        return SB_OK;
    return sb_fail(SB_INVALID,
                   "%s: there are %" PRId64 " parts, and one name; write '{}' "
                   "where the name of the part goes",
                   output, parts);
}

enum sb_code sb_split_number(int64_t part, int64_t parts, struct sb_buf *out)
{
    int digits = snprintf(NULL, 0, "%" PRId64, parts > 0 ? parts - 1 : 0);

    return sb_buf_add_format(out, "%0*" PRId64, digits, part);
}
