/* lib/task/mount/reading.h */
#include "task/mount/reading.h"
#include "check.h"

#include "core/crc32c.h"

#include <string.h>

#define SIZE 4096
#define MOST 16

static unsigned char data[SIZE];

static bool add(struct sb_pieces *pieces, int64_t from, int64_t to)
{
    const size_t size = (size_t)(to - from);

    return sb_pieces_add(pieces, from, data + from, size, sb_crc32c(0, data + from, size), MOST);
}

static bool is_whole(const struct sb_pieces *pieces)
{
    uint32_t crc;

    return sb_pieces_are_whole(pieces, SIZE, &crc) && crc == sb_crc32c(0, data, SIZE);
}

/* Pieces of 256 bytes, in an order that `step`, which is odd, makes. */
static void join_in_order(unsigned step)
{
    struct sb_pieces pieces = {0};

    for (unsigned i = 0; i < 16; i++) {
        int64_t from = (int64_t)(i * step % 16) * 256;

        CHECK(!is_whole(&pieces));
        CHECK(add(&pieces, from, from + 256));
    }
    CHECK(is_whole(&pieces));
    sb_pieces_release(&pieces);
}

static void what_was_read_before_counts_once(void)
{
    struct sb_pieces pieces = {0};

    CHECK(add(&pieces, 0, 1000));
    CHECK(!pieces.again);
    CHECK(add(&pieces, 999, 2000));
    CHECK(pieces.again);
    CHECK(add(&pieces, 500, 600));
    CHECK(add(&pieces, 2500, 3000));
    CHECK(add(&pieces, 3500, 3600));
    CHECK(!is_whole(&pieces));
    CHECK(pieces.count == 3);
    CHECK(add(&pieces, 1500, SIZE));
    CHECK(is_whole(&pieces));
    CHECK(add(&pieces, 0, SIZE));
    CHECK(is_whole(&pieces));
    sb_pieces_release(&pieces);
}

/* More pieces than are kept apart: what came before is forgotten. */
static void too_many_pieces_are_forgotten(void)
{
    struct sb_pieces pieces = {0};

    for (int64_t i = 0; i < MOST; i++)
        CHECK(add(&pieces, i * 100, i * 100 + 50));
    CHECK(add(&pieces, 150, 160));
    CHECK(!add(&pieces, MOST * 100, MOST * 100 + 50));
    CHECK(pieces.count == 1);
    CHECK(add(&pieces, 0, SIZE));
    CHECK(is_whole(&pieces));
    sb_pieces_release(&pieces);
}

static void pieces_in_any_order_make_the_whole(void)
{
    for (size_t i = 0; i < SIZE; i++)
        data[i] = (unsigned char)(i * i >> 3);
    for (unsigned step = 1; step < 16; step += 2)
        join_in_order(step);
}

int main(void)
{
    RUN(pieces_in_any_order_make_the_whole);
    RUN(what_was_read_before_counts_once);
    RUN(too_many_pieces_are_forgotten);
    return check_end();
}
