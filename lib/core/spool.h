/*
 * Bytes that are kept until all of them are known: in memory and, if there are many, in an unnamed
 * temporary file (core/io.h). Any part may be read again.
 *
 * Belongs to one thread. {.fd = -1} is empty; its holder releases it.
 */
#ifndef SB_CORE_SPOOL_H
#define SB_CORE_SPOOL_H

#include "core/buf.h"
#include "core/io.h"

struct sb_spool {
    const char *beside; /* the file goes into this one's directory, unless TMPDIR is set; not
                           copied; NULL: the current directory */
    size_t memory_most; /* 0: 4 MiB; larger additions go to the file without a copy */
    int fd;             /* -1: no file */
    int64_t in_file;
    struct sb_buf memory; /* the bytes after those in the file */
    struct sb_buf block;  /* part of the file, as read */
};

/* Drops the bytes, and the file. */
void sb_spool_clear(struct sb_spool *spool);
void sb_spool_release(struct sb_spool *spool);

int64_t sb_spool_size(const struct sb_spool *spool);

/* data NULL: a hole (core/io.h). */
enum sb_code sb_spool_add(struct sb_spool *spool, const void *data, size_t size) SB_CHECKED;

/* Drops those after the first `size`, which must exist. */
void sb_spool_cut(struct sb_spool *spool, int64_t size);

/* The bytes must exist. */
enum sb_code sb_spool_get(const struct sb_spool *spool, int64_t at, void *data,
                          size_t size) SB_CHECKED;

/*
 * Some bytes from `at` on, at least one, as many as are available without a copy; valid until the
 * next call. SB_END past the last.
 */
enum sb_code sb_spool_piece(struct sb_spool *spool, int64_t at, const void **data,
                            size_t *size) SB_CHECKED;

/* Passes these bytes, which must exist, to `each`, piece by piece. */
enum sb_code sb_spool_feed(struct sb_spool *spool, int64_t at, int64_t size, sb_each_block *each,
                           void *context) SB_CHECKED;

/* All of them; passes holes. */
enum sb_code sb_spool_feed_sparse(struct sb_spool *spool, sb_each_block *each,
                                  void *context) SB_CHECKED;

#endif
