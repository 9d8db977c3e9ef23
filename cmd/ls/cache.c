#include "ls/cache.h"
#include "open/arrays_given.h"
#include "open/cache_opening.h"
#include "open/cache_rows.h"
#include "open/given_names.h"
#include "ui/message.h"
#include "ui/options.h"
#include "ui/output.h"

#include "task/table/cache_ask.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *ls_cache_clash(void)
{
    static const char *const others[] = {
        "recursive",  "directory",  "sort",   "by-size", "by-time", "reverse",  "tree",
        "shards",     "rsync-list", "at",     "records", "find",    "find-all", "compression",
        "dictionary", "limits",     "layout", "threads", NULL};

    return options_given_of(others);
}

static enum sb_code list_all(struct sb_cache *cache, struct cache_rows *rows, struct sb_error *err)
{
    struct sb_cache_segment segment = {0};
    uint32_t last = SB_CACHE_NOWHERE;
    struct sb_cache_row row;
    struct sb_buf key = {0};
    enum sb_code code;

    while (!(code = sb_cache_next(cache, &row, err))) {
        if (row.superseded && !rows->all)
            continue;
        if (row.place.segment != last) {
            output_need(sb_buf_set(&key, row.key.text, row.key.size));
            row.key.text = key.data;
            code = sb_cache_segment(cache, row.place.segment, &segment, err);
            last = row.place.segment;
        }
        if (!code)
            code = cache_rows_add(rows, &segment, &row, 0, segment.field_count, err);
        if (code)
            break;
    }
    sb_buf_release(&key);
    return code == SB_END ? SB_OK : code;
}

static enum sb_code list_ask(struct sb_cache *cache, struct cache_rows *rows,
                             const struct sb_cache_asks *asks, const struct sb_cache_ask *ask,
                             struct sb_error *err)
{
    const char *name = asks->names.data + ask->name_at;
    struct sb_cache_row row = {.place = ask->place, .key = {.text = name, .size = ask->key_size}};
    struct sb_cache_segment segment;

    if (ask->count == 0) {
        message_problem("%s: %s", name,
                        ask->place.segment == SB_CACHE_NOWHERE ? "no such key in the cache"
                                                               : "the key has no such array");
        return SB_OK;
    }
    if (sb_cache_segment(cache, ask->place.segment, &segment, err))
        return err->code;
    return cache_rows_add(rows, &segment, &row, ask->first, ask->count, err);
}

static enum sb_code list_asked(struct sb_cache *cache, struct cache_rows *rows,
                               struct given_names *given, struct sb_error *err)
{
    struct sb_fetch_names names = given_names_of(given);
    struct sb_cache_asks asks = {0};
    bool ended = false;
    enum sb_code code = SB_OK;

    while (!code && !ended) {
        code = sb_cache_asks_next(&asks, cache, &names, &ended, err);
        for (size_t i = 0; !code && i < asks.count; i++)
            code = list_ask(cache, rows, &asks, &asks.asks[i], err);
        cache_rows_flush(rows);
        if (!ended)
            output_flush();
    }
    sb_cache_asks_release(&asks);
    return code;
}

static enum sb_code count_keys(struct sb_cache *cache, bool all, struct sb_error *err)
{
    int64_t rows, live;
    enum sb_code code = sb_cache_count(cache, &rows, &live, err);

    if (!code)
        output_format("%" PRId64 "\n", all ? rows : live);
    return code;
}

static enum sb_code list(const struct ls_cache *wanted, struct sb_cache *cache,
                         struct given_names *given, struct sb_error *err)
{
    struct cache_rows rows = {.details = wanted->details,
                              .human = wanted->human,
                              .json = wanted->json,
                              .all = wanted->all};
    bool some = given->list || given->operands < given->end;
    const char **arrays;
    enum sb_code code;

    if (wanted->count)
        return count_keys(cache, wanted->all, err);
    rows.array_count = arrays_given(&arrays);
    rows.arrays = arrays;
    code = sb_cache_reader_new(&rows.reader, cache, err);
    if (!code)
        code = some ? list_asked(cache, &rows, given, err) : list_all(cache, &rows, err);
    cache_rows_flush(&rows);
    sb_cache_reader_free(rows.reader);
    cache_rows_release(&rows);
    free(arrays);
    return code;
}

static int check_usage(const struct ls_cache *wanted, const char *path, size_t key_count)
{
    const char *other = ls_cache_clash();
    bool some = key_count > 0 || wanted->files_from;

    if (other)
        return message_usage("%s: is a cache, whose keys are listed in their order, without --%s",
                             path, other);
    if (wanted->nul && !wanted->files_from)
        return message_usage("-0 goes with -T");
    if (some && wanted->all)
        return message_usage("-a goes with all keys of a cache; of a KEY the row that counts is "
                             "listed");
    if (some && wanted->count)
        return message_usage("--count is of a whole cache");
    return STATUS_CLEAN;
}

int ls_cache(const struct ls_cache *wanted, struct sb_store *store, char **keys, size_t key_count)
{
    const char *path = sb_store_path(store);
    struct given_names given = {.operands = keys, .end = keys + key_count};
    struct sb_cache *cache = NULL;
    struct sb_error err;
    enum sb_code code;
    int status = check_usage(wanted, path, key_count);

    if (status)
        return status;
    code = open_cache(&cache, store, &err);
    if (!code && wanted->files_from)
        code = sb_list_open(&given.list, wanted->files_from, wanted->nul ? '\0' : '\n', &err);
    if (!code)
        code = need_given_arrays(cache, path, &err);
    if (!code)
        code = list(wanted, cache, &given, &err);
    sb_list_free(given.list);
    sb_cache_free(cache);
    return code ? message_failure(&err) : message_status();
}
