/*
 * Little-endian numbers at any place in memory. Each put returns the address after the number. Pure
 * functions.
 */
#ifndef SB_CORE_LITTLE_ENDIAN_H
#define SB_CORE_LITTLE_ENDIAN_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t sb_get_u16(const void *at)
{
    uint16_t value;

    memcpy(&value, at, sizeof(value));
    return le16toh(value);
}

static inline uint32_t sb_get_u32(const void *at)
{
    uint32_t value;

    memcpy(&value, at, sizeof(value));
    return le32toh(value);
}

static inline uint64_t sb_get_u64(const void *at)
{
    uint64_t value;

    memcpy(&value, at, sizeof(value));
    return le64toh(value);
}

static inline uint8_t *sb_put_u16(uint8_t *at, unsigned value)
{
    uint16_t little = htole16((uint16_t)value);

    memcpy(at, &little, sizeof(little));
    return at + sizeof(little);
}

static inline uint8_t *sb_put_u32(uint8_t *at, uint32_t value)
{
    value = htole32(value);
    memcpy(at, &value, sizeof(value));
    return at + sizeof(value);
}

static inline uint8_t *sb_put_u64(uint8_t *at, uint64_t value)
{
    value = htole64(value);
    memcpy(at, &value, sizeof(value));
    return at + sizeof(value);
}

#endif
