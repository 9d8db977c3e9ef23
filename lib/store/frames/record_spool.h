/*
 * A record whose size only its end tells: in memory, and what is more than 1 MiB of it in a
 * temporary file without a name, in TMPDIR or else the current directory.
 *
 * Add its bytes, then read them from the beginning. Belongs to one thread. The holder clears it for
 * the next record, and releases it in the end; {.fd = -1} is an empty one.
 */
#ifndef SB_STORE_FRAMES_RECORD_SPOOL_H
#define SB_STORE_FRAMES_RECORD_SPOOL_H

#include "core/buf.h"

#include <stdint.h>

struct sb_record_spool {
    int64_t size;
    struct sb_buf memory; /* behind those in the file */
    int fd;               /* -1: all are in memory */
    int64_t in_file;
    int64_t read;
    char *block; /* of the file, as it is read */
};

void sb_record_spool_clear(struct sb_record_spool *spool);
void sb_record_spool_release(struct sb_record_spool *spool);

enum sb_code sb_record_spool_add(struct sb_record_spool *spool, const void *data, size_t size,
                                 struct sb_error *err) SB_CHECKED;

/* The next bytes, which live until the next call; SB_END behind the last. */
enum sb_code sb_record_spool_next(struct sb_record_spool *spool, const void **data, size_t *size,
                                  struct sb_error *err) SB_CHECKED;

#endif
