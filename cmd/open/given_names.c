#include "open/given_names.h"
#include "ui/output.h"

#include <string.h>

static enum sb_code next_file(struct given_names *given, const char **name, size_t *size,
                              struct sb_error *err)
{
    struct sb_entry entry;
    enum sb_code code;

    do
        code = sb_cursor_next(given->files, &entry, err);
    while (!code && entry.type != SB_FILE);
    if (code)
        return code;
    *name = entry.path;
    *size = entry.path_size;
    return SB_OK;
}

static enum sb_code next_of_all(struct given_names *given, const char **name, size_t *size,
                                struct sb_error *err)
{
    given->number++;
    if (given->operands < given->end) {
        *name = *given->operands++;
        *size = strlen(*name);
        return SB_OK;
    }
    if (given->list && !sb_list_ready(given->list))
        output_flush();
    if (given->list)
        return sb_list_next(given->list, name, size, err);
    return given->files ? next_file(given, name, size, err) : SB_END;
}

static bool is_others(const struct given_names *given)
{
    return !sb_share_has(given->share, given->number);
}

static enum sb_code next(void *context, const char **name, size_t *size, struct sb_error *err)
{
    struct given_names *given = context;
    enum sb_code code;
    bool passed;

    do {
        passed = is_others(given);
        code = next_of_all(given, name, size, err);
    } while (!code && passed);
    return code;
}

static bool ready_of_all(const struct given_names *given)
{
    return given->operands < given->end || !given->list || sb_list_ready(given->list);
}

/* Skips names of other shares: that one is available does not mean that the next one is. */
static bool ready(void *context)
{
    struct given_names *given = context;
    struct sb_error ignored;
    const char *name;
    size_t size;

    while (is_others(given) && ready_of_all(given)) {
        /* The next call will return this error, too. */
        if (next_of_all(given, &name, &size, &ignored)) {
            given->number--;
            return true;
        }
    }
    return ready_of_all(given);
}

struct sb_fetch_names given_names_of(struct given_names *given)
{
    return (struct sb_fetch_names){.next = next, .ready = ready, .context = given};
}

void given_names_release(struct given_names *given)
{
    sb_list_free(given->list);
    sb_cursor_free(given->files);
}
