#include "open/record_keys_given.h"

#include <stdlib.h>
#include <string.h>

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
    keys->words = calloc(keys->count + count + 1, sizeof(*keys->words));
    if (!keys->words)
        return sb_fail_memory();
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
