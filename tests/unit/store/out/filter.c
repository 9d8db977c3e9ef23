/* lib/store/out/filter.h, and the parts that it makes: store/codec/part.h */
#include "store/out/filter.h"
#include "check.h"
#include "core/context.h"
#include "core/little_endian.h"
#include "store/codec/codec.h"
#include "store/codec/part.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#define DATA_BYTES ((size_t)17 << 19)

struct output {
    char *data;
    size_t size;
    size_t most; /* what would be more is an error */
};

static char data[DATA_BYTES];  /* three bits in each byte */
static char noise[DATA_BYTES]; /* does not become less */
static char room[3][2 * DATA_BYTES];

static const enum sb_filter_kind kinds[] = {SB_FILTER_GZIP, SB_FILTER_ZSTD};

#define KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* A sb_each_block. */
static enum sb_code keep(void *context, const void *bytes, size_t size)
{
    struct output *output = context;

    if (output->size + size > output->most)
        return sb_fail(SB_SYSTEM, "full");
    memcpy(output->data + output->size, bytes, size);
    output->size += size;
    return SB_OK;
}

static enum sb_code filter(enum sb_filter_kind kind, unsigned threads, const char *bytes,
                           size_t size, size_t step, struct output *output)
{
    struct sb_outfilter_options options = {
        .kind = kind, .level = 1, .threads = threads, .each = keep, .context = output};
    struct sb_outfilter *filter;
    enum sb_code code = sb_outfilter_open(&filter, &options);

    for (size_t at = 0; code == SB_OK && at < size; at += step)
        code = sb_outfilter_write(filter, bytes + at, size - at < step ? size - at : step);
    if (code == SB_OK)
        code = sb_outfilter_finish(filter);
    sb_outfilter_free(filter);
    return code;
}

static bool is_compressed_of(const struct output *output, enum sb_filter_kind kind,
                             const char *bytes, size_t size)
{
    struct sb_codec_options options = {.kind = kind};
    struct sb_codec_io io = {.in = output->data,
                             .in_size = output->size,
                             .end = true,
                             .out = room[2],
                             .capacity = sizeof(room[2])};
    struct sb_codec *codec;
    enum sb_code code = sb_codec_new(&codec, &options);

    if (code == SB_OK)
        code = sb_codec_begin(codec, -1);
    do {
        if (code == SB_OK)
            code = sb_codec_step(codec, &io);
        io.out += io.made;
        io.capacity -= io.made;
    } while (code == SB_OK && (io.in_size > 0 || io.more));
    sb_codec_free(codec);
    return code == SB_OK && (size_t)(io.out - room[2]) == size && memcmp(room[2], bytes, size) == 0;
}

static void check_size(enum sb_filter_kind kind, size_t size)
{
    struct output first = {room[0], 0, sizeof(room[0])};

    CHECK(filter(kind, 1, data, size, size + 1, &first) == SB_OK);
    CHECK(is_compressed_of(&first, kind, data, size));
    for (unsigned threads = 2; threads <= 8; threads *= 4) {
        struct output other = {room[1], 0, sizeof(room[1])};

        CHECK(filter(kind, threads, data, size, 999999 / threads, &other) == SB_OK);
        CHECK(other.size == first.size && memcmp(other.data, first.data, first.size) == 0);
    }
}

static void sizes_about_those_of_parts(void)
{
    for (size_t i = 0; i < KINDS; i++) {
        size_t part = sb_part_size(kinds[i], 1);

        for (int more = -1; more <= 1; more++) {
            check_size(kinds[i], part + (size_t)more);
            check_size(kinds[i], 2 * part + (size_t)more);
        }
        check_size(kinds[i], 0);
        check_size(kinds[i], 1);
        check_size(kinds[i], DATA_BYTES);
    }
}

static void kinds_without_parts(void)
{
    CHECK(sb_part_size(SB_FILTER_XZ, 0) == 0 && sb_part_size(SB_FILTER_LZ4, 0) == 0);
    CHECK(sb_part_size(SB_FILTER_BZIP2, 0) == 0);
    CHECK(sb_part_size(SB_FILTER_ZSTD, 0) == sb_part_size(SB_FILTER_ZSTD, 3));
    CHECK(sb_part_size(SB_FILTER_ZSTD, 19) > sb_part_size(SB_FILTER_ZSTD, 9));
    for (enum sb_filter_kind kind = SB_FILTER_GZIP; kind <= SB_FILTER_ZSTD; kind++)
        CHECK(sb_part_capacity(kind, 0) >= sb_part_size(kind, 0));
}

/* One member, with a mark after each MiB; what follows a mark refers to nothing before it. */
static void check_points(const char *bytes, size_t size)
{
    static const char mark[] = "\0\0\xff\xff\0\0\0\xff\xff";
    struct output output = {room[0], 0, sizeof(room[0])};
    z_stream z = {0};
    size_t at = 10, next, done = 0;

    CHECK(filter(SB_FILTER_GZIP, 4, bytes, size, 100000, &output) == SB_OK);
    CHECK(is_compressed_of(&output, SB_FILTER_GZIP, bytes, size));
    CHECK(memcmp(output.data, "\x1f\x8b\x08\0\0\0\0\0\0\3", 10) == 0);
    if (!CHECK(inflateInit2(&z, -MAX_WBITS) == Z_OK))
        return;
    do {
        const char *end = memmem(output.data + at, output.size - at, mark, sizeof(mark) - 1);
        size_t part = size - done < 1 << 20 ? size - done : 1 << 20;

        if (!CHECK(end))
            break;
        next = (size_t)(end - output.data) + sizeof(mark) - 1;
        z.next_in = (Bytef *)output.data + at;
        z.avail_in = (uInt)(next - at);
        z.next_out = (Bytef *)room[2];
        z.avail_out = sizeof(room[2]);
        CHECK(inflateReset(&z) == Z_OK && inflate(&z, Z_SYNC_FLUSH) == Z_OK && z.avail_in == 0);
        CHECK(z.total_out == part && memcmp(room[2], bytes + done, part) == 0);
        at = next;
        done += part;
    } while (done < size);
    inflateEnd(&z);
    CHECK(output.size - at == 10 && memcmp(output.data + at, "\3\0", 2) == 0);
    CHECK(sb_get_u32(output.data + at + 2) == crc32(0, (const Bytef *)bytes, (uInt)size));
    CHECK(sb_get_u32(output.data + at + 6) == size);
}

static void gzip_is_one_member_with_points(void)
{
    check_points(data, 5000000);
    check_points(noise, 5000000);
    check_points(data, (size_t)1 << 20);
    check_points(data, 0);
}

static void frames_of_zstd_have_their_sizes(void)
{
    struct output output = {room[0], 0, sizeof(room[0])};
    size_t left = DATA_BYTES;
    const char *at = output.data;

    CHECK(filter(SB_FILTER_ZSTD, 2, noise, DATA_BYTES, 100000, &output) == SB_OK);
    CHECK(is_compressed_of(&output, SB_FILTER_ZSTD, noise, DATA_BYTES));
    while (at < output.data + output.size) {
        size_t part = left < (size_t)4 << 20 ? left : (size_t)4 << 20;
        size_t frame = sb_get_u32(at + 8);

        if (!CHECK(sb_get_u32(at) == 0x184d2a50 && sb_get_u32(at + 4) == 4))
            return;
        at += 12;
        CHECK(ZSTD_getFrameContentSize(at, frame) == part);
        CHECK(ZSTD_findFrameCompressedSize(at, frame) == frame);
        at += frame;
        left -= part;
    }
    CHECK(left == 0 && at == output.data + output.size);
}

static void a_frame_that_is_alone_has_no_other_before_it(void)
{
    struct output output = {room[0], 0, sizeof(room[0])};

    CHECK(filter(SB_FILTER_ZSTD, 2, data, 1000000, 100000, &output) == SB_OK);
    CHECK(sb_get_u32(output.data) == ZSTD_MAGICNUMBER);
    CHECK(ZSTD_findFrameCompressedSize(output.data, output.size) == output.size);
}

static void what_takes_the_bytes_may_fail(void)
{
    for (size_t i = 0; i < KINDS; i++) {
        for (unsigned threads = 1; threads <= 3; threads += 2) {
            struct output none = {room[0], 0, 0}, some = {room[0], 0, DATA_BYTES / 2};

            CHECK(filter(kinds[i], threads, noise, 1, 1, &none) == SB_SYSTEM);
            CHECK(filter(kinds[i], threads, noise, DATA_BYTES, 5000, &none) == SB_SYSTEM);
            CHECK(filter(kinds[i], threads, noise, DATA_BYTES, 5000, &some) == SB_SYSTEM);
        }
    }
}

static void what_is_given_up_ends(void)
{
    for (size_t i = 0; i < KINDS; i++) {
        for (size_t size = 0; size <= DATA_BYTES; size += DATA_BYTES / 4) {
            struct output output = {room[0], 0, sizeof(room[0])};
            struct sb_outfilter_options options = {
                .kind = kinds[i], .level = 1, .threads = 3, .each = keep, .context = &output};
            struct sb_outfilter *given_up;

            if (!CHECK(sb_outfilter_open(&given_up, &options) == SB_OK))
                return;
            CHECK(sb_outfilter_write(given_up, data, size) == SB_OK);
            sb_outfilter_free(given_up);
        }
    }
}

static void an_interrupt_ends_it(void)
{
    for (size_t i = 0; i < KINDS; i++) {
        struct output output = {room[0], 0, sizeof(room[0])};
        struct sb_context context, *before;

        sb_context_init(&context);
        before = sb_context_enter(&context);
        atomic_store(&context.cancelled, 1);
        CHECK(filter(kinds[i], 1, data, DATA_BYTES, 1000000, &output) == SB_INTERRUPT);
        CHECK(filter(kinds[i], 3, data, DATA_BYTES, 1000000, &output) == SB_INTERRUPT);
        sb_context_enter(before);
    }
}

/* Where no thread can be started, since there is no memory for its stack. */
static void without_threads_the_caller_does_the_work(void)
{
    static const size_t sizes[] = {0, 1, 0xff00, 5000000};
    pthread_attr_t large, usual;

    CHECK(pthread_getattr_default_np(&usual) == 0 && pthread_attr_init(&large) == 0);
    CHECK(pthread_attr_setstacksize(&large, (size_t)1 << 46) == 0);
    for (size_t i = 0; i < KINDS; i++) {
        for (size_t j = 0; j < sizeof(sizes) / sizeof(sizes[0]); j++) {
            struct output first = {room[0], 0, sizeof(room[0])};
            struct output alone = {room[1], 0, sizeof(room[1])};
            struct output none = {room[1], 0, 0};

            CHECK(filter(kinds[i], 2, data, sizes[j], 77777, &first) == SB_OK);
            CHECK(pthread_setattr_default_np(&large) == 0);
            CHECK(filter(kinds[i], 2, data, sizes[j], 77777, &alone) == SB_OK);
            CHECK(filter(kinds[i], 2, data, sizes[j], 77777, &none) == SB_SYSTEM);
            CHECK(pthread_setattr_default_np(&usual) == 0);
            CHECK(alone.size == first.size && memcmp(room[0], room[1], first.size) == 0);
        }
    }
    pthread_attr_destroy(&large);
    pthread_attr_destroy(&usual);
}

int main(void)
{
    uint32_t random = 1;

    for (size_t i = 0; i < DATA_BYTES; i++) {
        random = random * 1103515245 + 12345;
        data[i] = (char)(random >> 29);
        noise[i] = (char)(random >> 16 ^ random >> 24);
    }
    RUN(sizes_about_those_of_parts);
    RUN(kinds_without_parts);
    RUN(gzip_is_one_member_with_points);
    RUN(frames_of_zstd_have_their_sizes);
    RUN(a_frame_that_is_alone_has_no_other_before_it);
    RUN(what_takes_the_bytes_may_fail);
    RUN(what_is_given_up_ends);
    RUN(an_interrupt_ends_it);
    RUN(without_threads_the_caller_does_the_work);
    return check_end();
}
