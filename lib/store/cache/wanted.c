#include "store/cache/wanted.h"

#include <stdlib.h>

#define FILTER_BITS_LEAST ((size_t)1 << 16)
#define BITS_PER_KEY      16

static void add(struct sb_cache_wanted *wanted, size_t number)
{
    const struct sb_cache_key *key = &wanted->keys[number];
    uint64_t bit = sb_cache_wanted_bit(wanted, key->text, key->size);
    size_t at;

    if (sb_cache_wanted_find(wanted, key->text, key->size) != SB_CACHE_UNWANTED)
        return;
    wanted->filter[bit / 64] |= UINT64_C(1) << (bit % 64);
    at = sb_hash64(&wanted->hash_key, key->text, key->size) & wanted->mask;
    while (wanted->slots[at])
        at = (at + 1) & wanted->mask;
    wanted->slots[at] = number + 1;
}

enum sb_code sb_cache_wanted_make(struct sb_cache_wanted *wanted, const struct sb_cache_key *keys,
                                  size_t count, struct sb_error *err)
{
    size_t slots = 16, bits = FILTER_BITS_LEAST;

    *wanted = (struct sb_cache_wanted){.keys = keys};
    if (sb_hash_key_draw(&wanted->hash_key, err))
        return err->code;
    if (count > SIZE_MAX / 64)
        return sb_fail_memory(err);
    while (slots / 2 < count)
        slots *= 2;
    while (bits / BITS_PER_KEY < count)
        bits *= 2;
    wanted->mask = slots - 1;
    wanted->shift = 64 - (unsigned)__builtin_ctzll(bits);
    wanted->slots = calloc(slots, sizeof(*wanted->slots));
    wanted->filter = calloc(bits / 64, sizeof(*wanted->filter));
    if (!wanted->slots || !wanted->filter) {
        sb_cache_wanted_release(wanted);
        return sb_fail_memory(err);
    }
    for (size_t i = 0; i < count; i++)
        add(wanted, i);
    return SB_OK;
}

void sb_cache_wanted_release(struct sb_cache_wanted *wanted)
{
    free(wanted->slots);
    free(wanted->filter);
    *wanted = (struct sb_cache_wanted){0};
}

size_t sb_cache_wanted_find(const struct sb_cache_wanted *wanted, const char *text, size_t size)
{
    size_t at = sb_hash64(&wanted->hash_key, text, size) & wanted->mask;

    for (; wanted->slots[at]; at = (at + 1) & wanted->mask) {
        const struct sb_cache_key *key = &wanted->keys[wanted->slots[at] - 1];

        if (key->size == size && memcmp(key->text, text, size) == 0)
            return wanted->slots[at] - 1;
    }
    return SB_CACHE_UNWANTED;
}
