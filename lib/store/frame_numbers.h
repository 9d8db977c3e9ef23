/*
 * The numbers that stand around framed records.
 *
 * Little-endian lengths; varints as protobuf's encoding has them (seven bits a byte, the lowest
 * first, the top bit set on all but the last); the CRC32C of a TFRecord, masked as TensorFlow's
 * lib/hash/crc32c.h has it. Pure functions.
 */
#ifndef SB_STORE_FRAME_NUMBERS_H
#define SB_STORE_FRAME_NUMBERS_H

#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define SB_VARINT_MAX 10 /* bytes */

static inline void sb_put_u32(void *to, uint32_t value)
{
    value = htole32(value);
    memcpy(to, &value, sizeof(value));
}

static inline void sb_put_u64(void *to, uint64_t value)
{
    value = htole64(value);
    memcpy(to, &value, sizeof(value));
}

static inline uint32_t sb_get_u32(const void *from)
{
    uint32_t value;

    memcpy(&value, from, sizeof(value));
    return le32toh(value);
}

static inline uint64_t sb_get_u64(const void *from)
{
    uint64_t value;

    memcpy(&value, from, sizeof(value));
    return le64toh(value);
}

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
