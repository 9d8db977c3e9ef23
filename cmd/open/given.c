#include "open/given.h"
#include "ui/message.h"
#include "ui/output.h"

#include "core/glob.h"

#include <errno.h>
#include <stdlib.h>
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
    const char *given = options_given_of(samples ? "npy raw" : "array npy raw");

    if (given)
        return message_usage("%s: is no Syrah file and no cache, and --%s is for these", path,
                             given);
    return STATUS_CLEAN;
}

const char keys_of_list[] = "";

bool key_is_given(void *settings, const char *value)
{
    (void)settings;
    (void)value;
    return true;
}

/* With `words`, also takes the keys. */
static void look_through(struct given_keys *keys, char **words)
{
    const struct given_option *given;
    size_t count = options_given(&given);

    keys->count = 0;
    for (size_t i = 0; i < count; i++) {
        bool all = strcmp(given[i].name, "find-all") == 0;

        if (!all && strcmp(given[i].name, "find") != 0)
            continue;
        keys->find_all |= all;
        keys->find |= !all;
        if (given[i].value == keys_of_list) {
            keys->from_list = true;
            continue;
        }
        if (words)
            words[keys->count] = (char *)given[i].value; /* only read */
        keys->count++;
    }
}

void given_keys_begin(struct given_keys *keys)
{
    *keys = (struct given_keys){0};
    look_through(keys, NULL);
}

enum sb_code given_keys_open(struct given_keys *keys, char *const *operands, size_t count,
                             const char *files_from, char end)
{
    TRY(SB_NEW_ARRAY(&keys->words, keys->count + count + 1));
    look_through(keys, keys->words);
    for (size_t i = 0; i < count; i++)
        keys->words[keys->count++] = operands[i];
    keys->names.operands = keys->words;
    keys->names.end = keys->words + keys->count;
    return files_from ? sb_list_open(&keys->names.list, files_from, end) : SB_OK;
}

void given_keys_close(struct given_keys *keys)
{
    given_names_release(&keys->names);
    free(keys->words);
}
