/*
 * Which parts of a file were read, and the checksums of these, joined where they meet. {0}: none.
 */
#ifndef SB_TASK_MOUNT_PIECES_H
#define SB_TASK_MOUNT_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sb_pieces {
    struct sb_piece {
        int64_t from;
        int64_t to;
        uint32_t crc;
    } * pieces; /* in order, apart from each other */
    size_t count;
    size_t capacity;
    bool again; /* some bytes were read again, and may have been others then */
};

void sb_pieces_release(struct sb_pieces *pieces);

/*
 * Adds bytes that were read; of those that were read before, the first reading counts. crc: of all
 * of them; most: pieces that may lie apart, at least 1. False: there would be more, or memory is
 * short; then nothing is known any more of what was read before.
 */
bool sb_pieces_add(struct sb_pieces *pieces, int64_t from, const void *data, size_t size,
                   uint32_t crc, size_t most);

/* Is it one piece, of all bytes? Then that is its checksum. */
bool sb_pieces_are_whole(const struct sb_pieces *pieces, int64_t size, uint32_t *crc);

#endif
