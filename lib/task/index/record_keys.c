#include "task/index/record_keys.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS_FIRST 256

enum sb_code sb_record_keys_new(struct sb_record_keys **out)
{
    CLEANUP(sb_record_keys_freep) struct sb_record_keys *keys = calloc(1, sizeof(*keys));

    *out = NULL;
    if (!keys)
        return sb_fail_memory();
    keys->bucket_count = BUCKETS_FIRST;
    TRY(sb_alloc(&keys->buckets, BUCKETS_FIRST * sizeof(*keys->buckets)));
    TRY(sb_hash_key_draw(&keys->seed));
    memset(keys->buckets, 0xff, BUCKETS_FIRST * sizeof(*keys->buckets));
    *out = TAKE(keys);
    return SB_OK;
}

void sb_record_keys_free(struct sb_record_keys *keys)
{
    if (!keys)
        return;
    for (uint32_t i = 0; i < keys->count; i++)
        sb_buf_release(&keys->keys[i].numbers);
    sb_buf_release(&keys->text);
    sb_buf_release(&keys->requested);
    free(keys->buckets);
    free(keys->keys);
    free(keys);
}

static uint32_t *bucket_of(const struct sb_record_keys *keys, uint64_t hash)
{
    return &keys->buckets[hash & (keys->bucket_count - 1)];
}

static void link_key(struct sb_record_keys *keys, uint32_t number)
{
    uint32_t *bucket = bucket_of(keys, keys->keys[number].hash);

    keys->keys[number].next = *bucket;
    *bucket = number;
}

static enum sb_code grow(struct sb_record_keys *keys)
{
    uint32_t capacity = keys->capacity ? keys->capacity * 2 : BUCKETS_FIRST;
    struct sb_record_key *grown = realloc(keys->keys, capacity * sizeof(*grown));
    uint32_t *buckets;

    if (!grown)
        return sb_fail_memory();
    keys->keys = grown;
    buckets = realloc(keys->buckets, capacity * sizeof(*buckets));
    if (!buckets)
        return sb_fail_memory();
    keys->buckets = buckets;
    keys->capacity = keys->bucket_count = capacity;
    memset(buckets, 0xff, capacity * sizeof(*buckets));
    for (uint32_t i = 0; i < keys->count; i++)
        link_key(keys, i);
    return SB_OK;
}

static enum sb_code add_new(struct sb_record_keys *keys, const void *key, size_t size)
{
    struct sb_record_key *added;

    if (keys->count == keys->capacity)
        TRY(grow(keys));
    added = &keys->keys[keys->count];
    *added = (struct sb_record_key){
        .text = keys->text.size, .size = size, .hash = sb_hash64(&keys->seed, key, size)};
    TRY(sb_buf_add(&keys->text, key, size));
    link_key(keys, keys->count++);
    if (size > keys->longest)
        keys->longest = size;
    keys->sizes[size / 8] |= (unsigned char)(1U << size % 8);
    return SB_OK;
}

enum sb_code sb_record_keys_add(struct sb_record_keys *keys, const void *key, size_t size)
{
    uint32_t number;

    if (size > SB_RECORD_KEY_MAX)
        return sb_fail(SB_LIMIT, "a key of more than %zu bytes", SB_RECORD_KEY_MAX);
    number = sb_record_keys_find(keys, key, size);
    if (number == SB_NO_KEY) {
        number = keys->count;
        TRY(add_new(keys, key, size));
    }
    return sb_buf_add(&keys->requested, &number, sizeof(number));
}

bool sb_record_keys_full(const struct sb_record_keys *keys)
{
    return keys->text.size + keys->requested.size +
               keys->capacity * (sizeof(*keys->keys) + sizeof(*keys->buckets)) >=
           SB_RECORD_KEYS_MAX;
}

size_t sb_record_keys_count(const struct sb_record_keys *keys)
{
    return keys->requested.size / sizeof(uint32_t);
}

struct sb_record_key *sb_record_keys_get(const struct sb_record_keys *keys, size_t requested)
{
    uint32_t number;

    memcpy(&number, keys->requested.data + requested * sizeof(number), sizeof(number));
    return &keys->keys[number];
}

bool sb_record_keys_has_size(const struct sb_record_keys *keys, int64_t size)
{
    return size <= (int64_t)SB_RECORD_KEY_MAX && keys->sizes[size / 8] >> size % 8 & 1;
}

uint32_t sb_record_keys_find(const struct sb_record_keys *keys, const void *data, size_t size)
{
    uint64_t hash = sb_hash64(&keys->seed, data, size);
    uint32_t number = *bucket_of(keys, hash);

    for (; number != SB_NO_KEY; number = keys->keys[number].next) {
        const struct sb_record_key *key = &keys->keys[number];

        if (key->hash == hash && key->size == size &&
            (size == 0 || memcmp(keys->text.data + key->text, data, size) == 0))
            break;
    }
    return number;
}
