/* sb_crc32c_combine and sb_crc32c_zeros of lib/core/crc32c.h */
#include "check.h"
#include "core/crc32c.h"

#include <stdlib.h>

static void two_halves_are_the_whole(void)
{
    unsigned char data[4096];
    unsigned seed = 1;

    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (unsigned char)rand_r(&seed);
    for (size_t cut = 0; cut <= sizeof(data); cut += 7) {
        uint32_t first = sb_crc32c(0, data, cut);
        uint32_t second = sb_crc32c(0, data + cut, sizeof(data) - cut);
        if (!CHECK(sb_crc32c_combine(first, second, (int64_t)(sizeof(data) - cut)) ==
                   sb_crc32c(0, data, sizeof(data))))
            return;
    }
}

static void nothing_changes_nothing(void)
{
    uint32_t crc = sb_crc32c(0, "123456789", 9);

    CHECK(crc == 0xe3069283);
    CHECK(sb_crc32c_combine(crc, 0, 0) == crc);
    CHECK(sb_crc32c_combine(0, crc, 9) == crc);
}

static void zeros_are_as_if_they_were_there(void)
{
    static const unsigned char zeros[5000];
    uint32_t crc = sb_crc32c(0, "123456789", 9);

    for (size_t count = 0; count <= sizeof(zeros); count += 13) {
        CHECK(sb_crc32c_zeros(crc, (int64_t)count) == sb_crc32c(crc, zeros, count));
        CHECK(sb_crc32c_block(crc, NULL, count) == sb_crc32c_block(crc, zeros, count));
        CHECK(sb_crc32c_zeros(0, (int64_t)count) == sb_crc32c(0, zeros, count));
    }
    CHECK(sb_crc32c_zeros(sb_crc32c_zeros(crc, INT64_MAX - 100), 100) ==
          sb_crc32c_zeros(crc, INT64_MAX));
    CHECK(sb_crc32c_combine(crc, sb_crc32c_zeros(0, INT64_MAX), INT64_MAX) ==
          sb_crc32c_zeros(crc, INT64_MAX));
}

int main(void)
{
    RUN(two_halves_are_the_whole);
    RUN(nothing_changes_nothing);
    RUN(zeros_are_as_if_they_were_there);
    return check_end();
}
