/*
 * The bytes of one file on their way from a copy: they are held, in memory or, of a large file, in
 * a temporary one, until it is known that they are the right ones.
 *
 * {.fd = -1} is a piece without bytes. Belongs to one thread at a time.
 */
#ifndef SB_TASK_RESTORE_PIECE_H
#define SB_TASK_RESTORE_PIECE_H

#include "core/buf.h"
#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is larger waits in a temporary file. The tests of faults are built with a few bytes. */
#ifndef SB_RESTORE_WHOLE
#define SB_RESTORE_WHOLE ((int64_t)4 << 20)
#endif

struct sb_restore_piece {
    const char *beside; /* see sb_temp_directory; of the caller */
    struct sb_buf data; /* of a large file: its last bytes, which are not in `fd` yet */
    int fd;             /* -1: none */
    int64_t in_file;    /* bytes that are there */
    int64_t expected;
    int64_t size; /* so far, and */
    uint32_t crc; /* of these */
    bool lost;    /* they could not be kept: no fault of the copy's, and the end of the work */
};

void sb_restore_piece_release(struct sb_restore_piece *piece);

/* Begins anew, for a file of so many bytes. */
enum sb_code sb_restore_piece_begin(struct sb_restore_piece *piece, int64_t size,
                                    struct sb_error *err) SB_CHECKED;

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
