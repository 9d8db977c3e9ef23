#include "task/table/keys.h"

#include "task/table/cache_ask.h"

#include <stdlib.h>

struct sb_table_keys {
    struct sb_table *table;
    struct sb_table_keys_options options;
    struct sb_cache_asks asks;
    size_t next; /* of the asks */
    bool ended;  /* there are no further names */
    uint32_t *columns;
    size_t room;
    struct sb_buf missing;
};

void sb_table_keys_free(struct sb_table_keys *keys)
{
    if (!keys)
        return;
    sb_cache_asks_release(&keys->asks);
    sb_buf_release(&keys->missing);
    free(keys->columns);
    free(keys);
}

static enum sb_code turn(struct sb_table_keys *keys, struct sb_error *err)
{
    keys->next = 0;
    return sb_cache_asks_next(&keys->asks, keys->table->cache, &keys->options.names, &keys->ended,
                              err);
}

static bool is_wanted(const struct sb_table_keys *keys, const struct sb_cache_ask *ask, size_t i)
{
    return ask->alone ||
           sb_array_is_among(ask->fields[i].name, keys->options.arrays, keys->options.array_count);
}

static enum sb_code choose_columns(struct sb_table_keys *keys, const struct sb_cache_ask *ask,
                                   struct sb_cell_run *run, struct sb_error *err)
{
    if (ask->count > keys->room) {
        uint32_t *columns = reallocarray(keys->columns, ask->count, sizeof(*columns));

        if (!columns)
            return sb_fail_memory(err);
        keys->columns = columns;
        keys->room = ask->count;
    }
    for (size_t i = ask->first; i < ask->first + ask->count; i++) {
        if (is_wanted(keys, ask, i))
            keys->columns[run->column_count++] = (uint32_t)i;
    }
    run->columns = keys->columns;
    return SB_OK;
}

static enum sb_code fail_missing(struct sb_table_keys *keys, const struct sb_cache_ask *ask,
                                 struct sb_error *err)
{
    const char *name = keys->asks.names.data + ask->name_at;

    if (sb_buf_set(&keys->missing, name, ask->name_size))
        return sb_fail_memory(err);
    if (ask->place.segment == SB_CACHE_NOWHERE)
        return sb_fail(err, SB_INVALID, "%s: no such key in the cache", name);
    return sb_fail(err, SB_INVALID, "%s: the key has no such array; ls tells which it has", name);
}

static enum sb_code next_run(void *context, struct sb_cell_run *run, struct sb_error *err)
{
    struct sb_table_keys *keys = context;
    const struct sb_cache_ask *ask;

    *run = (struct sb_cell_run){.rows.step = 1};
    if (keys->next == keys->asks.count && !keys->ended && turn(keys, err))
        return err->code;
    if (keys->next == keys->asks.count)
        return err->code = SB_END;
    ask = &keys->asks.asks[keys->next++];
    if (choose_columns(keys, ask, run, err))
        return err->code;
    if (run->column_count == 0)
        return fail_missing(keys, ask, err);
    run->rows.first = sb_cache_row_of(ask->place);
    run->rows.count = 1;
    run->as_file = ask->as_file;
    return SB_OK;
}

static bool is_ready(void *context)
{
    const struct sb_table_keys *keys = context;

    return keys->next < keys->asks.count || keys->ended ||
           keys->options.names.ready(keys->options.names.context);
}

/* Where all names are known, by what they are expected to come to. */
static int64_t total_of(void *context)
{
    const struct sb_table_keys *keys = context;
    int64_t bytes = 0;

    for (size_t i = 0; i < keys->asks.count; i++)
        bytes += keys->asks.asks[i].cost;
    return keys->ended ? bytes / keys->table->cell_size : -1;
}

static const char *missing(void *context)
{
    return ((const struct sb_table_keys *)context)->missing.data;
}

enum sb_code sb_table_keys_new(struct sb_table_keys **out, struct sb_table *table,
                               const struct sb_table_keys_options *options, struct sb_error *err)
{
    struct sb_table_keys *keys = calloc(1, sizeof(*keys));
    enum sb_code code;

    *out = keys;
    if (!keys)
        return sb_fail_memory(err);
    keys->table = table;
    keys->options = *options;
    code = turn(keys, err);
    if (!code)
        return SB_OK;
    sb_table_keys_free(keys);
    *out = NULL;
    return code;
}

struct sb_cell_feed sb_table_keys_feed(struct sb_table_keys *keys)
{
    return (struct sb_cell_feed){.next = next_run,
                                 .ready = is_ready,
                                 .total = total_of,
                                 .missing = missing,
                                 .context = keys};
}
