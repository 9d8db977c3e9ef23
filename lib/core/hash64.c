#include "core/hash64.h"

#include "core/little_endian.h"

#include <errno.h>
#include <sys/random.h>

enum sb_code sb_hash_key_draw(struct sb_hash_key *key)
{
    if (getrandom(key, sizeof(*key), 0) != sizeof(*key))
        return sb_fail_errno(errno, "random numbers");
    return SB_OK;
}

static uint64_t fold(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128)a * b;

    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Up to 16 bytes as two words, which overlap for less than 16. */
static void short_words(const unsigned char *at, size_t size, uint64_t *a, uint64_t *b)
{
    *a = *b = 0;
    if (size >= 8) {
        *a = sb_get_u64(at);
        *b = sb_get_u64(at + size - 8);
    } else if (size >= 4) {
        *a = sb_get_u32(at);
        *b = sb_get_u32(at + size - 4);
    } else if (size > 0) {
        *a = (uint64_t)at[0] << 16 | (uint64_t)at[size / 2] << 8 | at[size - 1];
    }
}

uint64_t sb_hash64(const struct sb_hash_key *key, const void *data, size_t size)
{
    const uint64_t *k = key->words;
    const unsigned char *at = data;
    size_t left = size;
    uint64_t hash = k[0] ^ size, second = k[1], third = k[2], a, b;

    if (left > 48) {
        for (; left > 48; at += 48, left -= 48) {
            hash = fold(sb_get_u64(at) ^ k[1], sb_get_u64(at + 8) ^ hash);
            second = fold(sb_get_u64(at + 16) ^ k[2], sb_get_u64(at + 24) ^ second);
            third = fold(sb_get_u64(at + 32) ^ k[3], sb_get_u64(at + 40) ^ third);
        }
        hash ^= second ^ third;
    }
    for (; left > 16; at += 16, left -= 16)
        hash = fold(sb_get_u64(at) ^ k[1], sb_get_u64(at + 8) ^ hash);
    short_words(at, left, &a, &b);
    return fold(k[3] ^ size, fold(a ^ k[1], b ^ hash));
}
