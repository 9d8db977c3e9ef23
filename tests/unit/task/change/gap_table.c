/* lib/task/change/defrag_quick.c: the table of gaps */
#include "check.h"
#include "task/change/impl.h"

#include <stdlib.h>

static const struct sb_gap behind_all = {.shard = 99999, .offset = INT64_MAX};

static struct sb_gap_table table_of(const struct sb_gap *gaps, size_t count)
{
    struct sb_gap_table table = {0};

    for (size_t i = 0; i < count; i++)
        CHECK(sb_gap_table_add(&table, &gaps[i]) == SB_OK);
    CHECK(sb_gap_table_finish(&table) == SB_OK);
    return table;
}

static void expect(struct sb_gap_table *table, int64_t size, uint32_t shard, int64_t offset)
{
    struct sb_gap taken = {0};

    CHECK(sb_gap_table_take(table, size, &behind_all, &taken));
    CHECK(taken.shard == shard && taken.offset == offset && taken.size == size);
}

static void the_first_that_is_large_enough(void)
{
    static const struct sb_gap gaps[] = {{0, 10, 5}, {0, 40, 20}, {1, 0, 5}, {3, 7, 100}};
    struct sb_gap_table table = table_of(gaps, 4);
    struct sb_gap taken;

    expect(&table, 6, 0, 40);
    expect(&table, 5, 0, 10);
    expect(&table, 5, 0, 46);
    expect(&table, 21, 3, 7);
    expect(&table, 9, 0, 51);
    expect(&table, 1, 1, 0);
    CHECK(!sb_gap_table_take(&table, 80, &behind_all, &taken));
    expect(&table, 79, 3, 28);
    expect(&table, 4, 1, 1);
    CHECK(!sb_gap_table_take(&table, 1, &behind_all, &taken));
    sb_gap_table_release(&table);
}

static void only_one_that_begins_before(void)
{
    static const struct sb_gap gaps[] = {{1, 10, 5}, {2, 0, 50}};
    struct sb_gap_table table = table_of(gaps, 2);
    struct sb_gap taken;

    CHECK(!sb_gap_table_take(&table, 5, &(struct sb_gap){.shard = 0, .offset = 99}, &taken));
    CHECK(!sb_gap_table_take(&table, 5, &(struct sb_gap){.shard = 1, .offset = 10}, &taken));
    CHECK(!sb_gap_table_take(&table, 6, &(struct sb_gap){.shard = 1, .offset = 11}, &taken));
    CHECK(sb_gap_table_take(&table, 5, &(struct sb_gap){.shard = 1, .offset = 11}, &taken));
    CHECK(sb_gap_table_take(&table, 6, &(struct sb_gap){.shard = 2, .offset = 1}, &taken));
    sb_gap_table_release(&table);
}

static void what_is_left_first(void)
{
    static const struct sb_gap gaps[] = {{0, 1, 0}, {0, 2, 3}, {5, 0, 1}};
    struct sb_gap_table table = table_of(gaps, 3);
    struct sb_gap first;

    CHECK(sb_gap_table_first(&table, &first) && first.shard == 0 && first.offset == 2);
    expect(&table, 2, 0, 2);
    CHECK(sb_gap_table_first(&table, &first) && first.offset == 4 && first.size == 1);
    expect(&table, 1, 0, 4);
    CHECK(sb_gap_table_first(&table, &first) && first.shard == 5);
    expect(&table, 1, 5, 0);
    CHECK(!sb_gap_table_first(&table, &first));
    sb_gap_table_release(&table);
}

static void no_gaps(void)
{
    struct sb_gap_table table = table_of(NULL, 0);
    struct sb_gap gap;

    CHECK(!sb_gap_table_take(&table, 1, &behind_all, &gap));
    CHECK(!sb_gap_table_first(&table, &gap));
    sb_gap_table_release(&table);
}

/* What a search one by one finds; gaps shrink from the front as those of the table do. */
static bool take_plainly(struct sb_gap *gaps, size_t count, int64_t size, struct sb_gap *taken)
{
    for (size_t i = 0; i < count; i++) {
        if (gaps[i].size < size)
            continue;
        *taken = (struct sb_gap){gaps[i].shard, gaps[i].offset, size};
        gaps[i].offset += size;
        gaps[i].size -= size;
        return true;
    }
    return false;
}

/* From 0 to limit - 1; the same sequence in every run. */
static int64_t any_number(int64_t limit)
{
    static uint32_t state = 1;

    state = state * 1103515245 + 12345;
    return (state >> 16) % limit;
}

static void as_a_search_one_by_one(void)
{
    enum { COUNT = 3000 };
    static struct sb_gap gaps[COUNT];
    struct sb_gap_table table;
    struct sb_gap taken, wanted;
    bool found = true;

    for (int i = 0; i < COUNT; i++)
        gaps[i] = (struct sb_gap){(uint32_t)i / 100, i * 1000, 1 + any_number(500)};
    table = table_of(gaps, COUNT);
    while (found) {
        int64_t size = 1 + any_number(100);

        found = take_plainly(gaps, COUNT, size, &wanted);
        if (!CHECK(sb_gap_table_take(&table, size, &behind_all, &taken) == found) || !found)
            break;
        if (!CHECK(taken.shard == wanted.shard && taken.offset == wanted.offset))
            break;
    }
    sb_gap_table_release(&table);
}

static void those_behind_the_first_million_are_passed_over(void)
{
    struct sb_gap_table table = {0};
    struct sb_gap taken;

    for (size_t i = 0; i <= SB_GAPS_MOST; i++) {
        struct sb_gap gap = {0, (int64_t)i * 10, i < SB_GAPS_MOST ? 1 : 2};

        if (!CHECK(sb_gap_table_add(&table, &gap) == SB_OK))
            break;
    }
    CHECK(sb_gap_table_finish(&table) == SB_OK);
    CHECK(!sb_gap_table_take(&table, 2, &behind_all, &taken));
    expect(&table, 1, 0, 0);
    expect(&table, 1, 0, 10);
    sb_gap_table_release(&table);
}

int main(void)
{
    RUN(the_first_that_is_large_enough);
    RUN(only_one_that_begins_before);
    RUN(what_is_left_first);
    RUN(no_gaps);
    RUN(as_a_search_one_by_one);
    RUN(those_behind_the_first_million_are_passed_over);
    return check_end();
}
