#include "core/rs/forms.h"

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

/*
 * Each function loads a vector of data once, and then a vector of each output; all loads come
 * before the stores, since outputs often lie a multiple of 4096 bytes apart, where a load waits for
 * a store before it. Loops over rows are unrolled, so that tables and sums are registers.
 */
#define EACH_ROW _Pragma("GCC unroll 4") for (size_t row = 0; row < rows; row++)

/* add_NAME is rows_NAME with a number of rows that the compiler knows. */
#define FORM(name, ...)                                                                            \
    __attribute__((__VA_ARGS__)) static void add_##name(                                           \
        const struct sb_rs_field *field, const unsigned char *factors, size_t rows,                \
        const unsigned char *data, size_t size, unsigned char *const *outputs)                     \
    {                                                                                              \
        switch (rows) {                                                                            \
        case 1:                                                                                    \
            rows_##name(1, field, factors, data, size, outputs);                                   \
            break;                                                                                 \
        case 2:                                                                                    \
            rows_##name(2, field, factors, data, size, outputs);                                   \
            break;                                                                                 \
        case 3:                                                                                    \
            rows_##name(3, field, factors, data, size, outputs);                                   \
            break;                                                                                 \
        default:                                                                                   \
            rows_##name(4, field, factors, data, size, outputs);                                   \
        }                                                                                          \
    }

#if defined(__x86_64__)

#define INLINE(features) __attribute__((always_inline, target(features))) static inline void

/* A product is the sum of those of both halves of a byte, and PSHUFB looks these up. */
INLINE("ssse3")
rows_ssse3(const size_t rows, const struct sb_rs_field *field, const unsigned char *factors,
           const unsigned char *data, size_t size, unsigned char *const *outputs)
{
    const __m128i mask = _mm_set1_epi8(15);
    __m128i low[SB_RS_ROWS], high[SB_RS_ROWS], sum[SB_RS_ROWS];
    unsigned char *out[SB_RS_ROWS];

    EACH_ROW
    {
        const __m128i *nibbles = (const __m128i *)(const void *)field->nibbles[factors[row]];

        low[row] = _mm_loadu_si128(nibbles);
        high[row] = _mm_loadu_si128(nibbles + 1);
        out[row] = outputs[row];
    }
    for (size_t i = 0; i < size; i += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(data + i));
        __m128i lower = _mm_and_si128(bytes, mask);
        __m128i upper = _mm_and_si128(_mm_srli_epi64(bytes, 4), mask);

        EACH_ROW
        {
            __m128i product = _mm_xor_si128(_mm_shuffle_epi8(low[row], lower),
                                            _mm_shuffle_epi8(high[row], upper));

            sum[row] =
                _mm_xor_si128(product, _mm_loadu_si128((const __m128i *)(void *)(out[row] + i)));
        }
        EACH_ROW _mm_storeu_si128((__m128i *)(void *)(out[row] + i), sum[row]);
    }
}

FORM(ssse3, target("ssse3"))

INLINE("avx2")
rows_avx2(const size_t rows, const struct sb_rs_field *field, const unsigned char *factors,
          const unsigned char *data, size_t size, unsigned char *const *outputs)
{
    const __m256i mask = _mm256_set1_epi8(15);
    __m256i low[SB_RS_ROWS], high[SB_RS_ROWS], sum[SB_RS_ROWS];
    unsigned char *out[SB_RS_ROWS];

    EACH_ROW
    {
        const __m128i *nibbles = (const __m128i *)(const void *)field->nibbles[factors[row]];

        low[row] = _mm256_broadcastsi128_si256(_mm_loadu_si128(nibbles));
        high[row] = _mm256_broadcastsi128_si256(_mm_loadu_si128(nibbles + 1));
        out[row] = outputs[row];
    }
    for (size_t i = 0; i < size; i += 32) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(data + i));
        __m256i lower = _mm256_and_si256(bytes, mask);
        __m256i upper = _mm256_and_si256(_mm256_srli_epi64(bytes, 4), mask);

        EACH_ROW
        {
            __m256i product = _mm256_xor_si256(_mm256_shuffle_epi8(low[row], lower),
                                               _mm256_shuffle_epi8(high[row], upper));

            sum[row] = _mm256_xor_si256(
                product, _mm256_loadu_si256((const __m256i *)(void *)(out[row] + i)));
        }
        EACH_ROW _mm256_storeu_si256((__m256i *)(void *)(out[row] + i), sum[row]);
    }
}

FORM(avx2, target("avx2"))

/* One instruction multiplies all bytes by the matrix of bits. */
INLINE("gfni,avx2")
rows_gfni_avx2(const size_t rows, const struct sb_rs_field *field, const unsigned char *factors,
               const unsigned char *data, size_t size, unsigned char *const *outputs)
{
    __m256i matrix[SB_RS_ROWS], sum[SB_RS_ROWS];
    unsigned char *out[SB_RS_ROWS];

    EACH_ROW
    {
        matrix[row] = _mm256_set1_epi64x((long long)field->matrix[factors[row]]);
        out[row] = outputs[row];
    }
    for (size_t i = 0; i < size; i += 32) {
        __m256i bytes = _mm256_loadu_si256((const __m256i *)(const void *)(data + i));

        EACH_ROW sum[row] =
            _mm256_xor_si256(_mm256_gf2p8affine_epi64_epi8(bytes, matrix[row], 0),
                             _mm256_loadu_si256((const __m256i *)(void *)(out[row] + i)));
        EACH_ROW _mm256_storeu_si256((__m256i *)(void *)(out[row] + i), sum[row]);
    }
}

FORM(gfni_avx2, target("gfni,avx2"))

INLINE("gfni,avx512f,avx512bw")
rows_gfni_avx512(const size_t rows, const struct sb_rs_field *field, const unsigned char *factors,
                 const unsigned char *data, size_t size, unsigned char *const *outputs)
{
    __m512i matrix[SB_RS_ROWS], sum[SB_RS_ROWS];
    unsigned char *out[SB_RS_ROWS];

    EACH_ROW
    {
        matrix[row] = _mm512_set1_epi64((long long)field->matrix[factors[row]]);
        out[row] = outputs[row];
    }
    for (size_t i = 0; i < size; i += 64) {
        __m512i bytes = _mm512_loadu_si512(data + i);

        EACH_ROW sum[row] = _mm512_xor_si512(_mm512_gf2p8affine_epi64_epi8(bytes, matrix[row], 0),
                                             _mm512_loadu_si512(out[row] + i));
        EACH_ROW _mm512_storeu_si512(out[row] + i, sum[row]);
    }
}

FORM(gfni_avx512, target("gfni,avx512f,avx512bw"))

static bool has_ssse3(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("ssse3");
}

static bool has_avx2(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2");
}

static bool has_gfni_avx2(void)
{
    return has_avx2() && __builtin_cpu_supports("gfni");
}

static bool has_gfni_avx512(void)
{
    return has_gfni_avx2() && __builtin_cpu_supports("avx512f") &&
           __builtin_cpu_supports("avx512bw");
}

const struct sb_rs_form sb_rs_simd_forms[] = {
    {"gfni+avx512", 64, add_gfni_avx512, has_gfni_avx512},
    {"gfni+avx2", 32, add_gfni_avx2, has_gfni_avx2},
    {"avx2", 32, add_avx2, has_avx2},
    {"ssse3", 16, add_ssse3, has_ssse3},
    {.name = NULL},
};

#elif defined(__aarch64__)

__attribute__((always_inline)) static inline void
rows_neon(const size_t rows, const struct sb_rs_field *field, const unsigned char *factors,
          const unsigned char *data, size_t size, unsigned char *const *outputs)
{
    const uint8x16_t mask = vdupq_n_u8(15);
    uint8x16_t low[SB_RS_ROWS], high[SB_RS_ROWS], sum[SB_RS_ROWS];
    unsigned char *out[SB_RS_ROWS];

    EACH_ROW
    {
        low[row] = vld1q_u8(field->nibbles[factors[row]]);
        high[row] = vld1q_u8(field->nibbles[factors[row]] + 16);
        out[row] = outputs[row];
    }
    for (size_t i = 0; i < size; i += 16) {
        uint8x16_t bytes = vld1q_u8(data + i);
        uint8x16_t lower = vandq_u8(bytes, mask), upper = vshrq_n_u8(bytes, 4);

        EACH_ROW
        {
            uint8x16_t product =
                veorq_u8(vqtbl1q_u8(low[row], lower), vqtbl1q_u8(high[row], upper));

            sum[row] = veorq_u8(product, vld1q_u8(out[row] + i));
        }
        EACH_ROW vst1q_u8(out[row] + i, sum[row]);
    }
}

FORM(neon)

/* Every processor of this architecture that Linux runs on has it. */
static bool has_neon(void)
{
    return true;
}

const struct sb_rs_form sb_rs_simd_forms[] = {
    {"neon", 16, add_neon, has_neon},
    {.name = NULL},
};

#else

const struct sb_rs_form sb_rs_simd_forms[] = {{.name = NULL}};

#endif
