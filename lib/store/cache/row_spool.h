/*
 * The bytes of a row while it is put together: in memory, and where they are more than 4 MiB, in a
 * temporary file without a name (core/io.h). Any part may be read again.
 *
 * Belongs to one thread. {.fd = -1} is an empty one, which the holder releases in the end.
 */
#ifndef SB_STORE_CACHE_ROW_SPOOL_H
#define SB_STORE_CACHE_ROW_SPOOL_H

#include "core/buf.h"
#include "core/io.h"

struct sb_row_spool {
    const char *beside; /* of the holder: where the file goes, unless TMPDIR says */
    int fd;             /* -1: there is none */
    int64_t in_file;
    struct sb_buf memory; /* behind those in the file */
};

/* Forgets the bytes. */
void sb_row_spool_clear(struct sb_row_spool *spool);
void sb_row_spool_release(struct sb_row_spool *spool);

int64_t sb_row_spool_size(const struct sb_row_spool *spool);
enum sb_code sb_row_spool_add(struct sb_row_spool *spool, const void *data, size_t size,
                              struct sb_error *err) SB_CHECKED;

/* These must be there. */
enum sb_code sb_row_spool_get(const struct sb_row_spool *spool, int64_t at, void *data, size_t size,
                              struct sb_error *err) SB_CHECKED;

/* Gives them to `each`, piece by piece. */
enum sb_code sb_row_spool_feed(const struct sb_row_spool *spool, int64_t at, int64_t size,
                               sb_each_block *each, void *context, struct sb_error *err) SB_CHECKED;

#endif
