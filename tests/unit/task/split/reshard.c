/* lib/task/split/reshard.c */
#include "check.h"
#include "task/split/split.h"

#include <stdlib.h>

struct file {
    uint32_t shard;
    int64_t offset, size;
    struct sb_shard_place wanted;
};

static struct sb_shard_layout layout_of(int64_t limit, const struct file *files, size_t count)
{
    struct sb_shard_layout layout = {.limit = limit};
    struct sb_shard_place place;

    for (size_t i = 0; i < count; i++) {
        struct sb_mover_file file = {
            .shard = files[i].shard, .offset = files[i].offset, .size = files[i].size};

        CHECK(sb_shard_layout_add(&layout, &file, &place) == SB_OK);
        CHECK(place.shard == files[i].wanted.shard && place.offset == files[i].wanted.offset);
    }
    return layout;
}

/* The same places, going back; those of empty files are of no meaning. */
static void expect_back(const struct sb_shard_layout *layout, const struct file *files,
                        size_t count)
{
    struct sb_shard_place place = sb_shard_layout_end(layout);

    while (count-- > 0) {
        sb_shard_layout_back(layout, &place, files[count].size);
        if (files[count].size > 0)
            CHECK(place.shard == files[count].wanted.shard &&
                  place.offset == files[count].wanted.offset);
    }
    CHECK(place.shard == 0 && place.offset == 0);
}

static void expect(int64_t limit, const struct file *files, size_t count, uint32_t shards,
                   uint32_t kept)
{
    struct sb_shard_layout layout = layout_of(limit, files, count);

    CHECK(sb_shard_layout_count(&layout) == shards);
    CHECK(sb_shard_layout_kept(&layout) == kept);
    expect_back(&layout, files, count);
    sb_shard_layout_release(&layout);
}

static void one_shard_is_cut_and_its_front_stays(void)
{
    static const struct file files[] = {
        {0, 0, 60, {0, 0}}, {0, 60, 40, {0, 60}}, {0, 100, 1, {1, 0}}, {0, 101, 99, {1, 1}}};

    expect(100, files, 4, 2, 1);
}

static void a_gap_in_front_moves_all_of_the_shard(void)
{
    static const struct file files[] = {
        {0, 0, 50, {0, 0}}, {1, 10, 60, {1, 0}}, {1, 70, 30, {1, 60}}};

    expect(100, files, 3, 2, 1);
}

static void a_gap_within_moves_all_of_the_shard(void)
{
    static const struct file files[] = {
        {0, 0, 50, {0, 0}}, {0, 51, 49, {0, 50}}, {1, 0, 100, {1, 0}}};

    expect(100, files, 3, 2, 0);
}

static void shards_are_joined(void)
{
    static const struct file files[] = {
        {0, 0, 50, {0, 0}}, {1, 0, 50, {0, 50}}, {2, 0, 50, {1, 0}}, {3, 0, 50, {1, 50}}};

    expect(100, files, 4, 2, 0);
}

static void a_larger_file_is_alone(void)
{
    static const struct file files[] = {{0, 0, 10, {0, 0}},
                                        {0, 10, 500, {1, 0}},
                                        {0, 510, 10, {2, 0}},
                                        {0, 520, INT64_MAX, {3, 0}},
                                        {1, 0, 1, {4, 0}}};

    expect(100, files, 5, 5, 1);
}

static void what_conforms_is_kept(void)
{
    static const struct file files[] = {
        {0, 0, 60, {0, 0}}, {1, 0, 60, {1, 0}}, {1, 60, 40, {1, 60}}, {2, 0, 1, {2, 0}}};

    expect(100, files, 4, 3, 3);
}

static void no_limit_is_one_shard(void)
{
    static const struct file files[] = {{0, 0, 60, {0, 0}}, {0, 60, 60, {0, 60}}};

    expect(INT64_MAX, files, 2, 1, 1);
}

static void empty_files_are_passed_over(void)
{
    static const struct file files[] = {{0, 0, 0, {0, 0}},     {0, 0, 100, {0, 0}},
                                        {0, 100, 0, {0, 100}}, {0, 500, 0, {0, 100}},
                                        {1, 0, 100, {1, 0}},   {7, 0, 0, {1, 100}}};

    expect(100, files, 6, 2, 2);
    expect(100, NULL, 0, 1, 1);
}

static void more_shards_than_there_are_numbers(void)
{
    struct sb_mover_file file = {.size = 1};
    struct sb_shard_layout layout = {.limit = 1};
    struct sb_shard_place place;

    for (int i = 0; i < 100000; i++) {
        if (!CHECK(sb_shard_layout_add(&layout, &file, &place) == SB_OK))
            break;
    }
    CHECK(sb_shard_layout_add(&layout, &file, &place) == SB_LIMIT);
    CHECK_TEXT(sb_error()->text, "more than 100000 shards; give a larger shard size");
    sb_shard_layout_release(&layout);
}

int main(void)
{
    RUN(one_shard_is_cut_and_its_front_stays);
    RUN(a_gap_in_front_moves_all_of_the_shard);
    RUN(a_gap_within_moves_all_of_the_shard);
    RUN(shards_are_joined);
    RUN(a_larger_file_is_alone);
    RUN(what_conforms_is_kept);
    RUN(no_limit_is_one_shard);
    RUN(empty_files_are_passed_over);
    RUN(more_shards_than_there_are_numbers);
    return check_end();
}
