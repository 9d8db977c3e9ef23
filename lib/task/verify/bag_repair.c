#include "task/verify/bag_batch.h"

/* The file shrank since it was checked. */
static enum sb_code became_short(const struct bag_batch *batch)
{
    return sb_fail(SB_CHANGED, "%s: became shorter while it was read", batch->limits.file->path);
}

static enum sb_code write_large(struct bag_batch *batch, const struct bag_item *item)
{
    size_t got;

    for (int64_t done = 0; done < item->size; done += BAG_READ_BYTES) {
        int64_t left = item->size - done;
        size_t size = (size_t)(left < BAG_READ_BYTES ? left : BAG_READ_BYTES);

        TRY(sb_bag_batch_read(batch, item->offset + done, size, &got));
        if (got < size)
            return became_short(batch);
        TRY(sb_bag_writer_piece(batch->check->writer, batch->stored, size));
    }
    return sb_bag_writer_end_record(batch->check->writer);
}

static enum sb_code write_run(struct bag_batch *batch, const struct bag_item *items, size_t count,
                              int64_t bytes)
{
    size_t got = 0;

    if (bytes > 0)
        TRY(sb_bag_batch_read(batch, items[0].offset, (size_t)bytes, &got));
    if ((int64_t)got < bytes)
        return became_short(batch);
    for (size_t i = 0; i < count; i++)
        batch->sizes[i] = (size_t)items[i].size;
    return sb_bag_writer_add(batch->check->writer, batch->stored, batch->sizes, count);
}

enum sb_code sb_bag_batch_repair(struct bag_batch *batch)
{
    bool keep_numbers = batch->check->options->keep_numbers;
    enum sb_code code = SB_OK;
    size_t count = 1, nothing = 0;
    int64_t bytes;

    for (size_t i = 0; i < batch->count && !code; i += count) {
        const struct bag_item *item = &batch->items[i];
        bool sound = item->state == BAG_ITEM_SOUND;

        count = 1;
        if (!sound && !keep_numbers)
            continue;
        if (sound)
            code = sb_bag_batch_open(batch, item->file);
        if (code)
            break;
        if (!sound) {
            code = sb_bag_writer_add(batch->check->writer, "", &nothing, 1);
            batch->emptied++;
        } else if (item->size > BAG_READ_BYTES) {
            code = write_large(batch, item);
        } else {
            count = sb_bag_batch_adjacent(batch, i, &bytes);
            code = write_run(batch, item, count, bytes);
        }
        batch->written += (int64_t)count;
    }
    sb_bag_batch_close(batch);
    return code;
}
