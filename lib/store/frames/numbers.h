/*
 * The numbers around framed records.
 *
 * Lengths are little-endian; varints as protobuf's encoding has them (seven bits a byte, the lowest
 * first, the top bit set on all but the last); the CRC32C of a TFRecord is masked as TensorFlow's
 * lib/hash/crc32c.h has it. Pure functions.
 */
#ifndef SB_STORE_FRAMES_NUMBERS_H
#define SB_STORE_FRAMES_NUMBERS_H

#include "core/little_endian.h"

#include <stddef.h>

#define SB_VARINT_MAX 10 /* bytes */

/* Returns how many bytes it takes, at most SB_VARINT_MAX. */
static inline size_t sb_put_varint(uint8_t *to, uint64_t value)
{
    size_t size = 0;

    for (; value >= 0x80; value >>= 7)
        to[size++] = (uint8_t)(value | 0x80);
    to[size++] = (uint8_t)value;
    return size;
}

static inline uint32_t sb_masked_crc(uint32_t crc)
{
    return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

#endif
