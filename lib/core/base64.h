/*
 * Base64 (RFC 4648, section 4), piece by piece.
 *
 * Encoding pads the end. Decoding takes nothing but the alphabet and padding, or no padding at all,
 * at the end; bits behind the last byte must be 0. A state belongs to one thread; {0} is a new one.
 */
#ifndef SB_CORE_BASE64_H
#define SB_CORE_BASE64_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that a piece of `size` may become. */
#define SB_BASE64_CAPACITY(size)       (((size) + 2) / 3 * 4 + 4)
#define SB_BASE64_BYTES_CAPACITY(size) ((size) / 4 * 3 + 3)

struct sb_base64 {
    uint32_t bits; /* that wait for more */
    unsigned held; /* encoding: bytes of them; decoding: characters */
    unsigned padding;
};

/* Returns how many characters it wrote to out. */
size_t sb_base64_encode(struct sb_base64 *state, const void *data, size_t size, char *out);
size_t sb_base64_encode_end(struct sb_base64 *state, char *out);

/* False: the text is no base64. *made says how many bytes are in out. */
bool sb_base64_decode(struct sb_base64 *state, const char *text, size_t size, void *out,
                      size_t *made);
bool sb_base64_decode_end(struct sb_base64 *state, void *out, size_t *made);

#endif
