/* lib/archive/parity: format, make, check, mend */
#include "archive/parity/world.h"

#include "archive/parity/pieces.h"
#include "core/crc32c.h"
#include "core/little_endian.h"
#include "core/rs/rs.h"

#include <sys/stat.h>

static const struct {
    unsigned k, m, words;
} codes[] = {{240, 12, 0}, {20, 4, 3}, {7, 3, 5}, {4, 4, 1}, {1, 1, 2}, {10, 1, 4}, {3, 20, 2}};
#define CODES (sizeof(codes) / sizeof(codes[0]))

static const size_t sizes[] = {0,    1,     511,    512,    513,    4095,   4096,
                               4097, 30000, 122880, 122881, 200001, 500000, 900000};
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

static struct sb_parity_super super_now(void)
{
    struct sb_parity_super super = {.sum = 0};

    CHECK(sb_parity_get_super(&super, parity.at, 0));
    return super;
}

static void a_shape_divides_a_file_into_sections(void)
{
    for (unsigned n = 0; n < 3000; n++) {
        int64_t size = n < 1000 ? n * INT64_C(700) : (int64_t)draw(1 << 30) * (1 + draw(60));
        unsigned m = 1 + draw(30), k = 1 + draw(200), words = draw(3) ? 0 : 1 + draw(20);
        struct sb_parity_section section = {.first = 0};
        struct sb_parity_shape shape;
        int64_t next = 0, span = 0, sections;

        if (!CHECK(sb_parity_shape(&shape, size, k, m, words) == SB_OK))
            return;
        CHECK(shape.piece == 512 || sb_parity_pieces(&shape) > 120);
        sections = sb_parity_sections(&shape);
        for (int64_t i = 0; i < sections && i < 3000; i++) {
            sb_parity_section(&shape, i, &section);
            CHECK(section.first == next && section.pieces > 0);
            CHECK(section.words <= shape.words && section.words * shape.data >= section.pieces);
            CHECK(sections == 1 || section.pieces * 2 >= shape.words * shape.data);
            CHECK(sb_parity_section_of(&shape, section.first) == i);
            CHECK(sb_parity_section_of(&shape, section.first + section.pieces - 1) == i);
            CHECK(sb_parity_span(&shape, 0, i) == span);
            span += sb_parity_span(&shape, i, i + 1);
            next += section.pieces;
        }
        CHECK(sections > 3000 || next == sb_parity_pieces(&shape));
    }
}

static void redundancy_decides_about_words(void)
{
    static const struct {
        unsigned per_mille, k, m;
    } cases[] = {{50, 240, 12},  {1, 251, 1},    {10, 249, 3},   {100, 229, 23},
                 {200, 120, 24}, {1000, 24, 24}, {10000, 2, 20}, {333, 72, 24}};
    unsigned k, m;

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CHECK(sb_parity_redundancy(cases[i].per_mille, &k, &m) == SB_OK);
        CHECK(k == cases[i].k && m == cases[i].m);
    }
    for (unsigned n = 1; n <= 10000; n++) {
        CHECK(sb_parity_redundancy(n, &k, &m) == SB_OK);
        CHECK(k >= 1 && k + m <= 252 && m * 1000 >= k * n);
    }
    CHECK(sb_parity_redundancy(0, &k, &m) == SB_INVALID);
    CHECK(sb_parity_redundancy(10001, &k, &m) == SB_INVALID);
    CHECK_TEXT(sb_error()->text, "a redundancy of 1000.1 %: it must be between 0.1 % and 1000 %");
}

static void words_as_large_as_they_may_be(void)
{
    struct sb_parity_shape shape;

    CHECK(sb_parity_shape(&shape, INT64_C(1) << 40, 240, 12, 0) == SB_OK);
    CHECK(shape.piece == 16384 && shape.words == 170);
    CHECK(sb_parity_shape(&shape, INT64_C(1) << 40, 254, 1, 0) == SB_OK);
    CHECK(shape.words == 768);
    CHECK(sb_parity_shape(&shape, INT64_C(1) << 50, 1, 254, 0) == SB_OK);
    CHECK(sb_parity_shape(&shape, (INT64_C(1) << 50) + 1, 240, 12, 0) == SB_LIMIT);
    CHECK(sb_parity_shape(&shape, 1, 240, 16, 0) == SB_INVALID);
    CHECK(sb_parity_shape(&shape, 1, 0, 16, 0) == SB_INVALID);
    CHECK(sb_parity_shape(&shape, 1, 16, 0, 0) == SB_INVALID);
}

/* The parities of a word as the description has them. */
static bool word_is_as_described(const struct sb_parity_super *super,
                                 const struct sb_parity_section *section, uint32_t word)
{
    const struct sb_parity_shape *shape = &super->shape;
    int64_t begin =
        sb_parity_offset(&super->shape, section->number) + section->pages * INT64_C(4096);
    unsigned char *made = calloc(shape->parity, shape->piece), *outputs[255];
    unsigned char *piece = malloc(shape->piece);
    struct sb_rs *rs = NULL;
    bool right = true;

    if (!made || !piece || sb_rs_encoder(&rs, shape->data, shape->parity))
        abort();
    for (uint32_t i = 0; i < shape->parity; i++)
        outputs[i] = made + (size_t)i * shape->piece;
    for (uint32_t i = word; i < section->pieces; i += section->words) {
        size_t at = (size_t)(section->first + i) * shape->piece;
        size_t there = data.size - at < shape->piece ? data.size - at : shape->piece;

        memset(piece, 0, shape->piece);
        memcpy(piece, data.at + at, there);
        sb_rs_add(rs, i / section->words, piece, shape->piece, outputs);
    }
    for (uint32_t i = 0; i < shape->parity; i++)
        right =
            right && memcmp(outputs[i],
                            parity.at + begin + (size_t)(i * section->words + word) * shape->piece,
                            shape->piece) == 0;
    sb_rs_free(rs);
    free(made);
    free(piece);
    return right;
}

static void parity_is_where_the_description_says(void)
{
    for (size_t c = 0; c < CODES; c++) {
        for (size_t s = 0; s < SIZES; s++) {
            struct sb_parity_super super;

            if (!make_world(sizes[s], codes[c].k, codes[c].m, codes[c].words))
                return;
            super = super_now();
            CHECK(parity.size == (size_t)sb_parity_super_offset(&super.shape, 2) + 4096 &&
                  parity.size % 4096 == 0);
            CHECK(super.shape.size == (int64_t)data.size);
            for (int64_t i = 0; i < sb_parity_sections(&super.shape); i++) {
                struct sb_parity_section section;

                sb_parity_section(&super.shape, i, &section);
                for (uint32_t word = 0; word < section.words; word++)
                    CHECK(word_is_as_described(&super, &section, word));
            }
        }
    }
}

static void what_is_whole_is_found_whole(void)
{
    for (size_t c = 0; c < CODES; c++) {
        for (size_t s = 0; s < SIZES; s++) {
            if (!make_world(sizes[s], codes[c].k, codes[c].m, codes[c].words))
                return;
            CHECK(mend_world(true));
            CHECK(lost == 0 && mended == 0 && parity_bad == 0 && unknown == 0);
        }
    }
}

/* A superblock and a page, byte by byte. */
static void bytes_of_the_format(void)
{
    struct sb_parity_super super;
    const unsigned char *page;
    unsigned char user[SB_PARITY_USER] = {0};

    if (!make_world(30000, 7, 3, 5))
        return;
    super = super_now();
    CHECK(memcmp(parity.at, "SBPARITY", 8) == 0);
    CHECK(sb_get_u32(parity.at + 8) == 1);
    CHECK(sb_get_u32(parity.at + 12) == 512);
    CHECK(memcmp(parity.at + 16, super.id, 16) == 0);
    CHECK(sb_get_u64(parity.at + 32) == 0);
    CHECK(sb_get_u64(parity.at + 40) == 30000);
    CHECK(sb_get_u32(parity.at + 48) == 7);
    CHECK(sb_get_u32(parity.at + 52) == 3);
    CHECK(sb_get_u32(parity.at + 56) == 5);
    CHECK(memcmp(parity.at + 64, user, sizeof(user)) == 0);
    CHECK(sb_get_u64(parity.at + parity.size - 4096 + 32) == parity.size - 4096);
    CHECK(sb_get_u32(parity.at + 4092) == sb_crc32c(0, parity.at, 4092));
    page = parity.at + 4096;
    CHECK(memcmp(page, "SBPARTAB", 8) == 0);
    CHECK(memcmp(page + 8, super.id, 16) == 0);
    CHECK(sb_get_u64(page + 24) == 0);
    CHECK(sb_get_u32(page + 32) == 0);
    CHECK(sb_get_u32(page + 36) == sb_crc32c(0, data.at, 512));
    CHECK(sb_get_u32(page + 36 + 4 * 35) == sb_crc32c(0, parity.at + 8192, 512));
    CHECK(sb_get_u32(page + 4092) == sb_crc32c(0, page, 4092));
}

/* Any run of m * w pieces of a section with w words, or of the smaller one where it lies in two. */
static void bursts_in_the_file_are_mended(void)
{
    for (size_t c = 0; c < CODES; c++) {
        struct sb_parity_super super;
        struct sb_parity_section section;

        if (!make_world(200001, codes[c].k, codes[c].m, codes[c].words))
            return;
        super = super_now();
        sb_parity_section(&super.shape, 0, &section);
        for (uint32_t length = 1; length <= section.checks && length <= section.pieces; length++) {
            uint32_t first = draw(section.pieces - length + 1);

            reset_world();
            spoil(&data_now, (size_t)first * super.shape.piece, (size_t)length * super.shape.piece);
            CHECK(mend_world(true));
            if (!CHECK(lost == 0 && mended == length && same(&data, &data_now)))
                return;
        }
    }
}

static void bursts_in_the_parity_file_are_found(void)
{
    for (size_t c = 0; c < CODES; c++) {
        struct sb_parity_super super;
        struct sb_parity_section section;

        if (!make_world(200001, codes[c].k, codes[c].m, codes[c].words))
            return;
        super = super_now();
        sb_parity_section(&super.shape, sb_parity_sections(&super.shape) - 1, &section);
        for (unsigned n = 0; n < 60; n++) {
            uint32_t most = (section.checks - 1) * super.shape.piece + 1, length = 1 + draw(most);

            reset_world();
            spoil(&parity_now, draw((uint32_t)parity.size - length + 1), length);
            CHECK(mend_world(true));
            CHECK(lost == 0 && same(&data, &data_now));
            if (!CHECK((parity_bad > 0) == !same_parity()))
                return;
        }
    }
}

static void ends_that_were_cut_are_mended(void)
{
    if (!make_world(200001, 20, 4, 3))
        return;
    for (unsigned n = 0; n < 50; n++) {
        reset_world();
        resize(&data_now, data.size - 1 - draw(7 * 1024));
        CHECK(mend_world(true));
        CHECK(lost == 0 && mended > 0 && same(&data, &data_now));
        reset_world();
        resize(&parity_now, parity.size - 1 - draw(7 * 1024));
        CHECK(mend_world(true));
        CHECK(lost == 0 && mended == 0 && parity_bad > 0);
    }
    /* A whole file without its end has lost too much, but for what remains. */
    reset_world();
    resize(&data_now, 100000);
    CHECK(mend_world(true));
    CHECK(lost > 0 && same(&data, &data_now));
    reset_world();
    resize(&data_now, 0);
    resize(&parity_now, 4096);
    CHECK(mend_world(true));
    CHECK(lost == 0 && unknown == (int64_t)data.size);
}

/* What was zeros is there only if the file is long enough. */
static void an_end_of_zeros_is_missed(void)
{
    struct sb_parity_options options = options_of(20, 4, 3);
    struct sb_file *file;

    resize(&data, 50000);
    memset(data.at, 0, data.size);
    store(data_path, &data);
    file = open_data();
    CHECK(sb_parity_make(file, &options) == SB_OK);
    sb_file_free(file);
    load(parity_path, &parity);
    reset_world();
    resize(&data_now, 49000);
    CHECK(mend_world(true));
    CHECK(mended == 3 && lost == 0 && same(&data, &data_now));
}

static void files_that_grew_are_read_as_before(void)
{
    if (!make_world(30000, 20, 4, 3))
        return;
    resize(&data_now, 70000);
    draw_bytes(data_now.at + 30000, 40000);
    resize(&parity_now, parity.size + 10001);
    draw_bytes(parity_now.at + parity.size, 10001);
    spoil(&data_now, 700, 2000);
    spoil(&parity_now, 0, 4096);
    CHECK(mend_world(true));
    CHECK(lost == 0);
    CHECK(memcmp(data_now.at, data.at, data.size) == 0);
    CHECK(parity_bad == 1);
}

static void one_superblock_is_enough(void)
{
    if (!make_world(200001, 20, 4, 3))
        return;
    for (unsigned bits = 0; bits < 8; bits++) {
        struct sb_parity_super super = super_now();

        reset_world();
        for (unsigned number = 0; number < 3; number++) {
            if (bits >> number & 1)
                spoil(&parity_now,
                      (size_t)sb_parity_super_offset(&super.shape, number) + draw(4096), 1);
        }
        spoil(&data_now, 1000, 1000);
        if (bits == 7) {
            CHECK(!mend_world(true));
            CHECK(sb_error()->code == SB_DAMAGED);
            CHECK(strstr(sb_error()->text, ": is a parity file that has lost its superblocks") !=
                  NULL);
            continue;
        }
        CHECK(mend_world(true));
        CHECK(mended == 2 && lost == 0 && parity_bad == __builtin_popcount(bits));
        CHECK(same(&data, &data_now));
    }
}

static void pages_without_a_copy_are_lost(void)
{
    struct sb_parity_section section;
    struct sb_parity_super super;
    int64_t begin;

    if (!make_world(200001, 20, 4, 3))
        return;
    super = super_now();
    sb_parity_section(&super.shape, 1, &section);
    begin = sb_parity_offset(&super.shape, 1);
    for (unsigned number = 0; number < 2; number++)
        spoil(&parity_now,
              (size_t)(begin + sb_parity_page_offset(&super.shape, &section, number, 0)) +
                  draw(4096),
              1);
    spoil(&data_now, 0, 1000);
    CHECK(mend_world(true));
    CHECK(mended == 1 && lost == 0 && parity_bad == 2);
    CHECK(unknown > 0 && same(&data, &data_now));
}

static void damage_at_random(void)
{
    unsigned side = draw(4), kind = draw(4);
    struct bytes *bytes = side ? &data_now : &parity_now;
    uint32_t size = (uint32_t)bytes->size;

    if (size == 0)
        return;
    if (kind == 0)
        spoil(bytes, draw(size), 1);
    else if (kind == 1)
        spoil(bytes, draw(size) / 512 * 512, 512);
    else if (kind == 2)
        spoil(bytes, draw(size), draw(20000));
    else
        memset(bytes->at + draw(size) / 4096 * 4096 % size, 0, size % 4096);
}

/* With few damages nothing is lost; with more, what is lost is named, and the rest is right. */
static void random_damages_are_mended_or_named(void)
{
    int64_t all_lost = 0, all_mended = 0;

    for (unsigned n = 0; n < 250; n++) {
        size_t code = draw(CODES);
        unsigned damages = 1 + draw(n % 2 ? 3 : 40);

        if (n % 10 == 0 &&
            !make_world(sizes[draw(SIZES)], codes[code].k, codes[code].m, codes[code].words))
            return;
        reset_world();
        while (damages--)
            damage_at_random();
        if (draw(10) == 0)
            resize(&data_now, data_now.size - draw((uint32_t)data_now.size / 4 + 1));
        if (draw(10) == 0)
            resize(&parity_now, parity_now.size - draw((uint32_t)parity_now.size / 4 + 1));
        if (!mend_world(n % 3)) {
            CHECK(sb_error()->code == SB_DAMAGED || sb_error()->code == SB_FORMAT);
            continue;
        }
        all_lost += lost;
        all_mended += mended;
        CHECK(lost_all_bad);
        if (!CHECK(unknown > 0 || same(&data, &data_now)))
            return;
        CHECK(n % 3 == 0 || (parity_bad > 0) == !same_parity());
    }
    CHECK(all_lost > 100 && all_mended > 100);
    printf("# %lld lost, %lld mended\n", (long long)all_lost, (long long)all_mended);
}

/* m losses in every word, of data and parity, are mended, m + 1 are not. */
static void as_many_as_the_code_can(void)
{
    for (unsigned more = 0; more < 2; more++) {
        struct sb_parity_super super;

        if (!make_world(200001, 20, 4, 3))
            return;
        super = super_now();
        for (int64_t i = 0; i < sb_parity_sections(&super.shape); i++) {
            struct sb_parity_section section;

            sb_parity_section(&super.shape, i, &section);
            for (uint32_t word = 0; word < section.words; word++) {
                size_t begin = (size_t)(section.first + word) * super.shape.piece;
                size_t row = (size_t)section.words * super.shape.piece;

                spoil(&data_now, begin, 1);
                spoil(&data_now, begin + row * 2, 1);
                spoil(&data_now, begin + row * 3, more);
                for (uint32_t r = 0; r < 2; r++)
                    spoil(&parity_now,
                          (size_t)(sb_parity_offset(&super.shape, i) +
                                   sb_parity_piece_offset(&super.shape, &section,
                                                          r * section.words + word)),
                          1);
            }
        }
        CHECK(mend_world(true));
        CHECK(more ? mended == 0 && lost_all_bad : lost == 0);
        CHECK(same(&data, &data_now) && parity_bad > 0);
    }
}

static void what_is_there_is_replaced_only_when_all_is_made(void)
{
    struct sb_parity_options options = options_of(20, 4, 3);
    struct sb_file *file;
    struct bytes now = {NULL, 0};

    if (!make_world(5000, 20, 4, 3))
        return;
    file = open_data();
    store(temporary_path, &data);
    CHECK(sb_parity_make(file, &options) == SB_EXISTS);
    load(parity_path, &now);
    CHECK(same(&now, &parity));
    CHECK(unlink(temporary_path) == 0);
    options.data = 255;
    CHECK(sb_parity_make(file, &options) == SB_INVALID);
    CHECK(access(temporary_path, F_OK) != 0);
    sb_file_free(file);
    free(now.at);
}

static void parity_is_as_private_as_the_file(void)
{
    static const mode_t modes[][2] = {
        {0600, 0600}, {0640, 0640}, {0755, 0644}, {0444, 0644}, {0400, 0600}};
    mode_t before = umask(0);

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        struct sb_parity_options options = options_of(20, 4, 3);
        struct sb_file *file;
        struct stat st;

        if (!make_world(5000, 20, 4, 3))
            return;
        CHECK(chmod(data_path, modes[i][0]) == 0);
        file = open_data();
        CHECK(sb_parity_make(file, &options) == SB_OK);
        sb_file_free(file);
        CHECK(stat(parity_path, &st) == 0 && (st.st_mode & 0777) == modes[i][1]);
        CHECK(unlink(data_path) == 0);
    }
    umask(before);
}

/* Only the pieces of these bytes, and the words that these need. */
static void a_part_of_a_file_is_read(void)
{
    struct sb_parity_check_options options = {.from = 60000, .to = 61000};
    struct sb_parity_bad found;
    struct sb_parity *open_parity;
    struct sb_pieces *pieces;
    struct sb_file *file = NULL;
    unsigned char bytes[1000];

    if (!make_world(122880, 20, 4, 3))
        return;
    spoil(&data_now, 60500, 1);
    spoil(&data_now, 30000, 1);
    store(data_path, &data_now);
    file = open_data();
    if (!CHECK(sb_parity_open(&open_parity, parity_path) == SB_OK))
        return;
    CHECK(sb_pieces_new(&pieces, open_parity, file, data_path) == SB_OK);
    CHECK(sb_pieces_find(pieces, &options, &found) == SB_OK);
    CHECK(found.data == 1 && found.rest == 0 && found.unknown == 0 && !found.of_another);
    CHECK(sb_pieces_read(pieces, bytes, sizeof(bytes), 60000) == SB_OK);
    CHECK(memcmp(bytes, data.at + 60000, sizeof(bytes)) == 0);
    CHECK(sb_pieces_lost(pieces, 60000, 61000) == 0);
    sb_pieces_free(pieces);
    sb_parity_free(open_parity);
    sb_file_free(file);
}

/* What is read for the parity is passed on, in order, and may end the work. */
struct heard {
    int64_t at;
    bool ends;
};

static enum sb_code hear(void *reader, int64_t offset, const void *bytes, size_t size)
{
    struct heard *heard = reader;

    CHECK(offset == heard->at && memcmp(bytes, data.at + offset, size) == 0);
    heard->at += (int64_t)size;
    return SB_OK;
}

static enum sb_code judge(void *reader)
{
    const struct heard *heard = reader;

    return heard->ends ? sb_fail(SB_DAMAGED, "wrong") : SB_OK;
}

static void bytes_are_proved_as_they_are_read(void)
{
    struct sb_parity_options options = options_of(20, 4, 3);
    struct heard heard = {.ends = true};
    struct sb_file *file;
    struct bytes now = {NULL, 0};

    if (!make_world(500001, 20, 4, 3))
        return;
    options.read = hear;
    options.proved = judge;
    options.reader = &heard;
    file = open_data();
    spoil(&parity, 0, 1);
    store(parity_path, &parity);
    CHECK(sb_parity_make(file, &options) == SB_DAMAGED);
    CHECK(heard.at == 500001 && access(temporary_path, F_OK) != 0);
    load(parity_path, &now);
    CHECK(same(&now, &parity));
    heard = (struct heard){.at = 0};
    CHECK(sb_parity_make(file, &options) == SB_OK);
    load(parity_path, &now);
    CHECK(!same(&now, &parity));
    sb_file_free(file);
    free(now.at);
}

/* Pieces of 16 KiB, several bands, and sections of which the last two share their pieces. */
static void a_larger_file(void)
{
    struct sb_parity_super super;

    if (!make_world(40 * 1000 * 1000 + 1, 60, 5, 30))
        return;
    super = super_now();
    CHECK(super.shape.piece == 16384 && sb_parity_sections(&super.shape) == 2);
    spoil(&data_now, 5 * 1000 * 1000, 21 * 4 * 16384);
    spoil(&data_now, 35 * 1000 * 1000, 20 * 4 * 16384);
    spoil(&parity_now, 8192, 16384);
    CHECK(mend_world(true));
    CHECK(lost == 0 && same(&data, &data_now) && parity_bad > 0);
}

int main(void)
{
    make_top();
    RUN(a_shape_divides_a_file_into_sections);
    RUN(redundancy_decides_about_words);
    RUN(words_as_large_as_they_may_be);
    RUN(bytes_of_the_format);
    RUN(parity_is_where_the_description_says);
    RUN(what_is_whole_is_found_whole);
    RUN(bursts_in_the_file_are_mended);
    RUN(bursts_in_the_parity_file_are_found);
    RUN(ends_that_were_cut_are_mended);
    RUN(an_end_of_zeros_is_missed);
    RUN(files_that_grew_are_read_as_before);
    RUN(one_superblock_is_enough);
    RUN(pages_without_a_copy_are_lost);
    RUN(random_damages_are_mended_or_named);
    RUN(as_many_as_the_code_can);
    RUN(what_is_there_is_replaced_only_when_all_is_made);
    RUN(parity_is_as_private_as_the_file);
    RUN(a_part_of_a_file_is_read);
    RUN(bytes_are_proved_as_they_are_read);
    RUN(a_larger_file);
    check_remove_tree(top);
    return check_end();
}
