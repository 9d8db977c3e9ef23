#include "store/cache/names.h"

#include "core/array.h"
#include "core/number.h"
#include "store/out/temporary.h"

#include <string.h>

#define SEGMENT      "segment_"
#define SUFFIX       ".arrow"
#define OLDER        ".shardbox-" /* of earlier versions, and digits */
#define OLDER_DIGITS 16
#define DIGITS_MOST  19 /* of an int64_t */

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

static size_t digits_at(const char *text)
{
    return strspn(text, "0123456789abcdef");
}

/* The name of a file of a cache, and what follows it. NULL: it begins with none. */
static const char *skip_own(const char *name)
{
    static const char *const whole[] = {"index.pkl", "schema.json"};
    char segment[sizeof(SEGMENT SUFFIX) + DIGITS_MOST];
    const char *end = strstr(name, SUFFIX);
    int64_t number;

    for (size_t i = 0; i < ARRAY_SIZE(whole); i++) {
        if (strncmp(name, whole[i], strlen(whole[i])) == 0)
            return name + strlen(whole[i]);
    }
    if (!end || (size_t)(end - name) + strlen(SUFFIX) >= sizeof(segment))
        return NULL;
    end += strlen(SUFFIX);
    memcpy(segment, name, (size_t)(end - name));
    segment[end - name] = '\0';
    return sb_cache_segment_number(segment, &number) ? end : NULL;
}

bool sb_cache_is_leftover(const char *name)
{
    static const size_t older = sizeof(OLDER) - 1;
    const char *end;

    if (strcmp(name, ".index.pkl" SB_OUT_SUFFIX) == 0 ||
        strcmp(name, ".schema.json" SB_OUT_SUFFIX) == 0 ||
        (strncmp(name, OLDER, older) == 0 && digits_at(name + older) == OLDER_DIGITS &&
         !name[older + OLDER_DIGITS]))
        return true;
    end = skip_own(name);
    if (!end)
        return false;
    /* ".tmp", ".shardbox.tmp", or a number of 16 digits between the two dots. */
    return strcmp(end, ".tmp") == 0 || strcmp(end, ".shardbox.tmp") == 0 ||
           (*end == '.' && digits_at(end + 1) == OLDER_DIGITS &&
            strcmp(end + 1 + OLDER_DIGITS, ".tmp") == 0);
}
