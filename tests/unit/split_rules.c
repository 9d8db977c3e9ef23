/* lib/task/split_rules.h: the fraction that a name has. What it is may never change. */
#include "task/split_rules.h"
#include "check.h"

#include <stdio.h>

#define NAMES 10000
#define BINS  10

static double fraction(int64_t seed, const char *name)
{
    return sb_split_fraction(seed, name, strlen(name));
}

static void is_what_the_manual_page_computes(void)
{
    CHECK(fraction(0, "") == 0x1.ef4c513ca7032p-2);
    CHECK(fraction(0, "a") == 0x1.b7e6407ba1e2cp-2);
    CHECK(fraction(7, "images/000001.jpg") == 0x1.2dd43bcd08144p-3);
    CHECK(fraction(INT64_MAX, "\303\274n\303\257c\303\266d\303\251") == 0x1.4463fbef81716p-1);
}

static void is_spread_evenly_over_names_that_hardly_differ(void)
{
    int bins[BINS] = {0};
    char name[32];

    for (int i = 0; i < NAMES; i++) {
        snprintf(name, sizeof(name), "%08d", i);
        bins[(int)(fraction(0, name) * BINS)]++;
    }
    for (int i = 0; i < BINS; i++)
        CHECK(bins[i] > NAMES / BINS * 9 / 10 && bins[i] < NAMES / BINS * 11 / 10);
}

int main(void)
{
    RUN(is_what_the_manual_page_computes);
    RUN(is_spread_evenly_over_names_that_hardly_differ);
    return check_end();
}
