/*
 * The bytes of one file on their way from a copy: they are held, in memory or, of a large file, in
 * a temporary one, until it is known that they are the right ones.
 *
 * SB_RESTORE_PIECE is one without bytes. Belongs to one thread at a time.
 */
#ifndef SB_TASK_RESTORE_PIECE_H
#define SB_TASK_RESTORE_PIECE_H

#include "core/spool.h"

#include <stdbool.h>

/* What is larger waits in a temporary file. The tests of faults are built with a few bytes. */
#ifndef SB_RESTORE_WHOLE
#define SB_RESTORE_WHOLE ((int64_t)4 << 20)
#endif

struct sb_restore_piece {
    struct sb_spool bytes;
    int64_t expected; /* -1: they are those of no file, whatever they are */
    uint32_t crc;     /* of those so far */
    bool lost;        /* they could not be kept: no fault of the copy's, and the end of the work */
};

/* beside: see sb_temp_directory; of the caller. */
#define SB_RESTORE_PIECE(where)                                                                    \
    ((struct sb_restore_piece){                                                                    \
        .bytes = {.fd = -1, .beside = (where), .memory_most = (size_t)SB_RESTORE_WHOLE}})

void sb_restore_piece_release(struct sb_restore_piece *piece);

/* Begins anew, for a file of so many bytes. */
void sb_restore_piece_begin(struct sb_restore_piece *piece, int64_t size);

/* The next bytes: an sb_each_block, whose context is the piece. SB_LIMIT: more than were expected.
 */
enum sb_code sb_restore_piece_add(void *context, const void *data, size_t size,
                                  struct sb_error *err) SB_CHECKED;

/* Are they all there, and their CRC32C this? */
bool sb_restore_piece_is(const struct sb_restore_piece *piece, int64_t size, uint32_t crc32c);

/* Writes them at this place of a file, called `what` in messages. As often as wanted. */
enum sb_code sb_restore_piece_write(struct sb_restore_piece *piece, int fd, int64_t offset,
                                    const char *what, struct sb_error *err) SB_CHECKED;

#endif
