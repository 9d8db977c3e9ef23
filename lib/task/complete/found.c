#include "task/complete/found.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    return strcmp(a, b);
}

void sb_found_begin(struct sb_found *found, const struct sb_complete_options *options, size_t kept)
{
    *found = (struct sb_found){.options = options, .kept = kept, .begin = options->typed + kept};
}

void sb_found_end(struct sb_found *found)
{
    tdestroy(found->names, free);
    sb_buf_release(&found->text);
}

bool sb_found_fits(const struct sb_found *found, const char *name, size_t size)
{
    size_t begin = strlen(found->begin);

    return size >= begin && memcmp(name, found->begin, begin) == 0;
}

/* False: it came before, or there is no memory. */
static bool remember(struct sb_found *found)
{
    char *copy = strdup(found->text.data);
    char **node = copy ? tsearch(copy, &found->names, compare) : NULL;

    sb_error()->code = node ? SB_OK : sb_fail_memory();
    if (node && *node == copy)
        return true;
    free(copy);
    return false;
}

enum sb_code sb_found_add(struct sb_found *found, const char *name, size_t size, bool open)
{
    const struct sb_complete_options *options = found->options;

    if (!sb_found_fits(found, name, size) || memchr(name, '\0', size))
        return SB_OK;
    if (sb_buf_set(&found->text, options->typed, found->kept) ||
        sb_buf_add(&found->text, name, size) || (open && sb_buf_add_char(&found->text, '/')))
        return sb_fail_memory();
    if (!remember(found))
        return sb_error()->code;
    TRY(options->each(options->context, found->text.data, found->text.size));
    if (++found->count >= options->limit)
        return sb_error()->code = SB_END;
    return SB_OK;
}
