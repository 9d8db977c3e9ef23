/* lib/core/rs/rs.h */
#include "core/rs/rs.h"
#include "check.h"

#include <pthread.h>
#include <stdlib.h>

#define SIZE     4801 /* more than a block, and the last bytes of it are no whole step of any form */
#define MARGIN   64
#define PIECES   SB_RS_PIECES_MAX
#define SPARE    16
#define ODD_FROM 3 /* pieces begin at odd addresses, each at another */

static uint32_t state = 1;

/* The pieces of a word, as they should be; and outputs, with bytes around them that must stay. */
static unsigned char word[PIECES][SIZE + SPARE];
static unsigned char made[PIECES][MARGIN + SIZE + SPARE + MARGIN];

static uint32_t draw(uint32_t below)
{
    state = state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)state * below >> 32);
}

static unsigned char *piece_at(unsigned number)
{
    return word[number] + (number * ODD_FROM) % SPARE;
}

static unsigned char *output_at(unsigned number)
{
    return made[number] + MARGIN + (number * 5 + 1) % SPARE;
}

static void draw_data(unsigned count, size_t size)
{
    for (unsigned piece = 0; piece < count; piece++) {
        for (size_t i = 0; i < size; i++)
            piece_at(piece)[i] = (unsigned char)draw(256);
    }
}

/* The definition, a bit at a time. */
static unsigned char product(unsigned a, unsigned b)
{
    unsigned sum = 0;

    for (; b; b >>= 1) {
        if (b & 1)
            sum ^= a;
        a = a & 0x80 ? (a << 1) ^ 0x11d : a << 1;
    }
    return (unsigned char)sum;
}

static unsigned char quotient(unsigned char a, unsigned char b)
{
    unsigned result = 0;

    while (product(result, b) != a)
        result++;
    return (unsigned char)result;
}

static unsigned char point_of(unsigned piece)
{
    unsigned char point = piece ? 1 : 0;

    for (unsigned n = 1; n < piece; n++)
        point = product(point, 2);
    return point;
}

/* The factor of data piece `of` in `piece`, by Lagrange's formula as it is in books. */
static unsigned char factor(unsigned data, unsigned of, unsigned piece)
{
    unsigned char value = 1;

    for (unsigned other = 0; other < data; other++) {
        if (other != of)
            value = quotient(product(value, point_of(piece) ^ point_of(other)),
                             point_of(of) ^ point_of(other));
    }
    return value;
}

/* A word as the definition has it. */
static void make_word(unsigned data, unsigned parity, size_t size)
{
    draw_data(data, size);
    for (unsigned piece = data; piece < data + parity; piece++) {
        memset(piece_at(piece), 0, size);
        for (unsigned of = 0; of < data; of++) {
            unsigned char by = factor(data, of, piece), products[256];

            for (unsigned value = 0; value < 256; value++)
                products[value] = product(by, value);
            for (size_t i = 0; i < size; i++)
                piece_at(piece)[i] ^= products[piece_at(of)[i]];
        }
    }
}

static void fill_outputs(unsigned count, size_t size)
{
    for (unsigned output = 0; output < count; output++) {
        memset(made[output], 0xa5, sizeof(made[output]));
        memset(output_at(output), 0, size);
    }
}

static bool margins_are_whole(unsigned output, size_t size)
{
    for (const unsigned char *at = made[output]; at < made[output] + sizeof(made[output]); at++) {
        if ((at < output_at(output) || at >= output_at(output) + size) && *at != 0xa5)
            return false;
    }
    return true;
}

/* Adds all needed pieces, beginning somewhere, in parts of `part` bytes. */
static void add_all(const struct sb_rs *rs, unsigned pieces, size_t size, size_t part)
{
    unsigned first = draw(pieces);

    fill_outputs(sb_rs_outputs(rs), size);
    for (unsigned n = 0; n < pieces; n++) {
        unsigned piece = (first + n) % pieces;

        for (size_t done = 0; done < size && sb_rs_needs(rs, piece); done += part) {
            unsigned char *outputs[PIECES];

            for (unsigned output = 0; output < sb_rs_outputs(rs); output++)
                outputs[output] = output_at(output) + done;
            sb_rs_add(rs, piece, piece_at(piece) + done, size - done < part ? size - done : part,
                      outputs);
        }
    }
}

/* Are the outputs the wanted pieces, and is nothing else changed? */
static bool made_are(const enum sb_rs_state *states, unsigned pieces, size_t size)
{
    unsigned output = 0;

    for (unsigned piece = 0; piece < pieces; piece++) {
        if (states[piece] != SB_RS_WANTED)
            continue;
        if (memcmp(output_at(output), piece_at(piece), size) != 0 ||
            !margins_are_whole(output, size))
            return false;
        output++;
    }
    return true;
}

static void states_of_encoder(enum sb_rs_state *states, unsigned data, unsigned parity)
{
    for (unsigned piece = 0; piece < data + parity; piece++)
        states[piece] = piece < data ? SB_RS_PRESENT : SB_RS_WANTED;
}

/* So many are not there; some of them are not wanted. */
static void lose(enum sb_rs_state *states, unsigned pieces, unsigned lost)
{
    for (unsigned piece = 0; piece < pieces; piece++)
        states[piece] = SB_RS_PRESENT;
    while (lost) {
        unsigned piece = draw(pieces);

        if (states[piece] != SB_RS_PRESENT)
            continue;
        states[piece] = draw(4) ? SB_RS_WANTED : SB_RS_MISSING;
        lost--;
    }
}

static void check_decoder(unsigned data, unsigned parity, unsigned lost, size_t size)
{
    enum sb_rs_state states[PIECES];
    struct sb_rs *rs = NULL;
    unsigned needed = 0;

    lose(states, data + parity, lost);
    if (!CHECK(sb_rs_decoder(&rs, data, parity, states) == SB_OK))
        return;
    for (unsigned piece = 0; piece < data + parity; piece++) {
        needed += sb_rs_needs(rs, piece);
        CHECK(!sb_rs_needs(rs, piece) || states[piece] == SB_RS_PRESENT);
    }
    CHECK(needed == data);
    add_all(rs, data + parity, size, size);
    CHECK(made_are(states, data + parity, size));
    sb_rs_free(rs);
}

/* Worked by hand: the points are 0, 1, 2, and 4, 8 for the parities. */
static void the_matrix_of_three_and_two(void)
{
    static const unsigned char rows[2][3] = {{15, 8, 6}, {45, 48, 28}};
    struct sb_rs *rs = NULL;

    if (!CHECK(sb_rs_encoder(&rs, 3, 2) == SB_OK))
        return;
    for (unsigned piece = 0; piece < 3; piece++) {
        unsigned char one = 1, sums[2] = {0, 0};
        unsigned char *outputs[2] = {&sums[0], &sums[1]};

        sb_rs_add(rs, piece, &one, 1, outputs);
        CHECK(sums[0] == rows[0][piece] && sums[1] == rows[1][piece]);
    }
    sb_rs_free(rs);
}

static const unsigned shapes[][2] = {{1, 1},   {1, 254}, {2, 3},   {5, 4},    {20, 5},
                                     {12, 12}, {60, 6},  {127, 7}, {240, 12}, {254, 1}};
#define SHAPES (sizeof(shapes) / sizeof(shapes[0]))

static void every_form_makes_the_parity_of_the_definition(void)
{
    for (size_t s = 0; s < SHAPES; s++) {
        unsigned data = shapes[s][0], parity = shapes[s][1];
        enum sb_rs_state states[PIECES];
        struct sb_rs *rs = NULL;

        make_word(data, parity, SIZE);
        states_of_encoder(states, data, parity);
        if (!CHECK(sb_rs_encoder(&rs, data, parity) == SB_OK))
            return;
        CHECK(sb_rs_outputs(rs) == parity);
        for (size_t form = 0; sb_rs_form(form); form++) {
            sb_rs_use_form(rs, form);
            add_all(rs, data + parity, SIZE, SIZE);
            if (!CHECK(made_are(states, data + parity, SIZE)))
                printf("#   form %s, %u + %u\n", sb_rs_form(form), data, parity);
        }
        sb_rs_free(rs);
    }
}

/* Each of the 65,536 products, at every place of a vector. */
static void every_form_multiplies_every_two_bytes(void)
{
    struct sb_rs *rs = NULL;
    bool seen[256] = {false};

    if (!CHECK(sb_rs_encoder(&rs, 127, 128) == SB_OK))
        return;
    for (size_t i = 0; i < SIZE; i++)
        word[0][i] = (unsigned char)(i % 257);
    for (unsigned piece = 0; piece < 127; piece++) {
        for (size_t form = 0; sb_rs_form(form); form++) {
            unsigned char *outputs[128];
            bool right = true;

            fill_outputs(128, SIZE);
            for (unsigned output = 0; output < 128; output++)
                outputs[output] = output_at(output);
            sb_rs_use_form(rs, form);
            sb_rs_add(rs, piece, word[0], SIZE, outputs);
            for (unsigned output = 0; output < 128; output++) {
                unsigned char by = output_at(output)[1], products[256] = {0};

                for (unsigned value = 0; value < 256 && !seen[by]; value++)
                    products[value] = product(by, value);
                for (size_t i = 0; i < SIZE && !seen[by]; i++)
                    right = right && output_at(output)[i] == products[word[0][i]];
                seen[by] = seen[by] || !sb_rs_form(form + 1);
            }
            if (!CHECK(right))
                printf("#   form %s\n", sb_rs_form(form));
        }
    }
    for (unsigned by = 1; by < 256; by++)
        CHECK(seen[by]);
    sb_rs_free(rs);
}

static void every_short_size_and_odd_place(void)
{
    enum sb_rs_state states[PIECES];
    struct sb_rs *rs = NULL;

    states_of_encoder(states, 5, 9);
    if (!CHECK(sb_rs_encoder(&rs, 5, 9) == SB_OK))
        return;
    for (size_t size = 0; size < 300; size++) {
        make_word(5, 9, size);
        for (size_t form = 0; sb_rs_form(form); form++) {
            sb_rs_use_form(rs, form);
            add_all(rs, 14, size, size);
            CHECK(made_are(states, 14, size));
        }
    }
    sb_rs_free(rs);
}

static void pieces_may_come_in_parts(void)
{
    enum sb_rs_state states[PIECES];
    struct sb_rs *rs = NULL;

    make_word(7, 6, SIZE);
    states_of_encoder(states, 7, 6);
    if (!CHECK(sb_rs_encoder(&rs, 7, 6) == SB_OK))
        return;
    for (size_t part = 1; part < SIZE; part = part * 3 + 1) {
        add_all(rs, 13, SIZE, part);
        CHECK(made_are(states, 13, SIZE));
    }
    sb_rs_free(rs);
}

static void as_many_losses_as_parities_are_made_up_for(void)
{
    for (size_t s = 0; s < SHAPES; s++) {
        unsigned data = shapes[s][0], parity = shapes[s][1];

        make_word(data, parity, 100);
        for (unsigned n = 0; n < 40; n++)
            check_decoder(data, parity, n < 20 ? parity : draw(parity + 1), 100);
    }
}

/* All 252 ways to lose 5 of 10. */
static void all_losses_of_a_small_word(void)
{
    make_word(5, 5, 40);
    for (unsigned bits = 0; bits < 1u << 10; bits++) {
        enum sb_rs_state states[PIECES];
        struct sb_rs *rs = NULL;
        enum sb_code code;

        for (unsigned piece = 0; piece < 10; piece++)
            states[piece] = bits >> piece & 1 ? SB_RS_WANTED : SB_RS_PRESENT;
        code = sb_rs_decoder(&rs, 5, 5, states);
        if (__builtin_popcount(bits) > 5) {
            CHECK(code == SB_DAMAGED);
            continue;
        }
        if (!CHECK(code == SB_OK))
            return;
        add_all(rs, 10, 40, 40);
        CHECK(made_are(states, 10, 40));
        sb_rs_free(rs);
    }
}

static void one_loss_too_many_is_damage(void)
{
    enum sb_rs_state states[PIECES];
    struct sb_rs *rs = NULL;

    lose(states, 252, 13);
    CHECK(sb_rs_decoder(&rs, 240, 12, states) == SB_DAMAGED);
    CHECK_TEXT(sb_error()->text, "13 pieces of 252 are missing, and the parity makes up for 12");
    CHECK(rs == NULL);
}

static void counts_that_no_code_has(void)
{
    static const unsigned counts[][2] = {{0, 1},   {1, 0},          {0, 0},          {255, 1},
                                         {1, 255}, {UINT32_MAX, 2}, {2, UINT32_MAX}, {128, 128}};

    for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        struct sb_rs *rs = NULL;

        CHECK(sb_rs_encoder(&rs, counts[i][0], counts[i][1]) == SB_INVALID);
        CHECK(rs == NULL);
    }
}

/* A decoder in which nothing is wanted has no outputs, and may be used all the same. */
static void nothing_to_make(void)
{
    enum sb_rs_state states[PIECES];
    struct sb_rs *rs = NULL;

    make_word(4, 2, 64);
    lose(states, 6, 0);
    if (!CHECK(sb_rs_decoder(&rs, 4, 2, states) == SB_OK))
        return;
    CHECK(sb_rs_outputs(rs) == 0);
    CHECK(sb_rs_needs(rs, 3) && !sb_rs_needs(rs, 4));
    sb_rs_add(rs, 3, piece_at(3), 64, NULL);
    sb_rs_add(rs, 5, piece_at(5), 64, NULL);
    sb_rs_free(rs);
    sb_rs_free(NULL);
}

static void *make_code(void *result)
{
    struct sb_rs *rs = NULL;
    unsigned char byte = 1, sum = 0;
    unsigned char *outputs[1] = {&sum};

    if (sb_rs_encoder(&rs, 3, 1) == SB_OK)
        sb_rs_add(rs, 0, &byte, 1, outputs);
    *(unsigned char *)result = sum;
    sb_rs_free(rs);
    return NULL;
}

/* Meant for the thread sanitizer: this runs before any other test has made the tables. */
static void first_use_in_many_threads(void)
{
    pthread_t threads[8];
    unsigned char sums[8];

    for (size_t i = 0; i < 8; i++)
        CHECK(pthread_create(&threads[i], NULL, make_code, &sums[i]) == 0);
    for (size_t i = 0; i < 8; i++) {
        pthread_join(threads[i], NULL);
        CHECK(sums[i] == 15);
    }
}

static void the_last_form_is_for_any_processor(void)
{
    size_t count = 0;

    for (; sb_rs_form(count); count++)
        printf("# form: %s\n", sb_rs_form(count));
    CHECK(count > 0);
    CHECK_TEXT(sb_rs_form(count - 1), "table");
}

static unsigned number(const char *text)
{
    return (unsigned)strtoul(text, NULL, 10);
}

/*
 * With arguments DATA PARITY SIZE PIECE...: a filter for what other programs make of the same code.
 * Reads the given pieces (numbers, in this order) from standard input, each of SIZE bytes, and
 * writes all others in the order of their numbers. Every form takes its turn.
 */
static int filter(int argc, char **argv)
{
    unsigned data = number(argv[1]), parity = number(argv[2]);
    size_t size = number(argv[3]), forms = 0;
    enum sb_rs_state states[PIECES];
    unsigned char *outputs[PIECES];
    struct sb_rs *rs;

    for (unsigned piece = 0; piece < PIECES; piece++) {
        states[piece] = SB_RS_WANTED;
        outputs[piece] = output_at(piece);
    }
    for (int i = 4; i < argc; i++)
        states[number(argv[i])] = SB_RS_PRESENT;
    if (size > SIZE || sb_rs_decoder(&rs, data, parity, states))
        return 2;
    while (sb_rs_form(forms))
        forms++;
    for (int i = 4; i < argc; i++) {
        if (fread(word[0], 1, size, stdin) != size)
            return 2;
        sb_rs_use_form(rs, (size_t)i % forms);
        sb_rs_add(rs, number(argv[i]), word[0], size, outputs);
    }
    for (unsigned output = 0; output < sb_rs_outputs(rs); output++)
        fwrite(outputs[output], 1, size, stdout);
    sb_rs_free(rs);
    return fflush(stdout) != 0;
}

int main(int argc, char **argv)
{
    if (argc > 3)
        return filter(argc, argv);
    RUN(first_use_in_many_threads);
    RUN(the_last_form_is_for_any_processor);
    RUN(the_matrix_of_three_and_two);
    RUN(every_form_makes_the_parity_of_the_definition);
    RUN(every_form_multiplies_every_two_bytes);
    RUN(every_short_size_and_odd_place);
    RUN(pieces_may_come_in_parts);
    RUN(as_many_losses_as_parities_are_made_up_for);
    RUN(all_losses_of_a_small_word);
    RUN(one_loss_too_many_is_damage);
    RUN(counts_that_no_code_has);
    RUN(nothing_to_make);
    return check_end();
}
