/*
 * Members of a zip that are compressed by deflate64, as Windows does it beyond 2 GB.
 *
 * It is deflate (RFC 1951) with a window of 64 KiB: distance codes 30 and 31 are used, with 14
 * extra bits each, and length code 285 is 3 and 16 extra bits. No library of Debian's decodes it.
 * Facts: zlib's contrib/infback9.
 */
#ifndef SB_STORE_ZIP_DEFLATE64_H
#define SB_STORE_ZIP_DEFLATE64_H

#include "store/zip/foreign.h"

struct sb_zip_deflate64;

/* As sb_zip_foreign_new, _free and _read. */
enum sb_code sb_zip_deflate64_new(struct sb_zip_deflate64 **out, sb_zip_take *take,
                                  void *context) SB_CHECKED;
void sb_zip_deflate64_free(struct sb_zip_deflate64 *inflater); /* NULL is allowed */
enum sb_code sb_zip_deflate64_read(struct sb_zip_deflate64 *inflater, uint8_t *out, size_t capacity,
                                   size_t *got) SB_CHECKED;

#endif
