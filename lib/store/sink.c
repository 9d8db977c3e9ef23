#include "store/sink.h"

#include "core/number.h"

void sb_sink_free(struct sb_sink *sink)
{
    if (sink)
        sink->ops->free(sink);
}

enum sb_code sb_sink_commit(struct sb_sink *sink)
{
    return sink->ops->commit(sink);
}

enum sb_code sb_sink_store(struct sb_sink *sink, struct sb_batch *batch, struct sb_pipeline *turns)
{
    enum sb_code code;

    if (sink->ops->store)
        return sink->ops->store(sink, batch, turns);
    if (sink->ops->render)
        TRY(sink->ops->render(sink, batch));
    code = sb_turn_begin(turns, batch);
    if (code)
        return sb_fail(code, "interrupted");
    code = sink->ops->write(sink, batch);
    sb_turn_end(turns, batch);
    return code;
}

static void count_file(struct sb_sink *sink, const struct sb_item *item)
{
    const struct sb_entry *entry = &item->member.entry;

    sb_count_up(&sink->counts.bytes,
                item->state == SB_ITEM_LARGE ? entry->size : sb_item_part_size(item));
    if (item->state == SB_ITEM_PART && !item->part_last)
        return;
    sink->counts.files++;
    sink->counts.unchecked += !(entry->has & SB_HAS_CRC);
}

enum sb_code sb_sink_drain(struct sb_sink *sink, struct sb_batch *batch)
{
    if (sink->ops->drain)
        return sink->ops->drain(sink, batch);
    for (size_t i = 0; i < batch->count; i++) {
        struct sb_item *item = &batch->items[i];

        if (item->state == SB_ITEM_FAILED)
            continue;
        if (sink->ops->count)
            sink->ops->count(sink, item);
        else
            count_file(sink, item);
        item->state = SB_ITEM_STORED;
    }
    return SB_OK;
}
