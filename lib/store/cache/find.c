#include "store/cache/impl.h"

#include "core/array.h"
#include "core/file.h"
#include "core/hash64.h"
#include "core/interrupt.h"
#include "store/cache/index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct sb_cache_place nowhere = {.segment = SB_CACHE_NOWHERE};

#define FILTER_BITS_LEAST ((size_t)1 << 16)
#define BITS_PER_KEY      16
#define UNWANTED          SIZE_MAX

/* The keys that are looked for. A bit, of a key's length and last bytes, rules out most other keys.
 * Reading it is thread-safe. */
struct wanted {
    const struct sb_row_key *keys; /* of the caller */
    struct sb_hash_key hash_key;
    size_t *slots; /* numbers of keys, plus 1; 0: free */
    size_t mask;
    uint64_t *filter;
    unsigned shift; /* 64 less its bits, as a power of two */
};

static uint64_t wanted_bit(const struct wanted *wanted, const char *text, size_t size)
{
    uint64_t tail = 0;

    if (size >= sizeof(tail))
        memcpy(&tail, text + size - sizeof(tail), sizeof(tail));
    else
        memcpy(&tail, text, size);
    return (tail ^ size) * UINT64_C(0x9e3779b97f4a7c15) >> wanted->shift;
}

/* The first of the keys that is this one; without a look at the filter. */
static size_t wanted_find(const struct wanted *wanted, const char *text, size_t size)
{
    size_t at = sb_hash64(&wanted->hash_key, text, size) & wanted->mask;

    for (; wanted->slots[at]; at = (at + 1) & wanted->mask) {
        const struct sb_row_key *key = &wanted->keys[wanted->slots[at] - 1];

        if (key->size == size && memcmp(key->text, text, size) == 0)
            return wanted->slots[at] - 1;
    }
    return UNWANTED;
}

static size_t wanted_look(const struct wanted *wanted, const char *text, size_t size)
{
    uint64_t bit = wanted_bit(wanted, text, size);

    if (!(wanted->filter[bit / 64] >> (bit % 64) & 1))
        return UNWANTED;
    return wanted_find(wanted, text, size);
}

static void add_wanted(struct wanted *wanted, size_t number)
{
    const struct sb_row_key *key = &wanted->keys[number];
    uint64_t bit = wanted_bit(wanted, key->text, key->size);
    size_t at;

    if (wanted_find(wanted, key->text, key->size) != UNWANTED)
        return;
    wanted->filter[bit / 64] |= UINT64_C(1) << (bit % 64);
    at = sb_hash64(&wanted->hash_key, key->text, key->size) & wanted->mask;
    while (wanted->slots[at])
        at = (at + 1) & wanted->mask;
    wanted->slots[at] = number + 1;
}

static enum sb_code wanted_make(struct wanted *wanted, const struct sb_row_key *keys, size_t count)
{
    size_t slots = 16, bits = FILTER_BITS_LEAST;

    *wanted = (struct wanted){.keys = keys};
    TRY(sb_hash_key_draw(&wanted->hash_key));
    if (count > SIZE_MAX / 64)
        return sb_fail_memory();
    while (slots / 2 < count)
        slots *= 2;
    while (bits / BITS_PER_KEY < count)
        bits *= 2;
    wanted->mask = slots - 1;
    wanted->shift = 64 - (unsigned)__builtin_ctzll(bits);
    wanted->slots = calloc(slots, sizeof(*wanted->slots));
    wanted->filter = calloc(bits / 64, sizeof(*wanted->filter));
    if (!wanted->slots || !wanted->filter)
        return sb_fail_memory();
    for (size_t i = 0; i < count; i++)
        add_wanted(wanted, i);
    return SB_OK;
}

struct search {
    struct sb_cache *cache;
    struct wanted wanted;
    const struct sb_row_key *keys;
    size_t count;
    struct sb_cache_place *places; /* by an index, and then where they are */
    uint64_t *indexed;             /* a bit for each segment that an index knows */
    size_t open;                   /* how many are nowhere yet */
};

/* Segments of one directory while its index is read. */
struct indexed_dir {
    struct search *search;
    uint32_t first;
    uint32_t end;
    uint32_t last; /* the last one looked up; its entries mostly come together */
};

static void release_search(struct search *search)
{
    free(search->wanted.slots);
    free(search->wanted.filter);
    free(search->indexed);
}

/* The segment of that number in the directory. */
static bool find_segment(struct indexed_dir *dir, int64_t number)
{
    const struct sb_cache_file *segments = dir->search->cache->segments + dir->first;
    size_t count = dir->end - dir->first, at;

    if (dir->last < dir->end && segments[dir->last - dir->first].as.number == number)
        return true;
    at = FIRST_WHERE(i, count, segments[i].as.number >= number);
    if (at == count || segments[at].as.number != number)
        return false;
    dir->last = dir->first + (uint32_t)at;
    return true;
}

static enum sb_code take_entry(void *context, const struct sb_pickle_entry *entry)
{
    struct indexed_dir *dir = context;
    struct search *search = dir->search;
    size_t key;

    if (!find_segment(dir, entry->segment))
        return SB_OK;
    search->indexed[dir->last / 64] |= UINT64_C(1) << (dir->last % 64);
    key = wanted_look(&search->wanted, entry->key, entry->key_size);
    if (key != UNWANTED)
        search->places[key] = (struct sb_cache_place){.segment = dir->last, .row = entry->row};
    return SB_OK;
}

/* An index that cannot be relied on says nothing. */
static void forget_index(const struct indexed_dir *dir)
{
    struct search *search = dir->search;

    for (uint32_t i = dir->first; i < dir->end; i++)
        search->indexed[i / 64] &= ~(UINT64_C(1) << (i % 64));
    for (size_t i = 0; i < search->count; i++) {
        if (search->places[i].segment >= dir->first && search->places[i].segment < dir->end)
            search->places[i] = nowhere;
    }
}

/* Of the segments from `first` to `end`. One that cannot be opened is as none. */
static enum sb_code read_index(struct search *search, const char *cache, uint32_t first,
                               uint32_t end)
{
    struct indexed_dir dir = {.search = search, .first = first, .end = end, .last = first};
    CLEANUP(sb_freep) char *name = NULL;
    CLEANUP(sb_mapping_freep) struct sb_mapping *mapping = NULL;
    enum sb_code code;

    if (asprintf(&name, "%s/index.pkl", cache) < 0)
        return sb_fail_memory();
    code = IGNORED(sb_file_map_path(&mapping, name));
    if (!code)
        code =
            IGNORED(sb_pickle_index_read(mapping->data, (size_t)mapping->size, take_entry, &dir));
    if (!code)
        code = IGNORED(sb_mapping_check(mapping));
    if (code)
        forget_index(&dir);
    return code == SB_NOMEM ? sb_fail_memory() : SB_OK;
}

static enum sb_code read_indexes(struct search *search)
{
    const struct sb_cache *cache = search->cache;
    uint32_t first = 0, end = 0;

    for (size_t i = 0; i < cache->dir_count; i++, first = end) {
        while (end < cache->segment_count && cache->segments[end].as.dir == i)
            end++;
        TRY(read_index(search, cache->dirs[i], first, end));
    }
    return SB_OK;
}

/* What an index says of a key. */
struct hint {
    struct sb_cache_place place;
    size_t key;
};

static int compare_hints(const void *a, const void *b)
{
    const struct hint *left = a, *right = b;

    if (left->place.segment != right->place.segment)
        return COMPARE(left->place.segment, right->place.segment);
    return COMPARE(left->place.row, right->place.row);
}

/* SB_END: the key is not there. */
static enum sb_code check_hint(const struct search *search, const struct hint *hint)
{
    const struct sb_row_key *wanted = &search->keys[hint->key];
    struct sb_cache *cache = search->cache;
    const struct sb_cache_file *file = &cache->segments[hint->place.segment];
    struct sb_cache_map *map;
    struct sb_row_key key;
    bool holds;

    TRY(sb_cache_hold(cache, hint->place.segment, &map));
    holds = hint->place.row < file->as.rows && !sb_cache_key(map, file, hint->place.row, &key) &&
            key.size == wanted->size && memcmp(key.text, wanted->text, key.size) == 0;
    sb_cache_unpin(cache, map);
    return holds ? SB_OK : SB_END;
}

/* Holds what the indexes say against the segments, in their order. */
static enum sb_code check_hints(struct search *search)
{
    CLEANUP(sb_freep) struct hint *hints = reallocarray(NULL, search->count + 1, sizeof(*hints));
    size_t count = 0;

    if (!hints)
        return sb_fail_memory();
    for (size_t i = 0; i < search->count; i++) {
        if (search->places[i].segment != SB_CACHE_NOWHERE)
            hints[count++] = (struct hint){.place = search->places[i], .key = i};
    }
    if (count > 0)
        qsort(hints, count, sizeof(*hints), compare_hints);
    for (size_t i = 0; i < count; i++) {
        enum sb_code code = check_hint(search, &hints[i]);

        if (code == SB_END)
            search->places[hints[i].key] = nowhere;
        else
            TRY(code);
    }
    return SB_OK;
}

/* A later row counts more. */
static void note_row(struct search *search, size_t key, uint32_t segment, int64_t row)
{
    struct sb_cache_place *place = &search->places[key];

    if (place->segment == SB_CACHE_NOWHERE)
        search->open--;
    else if (place->segment > segment || (place->segment == segment && place->row > row))
        return;
    *place = (struct sb_cache_place){.segment = segment, .row = row};
}

static enum sb_code scan_rows(struct search *search, uint32_t segment,
                              const struct sb_cache_map *map)
{
    const struct sb_cache_file *file = &search->cache->segments[segment];
    struct sb_row_key key;
    int64_t touched = 0;

    for (int64_t row = 0; row < file->as.rows; row++) {
        size_t wanted;

        TRY(sb_cache_key(map, file, row, &key));
        wanted = wanted_look(&search->wanted, key.text, key.size);
        if (wanted != UNWANTED)
            note_row(search, wanted, segment, row);
        sb_cache_map_touch(map, &touched, key.size);
    }
    return sb_mapping_check(map->mapping);
}

static enum sb_code scan_segment(struct search *search, uint32_t segment)
{
    struct sb_cache_map *map;
    enum sb_code code = sb_cache_hold(search->cache, segment, &map);

    if (code)
        return code == SB_END ? SB_OK : code;
    code = scan_rows(search, segment, map);
    sb_cache_leave(search->cache, map);
    if (!code)
        return SB_OK;
    /* Keys that were found in it are nowhere again. */
    for (size_t i = 0; i < search->count; i++) {
        if (search->places[i].segment == segment) {
            search->places[i] = nowhere;
            search->open++;
        }
    }
    code = sb_cache_give_up(search->cache, segment);
    return code == SB_END ? SB_OK : code;
}

/*
 * From the last segment to the first. Segments that an index knows are read only while there are
 * keys that no index found; the others, while they may have a key later than the place that an
 * index gave.
 */
static enum sb_code scan(struct search *search)
{
    uint32_t lowest = SB_CACHE_NOWHERE;

    search->open = 0;
    for (size_t i = 0; i < search->count; i++) {
        const struct sb_row_key *key = &search->keys[i];

        if (search->places[i].segment < lowest)
            lowest = search->places[i].segment;
        else if (search->places[i].segment == SB_CACHE_NOWHERE &&
                 wanted_find(&search->wanted, key->text, key->size) == i)
            search->open++;
    }
    for (uint32_t i = search->cache->segment_count; i-- > 0;) {
        bool indexed = search->indexed[i / 64] >> (i % 64) & 1;

        TRY(sb_heed_interrupt());
        if (search->open > 0 || (i > lowest && !indexed))
            TRY(scan_segment(search, i));
    }
    return SB_OK;
}

enum sb_code sb_cache_find(struct sb_cache *cache, const struct sb_row_key *keys, size_t count,
                           struct sb_cache_place *places)
{
    CLEANUP(release_search)
    struct search search = {.cache = cache, .keys = keys, .count = count, .places = places};

    for (size_t i = 0; i < count; i++)
        places[i] = nowhere;
    TRY(wanted_make(&search.wanted, keys, count));
    TRY(SB_NEW_ARRAY(&search.indexed, cache->segment_count / 64 + 1));
    TRY(read_indexes(&search));
    TRY(check_hints(&search));
    TRY(scan(&search));
    for (size_t i = 0; i < count; i++)
        places[i] = places[wanted_find(&search.wanted, keys[i].text, keys[i].size)];
    return SB_OK;
}
