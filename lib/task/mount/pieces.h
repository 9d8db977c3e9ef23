/*
 * Which parts of a file were read, and the checksums of these, joined where they meet. {0}: none.
 */
#ifndef SB_TASK_MOUNT_PIECES_H
#define SB_TASK_MOUNT_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SB_PIECES_MOST 16

struct sb_pieces {
    struct sb_piece {
        int64_t from;
        int64_t to;
        uint32_t crc;
    } pieces[SB_PIECES_MOST]; /* in order, apart from each other */
    size_t count;
};

/*
 * Adds bytes that were read. False: they overlap with earlier ones, or there are too many pieces;
 * then nothing is known any more but the bytes added.
 */
bool sb_pieces_add(struct sb_pieces *pieces, int64_t from, int64_t to, uint32_t crc);

/* Is it one piece, of all bytes? Then that is its checksum. */
bool sb_pieces_are_whole(const struct sb_pieces *pieces, int64_t size, uint32_t *crc);

#endif
