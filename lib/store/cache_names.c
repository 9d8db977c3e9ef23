#include "store/cache_names.h"

#include "core/number.h"

#include <string.h>

#define SEGMENT        "segment_"
#define SUFFIX         ".arrow"
#define LEFT_OVER      ".tmp"
#define OUTFILE        ".shardbox-"
#define OUTFILE_DIGITS 16
#define DIGITS_MOST    19 /* of an int64_t */

static bool ends_with(const char *name, const char *suffix)
{
    size_t size = strlen(name), more = strlen(suffix);

    return size >= more && memcmp(name + size - more, suffix, more) == 0;
}

bool sb_cache_segment_number(const char *name, int64_t *number)
{
    char digits[DIGITS_MOST + 1];
    size_t count;

    if (strncmp(name, SEGMENT, strlen(SEGMENT)) != 0)
        return false;
    name += strlen(SEGMENT);
    count = strspn(name, "0123456789");
    if (count == 0 || count > DIGITS_MOST || strcmp(name + count, SUFFIX) != 0)
        return false;
    memcpy(digits, name, count);
    digits[count] = '\0';
    return sb_parse_integer(digits, 0, INT64_MAX, number);
}

static bool is_outfile(const char *name)
{
    size_t begin = strlen(OUTFILE);

    return strncmp(name, OUTFILE, begin) == 0 &&
           strspn(name + begin, "0123456789abcdef") == OUTFILE_DIGITS &&
           name[begin + OUTFILE_DIGITS] == '\0';
}

bool sb_cache_is_leftover(const char *name)
{
    static const char *const begins[] = {SEGMENT, "index.pkl.", "schema.json."};

    if (is_outfile(name))
        return true;
    if (!ends_with(name, LEFT_OVER))
        return false;
    for (size_t i = 0; i < sizeof(begins) / sizeof(begins[0]); i++) {
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    }
    return false;
}
