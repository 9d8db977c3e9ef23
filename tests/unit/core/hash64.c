/* lib/core/hash64.h */
#include "core/hash64.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

#define SIZES 300

static int compare(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return *x < *y ? -1 : *x > *y;
}

static size_t count_equal(uint64_t *hashes, size_t count)
{
    size_t equal = 0;

    qsort(hashes, count, sizeof(*hashes), compare);
    for (size_t i = 1; i < count; i++)
        equal += hashes[i] == hashes[i - 1];
    return equal;
}

static void the_same_bytes_have_the_same_hash_wherever_they_stand(void)
{
    char text[SIZES + 16];
    struct sb_hash_key key;

    CHECK(sb_hash_key_draw(&key) == SB_OK);
    for (size_t size = 0; size < SIZES; size++) {
        uint64_t hash;

        memset(text, 'x', sizeof(text));
        for (size_t i = 0; i < size; i++)
            text[i] = (char)(i * 7);
        hash = sb_hash64(&key, text, size);
        memmove(text + 5, text, size);
        CHECK(sb_hash64(&key, text + 5, size) == hash);
    }
}

static void every_bit_counts(void)
{
    static uint64_t hashes[8 * SIZES + 1];
    struct sb_hash_key key;

    CHECK(sb_hash_key_draw(&key) == SB_OK);
    for (size_t size = 1; size < SIZES; size += size < 70 ? 1 : 37) {
        unsigned char text[SIZES] = {0};

        for (size_t bit = 0; bit < 8 * size; bit++) {
            text[bit / 8] ^= (unsigned char)(1U << bit % 8);
            hashes[bit] = sb_hash64(&key, text, size);
            text[bit / 8] ^= (unsigned char)(1U << bit % 8);
        }
        hashes[8 * size] = sb_hash64(&key, text, size);
        CHECK(count_equal(hashes, 8 * size + 1) == 0);
    }
}

static void bytes_of_nothing_but_zeros_differ_by_their_number(void)
{
    static const char zeros[SIZES];
    uint64_t hashes[SIZES];
    struct sb_hash_key key;

    CHECK(sb_hash_key_draw(&key) == SB_OK);
    for (size_t size = 0; size < SIZES; size++)
        hashes[size] = sb_hash64(&key, zeros, size);
    CHECK(count_equal(hashes, SIZES) == 0);
}

static void another_key_gives_another_hash(void)
{
    struct sb_hash_key one, two;

    CHECK(sb_hash_key_draw(&one) == SB_OK);
    CHECK(sb_hash_key_draw(&two) == SB_OK);
    CHECK(sb_hash64(&one, "alpha", 5) != sb_hash64(&two, "alpha", 5));
}

int main(void)
{
    RUN(the_same_bytes_have_the_same_hash_wherever_they_stand);
    RUN(every_bit_counts);
    RUN(bytes_of_nothing_but_zeros_differ_by_their_number);
    RUN(another_key_gives_another_hash);
    return check_end();
}
