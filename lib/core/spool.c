#include "core/spool.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMORY_BYTES ((size_t)4 << 20)
#define BLOCK_BYTES  ((size_t)256 << 10)
#define FILE_NAME    "temporary file (see TMPDIR)"

void sb_spool_clear(struct sb_spool *spool)
{
    if (spool->fd >= 0)
        close(spool->fd);
    spool->fd = -1;
    spool->in_file = 0;
    sb_buf_clear(&spool->memory);
}

void sb_spool_release(struct sb_spool *spool)
{
    sb_spool_clear(spool);
    sb_buf_release(&spool->memory);
    sb_buf_release(&spool->block);
}

int64_t sb_spool_size(const struct sb_spool *spool)
{
    return spool->in_file + (int64_t)spool->memory.size;
}

static enum sb_code add_to_file(struct sb_spool *spool, const void *data, size_t size)
{
    if (spool->fd < 0)
        TRY(sb_temp_file(&spool->fd, spool->beside ? spool->beside : ""));
    if (data)
        TRY(sb_pwrite_full(spool->fd, data, size, spool->in_file, FILE_NAME));
    else if (ftruncate(spool->fd, spool->in_file) ||
             ftruncate(spool->fd, spool->in_file + (int64_t)size))
        return sb_fail_errno(errno, FILE_NAME);
    spool->in_file += (int64_t)size;
    return SB_OK;
}

enum sb_code sb_spool_add(struct sb_spool *spool, const void *data, size_t size)
{
    size_t most = spool->memory_most ? spool->memory_most : MEMORY_BYTES;

    if (spool->memory.size > 0 && size > most - spool->memory.size) {
        TRY(add_to_file(spool, spool->memory.data, spool->memory.size));
        sb_buf_clear(&spool->memory);
    }
    if (size > most)
        return add_to_file(spool, data, size);
    TRY(sb_buf_reserve(&spool->memory, size));
    if (data)
        return sb_buf_add(&spool->memory, data, size);
    memset(spool->memory.data + spool->memory.size, 0, size + 1);
    spool->memory.size += size;
    return SB_OK;
}

void sb_spool_cut(struct sb_spool *spool, int64_t size)
{
    sb_buf_cut(&spool->memory, size > spool->in_file ? (size_t)(size - spool->in_file) : 0);
    if (size < spool->in_file)
        spool->in_file = size;
}

enum sb_code sb_spool_get(const struct sb_spool *spool, int64_t at, void *data, size_t size)
{
    int64_t left = spool->in_file - at;
    size_t part = left <= 0 ? 0 : left < (int64_t)size ? (size_t)left : size, got = 0;

    if (part > 0)
        TRY(sb_pread_full(spool->fd, data, part, at, &got, FILE_NAME));
    if (got < part)
        return sb_fail(SB_CHANGED, FILE_NAME ": has become shorter");
    if (part < size)
        memcpy((char *)data + part, spool->memory.data + (at + (int64_t)part - spool->in_file),
               size - part);
    return SB_OK;
}

enum sb_code sb_spool_piece(struct sb_spool *spool, int64_t at, const void **data, size_t *size)
{
    int64_t left = spool->in_file - at;

    if (at == sb_spool_size(spool))
        return sb_error()->code = SB_END;
    if (left <= 0) {
        *data = spool->memory.data - left;
        *size = spool->memory.size - (size_t)-left;
        return SB_OK;
    }
    *size = left < (int64_t)BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;
    TRY(sb_buf_reserve(&spool->block, BLOCK_BYTES));
    *data = spool->block.data;
    return sb_spool_get(spool, at, spool->block.data, *size);
}

enum sb_code sb_spool_feed(struct sb_spool *spool, int64_t at, int64_t size, sb_each_block *each,
                           void *context)
{
    while (size > 0) {
        const void *data;
        size_t part;

        TRY(sb_spool_piece(spool, at, &data, &part));
        if ((int64_t)part > size)
            part = (size_t)size;
        TRY(each(context, data, part));
        at += (int64_t)part;
        size -= (int64_t)part;
    }
    return SB_OK;
}

enum sb_code sb_spool_feed_sparse(struct sb_spool *spool, sb_each_block *each, void *context)
{
    struct stat st;
    int64_t in_file = 0;

    if (spool->in_file > 0 && (ftruncate(spool->fd, spool->in_file) || fstat(spool->fd, &st)))
        return sb_fail_errno(errno, FILE_NAME);
    if (spool->in_file > 0)
        TRY(sb_feed_file(spool->fd, &st, spool->in_file, each, context, &in_file, FILE_NAME));
    if (in_file != spool->in_file)
        return sb_fail(SB_CHANGED, FILE_NAME ": has another size than was written");
    if (spool->memory.size > 0)
        TRY(each(context, spool->memory.data, spool->memory.size));
    return SB_OK;
}
