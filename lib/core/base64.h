/*
 * Base64 (RFC 4648, section 4), piece by piece.
 *
 * Encoding pads the end. Decoding accepts only the alphabet, with or without padding at the end;
 * bits after the last byte must be 0. A state belongs to one thread; {0} is a new one.
 */
#ifndef SB_CORE_BASE64_H
#define SB_CORE_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The largest output for `size` bytes of input. */
#define SB_BASE64_CAPACITY(size)       (((size) + 2) / 3 * 4 + 4)
#define SB_BASE64_BYTES_CAPACITY(size) ((size) / 4 * 3 + 3)

struct sb_base64 {
    uint32_t bits; /* not yet written: they wait for more input */
    unsigned held; /* encoding: bytes in `bits`; decoding: characters */
    unsigned padding;
};

/* Returns how many characters it wrote to out. */
size_t sb_base64_encode(struct sb_base64 *state, const void *data, size_t size, char *out);
size_t sb_base64_encode_end(struct sb_base64 *state, char *out);

/* False: the text is not base64. *made: bytes written to out. */
bool sb_base64_decode(struct sb_base64 *state, const char *text, size_t size, void *out,
                      size_t *made);
bool sb_base64_decode_end(struct sb_base64 *state, void *out, size_t *made);

#endif
