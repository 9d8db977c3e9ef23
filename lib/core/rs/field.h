/*
 * Tables of GF(2^8) with the polynomial 0x11d, whose generator is 2. Thread-safe.
 */
#ifndef SB_CORE_RS_FIELD_H
#define SB_CORE_RS_FIELD_H

#include <stdint.h>

struct sb_rs_field {
    unsigned char power[510]; /* 2^n; so long that two logarithms may be added */
    unsigned char log[256];   /* log[0] means nothing */
    /* factor * 0x00 ... 0x0f, then factor * 0x00, 0x10, ... 0xf0 */
    unsigned char nibbles[256][32];
    /*
     * The multiplication as a matrix of bits, as GF2P8AFFINEQB takes it: byte 7 - i (from the
     * lowest) has the bits of the other factor that decide about bit i of the product.
     */
    uint64_t matrix[256];
};

/* Made at the first call. */
const struct sb_rs_field *sb_rs_field(void);

unsigned char sb_rs_multiply(const struct sb_rs_field *field, unsigned char a, unsigned char b);

#endif
