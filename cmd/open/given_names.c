#include "open/given_names.h"
#include "core/glob.h"
#include "ui/output.h"

#include <string.h>

static enum sb_code next_file(struct given_names *given, const char **name, size_t *size)
{
    struct sb_entry entry;
    enum sb_code code;

    do
        code = sb_cursor_next(given->files, &entry);
    while (!code && entry.type != SB_FILE);
    if (code)
        return code;
    *name = entry.path;
    *size = entry.path_size;
    return SB_OK;
}

static bool is_pattern(const struct given_names *given, const char *name)
{
    return given->archive && sb_is_glob(name);
}

/* The next file that the pattern at hand matches; SB_END after the last. */
static enum sb_code next_match(struct given_names *given, const char **name, size_t *size)
{
    struct sb_entry entry;
    enum sb_code code;

    do
        code = sb_select_next(given->matches, &entry);
    while (!code && (entry.defect || entry.type != SB_FILE));
    if (!code) {
        *name = entry.path;
        *size = entry.path_size;
        return SB_OK;
    }
    sb_select_free(given->matches);
    given->matches = NULL;
    return code;
}

/* A name, or the first file that a pattern matches; a pattern that matches none is a name. */
static enum sb_code next_operand(struct given_names *given, const char **name, size_t *size)
{
    char *const *operand = given->operands++;
    enum sb_code code;

    *name = *operand;
    *size = strlen(*name);
    if (!is_pattern(given, *name))
        return SB_OK;
    code = sb_select_new(&given->matches, given->archive, operand, 1, SB_REACH_ITSELF);
    if (!code)
        code = next_match(given, name, size);
    return code == SB_END ? SB_OK : code;
}

static enum sb_code next_of_all(struct given_names *given, const char **name, size_t *size)
{
    enum sb_code code;

    given->number++;
    if (given->matches) {
        code = next_match(given, name, size);
        if (code != SB_END)
            return code;
    }
    if (given->operands < given->end)
        return next_operand(given, name, size);
    if (given->list && !sb_list_ready(given->list))
        output_flush();
    if (given->list)
        return sb_list_next(given->list, name, size);
    return given->files ? next_file(given, name, size) : SB_END;
}

static bool is_others(const struct given_names *given)
{
    return !sb_share_has(given->share, given->number);
}

static enum sb_code next(void *context, const char **name, size_t *size)
{
    struct given_names *given = context;
    enum sb_code code;
    bool passed;

    do {
        passed = is_others(given);
        code = next_of_all(given, name, size);
    } while (!code && passed);
    return code;
}

static bool ready_of_all(const struct given_names *given)
{
    return given->matches || given->operands < given->end || !given->list ||
           sb_list_ready(given->list);
}

/* Skips names of other shares: that one is available does not mean that the next one is. */
static bool ready(void *context)
{
    struct given_names *given = context;
    const char *name;
    size_t size;

    while (is_others(given) && ready_of_all(given)) {
        /* The next call will return this error, too. */
        if (IGNORED(next_of_all(given, &name, &size))) {
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
    sb_select_free(given->matches);
    sb_cursor_free(given->files);
}
