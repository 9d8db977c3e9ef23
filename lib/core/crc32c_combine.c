#include "core/crc32c.h"

#define POLYNOMIAL 0x82F63B78u

/* Polynomials over GF(2), reflected: the highest bit is the coefficient of x^0. */
#define ONE    (1u << 31)
#define X_TO_8 (1u << 23)

static uint32_t multiply(uint32_t a, uint32_t b)
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
            register_before = multiply(register_before, power);
        power = multiply(power, power);
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
