/* lib/core/permutation.h */
#include "core/permutation.h"
#include "check.h"

#include <stdlib.h>

static bool is_permutation(uint64_t size, uint64_t seed)
{
    struct sb_permutation permutation;
    bool *seen = calloc(size, sizeof(*seen));
    bool held = seen != NULL;

    sb_permutation_begin(&permutation, size, seed, 0);
    for (uint64_t i = 0; held && i < size; i++) {
        uint64_t value = sb_permutation_at(&permutation, i);

        held = value < size && !seen[value];
        if (held)
            seen[value] = true;
    }
    free(seen);
    return held;
}

static void every_number_comes_once(void)
{
    for (uint64_t size = 1; size <= 300; size++)
        CHECK(is_permutation(size, size * 7));
    CHECK(is_permutation(65536, 1));
    CHECK(is_permutation(65537, 1));
    CHECK(is_permutation(1000003, 5));
}

/* Numbers that were written down once: the order may never change. */
static void the_order_is_the_same_for_ever(void)
{
    static const uint64_t ten[] = {5, 2, 8, 6, 0, 4, 9, 7, 1, 3};
    static const uint64_t million[] = {189203, 261731, 113259, 116137, 311690};
    struct sb_permutation permutation;

    sb_permutation_begin(&permutation, 10, 0, 0);
    for (uint64_t i = 0; i < 10; i++)
        CHECK(sb_permutation_at(&permutation, i) == ten[i]);
    sb_permutation_begin(&permutation, 1000000, 42, 1);
    for (uint64_t i = 0; i < 5; i++)
        CHECK(sb_permutation_at(&permutation, i) == million[i]);
}

static void seeds_and_passes_give_other_orders(void)
{
    struct sb_permutation a, b, c;
    int same_seed = 0, same_pass = 0;

    sb_permutation_begin(&a, 1000, 1, 0);
    sb_permutation_begin(&b, 1000, 2, 0);
    sb_permutation_begin(&c, 1000, 1, 1);
    for (uint64_t i = 0; i < 1000; i++) {
        same_seed += sb_permutation_at(&a, i) == sb_permutation_at(&b, i);
        same_pass += sb_permutation_at(&a, i) == sb_permutation_at(&c, i);
    }
    CHECK(same_seed < 10);
    CHECK(same_pass < 10);
}

/* Of five numbers each should stand at each place in a fifth of all orders. */
static void small_orders_are_even(void)
{
    int count[5][5] = {{0}};
    const int orders = 20000;

    for (int seed = 0; seed < orders; seed++) {
        struct sb_permutation permutation;

        sb_permutation_begin(&permutation, 5, (uint64_t)seed, 0);
        for (uint64_t i = 0; i < 5; i++)
            count[i][sb_permutation_at(&permutation, i)]++;
    }
    for (int i = 0; i < 25; i++)
        CHECK(abs(count[i / 5][i % 5] - orders / 5) < orders / 50);
}

static void the_largest_size_works(void)
{
    struct sb_permutation permutation;

    sb_permutation_begin(&permutation, UINT64_C(1) << 62, 3, 0);
    CHECK(sb_permutation_at(&permutation, 0) < UINT64_C(1) << 62);
    CHECK(sb_permutation_at(&permutation, 0) != sb_permutation_at(&permutation, 1));
}

static void draws_are_even_and_repeat(void)
{
    int count[10] = {0};

    for (uint64_t i = 0; i < 100000; i++)
        count[sb_draw_at(10, 9, 0, i)]++;
    for (int i = 0; i < 10; i++)
        CHECK(abs(count[i] - 10000) < 500);
    CHECK(sb_draw_at(1, 9, 0, 77) == 0);
}

int main(void)
{
    RUN(every_number_comes_once);
    RUN(the_order_is_the_same_for_ever);
    RUN(seeds_and_passes_give_other_orders);
    RUN(small_orders_are_even);
    RUN(the_largest_size_works);
    RUN(draws_are_even_and_repeat);
    return check_end();
}
