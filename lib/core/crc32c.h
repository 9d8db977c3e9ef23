/*
 * CRC32C (Castagnoli, reflected polynomial 0x82F63B78), as Barecat stores it: initial value and
 * final XOR 0xFFFFFFFF, hidden inside. RFC 3720 appendix B.4 has test vectors.
 *
 * The fastest form that the processor has (SSE4.2 in three interleaved streams, ARMv8 CRC, tables)
 * is chosen at the first call. Thread-safe.
 */
#ifndef SB_CORE_CRC32C_H
#define SB_CORE_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* CRC of what `crc` (0 for nothing) covered, followed by data. */
uint32_t sb_crc32c(uint32_t crc, const void *data, size_t size);

/* CRC of two runs of bytes, one after the other, from their CRCs and the size of the second. */
uint32_t sb_crc32c_combine(uint32_t first, uint32_t second, int64_t second_size);

/* CRC of what `crc` covered, followed by `count` zeros; takes time in the logarithm of count. */
uint32_t sb_crc32c_zeros(uint32_t crc, int64_t count);

/* The same of a block: `size` bytes of data, or zeros where data is NULL. */
uint32_t sb_crc32c_block(uint32_t crc, const void *data, size_t size);

/* The implementation in use: "sse4.2", "armv8" or "table". */
const char *sb_crc32c_form(void);

/* The table implementation on any processor, for tests that compare the fast ones with it. */
uint32_t sb_crc32c_table(uint32_t crc, const void *data, size_t size);

#endif
