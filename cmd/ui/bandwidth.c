#include "ui/bandwidth.h"

#include "core/context.h"
#include "core/number.h"
#include "ui/message.h"

#include <stdlib.h>
#include <string.h>

static bool ends_in_a_second(const char *value, size_t size)
{
    return size > 2 && strcmp(value + size - 2, "/s") == 0;
}

bool parse_bwlimit(void *settings, const char *value)
{
    size_t size = strlen(value);
    char *number = strndup(value, ends_in_a_second(value, size) ? size - 2 : size);
    int64_t rate = 0;
    bool good = number && sb_parse_size(number, &rate);

    (void)settings;
    if (!number)
        message_error("out of memory");
    else if (!good)
        message_usage("--bwlimit: '%s' is no rate, such as 50M or 50M/s", value);
    free(number);
    if (good)
        sb_throttle_set(&sb_context_now->throttle, rate);
    return good;
}
