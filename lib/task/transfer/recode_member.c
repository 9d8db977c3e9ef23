#include "core/io.h"
#include "task/transfer/impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Where recoded bytes go: memory up to a limit, then a temporary file. {.fd = -1} is an empty one.
 */
struct spool {
    char *data; /* of the caller */
    size_t capacity;
    size_t size; /* in data, as long as fd is -1 */
    int fd;
    int64_t file_size;
    const char *beside; /* see sb_temp_directory */
};

static enum sb_code append(struct spool *spool, const void *data, size_t size)
{
    enum sb_code code = sb_write_full(spool->fd, data, size, "temporary file (see TMPDIR)");

    spool->file_size += (int64_t)size;
    return code;
}

static enum sb_code add_hole(struct spool *spool, size_t size)
{
    spool->file_size += (int64_t)size;
    if (ftruncate(spool->fd, spool->file_size) || lseek(spool->fd, 0, SEEK_END) < 0)
        return sb_fail_errno(errno, "temporary file (see TMPDIR)");
    return SB_OK;
}

static enum sb_code add_to_spool(void *context, const void *data, size_t size)
{
    struct spool *spool = context;

    if (data && spool->fd < 0 && size <= spool->capacity - spool->size) {
        memcpy(spool->data + spool->size, data, size);
        spool->size += size;
        return SB_OK;
    }
    if (spool->fd < 0) {
        TRY(sb_temp_file(&spool->fd, spool->beside));
        TRY(append(spool, spool->data, spool->size));
    }
    return data ? append(spool, data, size) : add_hole(spool, size);
}

/* Makes the output the bytes of the item. */
static void settle(struct sb_item *item, struct spool *spool, size_t at)
{
    struct sb_entry *entry = &item->member.entry;

    item->recoded = true;
    if (item->original)
        item->member.has &= ~(unsigned)SB_KEEPS_SPARSE;
    entry->has &= ~(unsigned)SB_HAS_CRC;
    item->member.located = false;
    item->data_at = at;
    item->data_size = spool->size;
    item->state = spool->fd < 0 ? SB_ITEM_READ : SB_ITEM_LARGE;
    item->spooled = spool->fd;
    entry->size = spool->fd < 0 ? (int64_t)spool->size : spool->file_size;
    spool->fd = -1;
}

/* Leaves it out; the report has the name that it has in the source. */
static enum sb_code leave_out(struct sb_batch *batch, struct sb_item *item, const char *kind)
{
    sb_fail(sb_error()->code, "%s; left out", sb_error()->text);
    item->state = SB_ITEM_FAILED;
    return sb_events_add(&batch->events, SB_PROBLEM, kind, item->original, sb_error()->text);
}

/* Settles the item, or leaves it out if its bytes are damaged or changed. */
static enum sb_code conclude(struct sb_batch *batch, struct sb_item *item, struct spool *spool,
                             size_t at, enum sb_code code)
{
    struct sb_error cause = *sb_error();

    if (code == SB_OK)
        settle(item, spool, at);
    if (spool->fd >= 0)
        close(spool->fd);
    if (code == SB_DAMAGED)
        return leave_out(batch, item, "damaged");
    if (code == SB_CHANGED)
        return leave_out(batch, item, "changed");
    if (code == SB_LIMIT)
        return sb_fail(SB_LIMIT, "%s: %s", item->original, cause.text);
    if (code == SB_END)
        item->state = SB_ITEM_FAILED;
    return code == SB_END ? SB_OK : code;
}

static enum sb_code feed(void *recoder, const void *data, size_t size)
{
    return sb_recoder_feed(recoder, data, size);
}

static enum sb_code recode_item(const struct sb_recode *recode, struct sb_recoder *recoder,
                                struct sb_batch *batch, struct sb_item *item, struct spool *spool)
{
    TRY(sb_recoder_begin(recoder, recode, item->original, strlen(item->original),
                         item->member.entry.size, add_to_spool, spool));
    if (item->state == SB_ITEM_READ)
        TRY(feed(recoder, batch->data + item->data_at, item->data_size));
    else
        TRY(sb_item_stream(batch, item, feed, recoder));
    return sb_recoder_finish(recoder);
}

static bool has_bytes(const struct sb_item *item)
{
    return item->state == SB_ITEM_READ || item->state == SB_ITEM_LARGE;
}

static bool is_due(const struct sb_item *item)
{
    return item->original && !item->recoded && has_bytes(item);
}

/* Moves its bytes into the spool's memory, after the first *used, or into a temporary file. */
static enum sb_code move_item(const struct sb_recode *recode, struct sb_recoder *recoder,
                              struct sb_batch *batch, struct sb_item *item, struct spool *spool,
                              size_t *used)
{
    enum sb_code code = SB_OK;

    if (is_due(item)) {
        code = recode_item(recode, recoder, batch, item, spool);
        code = conclude(batch, item, spool, *used, code);
    } else if (item->state == SB_ITEM_READ && item->data_size > spool->capacity) {
        code = add_to_spool(spool, batch->data + item->data_at, item->data_size);
        code = conclude(batch, item, spool, *used, code);
    } else if (item->state == SB_ITEM_READ) {
        memcpy(spool->data, batch->data + item->data_at, item->data_size);
        item->data_at = *used;
    }
    if (item->state == SB_ITEM_READ)
        *used += item->data_size;
    return code;
}

static enum sb_code move_items(const struct sb_recode *recode, struct sb_recoder *recoder,
                               struct sb_batch *batch, bool links, const struct spool *capacity,
                               size_t *used)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct sb_item *item = &batch->items[i];
        struct spool spool = *capacity;

        spool.data += *used;
        spool.capacity -= *used;
        if (has_bytes(item) && (item->member.entry.type == SB_LINK) == links)
            TRY(move_item(recode, recoder, batch, item, &spool, used));
    }
    return SB_OK;
}

/*
 * Sizes change, so all bytes move to a second buffer, which replaces the first. Links go first, so
 * that they fit.
 */
enum sb_code sb_recode_batch(const struct sb_recode *recode, struct sb_batch *batch,
                             const char *beside)
{
    CLEANUP(sb_recoder_freep) struct sb_recoder *recoder = NULL;
    struct spool spool = {.capacity = SB_BATCH_BYTES, .fd = -1, .beside = beside};
    char *old = batch->data;
    size_t used = 0;
    bool wanted = false;
    enum sb_code code;

    for (size_t i = 0; i < batch->count; i++)
        wanted = wanted || is_due(&batch->items[i]);
    if (!wanted)
        return SB_OK;
    TRY(sb_recoder_new(&recoder));
    batch->data = NULL;
    code = sb_batch_allocate(batch);
    spool.data = batch->data;
    batch->data = old;
    if (code)
        return code;
    code = move_items(recode, recoder, batch, true, &spool, &used);
    if (!code)
        code = move_items(recode, recoder, batch, false, &spool, &used);
    batch->data_size = used;
    batch->data = spool.data;
    free(old);
    return code;
}

static enum sb_code recode_all_blocks(const struct sb_recode *recode, struct sb_source *source,
                                      const struct sb_item *item, struct spool *spool)
{
    CLEANUP(sb_recoder_freep) struct sb_recoder *recoder = NULL;
    const void *data;
    size_t size;
    enum sb_code code;

    TRY(sb_recoder_new(&recoder));
    TRY(sb_recoder_begin(recoder, recode, item->original, strlen(item->original),
                         item->member.entry.size, add_to_spool, spool));
    while ((code = sb_source_block(source, &data, &size)) == SB_OK)
        TRY(sb_recoder_feed(recoder, data, size));
    return code == SB_END ? sb_recoder_finish(recoder) : code;
}

static enum sb_code keep_all_blocks(struct sb_source *source, struct spool *spool)
{
    const void *data;
    size_t size;
    enum sb_code code;

    while ((code = sb_source_block_sparse(source, &data, &size)) == SB_OK)
        TRY(add_to_spool(spool, data, size));
    return code == SB_END ? SB_OK : code;
}

enum sb_code sb_recode_sequence(const struct sb_recode *recode, struct sb_source *source,
                                struct sb_batch *batch, const char *beside)
{
    struct sb_item *item = &batch->items[0];
    struct spool spool = {
        .data = batch->data, .capacity = SB_BATCH_BYTES, .fd = -1, .beside = beside};
    enum sb_code code = item->original ? recode_all_blocks(recode, source, item, &spool)
                                       : keep_all_blocks(source, &spool);

    if (code && !item->original) {
        if (spool.fd >= 0)
            close(spool.fd);
        return code;
    }
    code = conclude(batch, item, &spool, 0, code);
    batch->data_size = item->state == SB_ITEM_READ ? item->data_size : 0;
    return code;
}
