#include "task/restore/piece.h"

#include "core/crc32c.h"
#include "core/io.h"

#include <unistd.h>

#define BLOCK_BYTES ((size_t)1 << 20)

void sb_restore_piece_release(struct sb_restore_piece *piece)
{
    sb_buf_release(&piece->data);
    if (piece->fd >= 0)
        close(piece->fd);
    piece->fd = -1;
}

enum sb_code sb_restore_piece_begin(struct sb_restore_piece *piece, int64_t size,
                                    struct sb_error *err)
{
    enum sb_code code = SB_OK;

    sb_buf_clear(&piece->data);
    piece->in_file = 0;
    piece->expected = size;
    piece->size = 0;
    piece->crc = 0;
    if (size > SB_RESTORE_WHOLE && piece->fd < 0)
        code = sb_temp_file(&piece->fd, piece->beside, err);
    piece->lost = code != SB_OK;
    return code;
}

static enum sb_code flush(struct sb_restore_piece *piece, struct sb_error *err)
{
    enum sb_code code = sb_pwrite_full(piece->fd, piece->data.data, piece->data.size,
                                       piece->in_file, "temporary file", err);

    if (code == SB_OK)
        piece->in_file += (int64_t)piece->data.size;
    sb_buf_clear(&piece->data);
    return code;
}

enum sb_code sb_restore_piece_add(void *context, const void *data, size_t size,
                                  struct sb_error *err)
{
    struct sb_restore_piece *piece = context;
    enum sb_code code = SB_OK;

    if ((int64_t)size > piece->expected - piece->size)
        return sb_fail(err, SB_LIMIT, "has more than %lld bytes", (long long)piece->expected);
    if (piece->expected > SB_RESTORE_WHOLE && piece->data.size > 0 &&
        piece->data.size + size > BLOCK_BYTES)
        code = flush(piece, err);
    if (code == SB_OK && sb_buf_add(&piece->data, data, size))
        code = sb_fail_memory(err);
    piece->lost = code != SB_OK;
    if (code)
        return code;
    piece->crc = sb_crc32c(piece->crc, data, size);
    piece->size += (int64_t)size;
    return SB_OK;
}

bool sb_restore_piece_is(const struct sb_restore_piece *piece, int64_t size, uint32_t crc32c)
{
    return piece->size == size && piece->crc == crc32c;
}

/* What waits in the temporary file; its last bytes must be there already. */
static enum sb_code copy(struct sb_restore_piece *piece, int fd, int64_t offset, const char *what,
                         struct sb_error *err)
{
    enum sb_code code = SB_OK;
    size_t got = 0;

    if (sb_buf_reserve(&piece->data, BLOCK_BYTES))
        return sb_fail_memory(err);
    for (int64_t at = 0; code == SB_OK && at < piece->in_file; at += (int64_t)got) {
        code = sb_pread_full(piece->fd, piece->data.data, BLOCK_BYTES, at, &got, "temporary file",
                             err);
        if (code == SB_OK && got == 0)
            code = sb_fail(err, SB_CHANGED, "temporary file: was cut short by another process");
        if (code == SB_OK)
            code = sb_pwrite_full(fd, piece->data.data, got, offset + at, what, err);
    }
    return code;
}

enum sb_code sb_restore_piece_write(struct sb_restore_piece *piece, int fd, int64_t offset,
                                    const char *what, struct sb_error *err)
{
    enum sb_code code;

    if (piece->expected <= SB_RESTORE_WHOLE)
        return sb_pwrite_full(fd, piece->data.data, piece->data.size, offset, what, err);
    code = piece->data.size > 0 ? flush(piece, err) : SB_OK;
    return code ? code : copy(piece, fd, offset, what, err);
}
