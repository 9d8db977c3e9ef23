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

/* CRC of a run of bytes followed by another, of which only the CRCs and the second's size are
 * known. */
uint32_t sb_crc32c_combine(uint32_t first, uint32_t second, int64_t second_size);

/* CRC of what `crc` covered, followed by so many zeros; its time is that of the number's digits. */
uint32_t sb_crc32c_zeros(uint32_t crc, int64_t count);

/* The form in use: "sse4.2", "armv8" or "table". */
const char *sb_crc32c_form(void);

/* The table form whatever the processor, for tests to hold the fast forms against. */
uint32_t sb_crc32c_table(uint32_t crc, const void *data, size_t size);

#endif
