#include "core/rs/rs.h"
#include "core/rs/forms.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define POLYNOMIAL 0x11d
#define ORDER      255 /* of the group of all but zero */

/* Bytes of data that are added to all outputs before the next; with 4 outputs they fit into 32 KiB.
 */
#define BLOCK 4096

#define NOT_NEEDED UINT8_MAX

struct sb_rs {
    const struct sb_rs_form *form;
    unsigned inputs, outputs;
    unsigned char place[SB_RS_PIECES_MAX]; /* of a piece among the inputs; NOT_NEEDED */
    unsigned char factors[];               /* of each input, one for each output */
};

static struct sb_rs_field tables;
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static unsigned char multiply(unsigned char a, unsigned char b)
{
    return a && b ? tables.power[tables.log[a] + tables.log[b]] : 0;
}

static uint64_t matrix_of(unsigned char factor)
{
    uint64_t matrix = 0;

    for (unsigned bit = 0; bit < 8; bit++) {
        uint64_t product = multiply(factor, (unsigned char)(1u << bit));

        for (unsigned i = 0; i < 8; i++)
            matrix |= (product >> i & 1) << (8 * (7 - i) + bit);
    }
    return matrix;
}

static void fill_tables(void)
{
    unsigned power = 1;

    for (unsigned n = 0; n < ORDER; n++) {
        tables.power[n] = tables.power[n + ORDER] = (unsigned char)power;
        tables.log[power] = (unsigned char)n;
        power <<= 1;
        if (power & 0x100)
            power ^= POLYNOMIAL;
    }
    for (unsigned factor = 0; factor < 256; factor++) {
        unsigned char *row = tables.nibbles[factor];

        for (unsigned n = 0; n < 16; n++) {
            row[n] = multiply((unsigned char)factor, (unsigned char)n);
            row[16 + n] = multiply((unsigned char)factor, (unsigned char)(n << 4));
        }
        tables.matrix[factor] = matrix_of((unsigned char)factor);
    }
}

/* Two look-ups a byte; also for the last bytes of the other forms. */
static void add_table(const struct sb_rs_field *field, const unsigned char *factors, size_t rows,
                      const unsigned char *data, size_t size, unsigned char *const *outputs)
{
    for (size_t row = 0; row < rows; row++) {
        const unsigned char *low = field->nibbles[factors[row]], *high = low + 16;
        unsigned char *output = outputs[row];

        for (size_t i = 0; i < size; i++)
            output[i] ^= low[data[i] & 15] ^ high[data[i] >> 4];
    }
}

static const struct sb_rs_form table_form = {.name = "table", .step = 1, .add = add_table};

/* NULL after the last. */
static const struct sb_rs_form *form_at(size_t number)
{
    for (const struct sb_rs_form *form = sb_rs_simd_forms; form->name; form++) {
        if (form->usable() && number-- == 0)
            return form;
    }
    return number == 0 ? &table_form : NULL;
}

const char *sb_rs_form(size_t number)
{
    const struct sb_rs_form *form = form_at(number);

    return form ? form->name : NULL;
}

void sb_rs_use_form(struct sb_rs *rs, size_t number)
{
    rs->form = form_at(number);
}

/*
 * The logarithm of the product of (at - point) over all points but `at` itself. Subtraction is XOR.
 */
static unsigned log_of_product(unsigned char at, const unsigned char *points, unsigned count)
{
    unsigned sum = 0;

    for (unsigned i = 0; i < count; i++) {
        if (points[i] != at)
            sum += tables.log[at ^ points[i]];
    }
    return sum % ORDER;
}

/*
 * Lagrange's polynomials: the value at `to` is the sum over all inputs i of value i times
 *     product of (to - point) over all inputs / ((to - point i) * product of (point i - other
 * point))
 */
static void fill_factors(struct sb_rs *rs, const unsigned char *inputs,
                         const unsigned char *outputs)
{
    unsigned above[SB_RS_PIECES_MAX] = {0};

    for (unsigned o = 0; o < rs->outputs; o++)
        above[o] = log_of_product(outputs[o], inputs, rs->inputs);
    for (unsigned i = 0; i < rs->inputs; i++) {
        unsigned below = log_of_product(inputs[i], inputs, rs->inputs);

        for (unsigned o = 0; o < rs->outputs; o++) {
            unsigned log = above[o] + 2 * ORDER - below - tables.log[outputs[o] ^ inputs[i]];

            rs->factors[i * rs->outputs + o] = tables.power[log % ORDER];
        }
    }
}

static unsigned count_state(const enum sb_rs_state *states, unsigned count, enum sb_rs_state state)
{
    unsigned found = 0;

    for (unsigned piece = 0; piece < count; piece++)
        found += states[piece] == state;
    return found;
}

/* Data comes first, and then as many parities as are necessary. */
static void choose_pieces(struct sb_rs *rs, const enum sb_rs_state *states, unsigned count)
{
    unsigned char inputs[SB_RS_PIECES_MAX], outputs[SB_RS_PIECES_MAX];
    unsigned input = 0, output = 0;

    memset(rs->place, NOT_NEEDED, sizeof(rs->place));
    for (unsigned piece = 0; piece < count; piece++) {
        unsigned char point = piece ? tables.power[piece - 1] : 0;

        if (states[piece] == SB_RS_WANTED)
            outputs[output++] = point;
        if (states[piece] != SB_RS_PRESENT || input == rs->inputs)
            continue;
        rs->place[piece] = (unsigned char)input;
        inputs[input++] = point;
    }
    fill_factors(rs, inputs, outputs);
}

static enum sb_code check_counts(unsigned data, unsigned parity)
{
    if (data == 0 || parity == 0 || data > SB_RS_PIECES_MAX || parity > SB_RS_PIECES_MAX - data)
        return sb_fail(
            SB_INVALID,
            "%u pieces of data and %u of parity: at least one of each is needed, and both "
            "may have at most %d together",
            data, parity, SB_RS_PIECES_MAX);
    return SB_OK;
}

enum sb_code sb_rs_decoder(struct sb_rs **out, unsigned data, unsigned parity,
                           const enum sb_rs_state *states)
{
    unsigned present, wanted;
    struct sb_rs *rs;

    TRY(check_counts(data, parity));
    present = count_state(states, data + parity, SB_RS_PRESENT);
    wanted = count_state(states, data + parity, SB_RS_WANTED);
    if (present < data)
        return sb_fail(SB_DAMAGED, "%u pieces of %u are missing, and the parity makes up for %u",
                       data + parity - present, data + parity, parity);
    TRY(sb_alloc(&rs, sizeof(*rs) + (size_t)data * wanted));
    pthread_once(&tables_once, fill_tables);
    rs->form = form_at(0);
    rs->inputs = data;
    rs->outputs = wanted;
    choose_pieces(rs, states, data + parity);
    *out = rs;
    return SB_OK;
}

enum sb_code sb_rs_encoder(struct sb_rs **out, unsigned data, unsigned parity)
{
    enum sb_rs_state states[SB_RS_PIECES_MAX];

    TRY(check_counts(data, parity));
    for (unsigned piece = 0; piece < data + parity; piece++)
        states[piece] = piece < data ? SB_RS_PRESENT : SB_RS_WANTED;
    return sb_rs_decoder(out, data, parity, states);
}

void sb_rs_free(struct sb_rs *rs)
{
    free(rs);
}

unsigned sb_rs_outputs(const struct sb_rs *rs)
{
    return rs->outputs;
}

bool sb_rs_needs(const struct sb_rs *rs, unsigned piece)
{
    return rs->place[piece] != NOT_NEEDED;
}

static void add_to_rows(const struct sb_rs *rs, const unsigned char *factors, size_t rows,
                        const unsigned char *data, size_t size, unsigned char *const *outputs)
{
    size_t most = size - size % rs->form->step;

    rs->form->add(&tables, factors, rows, data, most, outputs);
    if (most < size) {
        unsigned char *rest[SB_RS_ROWS];

        for (size_t row = 0; row < rows; row++)
            rest[row] = outputs[row] + most;
        add_table(&tables, factors, rows, data + most, size - most, rest);
    }
}

void sb_rs_add(const struct sb_rs *rs, unsigned piece, const void *data, size_t size,
               unsigned char *const *outputs)
{
    const unsigned char *factors, *bytes = data;

    if (!sb_rs_needs(rs, piece))
        return;
    factors = rs->factors + (size_t)rs->place[piece] * rs->outputs;
    for (size_t done = 0; done < size; done += BLOCK) {
        size_t part = size - done < BLOCK ? size - done : BLOCK;

        for (size_t first = 0; first < rs->outputs; first += SB_RS_ROWS) {
            size_t rows = rs->outputs - first < SB_RS_ROWS ? rs->outputs - first : SB_RS_ROWS;
            unsigned char *here[SB_RS_ROWS];

            for (size_t row = 0; row < rows; row++)
                here[row] = outputs[first + row] + done;
            add_to_rows(rs, factors + first, rows, bytes + done, part, here);
        }
    }
}
