/* lib/task/restore/copy.c: the bytes of a file on their way. */
#include "check.h"
#include "task/restore/impl.h"

#include "core/crc32c.h"
#include "core/io.h"

#include <stdlib.h>
#include <unistd.h>

#define LARGE ((size_t)(SB_RESTORE_WHOLE + 1000003))

static unsigned char *make_bytes(size_t size)
{
    unsigned char *bytes = malloc(size);

    for (size_t i = 0; bytes && i < size; i++)
        bytes[i] = (unsigned char)(i * 7 + (i >> 9));
    return bytes;
}

static void add_in_blocks(struct sb_restore_piece *piece, const unsigned char *bytes, size_t size,
                          size_t block)
{
    for (size_t at = 0; at < size; at += block)
        CHECK(sb_restore_piece_add(piece, bytes + at, size - at < block ? size - at : block) ==
              SB_OK);
}

/* What a file has between two marks. */
static bool holds(int fd, const unsigned char *bytes, size_t size, int64_t offset)
{
    unsigned char *back = malloc(size + 1);
    size_t got = 0;
    bool same;

    CHECK(sb_pread_full(fd, back, size + 1, offset, &got, "file") == SB_OK);
    same = got == size && memcmp(back, bytes, size) == 0;
    free(back);
    return same;
}

struct place {
    int fd;
    int64_t at;
};

static enum sb_code write_block(void *context, const void *data, size_t size)
{
    struct place *place = context;
    enum sb_code code = sb_pwrite_full(place->fd, data, size, place->at, "file");

    place->at += (int64_t)size;
    return code;
}

static enum sb_code write_to(struct sb_restore_piece *piece, int fd, int64_t offset)
{
    struct place place = {.fd = fd, .at = offset};

    return sb_spool_feed_sparse(&piece->bytes, write_block, &place);
}

static void writes(size_t size, size_t block)
{
    struct sb_restore_piece piece = SB_RESTORE_PIECE("/tmp/x");
    unsigned char *bytes = make_bytes(size);
    int fd = -1;

    CHECK(sb_temp_file(&fd, "/tmp/x") == SB_OK);
    sb_restore_piece_begin(&piece, (int64_t)size);
    add_in_blocks(&piece, bytes, size, block);
    CHECK(sb_restore_piece_is(&piece, (int64_t)size, sb_crc32c(0, bytes, size)));
    CHECK(!sb_restore_piece_is(&piece, (int64_t)size, sb_crc32c(0, bytes, size) ^ 1));
    for (int64_t offset = 5000000; offset >= 0; offset -= 2500000) {
        CHECK(ftruncate(fd, 0) == 0);
        CHECK(write_to(&piece, fd, offset) == SB_OK);
        CHECK(holds(fd, bytes, size, offset));
    }
    close(fd);
    free(bytes);
    sb_restore_piece_release(&piece);
}

static void a_small_file_is_kept_in_memory(void)
{
    writes(100000, 333);
    writes(1, 1);
}

static void a_large_file_goes_through_a_temporary_one(void)
{
    writes(LARGE, 65537);
    writes(LARGE, (size_t)1 << 20);
    writes((size_t)SB_RESTORE_WHOLE, 4096);
}

static void more_bytes_than_expected_are_refused(void)
{
    struct sb_restore_piece piece = SB_RESTORE_PIECE("/tmp/x");

    sb_restore_piece_begin(&piece, 3);
    CHECK(sb_restore_piece_add(&piece, "ab", 2) == SB_OK);
    CHECK(!sb_restore_piece_is(&piece, 3, sb_crc32c(0, "ab", 2)));
    CHECK(sb_restore_piece_add(&piece, "cd", 2) == SB_LIMIT);
    CHECK(!piece.lost);
    sb_restore_piece_release(&piece);
}

static void a_piece_is_used_again(void)
{
    struct sb_restore_piece piece = SB_RESTORE_PIECE("/tmp/x");
    unsigned char *bytes = make_bytes(LARGE);
    int fd = -1;

    CHECK(sb_temp_file(&fd, "/tmp/x") == SB_OK);
    sb_restore_piece_begin(&piece, (int64_t)LARGE);
    add_in_blocks(&piece, bytes, LARGE, 1000000);
    sb_restore_piece_begin(&piece, 4);
    CHECK(sb_restore_piece_add(&piece, "four", 4) == SB_OK);
    CHECK(write_to(&piece, fd, 0) == SB_OK);
    CHECK(holds(fd, (const unsigned char *)"four", 4, 0));
    close(fd);
    free(bytes);
    sb_restore_piece_release(&piece);
}

int main(void)
{
    RUN(a_small_file_is_kept_in_memory);
    RUN(a_large_file_goes_through_a_temporary_one);
    RUN(more_bytes_than_expected_are_refused);
    RUN(a_piece_is_used_again);
    return check_end();
}
