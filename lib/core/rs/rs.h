/*
 * Reed-Solomon codes for erasures, over GF(2^8) with the polynomial x^8 + x^4 + x^3 + x^2 + 1
 * (0x11d).
 *
 * A code word has k pieces of data, numbered 0 to k - 1, and m pieces of parity, numbered k to
 * k + m - 1, all of one size. Data stays as it is, and any k pieces give all others.
 *
 * The parities are those of zfec. There, byte b of all pieces of a word is a polynomial of a degree
 * below k, and a piece holds its value at a point of its own: 0 for piece 0, and 2^(n-1) for piece
 * n.
 *
 * So each piece is a sum of multiples of any k others. Byte b depends on bytes b alone, and pieces
 * are added to the sums one after the other, in any order, whole or in parts:
 *
 *     sb_rs_encoder(&rs, 240, 12);
 *     for each piece of data: sb_rs_add(rs, piece, bytes, size, parities);
 *
 * A struct sb_rs does not change once it is made, and any number of threads may add by it. The
 * fastest form of the inner loop that the processor has is chosen when it is made.
 */
#ifndef SB_CORE_RS_RS_H
#define SB_CORE_RS_RS_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>

#define SB_RS_PIECES_MAX 255

struct sb_rs;

/* What a decoder does with a piece. */
enum sb_rs_state {
    SB_RS_MISSING, /* it is not there, and is not made */
    SB_RS_PRESENT, /* it may be added */
    SB_RS_WANTED,  /* it is not there, and is made */
};

/*
 * Makes parity from data: outputs 0 to parity - 1 are the pieces of parity. At least one of each,
 * and at most SB_RS_PIECES_MAX together, else SB_INVALID. The caller frees *out.
 */
enum sb_code sb_rs_encoder(struct sb_rs **out, unsigned data, unsigned parity) SB_CHECKED;

/*
 * Makes the wanted pieces, of data and of parity, from those that are present. states: one for each
 * of data + parity pieces. The outputs are the wanted pieces in the order of their numbers.
 * SB_DAMAGED: fewer than `data` pieces are present, and nothing can be made. Numbers of pieces as
 * above.
 */
enum sb_code sb_rs_decoder(struct sb_rs **out, unsigned data, unsigned parity,
                           const enum sb_rs_state *states) SB_CHECKED;

/* NULL is allowed. */
void sb_rs_free(struct sb_rs *rs);

unsigned sb_rs_outputs(const struct sb_rs *rs);

/* Is this piece one of those that must be added? There are `data` of them, parities only if data is
 * missing. */
bool sb_rs_needs(const struct sb_rs *rs, unsigned piece);

/*
 * Adds a piece, or a part of it, to all outputs, which are those of the same bytes. They begin as
 * zeros, and are complete when each needed piece was added once. A piece that is not needed changes
 * nothing. No alignment is necessary; outputs overlap neither the data nor each other.
 */
void sb_rs_add(const struct sb_rs *rs, unsigned piece, const void *data, size_t size,
               unsigned char *const *outputs);

/* For tests and measurements. The forms that this processor has, best first; NULL after the last.
 */
const char *sb_rs_form(size_t number);

/* Uses another form than the best, by its number. */
void sb_rs_use_form(struct sb_rs *rs, size_t number);

#endif
