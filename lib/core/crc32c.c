#include "core/crc32c.h"

#include "core/array.h"
#include "core/little_endian.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#define POLYNOMIAL 0x82F63B78u

/* All implementations work on the bare register: the caller applies initial value and final XOR. */
typedef uint32_t update_function(uint32_t state, const unsigned char *data, size_t size);

/* tables[n][b]: the effect of byte b on the register when n more bytes follow it. */
static uint32_t tables[8][256];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static void fill_tables(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t state = byte;

        for (int bit = 0; bit < 8; bit++)
            state = state & 1 ? (state >> 1) ^ POLYNOMIAL : state >> 1;
        tables[0][byte] = state;
    }
    for (size_t n = 1; n < 8; n++) {
        for (size_t byte = 0; byte < 256; byte++) {
            uint32_t state = tables[n - 1][byte];

            tables[n][byte] = (state >> 8) ^ tables[0][state & 0xff];
        }
    }
}

/* Eight independent look-ups ("slicing by 8"). */
static uint32_t update_table(uint32_t state, const unsigned char *data, size_t size)
{
    for (; size >= 8; data += 8, size -= 8) {
        const uint64_t word = sb_get_u64(data) ^ state;

        state = tables[7][word & 0xff] ^ tables[6][word >> 8 & 0xff] ^
                tables[5][word >> 16 & 0xff] ^ tables[4][word >> 24 & 0xff] ^
                tables[3][word >> 32 & 0xff] ^ tables[2][word >> 40 & 0xff] ^
                tables[1][word >> 48 & 0xff] ^ tables[0][word >> 56];
    }
    for (; size; data++, size--)
        state = (state >> 8) ^ tables[0][(state ^ *data) & 0xff];
    return state;
}

#if defined(__x86_64__)

/*
 * The instruction gives a result after three cycles but can start every cycle, so three streams run
 * side by side, over three neighbouring blocks of `size` bytes. The register of an earlier block is
 * then moved over the blocks after it: multiplied by x^(8 * distance). The carry-less product and
 * its reduction by the instruction itself add a factor of x^33.
 */
struct block {
    size_t size;
    long long over_one; /* x^(8 * size - 33) modulo the polynomial, reflected */
    long long over_two; /* x^(16 * size - 33) */
};

static const struct block blocks[] = {
    {4096, 0x82f89c77, 0x54a86326},
    {512, 0xdd7e3b0c, 0x170076fa},
    {64, 0x9e4addf8, 0x0d3b6092},
};

__attribute__((target("sse4.2,pclmul"))) static uint64_t multiply(uint64_t state, long long factor)
{
    __m128i product =
        _mm_clmulepi64_si128(_mm_cvtsi64_si128((long long)state), _mm_cvtsi64_si128(factor), 0);

    return (uint64_t)_mm_cvtsi128_si64(product);
}

__attribute__((target("sse4.2,pclmul"))) static uint32_t
update_three(uint32_t state, const unsigned char *data, const struct block *block)
{
    uint64_t first = state, second = 0, third = 0;
    const unsigned char *end = data + block->size;

    for (; data < end; data += 8) {
        first = _mm_crc32_u64(first, sb_get_u64(data));
        second = _mm_crc32_u64(second, sb_get_u64(data + block->size));
        third = _mm_crc32_u64(third, sb_get_u64(data + 2 * block->size));
    }
    first = multiply(first, block->over_two) ^ multiply(second, block->over_one);
    return (uint32_t)(_mm_crc32_u64(0, first) ^ third);
}

__attribute__((target("sse4.2,pclmul"))) static uint32_t
update_sse42(uint32_t state, const unsigned char *data, size_t size)
{
    for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
        size_t step = 3 * blocks[i].size;

        for (; size >= step; data += step, size -= step)
            state = update_three(state, data, &blocks[i]);
    }
    for (; size >= 8; data += 8, size -= 8)
        state = (uint32_t)_mm_crc32_u64(state, sb_get_u64(data));
    for (; size; data++, size--)
        state = _mm_crc32_u8(state, *data);
    return state;
}

#elif defined(__aarch64__)

__attribute__((target("+crc"))) static uint32_t update_armv8(uint32_t state,
                                                             const unsigned char *data, size_t size)
{
    for (; size >= 8; data += 8, size -= 8)
        state = __crc32cd(state, sb_get_u64(data));
    for (; size; data++, size--)
        state = __crc32cb(state, *data);
    return state;
}

#endif

static update_function *choose(void)
{
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("pclmul"))
        return update_sse42;
#elif defined(__aarch64__)
    if (getauxval(AT_HWCAP) & HWCAP_CRC32)
        return update_armv8;
#endif
    pthread_once(&tables_once, fill_tables);
    return update_table;
}

/* Several threads may choose at the same time: they all choose the same. */
static update_function *chosen(void)
{
    static _Atomic(update_function *) choice;
    update_function *update = atomic_load_explicit(&choice, memory_order_acquire);

    if (!update) {
        update = choose();
        atomic_store_explicit(&choice, update, memory_order_release);
    }
    return update;
}

uint32_t sb_crc32c(uint32_t crc, const void *data, size_t size)
{
    return ~chosen()(~crc, data, size);
}

uint32_t sb_crc32c_table(uint32_t crc, const void *data, size_t size)
{
    pthread_once(&tables_once, fill_tables);
    return ~update_table(~crc, data, size);
}

const char *sb_crc32c_form(void)
{
#if defined(__x86_64__)
    if (chosen() == update_sse42)
        return "sse4.2";
#elif defined(__aarch64__)
    if (chosen() == update_armv8)
        return "armv8";
#endif
    return "table";
}

/* Polynomials over GF(2), reflected: the highest bit is the coefficient of x^0. */
#define ONE    (1u << 31)
#define X_TO_8 (1u << 23)

static uint32_t multiply_polynomials(uint32_t a, uint32_t b)
{
    uint32_t product = 0;

    for (uint32_t bit = ONE; bit; bit >>= 1) {
        if (a & bit)
            product ^= b;
        b = b & 1 ? (b >> 1) ^ POLYNOMIAL : b >> 1;
    }
    return product;
}

/* Each byte that follows multiplies the register by x^8. */
static uint32_t shift(uint32_t register_before, int64_t bytes)
{
    uint32_t power = X_TO_8;

    for (uint64_t left = (uint64_t)bytes; left; left >>= 1) {
        if (left & 1)
            register_before = multiply_polynomials(register_before, power);
        power = multiply_polynomials(power, power);
    }
    return register_before;
}

/* The initial value and the final XOR cancel out. */
uint32_t sb_crc32c_combine(uint32_t first, uint32_t second, int64_t second_size)
{
    return shift(first, second_size) ^ second;
}

/* Here they do not cancel out. */
uint32_t sb_crc32c_zeros(uint32_t crc, int64_t count)
{
    return ~shift(~crc, count);
}

uint32_t sb_crc32c_block(uint32_t crc, const void *data, size_t size)
{
    return data ? sb_crc32c(crc, data, size) : sb_crc32c_zeros(crc, (int64_t)size);
}
