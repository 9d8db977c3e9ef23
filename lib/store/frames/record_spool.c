#include "store/frames/record_spool.h"

#include "core/io.h"

#include <stdlib.h>
#include <unistd.h>

#define MEMORY_MOST ((size_t)1 << 20)
#define BLOCK_BYTES ((size_t)256 << 10)

void sb_record_spool_clear(struct sb_record_spool *spool)
{
    if (spool->fd >= 0)
        close(spool->fd);
    spool->fd = -1;
    spool->size = spool->in_file = spool->read = 0;
    sb_buf_clear(&spool->memory);
}

void sb_record_spool_release(struct sb_record_spool *spool)
{
    sb_record_spool_clear(spool);
    sb_buf_release(&spool->memory);
    free(spool->block);
    spool->block = NULL;
}

static enum sb_code spill(struct sb_record_spool *spool, struct sb_error *err)
{
    enum sb_code code = spool->fd >= 0 ? SB_OK : sb_temp_file(&spool->fd, "", err);

    if (!code)
        code = sb_pwrite_full(spool->fd, spool->memory.data, spool->memory.size, spool->in_file,
                              "temporary file (see TMPDIR)", err);
    if (code)
        return code;
    spool->in_file += (int64_t)spool->memory.size;
    sb_buf_clear(&spool->memory);
    return SB_OK;
}

enum sb_code sb_record_spool_add(struct sb_record_spool *spool, const void *data, size_t size,
                                 struct sb_error *err)
{
    const char *from = data;

    while (size > 0) {
        size_t room = MEMORY_MOST - spool->memory.size;
        size_t part = size < room ? size : room;

        if (room == 0) {
            if (spill(spool, err))
                return err->code;
            continue;
        }
        if (sb_buf_add(&spool->memory, from, part))
            return sb_fail_memory(err);
        spool->size += (int64_t)part;
        from += part;
        size -= part;
    }
    return SB_OK;
}

static enum sb_code next_of_file(struct sb_record_spool *spool, const void **data, size_t *size,
                                 struct sb_error *err)
{
    int64_t left = spool->in_file - spool->read;
    size_t part = left < (int64_t)BLOCK_BYTES ? (size_t)left : BLOCK_BYTES;

    if (!spool->block)
        spool->block = malloc(BLOCK_BYTES);
    if (!spool->block)
        return sb_fail_memory(err);
    if (sb_pread_full(spool->fd, spool->block, part, spool->read, size, "temporary file", err))
        return err->code;
    if (*size != part)
        return sb_fail(err, SB_CHANGED, "a temporary file became shorter");
    *data = spool->block;
    return SB_OK;
}

enum sb_code sb_record_spool_next(struct sb_record_spool *spool, const void **data, size_t *size,
                                  struct sb_error *err)
{
    enum sb_code code = SB_OK;

    if (spool->read == spool->size)
        return SB_END;
    if (spool->read < spool->in_file) {
        code = next_of_file(spool, data, size, err);
    } else {
        *data = spool->memory.data;
        *size = spool->memory.size;
    }
    if (!code)
        spool->read += (int64_t)*size;
    return code;
}
