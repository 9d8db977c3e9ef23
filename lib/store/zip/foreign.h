/*
 * Members of a zip that are compressed by bzip2, zstd or ppmd, through libarchive.
 *
 * Its reader of zips in sequence gets a header made for the member alone, then the packed bytes.
 */
#ifndef SB_STORE_ZIP_FOREIGN_H
#define SB_STORE_ZIP_FOREIGN_H

#include "core/error.h"

#include <stddef.h>
#include <stdint.h>

struct sb_zip_foreign;

/* Gives the next packed bytes, none at their end; they live until the next call. */
typedef enum sb_code sb_zip_take(void *context, const uint8_t **data, size_t *size);

/* SB_INVALID: the method is not known; the text, without a name, says what to do. SB_DAMAGED. */
enum sb_code sb_zip_foreign_new(struct sb_zip_foreign **out, unsigned method, int64_t packed,
                                int64_t size, sb_zip_take *take, void *context) SB_CHECKED;
void sb_zip_foreign_free(struct sb_zip_foreign *foreign); /* NULL is allowed */
FREEP(sb_zip_foreign_free, struct sb_zip_foreign)

/* The next bytes, up to `capacity`; fewer only at the end. SB_DAMAGED, and what `take` failed
 * with. */
enum sb_code sb_zip_foreign_read(struct sb_zip_foreign *foreign, uint8_t *out, size_t capacity,
                                 size_t *got) SB_CHECKED;

#endif
