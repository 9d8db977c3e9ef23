#include "core/rs/rs.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define POLYNOMIAL 0x11d
#define ORDER      255 /* of the group of all but zero */

/* Bytes of data that are added to all outputs before the next; with 4 outputs they fit into 32 KiB.
 */
#define BLOCK 4096

/* Outputs of one call of the inner loop: so few that their tables stay in registers, and each byte
 * of data is loaded once for all of them. */
#define ROWS 4

#define NOT_NEEDED UINT8_MAX

/* A form of the inner loop. factors and outputs: `rows` of each, 1 to ROWS. */
struct form {
    const char *name;
    size_t step; /* bytes that it takes at a time; size is a multiple of it */
    void (*add)(size_t rows, const unsigned char *factors, const unsigned char *data, size_t size,
                unsigned char *const *outputs);
};

struct sb_rs {
    const struct form *form;
    unsigned inputs, outputs;
    unsigned char place[SB_RS_PIECES_MAX]; /* of a piece among the inputs; NOT_NEEDED */
    unsigned char factors[];               /* of each input, one for each output */
};

/* Of GF(2^8) with the polynomial, whose generator is 2. */
static struct {
    unsigned char power[2 * ORDER]; /* 2^n; so long that two logarithms may be added */
    unsigned char log[256];         /* log[0] means nothing */
    /* factor * 0x00 ... 0x0f, then factor * 0x00, 0x10, ... 0xf0 */
    unsigned char nibbles[256][32];
    /*
     * The multiplication as a matrix of bits, as GF2P8AFFINEQB takes it: byte 7 - i (from the
     * lowest) has the bits of the other factor that decide about bit i of the product.
     */
    uint64_t matrix[256];
} tables;
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
static void add_table(size_t rows, const unsigned char *factors, const unsigned char *data,
                      size_t size, unsigned char *const *outputs)
{
    for (size_t row = 0; row < rows; row++) {
        const unsigned char *low = tables.nibbles[factors[row]], *high = low + 16;
        unsigned char *output = outputs[row];

        for (size_t i = 0; i < size; i++)
            output[i] ^= low[data[i] & 15] ^ high[data[i] >> 4];
    }
}

static const struct form form_table = {"table", 1, add_table};

/* A vector of bytes anywhere in memory. */
#define VECTOR(width) __attribute__((vector_size(width), aligned(1), may_alias))

/* Unrolled, so that tables and sums are registers. */
#define EACH_ROW _Pragma("GCC unroll 4") for (size_t row = 0; row < rows; row++)

/*
 * Defines form_NAME, over vectors of the type. FIRST and SECOND are tables of `factor`, which
 * PRODUCT multiplies `bytes` by, as first[row] and second[row]. A vector of data is loaded once,
 * and then one of each output; all loads come before the stores, since outputs often lie a multiple
 * of 4096 bytes apart, where a load waits for a store before it. The compiler knows the number of
 * rows.
 */
#define FORM(NAME, label, type, target, FIRST, SECOND, PRODUCT)                                    \
    __attribute__((always_inline, target)) static inline void rows_##NAME(                         \
        const size_t rows, const unsigned char *factors, const unsigned char *data, size_t size,   \
        unsigned char *const *outputs)                                                             \
    {                                                                                              \
        type first[ROWS], second[ROWS] __attribute__((unused)), sum[ROWS];                         \
        unsigned char *out[ROWS];                                                                  \
                                                                                                   \
        EACH_ROW                                                                                   \
        {                                                                                          \
            unsigned char factor = factors[row];                                                   \
                                                                                                   \
            first[row] = (type)FIRST;                                                              \
            second[row] = (type)SECOND;                                                            \
            out[row] = outputs[row];                                                               \
        }                                                                                          \
        for (size_t i = 0; i < size; i += sizeof(type)) {                                          \
            type bytes = *(const type *)(data + i);                                                \
                                                                                                   \
            EACH_ROW sum[row] = *(const type *)(out[row] + i) ^ (type)PRODUCT;                     \
            EACH_ROW *(type *)(out[row] + i) = sum[row];                                           \
        }                                                                                          \
    }                                                                                              \
    __attribute__((target)) static void add_##NAME(size_t rows, const unsigned char *factors,      \
                                                   const unsigned char *data, size_t size,         \
                                                   unsigned char *const *outputs)                  \
    {                                                                                              \
        if (rows == 1)                                                                             \
            rows_##NAME(1, factors, data, size, outputs);                                          \
        else if (rows == 2)                                                                        \
            rows_##NAME(2, factors, data, size, outputs);                                          \
        else if (rows == 3)                                                                        \
            rows_##NAME(3, factors, data, size, outputs);                                          \
        else                                                                                       \
            rows_##NAME(4, factors, data, size, outputs);                                          \
    }                                                                                              \
    static const struct form form_##NAME = {label, sizeof(type), add_##NAME};

/* A product is the sum of those of both halves of a byte, which a shuffle of the tables looks up.
 */
#define LOW  tables.nibbles[factor]
#define HIGH (tables.nibbles[factor] + 16)
#define HALVES(shuffle, type)                                                                      \
    (shuffle((type)first[row], (type)(bytes & 15)) ^ shuffle((type)second[row], (type)(bytes >> 4)))

#if defined(__x86_64__)

typedef unsigned char vector16 VECTOR(16);
typedef unsigned char vector32 VECTOR(32);
typedef unsigned char vector64 VECTOR(64);

#define LOAD16(from)  _mm_loadu_si128((const __m128i *)(const void *)(from))
#define TWICE16(from) _mm256_broadcastsi128_si256(LOAD16(from))

FORM(ssse3, "ssse3", vector16, target("ssse3"), LOAD16(LOW), LOAD16(HIGH),
     HALVES(_mm_shuffle_epi8, __m128i))
FORM(avx2, "avx2", vector32, target("avx2"), TWICE16(LOW), TWICE16(HIGH),
     HALVES(_mm256_shuffle_epi8, __m256i))

/* One instruction multiplies all bytes by the matrix of bits. */
#define MATRIX ((long long)tables.matrix[factor])

FORM(gfni_avx2, "gfni+avx2", vector32, target("gfni,avx2"), _mm256_set1_epi64x(MATRIX), first[row],
     _mm256_gf2p8affine_epi64_epi8((__m256i)bytes, (__m256i)first[row], 0))
FORM(gfni_avx512, "gfni+avx512", vector64, target("gfni,avx512f,avx512bw"),
     _mm512_set1_epi64(MATRIX), first[row],
     _mm512_gf2p8affine_epi64_epi8((__m512i)bytes, (__m512i)first[row], 0))

#elif defined(__aarch64__)

typedef unsigned char vector16 VECTOR(16);

FORM(neon, "neon", vector16, unused, vld1q_u8(LOW), vld1q_u8(HIGH), HALVES(vqtbl1q_u8, uint8x16_t))

#endif

/* The forms that this processor has, best first; NULL after the last. */
static const struct form *form_at(size_t number)
{
    const struct form *forms[5];
    size_t count = 0;

#if defined(__x86_64__)
    bool avx2, gfni;

    __builtin_cpu_init();
    avx2 = __builtin_cpu_supports("avx2");
    gfni = avx2 && __builtin_cpu_supports("gfni");
    if (gfni && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw"))
        forms[count++] = &form_gfni_avx512;
    if (gfni)
        forms[count++] = &form_gfni_avx2;
    if (avx2)
        forms[count++] = &form_avx2;
    if (__builtin_cpu_supports("ssse3"))
        forms[count++] = &form_ssse3;
#elif defined(__aarch64__)
    /* Every processor of this architecture that Linux runs on has it. */
    forms[count++] = &form_neon;
#endif
    forms[count++] = &form_table;
    return number < count ? forms[number] : NULL;
}

const char *sb_rs_form(size_t number)
{
    const struct form *form = form_at(number);

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
    unsigned present = 0, wanted = 0;
    struct sb_rs *rs;

    TRY(check_counts(data, parity));
    for (unsigned piece = 0; piece < data + parity; piece++) {
        present += states[piece] == SB_RS_PRESENT;
        wanted += states[piece] == SB_RS_WANTED;
    }
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

void sb_rs_add(const struct sb_rs *rs, unsigned piece, const void *data, size_t size,
               unsigned char *const *outputs)
{
    const unsigned char *factors, *bytes = data;

    if (!sb_rs_needs(rs, piece))
        return;
    factors = rs->factors + (size_t)rs->place[piece] * rs->outputs;
    for (size_t done = 0; done < size; done += BLOCK) {
        size_t part = size - done < BLOCK ? size - done : BLOCK;
        size_t rest = part % rs->form->step, most = part - rest;

        for (size_t first = 0; first < rs->outputs; first += ROWS) {
            size_t rows = rs->outputs - first < ROWS ? rs->outputs - first : ROWS;
            unsigned char *here[ROWS];

            for (size_t row = 0; row < rows; row++)
                here[row] = outputs[first + row] + done;
            rs->form->add(rows, factors + first, bytes + done, most, here);
            for (size_t row = 0; rest > 0 && row < rows; row++)
                here[row] += most;
            add_table(rows, factors + first, bytes + done + most, rest, here);
        }
    }
}
