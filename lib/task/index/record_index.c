#include "task/index/record_index.h"

#include "core/array.h"
#include "core/buf.h"
#include "core/hash64.h"
#include "core/interrupt.h"
#include "core/pipeline.h"
#include "store/bag/record_scan.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

/*
 * Keys to look for in a bag, all in memory: each once, however often it is requested. Finding is
 * thread-safe while nothing is added.
 */

/* Limit of memory, in bytes: then no more may be added. */
#define KEYS_BYTES_MAX ((size_t)64 << 20)

/* No key is longer: neither a name of a list (core/list.h) nor an argument is. */
#define KEY_MAX ((size_t)262144)

#define NO_KEY        UINT32_MAX
#define BUCKETS_FIRST 256

struct key {
    size_t text; /* offset in `text` */
    size_t size;
    uint64_t hash;
    uint32_t next;         /* of the same bucket; or NO_KEY */
    struct sb_buf numbers; /* int64_t each: its records */
};

struct keys {
    struct sb_hash_key seed;
    struct sb_buf text;
    struct key *keys;
    uint32_t count, capacity; /* of keys; as many buckets, a power of two */
    struct sb_buf requested;  /* uint32_t each: the key of each request, in order */
    uint32_t *buckets;
    size_t longest;
    unsigned char sizes[KEY_MAX / 8 + 1]; /* a bit for each size that occurs */
};

static void release_keys(struct keys *keys)
{
    for (uint32_t i = 0; i < keys->count; i++)
        sb_buf_release(&keys->keys[i].numbers);
    sb_buf_release(&keys->text);
    sb_buf_release(&keys->requested);
    free(keys->buckets);
    free(keys->keys);
}

static uint32_t *bucket_of(const struct keys *keys, uint64_t hash)
{
    return &keys->buckets[hash & (keys->capacity - 1)];
}

static void link_key(struct keys *keys, uint32_t number)
{
    uint32_t *bucket = bucket_of(keys, keys->keys[number].hash);

    keys->keys[number].next = *bucket;
    *bucket = number;
}

static enum sb_code grow(struct keys *keys)
{
    uint32_t capacity = keys->capacity ? keys->capacity * 2 : BUCKETS_FIRST;
    struct key *grown = realloc(keys->keys, capacity * sizeof(*grown));
    uint32_t *buckets;

    if (!grown)
        return sb_fail_memory();
    keys->keys = grown;
    buckets = realloc(keys->buckets, capacity * sizeof(*buckets));
    if (!buckets)
        return sb_fail_memory();
    keys->buckets = buckets;
    keys->capacity = capacity;
    memset(buckets, 0xff, capacity * sizeof(*buckets));
    for (uint32_t i = 0; i < keys->count; i++)
        link_key(keys, i);
    return SB_OK;
}

/* The number of the key with these bytes, or NO_KEY. */
static uint32_t find_key(const struct keys *keys, const void *data, size_t size)
{
    uint64_t hash = sb_hash64(&keys->seed, data, size);
    uint32_t number = keys->count > 0 ? *bucket_of(keys, hash) : NO_KEY;

    for (; number != NO_KEY; number = keys->keys[number].next) {
        const struct key *key = &keys->keys[number];

        if (key->hash == hash && key->size == size &&
            (size == 0 || memcmp(keys->text.data + key->text, data, size) == 0))
            break;
    }
    return number;
}

static enum sb_code add_new(struct keys *keys, const void *key, size_t size)
{
    struct key *added;

    if (keys->count == keys->capacity)
        TRY(grow(keys));
    added = &keys->keys[keys->count];
    *added = (struct key){
        .text = keys->text.size, .size = size, .hash = sb_hash64(&keys->seed, key, size)};
    TRY(sb_buf_add(&keys->text, key, size));
    link_key(keys, keys->count++);
    if (size > keys->longest)
        keys->longest = size;
    keys->sizes[size / 8] |= (unsigned char)(1U << size % 8);
    return SB_OK;
}

static enum sb_code add_key(struct keys *keys, const void *key, size_t size)
{
    uint32_t number;

    if (size > KEY_MAX)
        return sb_fail(SB_LIMIT, "a key of more than %zu bytes", KEY_MAX);
    number = find_key(keys, key, size);
    if (number == NO_KEY) {
        number = keys->count;
        TRY(add_new(keys, key, size));
    }
    return sb_buf_add(&keys->requested, &number, sizeof(number));
}

static bool is_full(const struct keys *keys)
{
    return keys->text.size + keys->requested.size +
               keys->capacity * (sizeof(*keys->keys) + sizeof(*keys->buckets)) >=
           KEYS_BYTES_MAX;
}

/* How many were requested, and the key of each. */
static size_t count_requests(const struct keys *keys)
{
    return keys->requested.size / sizeof(uint32_t);
}

static const struct key *requested_key(const struct keys *keys, size_t request)
{
    const uint32_t *numbers = (const uint32_t *)(const void *)keys->requested.data;

    return &keys->keys[numbers[request]];
}

struct search {
    struct sb_bag *bag;
    const struct sb_record_index_options *options;
    const struct sb_fetch_names *names;
    sb_record_found *found;
    void *context;
    const struct sb_notify *notify;
    struct keys keys;
    uint32_t found_count; /* of the keys */
    int waited;           /* milliseconds */
};

/*
 * The hashes of all records of a bag, sorted: 16 bytes per record, for keys that are not known
 * beforehand. Records longer than any possible key are omitted.
 */

/* Entries are sorted by the first bits of their hashes, and then within each of these groups. */
#define GROUP_BITS  12
#define GROUP_COUNT ((size_t)1 << GROUP_BITS)

struct entry {
    uint64_t hash;
    int64_t number;
};

struct table {
    struct sb_bag *bag;
    struct sb_bag_reader *reader;
    struct sb_hash_key seed;
    struct entry *entries;
    size_t count;
    size_t starts[GROUP_COUNT + 1]; /* of the groups */
    size_t sorted;                  /* groups that a thread has taken to sort */
    struct sb_buf record;
};

struct hashed {
    size_t count;
    struct entry entries[SB_RECORD_BLOCK_MAX];
};

static enum sb_code hash_record(const struct table *table, struct sb_scan_slot *slot, size_t i)
{
    struct hashed *hashed = slot->own;
    struct sb_place place = slot->first;
    const void *data;
    int64_t declared;
    size_t size;
    enum sb_code code;

    TRY(sb_record_block_declared(&slot->block, i, &declared));
    if (declared > (int64_t)KEY_MAX)
        return SB_OK;
    code = sb_record_block_bytes(&slot->block, i, KEY_MAX, &data, &size);
    if (code == SB_LIMIT)
        return SB_OK;
    if (code == SB_DAMAGED)
        return sb_scan_damaged(slot, table->bag, i);
    if (code)
        return code;
    place.index += (int64_t)i;
    hashed->entries[hashed->count++] = (struct entry){
        .hash = sb_hash64(&table->seed, data, size),
        .number = sb_bag_record_at(table->bag, place),
    };
    return SB_OK;
}

static enum sb_code hash_records(void *context, struct sb_scan_slot *slot)
{
    struct hashed *hashed = slot->own;

    hashed->count = 0;
    for (size_t i = 0; i < slot->block.count; i++)
        TRY(hash_record(context, slot, i));
    return SB_OK;
}

static enum sb_code keep_hashes(void *context, struct sb_scan_slot *slot)
{
    struct table *table = context;
    const struct hashed *hashed = slot->own;

    memcpy(table->entries + table->count, hashed->entries, hashed->count * sizeof(struct entry));
    table->count += hashed->count;
    return SB_OK;
}

static size_t group_of(uint64_t hash)
{
    return hash >> (64 - GROUP_BITS);
}

/* Moves each entry to its group, in place: the entry that it displaces is moved next. */
static void group_entries(struct table *table)
{
    size_t next[GROUP_COUNT];

    for (size_t i = 0; i < table->count; i++)
        table->starts[group_of(table->entries[i].hash) + 1]++;
    for (size_t g = 0; g < GROUP_COUNT; g++)
        table->starts[g + 1] += table->starts[g];
    memcpy(next, table->starts, sizeof(next));
    for (size_t g = 0; g < GROUP_COUNT; g++) {
        while (next[g] < table->starts[g + 1]) {
            struct entry moved = table->entries[next[g]], displaced;
            size_t target;

            while ((target = group_of(moved.hash)) != g) {
                displaced = table->entries[next[target]];
                table->entries[next[target]++] = moved;
                moved = displaced;
            }
            table->entries[next[g]++] = moved;
        }
    }
}

static enum sb_code next_group(void *context, void *slot)
{
    struct table *table = context;
    size_t *group = slot;

    if (table->sorted == GROUP_COUNT)
        return SB_END;
    *group = table->sorted++;
    return SB_OK;
}

static int compare_entries(const void *a, const void *b)
{
    const struct entry *x = a, *y = b;
    int hashes = COMPARE(x->hash, y->hash);

    return hashes ? hashes : COMPARE(x->number, y->number);
}

static enum sb_code sort_group(void *context, void *slot, struct sb_pipeline *turns)
{
    const struct table *table = context;
    const size_t *starts = &table->starts[*(const size_t *)slot];

    (void)turns;
    qsort(table->entries + starts[0], starts[1] - starts[0], sizeof(struct entry), compare_entries);
    return SB_OK;
}

static enum sb_code make_table(struct table *table, const struct search *search)
{
    static const struct sb_pipeline_ops ops = {.fill = next_group, .work = sort_group};
    size_t slots[64];
    struct sb_scan scan = {
        .threads = search->options->threads,
        .own_size = sizeof(struct hashed),
        .context = table,
        .work = hash_records,
        .drain = keep_hashes,
        .progress = search->options->progress,
        .progress_context = search->options->context,
        .notify = search->notify,
    };
    size_t capacity;

    table->bag = search->bag;
    /* Memory that is never touched costs nothing, so an exaggerated count does no harm. */
    if (__builtin_mul_overflow((size_t)sb_bag_count(table->bag), sizeof(struct entry), &capacity))
        return sb_fail_memory();
    TRY(sb_alloc(&table->entries, capacity ? capacity : 1));
    TRY(sb_hash_key_draw(&table->seed));
    TRY(sb_bag_reader_new(&table->reader, table->bag));
    TRY(sb_record_scan(table->bag, &scan));
    group_entries(table);
    return sb_pipeline_run(&ops, table, slots, sizeof(slots[0]), ARRAY_SIZE(slots), scan.threads);
}

static void release_table(struct table *table)
{
    sb_bag_reader_free(table->reader);
    sb_buf_release(&table->record);
    free(table->entries);
}

static enum sb_code holds_key(struct table *table, int64_t number, const void *key, size_t key_size,
                              bool *holds)
{
    struct sb_extent extent;
    size_t good, size;
    enum sb_code code;

    *holds = false;
    TRY(sb_bag_extents(table->reader, sb_bag_place_of(table->bag, number), 1, &extent, &good));
    code = sb_bag_load(table->reader, &extent, table->record.data, key_size, &size);
    if (code)
        return code == SB_LIMIT ? SB_OK : code;
    *holds = size == key_size && memcmp(table->record.data, key, size) == 0;
    return SB_OK;
}

/* Replaces numbers (int64_t each) by those of the records with these bytes: the first one, or all,
 * ascending. */
static enum sb_code find_in_table(struct table *table, const void *key, size_t size, bool all,
                                  struct sb_buf *numbers)
{
    uint64_t hash = sb_hash64(&table->seed, key, size);
    const size_t *group = &table->starts[group_of(hash)];
    size_t first =
        group[0] + FIRST_WHERE(i, group[1] - group[0], table->entries[group[0] + i].hash >= hash);
    bool holds = false;

    sb_buf_clear(numbers);
    sb_buf_clear(&table->record);
    TRY(sb_buf_reserve(&table->record, size));
    for (size_t i = first; i < table->count && table->entries[i].hash == hash && (all || !holds);
         i++) {
        int64_t number = table->entries[i].number;

        TRY(holds_key(table, number, key, size, &holds));
        if (holds)
            TRY(sb_buf_add(numbers, &number, sizeof(number)));
    }
    return SB_OK;
}

struct match {
    uint32_t key;
    uint32_t record; /* of the block */
};

struct matches {
    size_t count;
    struct match matches[SB_RECORD_BLOCK_MAX];
};

static bool is_interleaved(const struct search *search)
{
    return sb_bag_options_of(search->bag)->layout == SB_LAYOUT_INTERLEAVED;
}

/* An interleaved bag is not read in the order of its numbers. */
static bool goes_on(void *context)
{
    const struct search *search = context;

    return search->options->all || is_interleaved(search) ||
           search->found_count < search->keys.count;
}

static enum sb_code look_at(const struct search *search, struct sb_scan_slot *slot, size_t i)
{
    const struct keys *keys = &search->keys;
    struct matches *matches = slot->own;
    const void *data;
    int64_t declared;
    size_t size;
    uint32_t key;
    enum sb_code code;

    if (slot->block.zstd)
        TRY(sb_record_block_declared(&slot->block, i, &declared));
    else
        declared = slot->block.extents[i].size;
    if (declared >= 0 &&
        (declared > (int64_t)KEY_MAX || !(keys->sizes[declared / 8] >> declared % 8 & 1)))
        return SB_OK;
    code = sb_record_block_bytes(&slot->block, i, keys->longest, &data, &size);
    if (code == SB_LIMIT)
        return SB_OK;
    if (code == SB_DAMAGED)
        return sb_scan_damaged(slot, search->bag, i);
    if (code)
        return code;
    key = find_key(keys, data, size);
    if (key != NO_KEY)
        matches->matches[matches->count++] = (struct match){key, (uint32_t)i};
    return SB_OK;
}

static enum sb_code look_into(void *context, struct sb_scan_slot *slot)
{
    struct matches *matches = slot->own;

    matches->count = 0;
    for (size_t i = 0; i < slot->block.count; i++)
        TRY(look_at(context, slot, i));
    return SB_OK;
}

static enum sb_code keep_match(struct search *search, struct key *key, int64_t number)
{
    int64_t *first = (int64_t *)(void *)key->numbers.data;

    if (key->numbers.size == 0)
        search->found_count++;
    if (key->numbers.size > 0 && !search->options->all) {
        if (number < *first)
            *first = number;
        return SB_OK;
    }
    return sb_buf_add(&key->numbers, &number, sizeof(number));
}

static enum sb_code keep_matches(void *context, struct sb_scan_slot *slot)
{
    struct search *search = context;
    const struct matches *matches = slot->own;

    for (size_t i = 0; i < matches->count; i++) {
        const struct match *match = &matches->matches[i];
        struct sb_place place = slot->first;

        place.index += match->record;
        TRY(keep_match(search, &search->keys.keys[match->key],
                       sb_bag_record_at(search->bag, place)));
    }
    return SB_OK;
}

static int compare_numbers(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;

    return COMPARE(*x, *y);
}

static enum sb_code answer(const struct search *search, const void *key, size_t size,
                           const struct sb_buf *numbers)
{
    return search->found(search->context, key, size, (const int64_t *)(const void *)numbers->data,
                         numbers->size / sizeof(int64_t));
}

/* All keys are known: one pass over the bag, as long as it is needed. */
static enum sb_code pass(struct search *search)
{
    struct sb_scan scan = {
        .threads = search->options->threads,
        .own_size = sizeof(struct matches),
        .context = search,
        .goes_on = goes_on,
        .work = look_into,
        .drain = keep_matches,
        .progress = search->options->progress,
        .progress_context = search->options->context,
        .notify = search->notify,
    };
    struct keys *keys = &search->keys;

    if (keys->count > 0)
        TRY(sb_record_scan(search->bag, &scan));
    for (uint32_t i = 0; is_interleaved(search) && i < keys->count; i++) {
        struct sb_buf *numbers = &keys->keys[i].numbers;

        if (numbers->size > 0)
            qsort(numbers->data, numbers->size / sizeof(int64_t), sizeof(int64_t), compare_numbers);
    }
    for (size_t i = 0; i < count_requests(keys); i++) {
        const struct key *key = requested_key(keys, i);

        TRY(answer(search, keys->text.data + key->text, key->size, &key->numbers));
    }
    return SB_OK;
}

/*
 * If a table would take more memory than keys may, it is worth waiting for the end of a list that
 * another program is about to write.
 */
#define PATIENCE    500 /* milliseconds, in all */
#define ONE_WAIT    5
#define SMALL_TABLE ((int64_t)(KEYS_BYTES_MAX / 16)) /* records */

static bool key_comes(struct search *search)
{
    const struct sb_fetch_names *names = search->names;
    bool patient = sb_bag_count(search->bag) > SMALL_TABLE;

    for (; !names->ready(names->context); search->waited += ONE_WAIT) {
        if (!patient || search->waited >= PATIENCE || sb_interrupted())
            return false;
        poll(NULL, 0, ONE_WAIT);
    }
    return true;
}

/* Takes the keys that are available without waiting. SB_END: there are no more. */
static enum sb_code take_keys(struct search *search)
{
    const struct sb_fetch_names *names = search->names;
    const char *name;
    size_t size;

    while (!is_full(&search->keys) && key_comes(search)) {
        TRY(names->next(names->context, &name, &size));
        TRY(add_key(&search->keys, name, size));
    }
    return SB_OK;
}

static enum sb_code answer_from_table(const struct search *search, struct table *table,
                                      const void *key, size_t size, struct sb_buf *numbers)
{
    TRY(find_in_table(table, key, size, search->options->all, numbers));
    return answer(search, key, size, numbers);
}

/* Answers the keys that were taken, and then those that come. */
static enum sb_code answer_as_they_come(const struct search *search)
{
    const struct sb_fetch_names *names = search->names;
    const struct keys *keys = &search->keys;
    CLEANUP(release_table) struct table table = {0};
    CLEANUP(sb_buf_release) struct sb_buf numbers = {0};
    const char *name;
    size_t size;
    enum sb_code code;

    TRY(make_table(&table, search));
    for (size_t i = 0; i < count_requests(keys); i++) {
        const struct key *key = requested_key(keys, i);

        TRY(answer_from_table(search, &table, keys->text.data + key->text, key->size, &numbers));
    }
    while ((code = names->next(names->context, &name, &size)) == SB_OK)
        TRY(answer_from_table(search, &table, name, size, &numbers));
    return code == SB_END ? SB_OK : code;
}

enum sb_code sb_record_index_find(struct sb_bag *keys_bag,
                                  const struct sb_record_index_options *options,
                                  const struct sb_fetch_names *keys, sb_record_found *found,
                                  void *context, const struct sb_notify *notify)
{
    struct search search = {
        .bag = keys_bag,
        .options = options,
        .names = keys,
        .found = found,
        .context = context,
        .notify = notify,
    };
    enum sb_code code = sb_hash_key_draw(&search.keys.seed);

    if (!code)
        code = take_keys(&search);
    if (code == SB_END)
        code = pass(&search);
    else if (!code)
        code = answer_as_they_come(&search);
    release_keys(&search.keys);
    return code;
}
