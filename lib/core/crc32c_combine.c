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

/*
 * What follows shifts what came before by 8 bits a byte, so its CRC is multiplied by x^8 as often.
 * The initial value and the final XOR cancel out.
 */
uint32_t sb_crc32c_combine(uint32_t first, uint32_t second, int64_t second_size)
{
    uint32_t power = X_TO_8;
    uint32_t shift = ONE;

    for (uint64_t left = (uint64_t)second_size; left; left >>= 1) {
        if (left & 1)
            shift = multiply(shift, power);
        power = multiply(power, power);
    }
    return multiply(first, shift) ^ second;
}
