#include "task/cache_table.h"

#include "core/hash64.h"
#include "core/interrupt.h"

#include <stdlib.h>
#include <string.h>

#define INTERRUPTS_LOOKED_FOR 65536 /* rows */

/* One that is free has SB_CACHE_NOWHERE as its segment. */
struct entry {
    uint32_t hash; /* some bits of it, which leave hardly a key to be compared in vain */
    uint32_t segment;
    int64_t row;
};

struct sb_cache_table {
    struct sb_cache *cache;
    struct sb_cache_reader *reader;
    struct sb_hash_key seed;
    struct entry *entries;
    size_t room; /* a power of two, of which at least a third stays free */
};

static uint64_t hash_of(const struct sb_cache_table *table, const struct sb_cache_key *key)
{
    return sb_hash64(&table->seed, key->text, key->size);
}

static void add(struct sb_cache_table *table, const struct sb_cache_row *row)
{
    uint64_t hash = hash_of(table, &row->key);
    size_t at = hash & (table->room - 1);

    while (table->entries[at].segment != SB_CACHE_NOWHERE)
        at = (at + 1) & (table->room - 1);
    table->entries[at] = (struct entry){
        .hash = (uint32_t)(hash >> 32), .segment = row->place.segment, .row = row->place.row};
}

static enum sb_code make_room(struct sb_cache_table *table, int64_t keys, struct sb_error *err)
{
    table->room = 16;
    while (table->room < (size_t)keys + (size_t)keys / 2)
        table->room *= 2;
    table->entries = reallocarray(NULL, table->room, sizeof(*table->entries));
    if (!table->entries)
        return sb_fail_memory(err);
    for (size_t i = 0; i < table->room; i++)
        table->entries[i].segment = SB_CACHE_NOWHERE;
    return SB_OK;
}

static enum sb_code fill(struct sb_cache_table *table, struct sb_error *err)
{
    int64_t rows, keys, left;
    struct sb_cache_row row;
    enum sb_code code = sb_cache_count(table->cache, &rows, &keys, err);

    if (!code)
        code = make_room(table, keys, err);
    if (code)
        return code;
    left = keys;
    sb_cache_rewind(table->cache);
    while (!(code = sb_cache_next(table->cache, &row, err))) {
        if (row.superseded || left == 0)
            continue;
        add(table, &row);
        if (--left % INTERRUPTS_LOOKED_FOR == 0 && sb_interrupted())
            return sb_fail(err, SB_INTERRUPT, "interrupted");
    }
    return code == SB_END ? SB_OK : code;
}

enum sb_code sb_cache_table_new(struct sb_cache_table **out, struct sb_cache *cache,
                                struct sb_error *err)
{
    struct sb_cache_table *table = calloc(1, sizeof(*table));
    enum sb_code code;

    *out = NULL;
    if (!table)
        return sb_fail_memory(err);
    table->cache = cache;
    code = sb_hash_key_draw(&table->seed, err);
    if (!code)
        code = sb_cache_reader_new(&table->reader, cache, err);
    if (!code)
        code = fill(table, err);
    if (code)
        sb_cache_table_free(table);
    else
        *out = table;
    return code;
}

void sb_cache_table_free(struct sb_cache_table *table)
{
    if (!table)
        return;
    sb_cache_reader_free(table->reader);
    free(table->entries);
    free(table);
}

/* A row that can no longer be read is none. */
static bool is_key(struct sb_cache_table *table, const struct entry *entry,
                   const struct sb_cache_key *key)
{
    struct sb_cache_place place = {.segment = entry->segment, .row = entry->row};
    struct sb_cache_key found;
    struct sb_error ignored;

    return !sb_cache_key_at(table->reader, place, &found, &ignored) && found.size == key->size &&
           memcmp(found.text, key->text, key->size) == 0;
}

static struct sb_cache_place place_of(struct sb_cache_table *table, const struct sb_cache_key *key)
{
    uint64_t hash = hash_of(table, key);
    size_t at = hash & (table->room - 1);
    const struct entry *entry = &table->entries[at];

    while (entry->segment != SB_CACHE_NOWHERE &&
           (entry->hash != (uint32_t)(hash >> 32) || !is_key(table, entry, key))) {
        at = (at + 1) & (table->room - 1);
        entry = &table->entries[at];
    }
    return (struct sb_cache_place){.segment = entry->segment, .row = entry->row};
}

void sb_cache_table_find(struct sb_cache_table *table, const struct sb_cache_key *keys,
                         size_t count, struct sb_cache_place *places)
{
    for (size_t i = 0; i < count; i++)
        places[i] = place_of(table, &keys[i]);
}
