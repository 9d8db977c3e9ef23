/*
 * The bytes of one file on the way from a copy: they are kept, in memory or, for a large file, in a
 * temporary one, until they are known to be right.
 *
 * SB_RESTORE_PIECE is empty. Belongs to one thread at a time.
 */
#ifndef SB_TASK_RESTORE_PIECE_H
#define SB_TASK_RESTORE_PIECE_H

#include "core/spool.h"

#include <stdbool.h>

/* Larger files are kept in a temporary file. The fault tests are built with a few bytes. */
#ifndef SB_RESTORE_WHOLE
#define SB_RESTORE_WHOLE ((int64_t)4 << 20)
#endif

struct sb_restore_piece {
    struct sb_spool bytes;
    int64_t expected; /* -1: no file; all bytes are ignored */
    uint32_t crc;     /* of the bytes so far */
    bool lost; /* the bytes could not be kept: not the copy's fault, and the end of the work */
};

/* beside: see sb_temp_directory; the caller's. */
#define SB_RESTORE_PIECE(where)                                                                    \
    ((struct sb_restore_piece){                                                                    \
        .bytes = {.fd = -1, .beside = (where), .memory_most = (size_t)SB_RESTORE_WHOLE}})

void sb_restore_piece_release(struct sb_restore_piece *piece);

/* Begins anew, for a file of `size` bytes. */
void sb_restore_piece_begin(struct sb_restore_piece *piece, int64_t size);

/* The next bytes, or a hole: an sb_each_block, whose context is the piece. SB_LIMIT: more than
 * expected. */
enum sb_code sb_restore_piece_add(void *context, const void *data, size_t size) SB_CHECKED;

/* Are they complete, with this CRC32C? */
bool sb_restore_piece_is(const struct sb_restore_piece *piece, int64_t size, uint32_t crc32c);

/* Passes them on; any number of times. */
enum sb_code sb_restore_piece_feed(struct sb_restore_piece *piece, sb_each_block *each,
                                   void *context) SB_CHECKED;

#endif
