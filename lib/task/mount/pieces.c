#include "task/mount/pieces.h"

#include "core/crc32c.h"

#include <string.h>

/* Joins piece i and the one after it, if they meet. */
static void join(struct sb_pieces *pieces, size_t i)
{
    struct sb_piece *piece = &pieces->pieces[i];

    if (i + 1 >= pieces->count || piece->to != piece[1].from)
        return;
    piece->crc = sb_crc32c_combine(piece->crc, piece[1].crc, piece[1].to - piece[1].from);
    piece->to = piece[1].to;
    pieces->count--;
    memmove(piece + 1, piece + 2, (pieces->count - i - 1) * sizeof(*piece));
}

static bool begin_anew(struct sb_pieces *pieces, struct sb_piece piece)
{
    pieces->pieces[0] = piece;
    pieces->count = 1;
    return false;
}

bool sb_pieces_add(struct sb_pieces *pieces, int64_t from, int64_t to, uint32_t crc)
{
    const struct sb_piece piece = {.from = from, .to = to, .crc = crc};
    size_t i = 0;

    while (i < pieces->count && pieces->pieces[i].to <= from)
        i++;
    if (i < pieces->count && pieces->pieces[i].from < to)
        return begin_anew(pieces, piece);
    /* A piece that goes on with the one before it needs no place of its own. */
    if (i > 0 && pieces->pieces[i - 1].to == from) {
        struct sb_piece *before = &pieces->pieces[i - 1];

        before->crc = sb_crc32c_combine(before->crc, crc, to - from);
        before->to = to;
        join(pieces, i - 1);
        return true;
    }
    if (pieces->count == SB_PIECES_MOST)
        return begin_anew(pieces, piece);
    memmove(&pieces->pieces[i + 1], &pieces->pieces[i],
            (pieces->count - i) * sizeof(*pieces->pieces));
    pieces->pieces[i] = piece;
    pieces->count++;
    join(pieces, i);
    return true;
}

bool sb_pieces_are_whole(const struct sb_pieces *pieces, int64_t size, uint32_t *crc)
{
    *crc = pieces->pieces[0].crc;
    return pieces->count == 1 && pieces->pieces[0].from == 0 && pieces->pieces[0].to == size;
}
