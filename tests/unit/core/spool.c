/* lib/core/spool.h */
#include "core/spool.h"
#include "check.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK ((size_t)1 << 20)
#define WIDE  7 /* blocks: more than stay in memory */

struct seen {
    int64_t at;
    int64_t size;
};

static char byte_at(int64_t at)
{
    return (char)(at / 4099 + at);
}

static enum sb_code compare(void *context, const void *data, size_t size)
{
    struct seen *seen = context;

    for (size_t i = 0; i < size; i++)
        CHECK(((const char *)data)[i] == byte_at(seen->at + (int64_t)i));
    seen->at += (int64_t)size;
    seen->size += (int64_t)size;
    return SB_OK;
}

static void add(struct sb_spool *spool, size_t blocks)
{
    char *block = calloc(1, BLOCK);
    int64_t at = sb_spool_size(spool);

    CHECK(block);
    for (; blocks > 0; blocks--) {
        for (size_t i = 0; i < BLOCK; i++)
            block[i] = byte_at(at++);
        CHECK(sb_spool_add(spool, block, BLOCK) == SB_OK);
    }
    free(block);
}

static void feed(struct sb_spool *spool, int64_t at, int64_t size)
{
    struct seen seen = {.at = at};

    CHECK(sb_spool_feed(spool, at, size, compare, &seen) == SB_OK);
    CHECK(seen.size == size);
}

static void any_part_is_read_again(void)
{
    struct sb_spool spool = {.beside = ".", .fd = -1};
    char few[16];

    for (size_t blocks = 1; blocks <= WIDE; blocks += WIDE - 1) {
        int64_t size = (int64_t)(blocks * BLOCK);

        add(&spool, blocks);
        CHECK(sb_spool_size(&spool) == size);
        feed(&spool, 0, size);
        feed(&spool, size - 1, 1);
        feed(&spool, 12345, size / 2);
        feed(&spool, 5, 0);
        CHECK(sb_spool_get(&spool, size - 16, few, 16) == SB_OK);
        CHECK(few[0] == byte_at(size - 16) && few[15] == byte_at(size - 1));
        sb_spool_clear(&spool);
        CHECK(sb_spool_size(&spool) == 0 && spool.fd == -1);
    }
    sb_spool_release(&spool);
}

static void a_part_may_lie_in_the_file_and_in_memory(void)
{
    struct sb_spool spool = {.beside = ".", .fd = -1};

    add(&spool, WIDE);
    CHECK(spool.fd >= 0 && spool.memory.size > 0);
    feed(&spool, spool.in_file - 10, 20);
    sb_spool_release(&spool);
}

static void what_is_cut_off_is_replaced_by_what_comes(void)
{
    struct sb_spool spool = {.beside = ".", .fd = -1};
    int64_t cuts[] = {WIDE * (int64_t)BLOCK, WIDE * (int64_t)BLOCK - 10, 3 * (int64_t)BLOCK + 10,
                      0};

    add(&spool, WIDE);
    for (size_t i = 0; i < sizeof(cuts) / sizeof(*cuts); i++) {
        sb_spool_cut(&spool, cuts[i]);
        CHECK(sb_spool_size(&spool) == cuts[i]);
        add(&spool, 2);
        feed(&spool, 0, cuts[i] + 2 * (int64_t)BLOCK);
    }
    sb_spool_release(&spool);
}

static void what_is_larger_than_its_memory_goes_to_the_file_at_once(void)
{
    struct sb_spool spool = {.beside = ".", .memory_most = BLOCK - 1, .fd = -1};
    char first = byte_at(0);

    CHECK(sb_spool_add(&spool, &first, 1) == SB_OK && spool.memory.size == 1);
    add(&spool, 2);
    CHECK(spool.memory.size == 0 && spool.in_file == 1 + 2 * (int64_t)BLOCK);
    feed(&spool, 0, spool.in_file);
    sb_spool_release(&spool);
}

struct runs {
    int64_t holes, data;
    bool wrong;
};

static enum sb_code add_run(void *context, const void *data, size_t size)
{
    struct runs *runs = context;

    *(data ? &runs->data : &runs->holes) += (int64_t)size;
    for (size_t i = 0; data && i < size; i++)
        runs->wrong |= ((const char *)data)[i] != '\0' && ((const char *)data)[i] != 'x';
    return SB_OK;
}

static void a_hole_takes_no_place_and_is_one_again(void)
{
    struct sb_spool spool = {.beside = ".", .fd = -1};
    const int64_t wide = INT64_C(1) << 36;
    struct runs runs = {0};
    char bytes[3] = "???";

    CHECK(sb_spool_add(&spool, NULL, 10) == SB_OK && spool.fd < 0);
    CHECK(sb_spool_add(&spool, "x", 1) == SB_OK);
    CHECK(sb_spool_add(&spool, NULL, (size_t)wide) == SB_OK);
    CHECK(sb_spool_add(&spool, "x", 1) == SB_OK);
    CHECK(sb_spool_size(&spool) == wide + 12);
    CHECK(sb_spool_get(&spool, 9, bytes, 3) == SB_OK && memcmp(bytes, "\0x\0", 3) == 0);
    CHECK(sb_spool_feed_sparse(&spool, add_run, &runs) == SB_OK);
    CHECK(runs.holes + runs.data == wide + 12 && !runs.wrong);
    CHECK(runs.data < 1 << 20);
    sb_spool_cut(&spool, 12);
    CHECK(sb_spool_add(&spool, NULL, (size_t)wide) == SB_OK);
    runs = (struct runs){0};
    CHECK(sb_spool_feed_sparse(&spool, add_run, &runs) == SB_OK);
    CHECK(runs.holes + runs.data == wide + 12 && !runs.wrong);
    sb_spool_release(&spool);
}

int main(void)
{
    RUN(any_part_is_read_again);
    RUN(a_part_may_lie_in_the_file_and_in_memory);
    RUN(what_is_cut_off_is_replaced_by_what_comes);
    RUN(what_is_larger_than_its_memory_goes_to_the_file_at_once);
    RUN(a_hole_takes_no_place_and_is_one_again);
    return check_end();
}
