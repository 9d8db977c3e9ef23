/*
 * Bytes that wait until all of them are known: in memory, and where they are many, in a temporary
 * file without a name (core/io.h). Any part may be read again.
 *
 * Belongs to one thread. {.fd = -1} is an empty one, which the holder releases in the end.
 */
#ifndef SB_CORE_SPOOL_H
#define SB_CORE_SPOOL_H

#include "core/buf.h"
#include "core/io.h"

struct sb_spool {
    const char *beside; /* where the file goes, unless TMPDIR says; kept; NULL: here */
    size_t memory_most; /* 0: 4 MiB; what is larger goes to the file without a copy */
    int fd;             /* -1: there is none */
    int64_t in_file;
    struct sb_buf memory; /* behind those in the file */
    struct sb_buf block;  /* of the file, as it is read */
};

/* Forgets the bytes, and the file. */
void sb_spool_clear(struct sb_spool *spool);
void sb_spool_release(struct sb_spool *spool);

int64_t sb_spool_size(const struct sb_spool *spool);
enum sb_code sb_spool_add(struct sb_spool *spool, const void *data, size_t size,
                          struct sb_error *err) SB_CHECKED;

/* Forgets those past the first `size`, which must be there. */
void sb_spool_cut(struct sb_spool *spool, int64_t size);

/* These must be there. */
enum sb_code sb_spool_get(const struct sb_spool *spool, int64_t at, void *data, size_t size,
                          struct sb_error *err) SB_CHECKED;

/* Some bytes from `at` on, never none, as many as are at hand; they live until the next call.
 * SB_END behind the last. */
enum sb_code sb_spool_piece(struct sb_spool *spool, int64_t at, const void **data, size_t *size,
                            struct sb_error *err) SB_CHECKED;

/* Gives these, which must be there, to `each`, piece by piece. */
enum sb_code sb_spool_feed(struct sb_spool *spool, int64_t at, int64_t size, sb_each_block *each,
                           void *context, struct sb_error *err) SB_CHECKED;

#endif
