/* lib/task/mount/tree.h */
#include "check.h"
#include "task/mount/tree.h"

static bool is_same(struct sb_inode a, struct sb_inode b)
{
    return a.container == b.container && a.epoch == b.epoch && a.kind == b.kind && a.row == b.row &&
           a.tail == b.tail;
}

static void a_number_keeps_all_of_it(void)
{
    static const struct sb_inode inodes[] = {
        {.container = 1, .kind = SB_INODE_FILE, .row = 1},
        {.container = SB_INODE_CONTAINERS, .kind = SB_INODE_ABOVE_DIR, .row = SB_INODE_ROWS},
        {.container = 7, .epoch = SB_INODE_EPOCHS - 1, .kind = SB_INODE_DIR, .row = 0},
        {.container = 1, .kind = SB_INODE_ABOVE_FILE, .row = 5, .tail = SB_INODE_TAILS - 1},
    };

    for (size_t i = 0; i < sizeof(inodes) / sizeof(*inodes); i++) {
        CHECK(is_same(sb_inode_unpack(sb_inode_pack(&inodes[i])), inodes[i]));
        CHECK(sb_inode_pack(&inodes[i]) != SB_INODE_TOP);
        CHECK(sb_inode_place(&inodes[i]) > 2);
        CHECK(sb_inode_place(&inodes[i]) < UINT64_C(1) << 61);
    }
}

static void a_tail_is_about_what_stays(void)
{
    struct sb_entry file = {.path = "a", .path_size = 1, .size = 5, .has = SB_HAS_CRC, .crc32c = 7};
    struct sb_entry moved = file, other = file, dir = {.type = SB_DIR, .path = "a", .path_size = 1};
    struct sb_entry renamed = dir;

    moved.path = "b";
    moved.offset = 4096;
    other.crc32c = 8;
    renamed.path = "b";
    CHECK(sb_inode_tail(&moved, 0) == sb_inode_tail(&file, 0));
    CHECK(sb_inode_tail(&other, 0) != sb_inode_tail(&file, 0));
    CHECK(sb_inode_tail(&renamed, 0) != sb_inode_tail(&dir, 0));
    CHECK(sb_inode_tail(&file, SB_INODE_EPOCHS) != sb_inode_tail(&file, 0));
}

/* The system keeps bytes by both. */
static void number_and_generation_are_one_content(void)
{
    struct sb_entry first = {.path = "a", .path_size = 1, .size = 5, .has = SB_HAS_CRC};
    struct sb_entry other = first;
    unsigned same_tails = 0;

    for (other.crc32c = 1; other.crc32c < 10 * SB_INODE_TAILS; other.crc32c++) {
        if (sb_inode_tail(&other, 0) != sb_inode_tail(&first, 0))
            continue;
        same_tails++;
        CHECK(sb_inode_generation(&other, 0) != sb_inode_generation(&first, 0));
    }
    CHECK(same_tails > 0);
    CHECK(sb_inode_generation(&first, SB_INODE_EPOCHS) != sb_inode_generation(&first, 0));
    other.crc32c = first.crc32c;
    other.offset = 4096;
    CHECK(sb_inode_generation(&other, 0) == sb_inode_generation(&first, 0));
}

/* A place does not say what the row holds, but how deep a directory without a row is. */
static void a_place_is_about_the_row_alone(void)
{
    struct sb_inode a = {.container = 1, .kind = SB_INODE_FILE, .row = 9, .tail = 1}, b = a;

    b.tail = 2;
    CHECK(sb_inode_place(&a) == sb_inode_place(&b));
    a.kind = b.kind = SB_INODE_ABOVE_FILE;
    CHECK(sb_inode_place(&a) != sb_inode_place(&b));
}

int main(void)
{
    RUN(a_number_keeps_all_of_it);
    RUN(a_tail_is_about_what_stays);
    RUN(number_and_generation_are_one_content);
    RUN(a_place_is_about_the_row_alone);
    return check_end();
}
