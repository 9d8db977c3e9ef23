/*
 * Stored records that are moved from one bag to another.
 */
#include "core/interrupt.h"
#include "store/bag/writer_private.h"

#include <stdlib.h>

#define BLOCK ((size_t)256 << 10)

/* Records whose limits are looked at at once. */
#define RUN 1024

static enum sb_code make_block(struct sb_bag_writer *writer)
{
    if (!writer->block)
        writer->block = malloc(BLOCK);
    return writer->block ? SB_OK : sb_fail_memory();
}

/* The stored bytes of another bag go to `each` in blocks; where they cannot be read, those that
 * went are taken back. */
static enum sb_code copy(struct sb_bag_writer *writer, struct sb_bag_reader *reader,
                         const struct sb_extent *first, int64_t size, sb_each_block *each)
{
    int64_t offset = first->offset;
    enum sb_code code = make_block(writer);

    while (code == SB_OK && size > 0) {
        size_t part = size < (int64_t)BLOCK ? (size_t)size : BLOCK;

        code = sb_interrupted() ? sb_fail_interrupt()
                                : sb_bag_read(reader, first->shard, offset, writer->block, part);
        if (code == SB_OK)
            code = each(writer, writer->block, part);
        offset += (int64_t)part;
        size -= (int64_t)part;
    }
    if (code && !writer->failed)
        (void)!IGNORED(sb_bag_writer_drop_record(writer));
    return code;
}

static enum sb_code put_piece(void *context, const void *data, size_t size)
{
    return sb_bag_writer_piece(context, data, size);
}

/* Bytes of records that are counted together. */
static enum sb_code put_some(void *context, const void *data, size_t size)
{
    struct sb_bag_writer *writer = context;

    writer->record_bytes += (int64_t)size;
    return sb_bag_settle(writer, sb_bag_put_any(writer, data, size));
}

/* One by one, for each goes to another shard. */
static enum sb_code deal_extents(struct sb_bag_writer *writer, struct sb_bag_reader *reader,
                                 const struct sb_extent *extents, size_t count)
{
    enum sb_code code = SB_OK;

    for (size_t i = 0; code == SB_OK && i < count;) {
        size_t sizes[RUN], run = 0, bytes = 0;

        while (i + run < count && extents[i + run].size <= (int64_t)(BLOCK - bytes))
            bytes += sizes[run] = (size_t)extents[i + run].size, run++;
        if (run == 0) {
            code = copy(writer, reader, &extents[i], extents[i].size, put_piece);
            if (code == SB_OK)
                code = sb_bag_writer_end_record(writer);
            i++;
            continue;
        }
        code = make_block(writer);
        if (code == SB_OK && bytes > 0)
            code = sb_bag_read(reader, extents[i].shard, extents[i].offset, writer->block, bytes);
        if (code == SB_OK)
            code = sb_bag_settle(writer, sb_bag_deal(writer, writer->block, sizes, run));
        i += run;
    }
    return code;
}

static enum sb_code copy_extents(struct sb_bag_writer *writer, struct sb_bag_reader *reader,
                                 const struct sb_extent *extents, size_t count)
{
    enum sb_code code = sb_bag_begin(writer);
    size_t sizes[RUN];

    if (code || writer->dealing)
        return code ? code : deal_extents(writer, reader, extents, count);
    for (size_t i = 0; i < count; i++)
        sizes[i] = (size_t)extents[i].size;
    for (size_t i = 0; code == SB_OK && i < count;) {
        int64_t bytes;
        size_t fit = sb_bag_fitting(writer, sizes + i, count - i, &bytes);

        if (fit == 0) {
            code = sb_bag_settle(writer, sb_bag_next_shard(writer));
            continue;
        }
        code = copy(writer, reader, &extents[i], bytes, put_some);
        writer->record_bytes = 0;
        if (code == SB_OK)
            code = sb_bag_settle(writer, sb_bag_count_all(writer, sizes + i, fit));
        i += fit;
    }
    return code;
}

enum sb_code sb_bag_writer_add_run(struct sb_bag_writer *writer, struct sb_bag_reader *reader,
                                   struct sb_place first, int64_t count)
{
    struct sb_extent extents[RUN];
    enum sb_code code = SB_OK, read_code = SB_OK;
    size_t good;

    while (code == SB_OK && read_code == SB_OK && count > 0) {
        size_t run = count < RUN ? (size_t)count : RUN;

        read_code = sb_bag_extents(reader, first, run, extents, &good);
        code = copy_extents(writer, reader, extents, good);
        first.index += (int64_t)run;
        count -= (int64_t)run;
    }
    return code ? code : read_code;
}
