/* lib/core/crc32c.h */
#include "core/crc32c.h"
#include "check.h"

#include <pthread.h>
#include <stdlib.h>

#define BUFFER_SIZE 65536

static unsigned char buffer[BUFFER_SIZE];

static void fill_buffer(void)
{
    uint32_t random = 1;

    for (size_t i = 0; i < sizeof(buffer); i++) {
        random = random * 1664525 + 1013904223;
        buffer[i] = (unsigned char)(random >> 24);
    }
}

/* The definition, a bit at a time. */
static uint32_t crc_by_definition(uint32_t crc, const unsigned char *data, size_t size)
{
    crc = ~crc;
    for (size_t i = 0; i < size; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc & 1 ? (crc >> 1) ^ 0x82F63B78 : crc >> 1;
    }
    return ~crc;
}

static void check_vector(const void *data, size_t size, uint32_t crc)
{
    CHECK(sb_crc32c(0, data, size) == crc);
    CHECK(sb_crc32c_table(0, data, size) == crc);
}

/* RFC 3720, B.4; and the check value of the catalogues. */
static void vectors_of_rfc_3720(void)
{
    static const unsigned char read_command[48] = {
        [0] = 0x01,  [1] = 0xc0,  [16] = 0x14, [22] = 0x04,
        [27] = 0x14, [31] = 0x18, [32] = 0x28, [40] = 0x02,
    };
    unsigned char data[32];

    memset(data, 0, sizeof(data));
    check_vector(data, sizeof(data), 0x8a9136aa);
    memset(data, 0xff, sizeof(data));
    check_vector(data, sizeof(data), 0x62a8ab43);
    for (unsigned char i = 0; i < 32; i++)
        data[i] = i;
    check_vector(data, sizeof(data), 0x46dd794e);
    for (unsigned char i = 0; i < 32; i++)
        data[i] = (unsigned char)(31 - i);
    check_vector(data, sizeof(data), 0x113fdb5c);
    check_vector(read_command, sizeof(read_command), 0xd9963a56);
    check_vector("123456789", 9, 0xe3069283);
    check_vector("", 0, 0);
    check_vector(NULL, 0, 0);
}

static void every_alignment_and_short_length(void)
{
    for (size_t start = 0; start < 16; start++) {
        for (size_t size = 0; size < 800; size++) {
            uint32_t fast = sb_crc32c((uint32_t)size, buffer + start, size);

            if (!CHECK(fast == sb_crc32c_table((uint32_t)size, buffer + start, size)))
                return;
        }
    }
    for (size_t size = 0; size < 300; size++)
        CHECK(sb_crc32c_table(7, buffer + 3, size) == crc_by_definition(7, buffer + 3, size));
}

/* Around the sizes where the interleaved streams change their step. */
static void lengths_around_the_steps(void)
{
    static const size_t steps[] = {192, 1536, 3072, 12288, 13824, 24576, 49152};

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        for (size_t size = steps[i] - 17; size <= steps[i] + 17; size++) {
            for (size_t start = 0; start < 9; start++)
                CHECK(sb_crc32c(99, buffer + start, size) ==
                      sb_crc32c_table(99, buffer + start, size));
        }
    }
    CHECK(sb_crc32c(0, buffer, BUFFER_SIZE) == crc_by_definition(0, buffer, BUFFER_SIZE));
}

static void pieces_give_the_same_as_the_whole(void)
{
    uint32_t whole = sb_crc32c(0, buffer, 20000);

    for (size_t cut = 0; cut <= 20000; cut += 501) {
        uint32_t first = sb_crc32c(0, buffer, cut);
        uint32_t second = sb_crc32c(0, buffer + cut, 20000 - cut);

        CHECK(sb_crc32c(first, buffer + cut, 20000 - cut) == whole);
        CHECK(sb_crc32c_combine(first, second, (int64_t)(20000 - cut)) == whole);
    }
}

static void *take_crc(void *result)
{
    *(uint32_t *)result = sb_crc32c_table(0, buffer, 5000) ^ sb_crc32c(0, buffer, 5000);
    return NULL;
}

/* Meant for the thread sanitizer: this runs before any other test has made a choice. */
static void first_use_in_many_threads(void)
{
    pthread_t threads[8];
    uint32_t differences[8];

    for (size_t i = 0; i < 8; i++)
        CHECK(pthread_create(&threads[i], NULL, take_crc, &differences[i]) == 0);
    for (size_t i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        CHECK(differences[i] == 0);
    }
}

static void a_known_form_is_in_use(void)
{
    const char *form = sb_crc32c_form();

    printf("# form: %s\n", form);
    CHECK(!strcmp(form, "sse4.2") || !strcmp(form, "armv8") || !strcmp(form, "table"));
}

int main(void)
{
    fill_buffer();
    RUN(first_use_in_many_threads);
    RUN(vectors_of_rfc_3720);
    RUN(every_alignment_and_short_length);
    RUN(lengths_around_the_steps);
    RUN(pieces_give_the_same_as_the_whole);
    RUN(a_known_form_is_in_use);
    return check_end();
}
