#include "open/record_keys_given.h"
#include "ui/output.h"

#include <string.h>

const char keys_of_list[] = "";

bool key_is_given(void *settings, const char *value)
{
    (void)settings;
    (void)value;
    return true;
}

static bool is_find(const struct given_option *option)
{
    return strcmp(option->name, "find") == 0 || strcmp(option->name, "find-all") == 0;
}

void given_keys_begin(struct given_keys *keys)
{
    const struct given_option *given;
    size_t count = options_given(&given);

    *keys = (struct given_keys){0};
    for (size_t i = 0; i < count; i++) {
        if (!is_find(&given[i]))
            continue;
        if (strcmp(given[i].name, "find") == 0)
            keys->find = true;
        else
            keys->find_all = true;
        keys->from_list |= given[i].value == keys_of_list;
    }
}

enum sb_code given_keys_open(struct given_keys *keys, const char *files_from, char end,
                             struct sb_error *err)
{
    return files_from ? sb_list_open(&keys->list, files_from, end, err) : SB_OK;
}

void given_keys_close(struct given_keys *keys)
{
    sb_list_free(keys->list);
    keys->list = NULL;
}

static enum sb_code next_key(void *context, const char **name, size_t *size, struct sb_error *err)
{
    struct given_keys *keys = context;
    const struct given_option *given;
    size_t count = options_given(&given);

    while (keys->next < count) {
        const struct given_option *option = &given[keys->next++];

        if (is_find(option) && option->value != keys_of_list) {
            *name = option->value;
            *size = strlen(option->value);
            return SB_OK;
        }
    }
    if (!keys->list)
        return SB_END;
    if (!sb_list_ready(keys->list))
        output_flush();
    return sb_list_next(keys->list, name, size, err);
}

static bool key_is_ready(void *context)
{
    const struct given_keys *keys = context;
    const struct given_option *given;

    return keys->next < options_given(&given) || !keys->list || sb_list_ready(keys->list);
}

struct sb_fetch_names given_keys_names(struct given_keys *keys)
{
    return (struct sb_fetch_names){.next = next_key, .ready = key_is_ready, .context = keys};
}
