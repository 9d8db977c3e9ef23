/*
 * Members of a zip that are compressed by deflate64, as Windows does it beyond 2 GB.
 *
 * It is deflate (RFC 1951) with a window of 64 KiB: distance codes 30 and 31 are used, with 14
 * extra bits each, and length code 285 is 3 and 16 extra bits. No library of Debian's decodes it.
 * Facts: zlib's contrib/infback9.
 */
#ifndef SB_STORE_ZIP_DEFLATE64_H
#define SB_STORE_ZIP_DEFLATE64_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

/* Gives the next packed bytes, none at their end; they live until the next call. */
typedef enum sb_code sb_zip_take(void *context, const uint8_t **data, size_t *size);

struct sb_zip_deflate64;

enum sb_code sb_zip_deflate64_new(struct sb_zip_deflate64 **out, sb_zip_take *take,
                                  void *context) SB_CHECKED;
void sb_zip_deflate64_free(struct sb_zip_deflate64 *inflater); /* NULL is allowed */

/* The next bytes, up to `capacity`; fewer only at the end. SB_DAMAGED, and what `take` failed
 * with. */
enum sb_code sb_zip_deflate64_read(struct sb_zip_deflate64 *inflater, uint8_t *out, size_t capacity,
                                   size_t *got) SB_CHECKED;

#endif
