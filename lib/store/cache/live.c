#include "store/cache/impl.h"

#include "core/hash64.h"
#include "core/interrupt.h"

#include <stdlib.h>
#include <string.h>

/*
 * Keys are known by 128 bits of two keyed hashes. A pass goes over all rows, from the last to the
 * first, and takes the keys whose hash falls into its part; there are so many parts that the keys
 * of each fit into the table.
 */
#define TABLE_BYTES ((size_t)64 << 20)
#define TABLE_LEAST ((size_t)1 << 12)

struct known_key {
    uint64_t first; /* both 0: none */
    uint64_t second;
};

struct pass {
    struct sb_cache *cache;
    struct sb_hash_key keys[2];
    struct known_key *table;
    size_t slots; /* a power of two */
    uint64_t parts;
    uint64_t part;
    int64_t superseded;
};

static struct known_key hash_key(const struct pass *pass, const struct sb_row_key *key)
{
    struct known_key hash = {sb_hash64(&pass->keys[0], key->text, key->size),
                             sb_hash64(&pass->keys[1], key->text, key->size)};

    if (!hash.first && !hash.second)
        hash.second = 1;
    return hash;
}

/* Was it there before? There is always a free slot. */
static bool add_key(struct pass *pass, const struct known_key *key)
{
    size_t at = key->first & (pass->slots - 1);

    while (pass->table[at].first || pass->table[at].second) {
        if (pass->table[at].first == key->first && pass->table[at].second == key->second)
            return true;
        at = (at + 1) & (pass->slots - 1);
    }
    pass->table[at] = *key;
    return false;
}

/* Rows of a segment that is given up in the end must not have superseded others. */
static enum sb_code check_keys(const struct sb_cache_file *file, const struct sb_cache_map *map)
{
    struct sb_row_key key;

    for (int64_t row = 0; row < file->as.rows; row++)
        TRY(sb_cache_key(map, file, row, &key));
    return SB_OK;
}

static enum sb_code pass_rows(struct pass *pass, struct sb_cache_file *file,
                              const struct sb_cache_map *map)
{
    int64_t touched = 0;

    for (int64_t row = file->as.rows - 1; row >= 0; row--) {
        struct known_key hash;
        struct sb_row_key key;

        TRY(sb_cache_key(map, file, row, &key));
        sb_cache_map_touch(map, &touched, key.size);
        hash = hash_key(pass, &key);
        /* The table is entered by the low bits. */
        if (pass->parts > 1 && (hash.second >> 32) * pass->parts >> 32 != pass->part)
            continue;
        if (!add_key(pass, &hash))
            continue;
        if (!file->superseded)
            file->superseded = calloc((size_t)(file->as.rows / 64 + 1), sizeof(*file->superseded));
        if (!file->superseded)
            return sb_fail_memory();
        file->superseded[row / 64] |= UINT64_C(1) << (row % 64);
        pass->superseded++;
    }
    return sb_mapping_check(map->mapping);
}

/* SB_END: it is given up, and of its rows some may have been passed. */
static enum sb_code pass_segment(struct pass *pass, uint32_t segment)
{
    struct sb_cache_file *file = &pass->cache->segments[segment];
    struct sb_cache_map *map;
    bool begun = pass->part > 0;
    enum sb_code code;

    TRY(sb_heed_interrupt());
    if (file->as.rows == 0)
        return SB_OK;
    code = sb_cache_hold(pass->cache, segment, &map);
    if (!code) {
        code = check_keys(file, map);
        if (!code) {
            begun = true;
            code = pass_rows(pass, file, map);
        }
        sb_cache_leave(pass->cache, map);
        if (code)
            code = sb_cache_give_up(pass->cache, segment);
    }
    return code == SB_END && !begun ? SB_OK : code;
}

/* All segments are mapped once, so that it is known how many rows there are. */
static enum sb_code count_rows(struct sb_cache *cache)
{
    struct sb_cache_map *map;

    cache->rows = 0;
    for (uint32_t i = 0; i < cache->segment_count; i++) {
        enum sb_code code = sb_cache_hold(cache, i, &map);

        if (code == SB_END)
            continue;
        TRY(code);
        sb_cache_leave(cache, map);
        if (__builtin_add_overflow(cache->rows, cache->segments[i].as.rows, &cache->rows))
            return sb_fail(SB_LIMIT, "%s: has too many rows", cache->dirs[0]);
    }
    return SB_OK;
}

static enum sb_code make_table(struct pass *pass, struct known_key **table)
{
    size_t most = TABLE_BYTES / sizeof(*pass->table);
    uint64_t rows = (uint64_t)pass->cache->rows;

    pass->slots = TABLE_LEAST;
    while (pass->slots < most && pass->slots / 2 < rows)
        pass->slots *= 2;
    /* Parts are not of quite the same size: so each is given half of the table. */
    pass->parts = pass->slots / 2 >= rows ? 1 : rows / (pass->slots / 2) + 1;
    pass->table = *table = malloc(pass->slots * sizeof(**table));
    if (!pass->table)
        return sb_fail_memory();
    TRY(sb_hash_key_draw(&pass->keys[0]));
    TRY(sb_hash_key_draw(&pass->keys[1]));
    return SB_OK;
}

/* SB_END: a segment was given up, so that all of it must be done again without that. */
static enum sb_code pass_all(struct pass *pass)
{
    pass->superseded = 0;
    for (uint32_t i = 0; i < pass->cache->segment_count; i++)
        free(TAKE(pass->cache->segments[i].superseded));
    for (pass->part = 0; pass->part < pass->parts; pass->part++) {
        memset(pass->table, 0, pass->slots * sizeof(*pass->table));
        for (uint32_t i = pass->cache->segment_count; i > 0; i--)
            TRY(pass_segment(pass, i - 1));
    }
    return SB_OK;
}

enum sb_code sb_cache_find_superseded(struct sb_cache *cache)
{
    CLEANUP(sb_freep) struct known_key *table = NULL;
    struct pass pass = {.cache = cache};
    enum sb_code code;

    if (cache->counted)
        return SB_OK;
    TRY(count_rows(cache));
    TRY(make_table(&pass, &table));
    while ((code = pass_all(&pass)) == SB_END)
        continue;
    TRY(code);
    cache->rows = 0;
    for (uint32_t i = 0; i < cache->segment_count; i++)
        cache->rows += cache->segments[i].as.rows;
    cache->live = cache->rows - pass.superseded;
    cache->counted = true;
    return SB_OK;
}

/* Looks on from where the last one was found; SB_END: it is in none of the segment's rows. */
static enum sb_code find_live(struct sb_cache_found *found, const struct sb_cache_file *file,
                              int64_t number, int64_t *row)
{
    if (!file->superseded || found->all) {
        *row = number - found->live;
        if (*row < file->as.rows)
            return SB_OK;
        found->live += file->as.rows;
        return SB_END;
    }
    for (; found->word * 64 < file->as.rows; found->word++) {
        int64_t left = file->as.rows - found->word * 64;
        uint64_t there = left >= 64 ? UINT64_MAX : (UINT64_C(1) << left) - 1;
        uint64_t bits = there & ~file->superseded[found->word];
        int64_t count = __builtin_popcountll(bits);

        if (number < found->live + count) {
            for (number -= found->live; number > 0; number--)
                bits &= bits - 1;
            *row = found->word * 64 + __builtin_ctzll(bits);
            return SB_OK;
        }
        found->live += count;
    }
    return SB_END;
}

enum sb_code sb_cache_row_at(struct sb_cache *cache, int64_t number, bool all,
                             struct sb_cache_place *out)
{
    struct sb_cache_found *found = &cache->found;
    int64_t count;

    TRY(sb_cache_find_superseded(cache));
    count = all ? cache->rows : cache->live;
    if (number < 0 || number >= count)
        return sb_fail(SB_INVALID, "key %lld: there are %lld", (long long)number, (long long)count);
    if (number < found->live || found->all != all)
        *found = (struct sb_cache_found){.all = all};
    for (; found->segment < cache->segment_count; found->segment++, found->word = 0) {
        out->segment = found->segment;
        if (!find_live(found, &cache->segments[found->segment], number, &out->row))
            return SB_OK;
    }
    return sb_fail(SB_INVALID, "key %lld: its segment can no longer be read", (long long)number);
}

bool sb_cache_superseded(const struct sb_cache *cache, struct sb_cache_place place)
{
    return sb_cache_is_superseded(&cache->segments[place.segment], place.row);
}

/* One after the other */

void sb_cache_seek(struct sb_cache *cache, uint32_t segment)
{
    sb_cache_leave(cache, cache->map);
    cache->map = NULL;
    cache->touched = 0;
    cache->segment = segment;
    cache->row = 0;
}

void sb_cache_rewind(struct sb_cache *cache)
{
    sb_cache_seek(cache, 0);
}

/* Goes on to the next segment that has rows; SB_END: there is none. */
static enum sb_code next_segment(struct sb_cache *cache)
{
    for (; cache->segment < cache->segment_count; cache->segment++, cache->row = 0) {
        const struct sb_cache_file *file = &cache->segments[cache->segment];
        enum sb_code code;

        if (cache->row >= file->as.rows)
            continue;
        if (cache->map && cache->map->segment == cache->segment)
            return SB_OK;
        sb_cache_leave(cache, cache->map);
        cache->map = NULL;
        cache->touched = 0;
        code = sb_cache_hold(cache, cache->segment, &cache->map);
        if (code != SB_END)
            return code;
    }
    return SB_END;
}

/* SB_END: the segment is given up. */
static enum sb_code take_row(struct sb_cache *cache, struct sb_cache_row *row)
{
    const struct sb_cache_file *file = &cache->segments[cache->segment];

    if (sb_cache_key(cache->map, file, cache->row, &row->key))
        return sb_cache_give_up(cache, cache->segment);
    if (cache->row + 1 == file->as.rows && sb_mapping_check(cache->map->mapping))
        return sb_cache_give_up(cache, cache->segment);
    row->place = (struct sb_cache_place){.segment = cache->segment, .row = cache->row};
    row->superseded = sb_cache_is_superseded(file, cache->row);
    cache->row++;
    return SB_OK;
}

enum sb_code sb_cache_next(struct sb_cache *cache, struct sb_cache_row *row)
{
    enum sb_code code = SB_OK;

    TRY(sb_heed_interrupt());
    TRY(sb_cache_find_superseded(cache));
    do {
        /* What was returned lives until now. */
        if (cache->touched > SB_CACHE_TOUCHED_MOST) {
            sb_cache_map_forget(cache->map);
            cache->touched = 0;
        }
        TRY(next_segment(cache));
        code = take_row(cache, row);
    } while (code == SB_END);
    if (!code)
        cache->touched += (int64_t)row->key.size;
    return code;
}
