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

enum sb_code sb_restore_piece_add(void *context, const void *data, size_t size,
                                  struct sb_error *err)
{
    struct sb_restore_piece *piece = context;
    enum sb_code code;

    if ((int64_t)size > piece->expected - sb_spool_size(&piece->bytes))
        return sb_fail(err, SB_LIMIT, "has more than %lld bytes", (long long)piece->expected);
    code = sb_spool_add(&piece->bytes, data, size, err);
    piece->lost = code != SB_OK;
    if (!code)
        piece->crc = sb_crc32c_block(piece->crc, data, size);
    return code;
}

bool sb_restore_piece_is(const struct sb_restore_piece *piece, int64_t size, uint32_t crc32c)
{
    return piece->expected >= 0 && sb_spool_size(&piece->bytes) == size && piece->crc == crc32c;
}

struct target {
    int fd;
    int64_t offset;
    const char *what;
};

static enum sb_code write_block(void *context, const void *data, size_t size, struct sb_error *err)
{
    struct target *target = context;
    enum sb_code code =
        data ? sb_pwrite_full(target->fd, data, size, target->offset, target->what, err)
             : sb_pwrite_hole(target->fd, target->offset, (int64_t)size, target->what, err);

    target->offset += (int64_t)size;
    return code;
}

enum sb_code sb_restore_piece_write(struct sb_restore_piece *piece, int fd, int64_t offset,
                                    const char *what, struct sb_error *err)
{
    struct target target = {.fd = fd, .offset = offset, .what = what};

    return sb_spool_feed_sparse(&piece->bytes, write_block, &target, err);
}
