#include "task/table/cache_ask.h"

#include "task/table/cache_table.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_BYTES        ((size_t)8 << 20) /* of one look-up */
#define FINDS_BEFORE_TABLE 16
#define SUFFIX_SIZE        (sizeof(".npy") - 1)

void sb_cache_asks_release(struct sb_cache_asks *asks)
{
    sb_cache_table_free(asks->table);
    sb_buf_release(&asks->names);
    free(asks->asks);
    free(asks->keys);
    free(asks->places);
    free(asks->numbers);
}

static enum sb_code grow(struct sb_cache_asks *asks, struct sb_error *err)
{
    size_t room = asks->room ? 4 * asks->room : 64;
    struct sb_cache_ask *grown = reallocarray(asks->asks, room, sizeof(*grown));
    struct sb_cache_key *keys = reallocarray(asks->keys, room, sizeof(*keys));
    struct sb_cache_place *places = reallocarray(asks->places, room, sizeof(*places));
    size_t *numbers = reallocarray(asks->numbers, room, sizeof(*numbers));

    if (grown)
        asks->asks = grown;
    if (keys)
        asks->keys = keys;
    if (places)
        asks->places = places;
    if (numbers)
        asks->numbers = numbers;
    if (!grown || !keys || !places || !numbers)
        return sb_fail_memory(err);
    asks->room = room;
    return SB_OK;
}

static enum sb_code add(struct sb_cache_asks *asks, const char *name, size_t size,
                        struct sb_error *err)
{
    if (asks->count == asks->room && grow(asks, err))
        return err->code;
    asks->asks[asks->count++] = (struct sb_cache_ask){.name_at = asks->names.size,
                                                      .name_size = size,
                                                      .key_size = size,
                                                      .place = {.segment = SB_CACHE_NOWHERE}};
    if (sb_buf_add(&asks->names, name, size) || sb_buf_add_char(&asks->names, '\0'))
        return sb_fail_memory(err);
    return SB_OK;
}

static enum sb_code collect(struct sb_cache_asks *asks, const struct sb_fetch_names *names,
                            bool *ended, struct sb_error *err)
{
    const char *name;
    enum sb_code code;
    size_t size;

    asks->count = 0;
    sb_buf_clear(&asks->names);
    do {
        code = names->next(names->context, &name, &size, err);
        *ended = code == SB_END;
        if (*ended)
            return SB_OK;
        if (!code)
            code = add(asks, name, size, err);
        if (code)
            return code;
    } while (asks->count < SB_CACHE_ASKS_MOST && asks->names.size < NAMES_BYTES &&
             names->ready(names->context));
    return SB_OK;
}

/* One look-up goes through all of the index, or of the keys; a table takes several times as long,
 * and then hardly anything. Where there can be none it goes on as before. */
static enum sb_code look_up(struct sb_cache_asks *asks, struct sb_cache *cache, size_t count,
                            struct sb_error *err)
{
    if (asks->finds++ == FINDS_BEFORE_TABLE) {
        enum sb_code code = sb_cache_table_new(&asks->table, cache, err);

        if (code && code != SB_NOMEM && code != SB_LIMIT)
            return code;
    }
    if (asks->table && sb_cache_table_find(asks->table, asks->keys, count, asks->places))
        return SB_OK;
    sb_cache_table_free(asks->table);
    asks->table = NULL;
    return sb_cache_find(cache, asks->keys, count, asks->places, err);
}

static enum sb_code find(struct sb_cache_asks *asks, struct sb_cache *cache, size_t count,
                         struct sb_error *err)
{
    if (count > 0 && look_up(asks, cache, count, err))
        return err->code;
    for (size_t i = 0; i < count; i++) {
        struct sb_cache_ask *ask = &asks->asks[asks->numbers[i]];

        if (asks->places[i].segment == SB_CACHE_NOWHERE)
            continue;
        ask->place = asks->places[i];
        ask->key_size = asks->keys[i].size;
    }
    return SB_OK;
}

/* The key that the first `size` bytes of a name are. */
static void want(struct sb_cache_asks *asks, size_t number, size_t size, size_t *count)
{
    const struct sb_cache_ask *ask = &asks->asks[number];

    asks->numbers[*count] = number;
    asks->keys[(*count)++] =
        (struct sb_cache_key){.text = asks->names.data + ask->name_at, .size = size};
}

static bool is_nowhere(const struct sb_cache_ask *ask)
{
    return ask->place.segment == SB_CACHE_NOWHERE;
}

static enum sb_code find_wholes(struct sb_cache_asks *asks, struct sb_cache *cache,
                                struct sb_error *err)
{
    size_t count = 0;

    for (size_t i = 0; i < asks->count; i++)
        want(asks, i, asks->asks[i].name_size, &count);
    return find(asks, cache, count, err);
}

/* What is no key, but a key and the name of an array. */
static enum sb_code find_cut(struct sb_cache_asks *asks, struct sb_cache *cache,
                             struct sb_error *err)
{
    size_t count = 0;

    for (size_t i = 0; i < asks->count; i++) {
        const struct sb_cache_ask *ask = &asks->asks[i];
        const char *name = asks->names.data + ask->name_at;
        const char *slash = memrchr(name, '/', ask->name_size);

        if (!is_nowhere(ask) || !slash || slash + 1 == name + ask->name_size)
            continue;
        want(asks, i, (size_t)(slash - name), &count);
    }
    return find(asks, cache, count, err);
}

/* What is neither, but the name that a tensor or blob alone has as a file. */
static enum sb_code find_files(struct sb_cache_asks *asks, struct sb_cache *cache,
                               struct sb_error *err)
{
    size_t count = 0;

    for (size_t i = 0; i < asks->count; i++) {
        const struct sb_cache_ask *ask = &asks->asks[i];
        const char *end = asks->names.data + ask->name_at + ask->name_size;

        if (ask->count > 0 || ask->name_size <= SUFFIX_SIZE ||
            (memcmp(end - SUFFIX_SIZE, ".npy", SUFFIX_SIZE) != 0 &&
             memcmp(end - SUFFIX_SIZE, ".pkl", SUFFIX_SIZE) != 0))
            continue;
        want(asks, i, ask->name_size - SUFFIX_SIZE, &count);
    }
    return find(asks, cache, count, err);
}

/* Is it what follows a key: '/' and the name of the field, as it is or as a file's, or just the
 * suffix of such a file? */
static bool is_called(const struct sb_cache_field *field, const char *rest, size_t size,
                      bool *as_file)
{
    const char *suffix = field->blob ? ".pkl" : ".npy";
    size_t named = strlen(field->name);

    if (*rest == '/') {
        rest++;
        size--;
        if (named == 0 || size < named || memcmp(rest, field->name, named) != 0)
            return false;
    } else if (named > 0) {
        return false;
    }
    *as_file = size == named + SUFFIX_SIZE && memcmp(rest + named, suffix, SUFFIX_SIZE) == 0;
    return *as_file || size == named;
}

/* Which fields of its segment it asks for. */
static void choose(const struct sb_cache_asks *asks, struct sb_cache_ask *ask,
                   const struct sb_cache_segment *segment)
{
    const char *rest = asks->names.data + ask->name_at + ask->key_size;

    ask->fields = segment->fields;
    ask->cost = segment->rows > 0 ? segment->bytes / segment->rows : 0;
    ask->alone = ask->key_size < ask->name_size;
    if (!ask->alone) {
        ask->count = segment->field_count;
        return;
    }
    for (size_t i = 0; i < segment->field_count; i++) {
        bool as_file;

        if (!is_called(&segment->fields[i], rest, ask->name_size - ask->key_size, &as_file) ||
            (as_file && ask->count > 0))
            continue;
        ask->first = i;
        ask->count = 1;
        ask->as_file = as_file;
    }
}

static enum sb_code choose_fields(struct sb_cache_asks *asks, struct sb_cache *cache,
                                  struct sb_error *err)
{
    uint32_t last = SB_CACHE_NOWHERE;
    struct sb_cache_segment segment = {0};

    for (size_t i = 0; i < asks->count; i++) {
        struct sb_cache_ask *ask = &asks->asks[i];

        if (is_nowhere(ask) || ask->count > 0)
            continue;
        if (ask->place.segment != last &&
            sb_cache_segment(cache, ask->place.segment, &segment, err))
            return err->code;
        last = ask->place.segment;
        choose(asks, ask, &segment);
    }
    return SB_OK;
}

enum sb_code sb_cache_asks_next(struct sb_cache_asks *asks, struct sb_cache *cache,
                                const struct sb_fetch_names *names, bool *ended,
                                struct sb_error *err)
{
    enum sb_code code = collect(asks, names, ended, err);

    if (!code)
        code = find_wholes(asks, cache, err);
    if (!code)
        code = find_cut(asks, cache, err);
    if (!code)
        code = choose_fields(asks, cache, err);
    if (!code)
        code = find_files(asks, cache, err);
    return code ? code : choose_fields(asks, cache, err);
}
