#include "task/mount/pieces.h"

#include "core/array.h"
#include "core/buf.h"
#include "core/crc32c.h"

#include <stdlib.h>
#include <string.h>

void sb_pieces_release(struct sb_pieces *pieces)
{
    free(pieces->pieces);
    *pieces = (struct sb_pieces){0};
}

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

/* Puts a piece before piece i, from which it lies apart, or which it meets. */
static bool insert(struct sb_pieces *pieces, size_t i, const struct sb_piece *piece, size_t most)
{
    struct sb_piece *before = pieces->pieces && i > 0 ? &pieces->pieces[i - 1] : NULL;
    bool kept = true;

    /* One that goes on with the one before it needs no place of its own. */
    if (before && before->to == piece->from) {
        before->crc = sb_crc32c_combine(before->crc, piece->crc, piece->to - piece->from);
        before->to = piece->to;
        join(pieces, i - 1);
        return true;
    }
    if (pieces->count >= most) {
        pieces->count = i = 0;
        kept = false;
    }
    if (IGNORED(sb_grow(&pieces->pieces, &pieces->capacity, pieces->count, sizeof(*piece)))) {
        pieces->count = 0;
        return false;
    }
    memmove(&pieces->pieces[i + 1], &pieces->pieces[i], (pieces->count - i) * sizeof(*piece));
    pieces->pieces[i] = *piece;
    pieces->count++;
    join(pieces, i);
    return kept;
}

bool sb_pieces_add(struct sb_pieces *pieces, int64_t from, const void *data, size_t size,
                   uint32_t crc, size_t most)
{
    const int64_t end = from + (int64_t)size;
    struct sb_piece piece = {.from = from};
    bool kept = true;

    while (piece.from < end) {
        const size_t i = FIRST_WHERE(k, pieces->count, pieces->pieces[k].to > piece.from);
        const struct sb_piece *next = i < pieces->count ? &pieces->pieces[i] : NULL;

        if (next && next->from <= piece.from) {
            pieces->again = true;
            piece.from = next->to;
            continue;
        }
        piece.to = next && next->from < end ? next->from : end;
        piece.crc = crc;
        if (piece.from > from || piece.to < end)
            piece.crc = sb_crc32c(0, (const char *)data + (piece.from - from),
                                  (size_t)(piece.to - piece.from));
        kept = insert(pieces, i, &piece, most) && kept;
        piece.from = piece.to;
    }
    return kept;
}

bool sb_pieces_are_whole(const struct sb_pieces *pieces, int64_t size, uint32_t *crc)
{
    if (pieces->count != 1 || pieces->pieces[0].from != 0 || pieces->pieces[0].to != size)
        return false;
    *crc = pieces->pieces[0].crc;
    return true;
}
