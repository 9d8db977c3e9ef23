#include "store/tar/sparse.h"
#include "check.h"
#include "store/tar/header.h"

/* Blocks of a file, below 0 for holes; 0 ends them. */
static void add(struct sb_tar_map *map, const int64_t *runs)
{

    for (; *runs; runs++)
        CHECK(sb_tar_map_add(map, *runs < 0 ? NULL : "", (size_t)(*runs < 0 ? -*runs : *runs)) ==
              SB_OK);
}

static void check_map(const int64_t *runs, const char *text, int64_t stored)
{
    struct sb_tar_map map = {0};
    struct sb_buf out = {0};

    add(&map, runs);
    CHECK(sb_tar_map_write(&map, &out) == SB_OK);
    CHECK(out.size % SB_TAR_BLOCK == 0);
    CHECK_TEXT(out.data, text);
    CHECK(map.stored == stored);
    sb_buf_release(&out);
    sb_tar_map_release(&map);
}

static void maps_as_gnu_tar_has_them(void)
{
    check_map((int64_t[]){0}, "1\n0\n0\n", 0);
    check_map((int64_t[]){5, 7, 0}, "1\n0\n12\n", 12);
    check_map((int64_t[]){-8192, 0}, "1\n8192\n0\n", 0);
    check_map((int64_t[]){-8192, 5, -8000, 3, 0}, "2\n8192\n5\n16197\n3\n", 8);
    check_map((int64_t[]){4, -4095, 5, -8192, 0}, "2\n0\n4104\n12296\n0\n", 4104);
    check_map((int64_t[]){-INT64_MAX, 0}, "1\n9223372036854775807\n0\n", 0);
}

static void runs_follow_the_map(void)
{
    struct sb_tar_map map = {0};
    struct sb_buf out = {0};
    size_t next = 0;
    bool stored;

    add(&map, (int64_t[]){-8192, 5, -8000, 3, -8192, 0});
    CHECK(sb_tar_map_write(&map, &out) == SB_OK);
    CHECK(sb_tar_map_run(&map, &next, 0, 10000, &stored) == 8192 && !stored);
    CHECK(sb_tar_map_run(&map, &next, 8192, 2, &stored) == 2 && stored);
    CHECK(sb_tar_map_run(&map, &next, 8194, 9999, &stored) == 3 && stored);
    CHECK(sb_tar_map_run(&map, &next, 8197, 100, &stored) == 100 && !stored);
    CHECK(sb_tar_map_run(&map, &next, 8297, 7901, &stored) == 7900 && !stored);
    CHECK(sb_tar_map_run(&map, &next, 16197, 1, &stored) == 1 && stored);
    CHECK(sb_tar_map_run(&map, &next, 16200, 8192, &stored) == 8192 && !stored);
    CHECK(sb_tar_map_run(&map, &next, 24392, 50, &stored) == 50 && !stored);
    sb_buf_release(&out);
    sb_tar_map_release(&map);
}

static void very_many_holes_lose_the_smallest(void)
{
    struct sb_tar_map map = {0};
    struct sb_buf out = {0};
    int64_t data = 0;
    bool ok = true;

    for (int64_t i = 0; ok && i < 300000; i++) {
        add(&map, (int64_t[]){1 + i % 3, i % 10 ? -4096 : -100000, 0});
        data += 1 + i % 3;
        ok = CHECK(map.count <= 1 << 16);
    }
    CHECK(sb_tar_map_write(&map, &out) == SB_OK);
    CHECK(map.count > 1 << 14 && map.stored > data && map.stored < 2 * INT64_C(300000) * 4100);
    for (size_t i = 1; ok && i + 1 < map.count; i++)
        ok = CHECK(map.extents[i].offset >=
                   map.extents[i - 1].offset + map.extents[i - 1].size + map.least);
    sb_buf_release(&out);
    sb_tar_map_release(&map);
}

int main(void)
{
    RUN(maps_as_gnu_tar_has_them);
    RUN(runs_follow_the_map);
    RUN(very_many_holes_lose_the_smallest);
    return check_end();
}
