/*
 * A zstd frame, made by libzstd on several threads, with a checksum of its content at the end.
 *
 * libarchive can do it too, but without the checksum, and then a damaged frame mostly reads as if
 * it were sound. Belongs to one thread.
 */
#ifndef SB_STORE_OUTZSTD_H
#define SB_STORE_OUTZSTD_H

#include "store/source.h"

struct sb_outzstd;

/* level: 1 to 19. threads: 0 is one. */
enum sb_code sb_outzstd_open(struct sb_outzstd **out, int level, unsigned threads,
                             sb_each_block *each, void *context, struct sb_error *err) SB_CHECKED;
enum sb_code sb_outzstd_write(struct sb_outzstd *zstd, const void *data, size_t size,
                              struct sb_error *err) SB_CHECKED;
enum sb_code sb_outzstd_finish(struct sb_outzstd *zstd, struct sb_error *err) SB_CHECKED;
void sb_outzstd_free(struct sb_outzstd *zstd); /* NULL is allowed */

#endif
