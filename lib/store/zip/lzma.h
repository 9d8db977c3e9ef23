/*
 * Members of a zip that are compressed by lzma or xz, through liblzma itself.
 *
 * libarchive's reader would let the member decide how much memory its decoder takes, up to 4 GiB;
 * here it is 256 MiB at most, and xz -9 takes 65.
 */
#ifndef SB_STORE_ZIP_LZMA_H
#define SB_STORE_ZIP_LZMA_H

#include "store/zip/foreign.h"

#include <stdbool.h>

struct sb_zip_lzma;

/* Is it one of the methods that are read here? */
bool sb_zip_lzma_reads(unsigned method);

/* As sb_zip_foreign_new, _free and _read. */
enum sb_code sb_zip_lzma_new(struct sb_zip_lzma **out, unsigned method, int64_t size,
                             sb_zip_take *take, void *context, struct sb_error *err) SB_CHECKED;
void sb_zip_lzma_free(struct sb_zip_lzma *lzma); /* NULL is allowed */
enum sb_code sb_zip_lzma_read(struct sb_zip_lzma *lzma, uint8_t *out, size_t capacity, size_t *got,
                              struct sb_error *err) SB_CHECKED;

#endif
