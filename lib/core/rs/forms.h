/*
 * The forms of the inner loop: multiples of one piece are added to several outputs.
 *
 * A call has few outputs, so that their tables stay in registers and each byte of data is loaded
 * once for all of them; and few bytes, so that these stay in the nearest cache until the next call
 * adds them to further outputs. rs.c cuts the work into such calls.
 */
#ifndef SB_CORE_RS_FORMS_H
#define SB_CORE_RS_FORMS_H

#include "core/rs/field.h"

#include <stdbool.h>
#include <stddef.h>

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

/* In the words of the function, with a number of rows that the compiler knows. */
#define SB_RS_FOR_ROWS(rows, add, ...)                                                             \
    switch (rows) {                                                                                \
    case 1:                                                                                        \
        add(1, __VA_ARGS__);                                                                       \
        break;                                                                                     \
    case 2:                                                                                        \
        add(2, __VA_ARGS__);                                                                       \
        break;                                                                                     \
    case 3:                                                                                        \
        add(3, __VA_ARGS__);                                                                       \
        break;                                                                                     \
    default:                                                                                       \
        add(4, __VA_ARGS__);                                                                       \
    }

#endif
