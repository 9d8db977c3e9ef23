/*
 * A few keys that are looked for among many.
 *
 * Most keys that are none of them are told by a bit, from their length and last bytes. Internal to
 * lib/store/cache*.c; reading one is thread-safe.
 */
#ifndef SB_STORE_CACHE_WANTED_H
#define SB_STORE_CACHE_WANTED_H

#include "core/hash64.h"
#include "store/cache/cache.h"

#include <stdint.h>
#include <string.h>

#define SB_CACHE_UNWANTED SIZE_MAX

struct sb_cache_wanted {
    const struct sb_cache_key *keys; /* of the caller */
    struct sb_hash_key hash_key;
    size_t *slots; /* numbers of keys, plus 1; 0: free */
    size_t mask;
    uint64_t *filter;
    unsigned shift; /* 64 less its bits, as a power of two */
};

enum sb_code sb_cache_wanted_make(struct sb_cache_wanted *wanted, const struct sb_cache_key *keys,
                                  size_t count, struct sb_error *err) SB_CHECKED;
void sb_cache_wanted_release(struct sb_cache_wanted *wanted);

/* The first of the keys that is this one; without a look at the filter. */
size_t sb_cache_wanted_find(const struct sb_cache_wanted *wanted, const char *text, size_t size);

static inline uint64_t sb_cache_wanted_bit(const struct sb_cache_wanted *wanted, const char *text,
                                           size_t size)
{
    uint64_t tail = 0;

    if (size >= sizeof(tail))
        memcpy(&tail, text + size - sizeof(tail), sizeof(tail));
    else
        memcpy(&tail, text, size);
    return (tail ^ size) * UINT64_C(0x9e3779b97f4a7c15) >> wanted->shift;
}

static inline size_t sb_cache_wanted_look(const struct sb_cache_wanted *wanted, const char *text,
                                          size_t size)
{
    uint64_t bit = sb_cache_wanted_bit(wanted, text, size);

    if (!(wanted->filter[bit / 64] >> (bit % 64) & 1))
        return SB_CACHE_UNWANTED;
    return sb_cache_wanted_find(wanted, text, size);
}

#endif
