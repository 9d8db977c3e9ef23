/* lib/archive/writer/rowset.h */
#include "archive/writer/rowset.h"
#include "check.h"

static void what_was_added_is_there_and_nothing_else(void)
{
    struct sb_rowset set = {0};

    CHECK(!sb_rowset_has(&set, 1));
    for (int64_t row = 3; row < 300000; row += 7)
        CHECK(sb_rowset_add(&set, row) == SB_OK);
    for (int64_t row = -64; row < 400000; row++) {
        if (!CHECK(sb_rowset_has(&set, row) == (row >= 3 && row < 300000 && row % 7 == 3)))
            break;
    }
    CHECK(!set.partial);
    sb_rowset_release(&set);
}

static void numbers_out_of_range_are_not_held(void)
{
    static const int64_t numbers[] = {0, -1, INT64_MIN, INT64_MAX, SB_ROWSET_MOST + 1};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        struct sb_rowset set = {0};

        CHECK(sb_rowset_add(&set, numbers[i]) == SB_OK);
        CHECK(!sb_rowset_has(&set, numbers[i]));
        CHECK(set.partial && set.capacity == 0);
    }
}

static void memory_has_a_bound(void)
{
    struct sb_rowset set = {0};

    CHECK(sb_rowset_add(&set, SB_ROWSET_MOST) == SB_OK);
    CHECK(sb_rowset_has(&set, SB_ROWSET_MOST));
    CHECK(!sb_rowset_has(&set, SB_ROWSET_MOST - 1));
    CHECK(set.capacity * sizeof(*set.words) <= (size_t)64 << 20);
    sb_rowset_release(&set);
}

int main(void)
{
    RUN(what_was_added_is_there_and_nothing_else);
    RUN(numbers_out_of_range_are_not_held);
    RUN(memory_has_a_bound);
    return check_end();
}
