#include "store/cache/row_spool.h"

#include <string.h>
#include <unistd.h>

#define MEMORY_BYTES ((size_t)4 << 20)
#define BLOCK_BYTES  ((size_t)64 << 10)

void sb_row_spool_clear(struct sb_row_spool *spool)
{
    if (spool->fd >= 0)
        close(spool->fd);
    spool->fd = -1;
    spool->in_file = 0;
    sb_buf_clear(&spool->memory);
}

void sb_row_spool_release(struct sb_row_spool *spool)
{
    sb_row_spool_clear(spool);
    sb_buf_release(&spool->memory);
}

int64_t sb_row_spool_size(const struct sb_row_spool *spool)
{
    return spool->in_file + (int64_t)spool->memory.size;
}

static enum sb_code move_to_file(struct sb_row_spool *spool, struct sb_error *err)
{
    enum sb_code code = SB_OK;

    if (spool->fd < 0)
        code = sb_temp_file(&spool->fd, spool->beside, err);
    if (!code)
        code = sb_pwrite_full(spool->fd, spool->memory.data, spool->memory.size, spool->in_file,
                              "temporary file", err);
    if (code)
        return code;
    spool->in_file += (int64_t)spool->memory.size;
    sb_buf_clear(&spool->memory);
    return SB_OK;
}

enum sb_code sb_row_spool_add(struct sb_row_spool *spool, const void *data, size_t size,
                              struct sb_error *err)
{
    if (sb_buf_add(&spool->memory, data, size))
        return sb_fail_memory(err);
    return spool->memory.size > MEMORY_BYTES ? move_to_file(spool, err) : SB_OK;
}

enum sb_code sb_row_spool_get(const struct sb_row_spool *spool, int64_t at, void *data, size_t size,
                              struct sb_error *err)
{
    int64_t left = spool->in_file - at;
    size_t part = left <= 0 ? 0 : left < (int64_t)size ? (size_t)left : size, got = 0;
    enum sb_code code = SB_OK;

    if (part > 0)
        code = sb_pread_full(spool->fd, data, part, at, &got, "temporary file", err);
    if (!code && got < part)
        return sb_fail(err, SB_CHANGED, "temporary file: has become shorter");
    if (!code && part < size)
        memcpy((char *)data + part, spool->memory.data + (at + (int64_t)part - spool->in_file),
               size - part);
    return code;
}

enum sb_code sb_row_spool_feed(const struct sb_row_spool *spool, int64_t at, int64_t size,
                               sb_each_block *each, void *context, struct sb_error *err)
{
    char block[BLOCK_BYTES];
    enum sb_code code = SB_OK;

    if (size > 0 && at >= spool->in_file)
        return each(context, spool->memory.data + (at - spool->in_file), (size_t)size, err);
    while (!code && size > 0) {
        size_t part = size < (int64_t)sizeof(block) ? (size_t)size : sizeof(block);

        code = sb_row_spool_get(spool, at, block, part, err);
        if (!code)
            code = each(context, block, part, err);
        at += (int64_t)part;
        size -= (int64_t)part;
    }
    return code;
}
