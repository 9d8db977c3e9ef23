#include "store/cache/key_table.h"

#include "core/hash64.h"

#include <stdlib.h>
#include <string.h>

/* One that is free has SB_CACHE_NOWHERE as its segment. */
struct entry {
    uint32_t hash; /* some bits of it, which leave hardly a key to be compared in vain */
    uint32_t segment;
    uint32_t row;
};

struct sb_key_table {
    struct sb_cache *cache;
    struct sb_cache_reader *reader;
    struct sb_hash_key seed;
    struct entry *entries;
    size_t capacity; /* a power of two; at least a third stays free */
};

static uint64_t hash_of(const struct sb_key_table *table, const struct sb_row_key *key)
{
    return sb_hash64(&table->seed, key->text, key->size);
}

static void add(struct sb_key_table *table, const struct sb_cache_row *row)
{
    uint64_t hash = hash_of(table, &row->key);
    size_t at = hash & (table->capacity - 1);

    while (table->entries[at].segment != SB_CACHE_NOWHERE)
        at = (at + 1) & (table->capacity - 1);
    table->entries[at] = (struct entry){.hash = (uint32_t)(hash >> 32),
                                        .segment = row->place.segment,
                                        .row = (uint32_t)row->place.row};
}

static enum sb_code fill(struct sb_key_table *table)
{
    struct sb_cache_segment segment;
    int64_t rows = 0, left;
    struct sb_cache_row row;
    enum sb_code code;

    /* Before all keys are read to find how many rows count: a table could not hold more. */
    for (uint32_t i = 0; i < sb_cache_segment_count(table->cache); i++) {
        TRY(sb_cache_segment(table->cache, i, &segment));
        if (__builtin_add_overflow(rows, segment.rows, &rows) || rows > SB_KEY_TABLE_ROWS)
            return sb_fail(SB_LIMIT, "there are too many rows for a table");
    }
    TRY(sb_cache_count(table->cache, &rows, &left));
    table->capacity = 16;
    while (table->capacity - table->capacity / 3 <= (uint64_t)left)
        table->capacity *= 2;
    table->entries = reallocarray(NULL, table->capacity, sizeof(*table->entries));
    if (!table->entries)
        return sb_fail_memory();
    for (size_t i = 0; i < table->capacity; i++)
        table->entries[i].segment = SB_CACHE_NOWHERE;
    sb_cache_rewind(table->cache);
    while (!(code = sb_cache_next(table->cache, &row))) {
        if (!row.superseded && left-- > 0)
            add(table, &row);
    }
    return code == SB_END ? SB_OK : code;
}

enum sb_code sb_key_table_new(struct sb_key_table **out, struct sb_cache *cache)
{
    CLEANUP(sb_key_table_freep) struct sb_key_table *table = calloc(1, sizeof(*table));

    *out = NULL;
    if (!table)
        return sb_fail_memory();
    table->cache = cache;
    TRY(sb_hash_key_draw(&table->seed));
    TRY(sb_cache_reader_new(&table->reader, cache));
    TRY(fill(table));
    *out = TAKE(table);
    return SB_OK;
}

void sb_key_table_free(struct sb_key_table *table)
{
    if (!table)
        return;
    sb_cache_reader_free(table->reader);
    free(table->entries);
    free(table);
}

/* false: the row can no longer be read. */
static bool compare(struct sb_key_table *table, const struct entry *entry,
                    const struct sb_row_key *key, bool *same)
{
    struct sb_cache_place place = {.segment = entry->segment, .row = entry->row};
    struct sb_row_key found;

    if (IGNORED(sb_cache_key_at(table->reader, place, &found)))
        return false;
    *same = found.size == key->size && memcmp(found.text, key->text, key->size) == 0;
    return !IGNORED(sb_cache_reader_check(table->reader));
}

static bool find(struct sb_key_table *table, const struct sb_row_key *key,
                 struct sb_cache_place *place)
{
    uint64_t hash = hash_of(table, key);
    size_t at = hash & (table->capacity - 1);
    const struct entry *entry = &table->entries[at];
    bool same = false;

    for (; entry->segment != SB_CACHE_NOWHERE; entry = &table->entries[at]) {
        if (entry->hash == (uint32_t)(hash >> 32) && !compare(table, entry, key, &same))
            return false;
        if (same)
            break;
        at = (at + 1) & (table->capacity - 1);
    }
    *place = (struct sb_cache_place){.segment = entry->segment, .row = entry->row};
    return true;
}

bool sb_key_table_find(struct sb_key_table *table, const struct sb_row_key *keys, size_t count,
                       struct sb_cache_place *places)
{
    for (size_t i = 0; i < count; i++) {
        if (!find(table, &keys[i], &places[i]))
            return false;
    }
    return true;
}
