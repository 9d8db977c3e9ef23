#include "open/arrays_given.h"
#include "ui/message.h"
#include "ui/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The parser remembers the options that were given. */
bool array_is_given(void *settings, const char *value)
{
    (void)settings;
    (void)value;
    return true;
}

size_t arrays_given(const char ***names)
{
    const struct given_option *given;
    size_t options = options_given(&given), count = 0;

    *names = NULL;
    for (size_t i = 0; i < options; i++) {
        if (strcmp(given[i].name, "array") != 0)
            continue;
        if (!*names)
            *names = calloc(options, sizeof(**names));
        if (!*names) {
            output_check(ENOMEM);
            return 0;
        }
        (*names)[count++] = given[i].value;
    }
    return count;
}

int refuse_arrays(const char *path, bool samples)
{
    static const char *const names[] = {"array", "npy", "raw", NULL};
    const char *given = options_given_of(names + samples);

    if (given)
        return message_usage("%s: is no Syrah file and no cache, and --%s is for these", path,
                             given);
    return STATUS_CLEAN;
}
