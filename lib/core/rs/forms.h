/*
 * The forms of the inner loop: multiples of one piece are added to several outputs.
 *
 * A call has few outputs, so that their tables stay in registers and each byte of data is loaded
 * once for all of them; and few bytes, so that these stay in the nearest cache until the next call
 * adds them to further outputs. rs.c cuts the work into such calls.
 */
#ifndef SB_CORE_RS_FORMS_H
#define SB_CORE_RS_FORMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tables of GF(2^8) with the polynomial 0x11d, whose generator is 2. */
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

/* Outputs of one call. */
#define SB_RS_ROWS 4

/* factors and outputs: `rows` of each, 1 to SB_RS_ROWS. size: a multiple of the form's step. */
typedef void sb_rs_add_rows(const struct sb_rs_field *field, const unsigned char *factors,
                            size_t rows, const unsigned char *data, size_t size,
                            unsigned char *const *outputs);

struct sb_rs_form {
    const char *name;
    size_t step; /* bytes that it takes at a time */
    sb_rs_add_rows *add;
    bool (*usable)(void); /* has the processor what it needs? */
};

/* The forms of the processors that this was compiled for, best first; without name after the last.
 */
extern const struct sb_rs_form sb_rs_simd_forms[];

#endif
