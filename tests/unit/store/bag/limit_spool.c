/* lib/store/bag/limit_spool.h */
#include "store/bag/limit_spool.h"
#include "check.h"

#include <endian.h>

#define MANY 300000 /* more than are held in memory */

static int64_t fed;
static bool wrong;

/* A sb_each_block: limits from `fed` on, less 7. */
static enum sb_code compare(void *context, const void *data, size_t size)
{
    const uint64_t *limits = data;

    (void)context;
    for (size_t i = 0; i < size / sizeof(*limits); i++, fed++)
        wrong = wrong || le64toh(limits[i]) != (uint64_t)(fed * 3 - 7);
    return SB_OK;
}

static void fill(struct sb_limit_spool *spool, int64_t count)
{

    for (int64_t i = 0; i < count; i++)
        CHECK(sb_limit_spool_add(spool, &(int64_t){i * 3}, 1) == SB_OK);
    CHECK(sb_limit_spool_count(spool) == count);
}

static void what_was_added_comes_back_from_memory_and_file(void)
{
    struct sb_limit_spool spool = SB_LIMIT_SPOOL("/tmp/x");
    int64_t limits[10], spilled;

    fill(&spool, MANY);
    CHECK(spool.bytes.fd >= 0);
    for (int64_t first = 0; first + 10 <= MANY; first += 101) {
        CHECK(sb_limit_spool_get(&spool, first, 10, limits) == SB_OK);
        CHECK(limits[0] == first * 3 && limits[9] == (first + 9) * 3);
    }
    spilled = spool.bytes.in_file / (int64_t)sizeof(*limits);
    CHECK(sb_limit_spool_get(&spool, spilled - 5, 10, limits) == SB_OK);
    CHECK(limits[4] == spilled * 3 - 3 && limits[5] == spilled * 3);
    sb_limit_spool_release(&spool);
}

static void limits_are_fed_as_a_bag_has_them(void)
{
    struct sb_limit_spool spool = SB_LIMIT_SPOOL("/tmp/x");

    fill(&spool, MANY);
    fed = 1000;
    wrong = false;
    CHECK(sb_limit_spool_feed(&spool, fed, MANY - 2000, 7, compare, NULL) == SB_OK);
    CHECK(!wrong && fed == MANY - 1000);
    sb_limit_spool_release(&spool);
}

static void one_that_is_cleared_begins_anew(void)
{
    struct sb_limit_spool spool = SB_LIMIT_SPOOL("/tmp/x");
    int64_t limits[3];

    fill(&spool, MANY);
    sb_limit_spool_clear(&spool);
    fill(&spool, 3);
    CHECK(sb_limit_spool_get(&spool, 0, 3, limits) == SB_OK && limits[2] == 6);
    sb_limit_spool_release(&spool);
}

int main(void)
{
    RUN(what_was_added_comes_back_from_memory_and_file);
    RUN(limits_are_fed_as_a_bag_has_them);
    RUN(one_that_is_cleared_begins_anew);
    return check_end();
}
