#include "task/restore/piece.h"

#include "core/crc32c.h"

void sb_restore_piece_release(struct sb_restore_piece *piece)
{
    sb_spool_release(&piece->bytes);
}

void sb_restore_piece_begin(struct sb_restore_piece *piece, int64_t size)
{
    sb_spool_clear(&piece->bytes);
    piece->expected = size;
    piece->crc = 0;
    piece->lost = false;
}

enum sb_code sb_restore_piece_add(void *context, const void *data, size_t size)
{
    struct sb_restore_piece *piece = context;
    enum sb_code code;

    if ((int64_t)size > piece->expected - sb_spool_size(&piece->bytes))
        return sb_fail(SB_LIMIT, "has more than %lld bytes", (long long)piece->expected);
    code = sb_spool_add(&piece->bytes, data, size);
    piece->lost = code != SB_OK;
    if (!code)
        piece->crc = sb_crc32c_block(piece->crc, data, size);
    return code;
}

bool sb_restore_piece_is(const struct sb_restore_piece *piece, int64_t size, uint32_t crc32c)
{
    return piece->expected >= 0 && sb_spool_size(&piece->bytes) == size && piece->crc == crc32c;
}

enum sb_code sb_restore_piece_feed(struct sb_restore_piece *piece, sb_each_block *each,
                                   void *context)
{
    return sb_spool_feed_sparse(&piece->bytes, each, context);
}
