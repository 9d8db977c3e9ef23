#include "store/bag/record_block.h"

#define READ_MOST    ((int64_t)1 << 20) /* bytes of one read */
#define SPARSE_STORE ((int64_t)1 << 15) /* of a record: more is not read for a header */

enum sb_code sb_record_block_begin(struct sb_record_block *block, struct sb_bag *bag)
{
    return sb_bag_reader_new(&block->reader, bag);
}

void sb_record_block_release(struct sb_record_block *block)
{
    sb_bag_reader_free(block->reader);
    block->reader = NULL;
    sb_buf_release(&block->stored);
    sb_buf_release(&block->record);
}

size_t sb_record_block_set(struct sb_record_block *block, const struct sb_bag *bag,
                           const struct sb_extent *extents, size_t count)
{
    int64_t sum = extents[0].size;
    size_t taken = 0;

    do {
        block->extents[taken] = extents[taken];
        taken++;
        if (taken == count || taken == SB_RECORD_BLOCK_MAX)
            break;
    } while (!__builtin_add_overflow(sum, extents[taken].size, &sum) && sum <= READ_MOST);
    block->count = taken;
    block->stored_size = extents[taken - 1].offset + extents[taken - 1].size - extents[0].offset;
    block->zstd = sb_bag_shard(bag, extents[0].shard)->zstd;
    block->tried = block->read = false;
    return taken;
}

/* Reads all of the block, unless it is one record that is too large. What is wrong shows again when
 * a record is read by itself. */
static enum sb_code read_stored(struct sb_record_block *block)
{
    size_t size = (size_t)block->stored_size;

    if (block->tried || block->stored_size > READ_MOST)
        return SB_OK;
    block->tried = true;
    sb_buf_clear(&block->stored);
    if (sb_buf_reserve(&block->stored, size))
        return sb_fail_memory();
    block->read = !IGNORED(sb_bag_read(block->reader, block->extents[0].shard,
                                       block->extents[0].offset, block->stored.data, size));
    return SB_OK;
}

static const char *stored_at(const struct sb_record_block *block, size_t i)
{
    return block->stored.data + (block->extents[i].offset - block->extents[0].offset);
}

enum sb_code sb_record_block_declared(struct sb_record_block *block, size_t i, int64_t *size)
{
    const struct sb_extent *extent = &block->extents[i];
    size_t header_size =
        extent->size < SB_FRAME_HEADER_MAX ? (size_t)extent->size : SB_FRAME_HEADER_MAX;
    char read[SB_FRAME_HEADER_MAX];
    const char *header = read;

    *size = extent->size;
    if (!block->zstd || extent->size == 0)
        return SB_OK;
    if (block->stored_size / (int64_t)block->count <= SPARSE_STORE && read_stored(block))
        return sb_error()->code;
    if (block->read)
        header = stored_at(block, i);
    else if (IGNORED(sb_bag_read(block->reader, extent->shard, extent->offset, read, header_size)))
        header_size = 0;
    if (header_size == 0 || IGNORED(sb_frame_size(header, header_size, extent->size, size)))
        *size = -1;
    return SB_OK;
}

enum sb_code sb_record_block_size(struct sb_record_block *block, size_t i, int64_t *size)
{
    TRY(sb_record_block_declared(block, i, size));
    if (*size < 0)
        TRY(sb_bag_record_size(block->reader, &block->extents[i], size));
    return SB_OK;
}

enum sb_code sb_record_block_bytes(struct sb_record_block *block, size_t i, size_t capacity,
                                   const void **data, size_t *size)
{
    const struct sb_extent *extent = &block->extents[i];
    enum sb_code code = SB_OK;

    *data = "";
    *size = 0;
    if (extent->size == 0)
        return SB_OK;
    if (!block->zstd && (uint64_t)extent->size > capacity)
        return SB_LIMIT;
    TRY(read_stored(block));
    if (block->read && !block->zstd) {
        *data = stored_at(block, i);
        *size = (size_t)extent->size;
        return SB_OK;
    }
    sb_buf_clear(&block->record);
    if (sb_buf_reserve(&block->record, capacity))
        return sb_fail_memory();
    *data = block->record.data;
    code = block->read ? sb_bag_decode(block->reader, extent->shard, stored_at(block, i),
                                       (size_t)extent->size, block->record.data, capacity, size)
                       : SB_DAMAGED;
    /* Read by itself, it is reported with its place. */
    if (code == SB_DAMAGED)
        code = sb_bag_load(block->reader, extent, block->record.data, capacity, size);
    return code;
}
