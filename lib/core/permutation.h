/*
 * The numbers 0 to n-1 in an order that only a seed decides, each computed on demand.
 *
 * The order never changes between versions. The section SAMPLES of shardbox-records(7) describes
 * it, so that other programs can compute it too: a balanced Feistel network over the least even
 * number of bits that holds n-1, walked until the result is below n. Pure functions, thread-safe.
 */
#ifndef SB_CORE_PERMUTATION_H
#define SB_CORE_PERMUTATION_H

#include <stdint.h>

#define SB_PERMUTATION_ROUNDS 8

struct sb_permutation {
    uint64_t size;
    unsigned half_bits;
    uint64_t half_mask;
    uint64_t keys[SB_PERMUTATION_ROUNDS];
};

/* size: 1 to 2^62. pass: selects one of the orders of this seed, from 0. */
void sb_permutation_begin(struct sb_permutation *out, uint64_t size, uint64_t seed, uint64_t pass);

/* The number at `place`, which is below size. */
uint64_t sb_permutation_at(const struct sb_permutation *permutation, uint64_t place);

/*
 * A number below `size` (at least 1): the draw number `place`. Draws are independent of each other.
 */
uint64_t sb_draw_at(uint64_t size, uint64_t seed, uint64_t pass, uint64_t place);

#endif
