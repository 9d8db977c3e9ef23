#include "core/permutation.h"

/* The increment of SplitMix64. */
#define GAMMA UINT64_C(0x9e3779b97f4a7c15)

/* The output function of SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
 * generators). */
static uint64_t mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

/* The start of the number stream of a pass. */
static uint64_t stream(uint64_t seed, uint64_t pass)
{
    return mix(mix(seed + GAMMA) ^ (pass * GAMMA));
}

void sb_permutation_begin(struct sb_permutation *out, uint64_t size, uint64_t seed, uint64_t pass)
{
    uint64_t state = stream(seed, pass);

    *out = (struct sb_permutation){.size = size, .half_bits = 1};
    while (((size - 1) >> (2 * out->half_bits)) != 0)
        out->half_bits++;
    out->half_mask = (UINT64_C(1) << out->half_bits) - 1;
    for (int i = 0; i < SB_PERMUTATION_ROUNDS; i++) {
        state += GAMMA;
        out->keys[i] = mix(state);
    }
}

static uint64_t permute(const struct sb_permutation *permutation, uint64_t value)
{
    uint64_t left = value >> permutation->half_bits;
    uint64_t right = value & permutation->half_mask;

    for (int i = 0; i < SB_PERMUTATION_ROUNDS; i++) {
        uint64_t next = left ^ (mix(right + permutation->keys[i]) & permutation->half_mask);

        left = right;
        right = next;
    }
    return left << permutation->half_bits | right;
}

uint64_t sb_permutation_at(const struct sb_permutation *permutation, uint64_t place)
{
    do
        place = permute(permutation, place);
    while (place >= permutation->size);
    return place;
}

uint64_t sb_draw_at(uint64_t size, uint64_t seed, uint64_t pass, uint64_t place)
{
    uint64_t random = mix(stream(seed, pass) + (place + 1) * GAMMA);

    return (uint64_t)(((unsigned __int128)random * size) >> 64);
}
