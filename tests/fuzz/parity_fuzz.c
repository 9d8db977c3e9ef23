/*
 * Parity files. Whatever they contain, opening, checking and mending end, and only what matches its
 * table comes out; where tables and superblocks were not forged that is what was there.
 *
 * The first byte of an input chooses. Bit 0: the rest is a parity file, in blocks of 4096 bytes,
 * whose checksums are made right, with bit 4 also that of the tables. Else the second and the third
 * say how large the file is and what its words are; bits 2 and 3 cut the end of the file and of its
 * parity file, the fourth byte says how much. What follows are damages of 6 bytes each, in either;
 * with bit 1, checksums of blocks are made right after them.
 */
#include "archive/parity/check.h"
#include "archive/parity/make.h"
#include "core/crc32c.h"
#include "core/little_endian.h"
#include "require.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BLOCK 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char directory[32], data_path[64], parity_path[64], temporary_path[64];
static unsigned char file_bytes[65536 + 255], parity_bytes[1 << 20], damaged[65536 + 255];
static size_t file_size, parity_size;
static bool forged;

static void write_file(const char *name, const void *data, size_t size)
{
    int fd = open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    close(fd);
}

static void read_parity(void)
{
    int fd = open(parity_path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, parity_bytes, sizeof(parity_bytes));

    REQUIRE(got >= 0 && (size_t)got < sizeof(parity_bytes));
    parity_size = (size_t)got;
    close(fd);
}

static void remove_directory(void)
{
    (void)unlink(data_path);
    (void)unlink(parity_path);
    (void)unlink(temporary_path);
    (void)rmdir(directory);
}

static void make_directory(void)
{
    if (directory[0])
        return;
    snprintf(directory, sizeof(directory), "%s",
             access("/dev/shm", W_OK) ? "/tmp/parity_fuzz.XXXXXX" : "/dev/shm/parity_fuzz.XXXXXX");
    REQUIRE(mkdtemp(directory));
    snprintf(data_path, sizeof(data_path), "%s/data", directory);
    snprintf(parity_path, sizeof(parity_path), "%s/parity", directory);
    snprintf(temporary_path, sizeof(temporary_path), "%s/temporary", directory);
    atexit(remove_directory);
}

/* Of every block that begins as one. */
static void seal_blocks(void)
{
    for (size_t at = 0; at + BLOCK <= parity_size; at += BLOCK) {
        if (memcmp(parity_bytes + at, "SBPAR", 5) == 0)
            sb_put_u32(parity_bytes + at + BLOCK - 4, sb_crc32c(0, parity_bytes + at, BLOCK - 4));
    }
}

static void add_sums(const struct sb_parity_super *super, int64_t number, uint32_t *sum)
{
    static uint32_t sums[SB_PARITY_WORDS_MOST * 255];
    struct sb_parity_section section;
    int64_t begin = sb_parity_offset(&super->shape, number);

    sb_parity_section(&super->shape, number, &section);
    memset(sums, 0, sizeof(sums));
    for (uint32_t i = 0; i < 2 * section.pages; i++) {
        uint32_t page = i % section.pages;
        int64_t at =
            begin + sb_parity_page_offset(&super->shape, &section, i / section.pages, page);

        if (at + BLOCK <= (int64_t)parity_size)
            (void)!sb_parity_get_page(sums, parity_bytes + at, super, &section, page);
    }
    *sum ^= sb_parity_sum(&section, sums);
}

/* The checksum of the tables in the first superblock. */
static void seal_tables(void)
{
    struct sb_parity_super super;
    uint32_t sum = 0;

    if (parity_size < BLOCK || !sb_parity_get_super(&super, parity_bytes, 0))
        return;
    for (int64_t i = 0; i < sb_parity_sections(&super.shape) && i < 8; i++)
        add_sums(&super, i, &sum);
    sb_put_u32(parity_bytes + 60, sum);
    seal_blocks();
}

static enum sb_code take_mended(void *context, int64_t offset, const void *bytes, size_t size)
{
    (void)context;
    REQUIRE(size > 0 && size <= SB_PARITY_PIECE_MOST);
    if (!forged) {
        REQUIRE(offset + (int64_t)size <= (int64_t)file_size);
        REQUIRE(memcmp(file_bytes + offset, bytes, size) == 0);
    }
    return SB_OK;
}

static enum sb_code take_lost(void *context, int64_t offset, size_t size)
{
    (void)context, (void)offset, (void)size;
    return SB_OK;
}

static void check_and_mend(void)
{
    static const struct sb_parity_mender mender = {.mended = take_mended, .lost = take_lost};
    struct sb_parity_check_options options = {.parity = true};
    struct sb_parity_bad *bad = NULL;
    struct sb_parity *parity;
    struct sb_file *file;

    if (sb_parity_open(&parity, parity_path))
        return;
    REQUIRE(sb_file_open(&file, data_path, "file") == SB_OK);
    if (sb_parity_check(&bad, parity, file, &options) == SB_OK) {
        REQUIRE(bad->data >= 0 && bad->rest >= 0 && bad->unknown >= 0);
        REQUIRE(sb_parity_mend(parity, file, bad, &mender) == SB_OK ||
                sb_error()->code != SB_DAMAGED);
    } else {
        REQUIRE(sb_error()->code == SB_DAMAGED);
    }
    sb_parity_bad_free(bad);
    sb_file_free(file);
    sb_parity_free(parity);
}

static void make_parity(unsigned long chosen)
{
    static const unsigned codes[][3] = {{240, 12, 0}, {20, 4, 3}, {7, 3, 5}, {1, 1, 9}};
    const unsigned *code = codes[chosen >> 8 & 3];
    struct sb_parity_options options = {.path = parity_path,
                                        .temporary = temporary_path,
                                        .data = code[0],
                                        .parity = code[1],
                                        .words = code[2],
                                        .threads = 1};
    struct sb_file *file;

    file_size = (chosen & 255) * 257;
    for (size_t i = 0; i < file_size; i++)
        file_bytes[i] = (unsigned char)(i * 2654435761u >> 11);
    write_file(data_path, file_bytes, file_size);
    REQUIRE(sb_file_open(&file, data_path, "file") == SB_OK);
    REQUIRE(sb_parity_make(file, &options) == SB_OK);
    sb_file_free(file);
    read_parity();
}

/* Where, how much, and what. */
static void damage(const uint8_t *how)
{
    bool in_parity = how[0] & 1;
    unsigned char *bytes = in_parity ? parity_bytes : damaged;
    size_t all = in_parity ? parity_size : file_size;
    size_t at = ((size_t)sb_get_u16(how + 1) * 8 + (how[0] >> 1 & 7)) % (all + 1);
    size_t count = how[0] & 128 ? (size_t)how[3] * 64 : how[3] % 8;

    for (size_t i = at; i < at + count && i < all; i++)
        bytes[i] ^= how[4 + i % 2];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    size_t cut = 0;

    if (size < 4)
        return 0;
    make_directory();
    forged = data[0] & 3;
    if (data[0] & 1) {
        file_size = 1000;
        parity_size = size - 1 < sizeof(parity_bytes) ? size - 1 : sizeof(parity_bytes);
        memcpy(parity_bytes, data + 1, parity_size);
        memset(damaged, 1, file_size);
    } else {
        make_parity(sb_get_u16(data + 1));
        memcpy(damaged, file_bytes, file_size);
        for (size_t at = 4; at + 6 <= size; at += 6)
            damage(data + at);
        cut = data[0] & 4 ? file_size * data[3] / 256 : 0;
        parity_size -= data[0] & 8 ? parity_size * data[3] / 256 : 0;
    }
    if (forged)
        seal_blocks();
    if (forged && data[0] & 16)
        seal_tables();
    write_file(data_path, damaged, file_size - cut);
    write_file(parity_path, parity_bytes, parity_size);
    check_and_mend();
    return 0;
}
