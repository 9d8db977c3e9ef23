#include "store/batch.h"

#include "core/crc32c.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "store/tree/tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Extra bytes at the end, for a read of one byte too many. */
#define SLACK 64

#define SPOOL_BLOCK ((size_t)1 << 20)

void sb_batch_cut(struct sb_batch *batch, size_t count)
{
    while (batch->count > count) {
        struct sb_item *item = &batch->items[--batch->count];

        sb_tree_dir_unref(item->member.dir);
        if (item->spooled >= 0)
            close(item->spooled);
    }
}

void sb_batch_clear(struct sb_batch *batch)
{
    sb_batch_cut(batch, 0);
    batch->dirs = 0;
    batch->data_size = 0;
    sb_buf_clear(&batch->texts);
    sb_buf_clear(&batch->output);
}

void sb_batch_release(struct sb_batch *batch)
{
    sb_batch_clear(batch);
    sb_buf_release(&batch->texts);
    sb_buf_release(&batch->output);
    sb_events_release(&batch->events);
    sb_loader_free(batch->loader);
    batch->loader = NULL;
    free(batch->data);
    batch->data = NULL;
}

/* *at is the offset plus one: 0 means NULL. */
static enum sb_code keep(struct sb_batch *batch, const char *text, size_t size, size_t *at)
{
    size_t place = batch->texts.size;

    if (sb_buf_add(&batch->texts, text, size) || sb_buf_add_char(&batch->texts, '\0'))
        return SB_NOMEM;
    *at = place + 1;
    return SB_OK;
}

static enum sb_code keep_text(struct sb_batch *batch, const char *text, size_t *at)
{
    return text ? keep(batch, text, strlen(text), at) : SB_OK;
}

static bool has_no_bytes(const struct sb_member *member)
{
    return member->entry.type == SB_DIR || member->hard_link || member->special;
}

enum sb_code sb_batch_take(struct sb_batch *batch, const struct sb_member *member,
                           const char *original, struct sb_item **added)
{
    struct sb_item *item = &batch->items[batch->count];

    *item = (struct sb_item){
        .state = has_no_bytes(member) ? SB_ITEM_BARE : SB_ITEM_NEW,
        .member = *member,
        .spooled = -1,
    };
    item->member.dir = NULL;
    if (keep(batch, member->entry.path, member->entry.path_size, &item->path_at) ||
        keep_text(batch, original, &item->original_at) ||
        keep_text(batch, member->hard_link, &item->hard_link_at) ||
        keep_text(batch, member->user, &item->user_at) ||
        keep_text(batch, member->group, &item->group_at) ||
        keep_text(batch, member->component, &item->component_at) ||
        keep_text(batch, member->disk_path, &item->disk_path_at))
        return sb_fail_memory();
    if (member->dir && (batch->count == 0 || item[-1].member.dir != member->dir))
        batch->dirs++;
    if (member->dir)
        item->member.dir = sb_tree_dir_ref(member->dir);
    batch->count++;
    *added = item;
    return SB_OK;
}

static const char *text_at(const struct sb_batch *batch, size_t at)
{
    return at > 0 ? batch->texts.data + at - 1 : NULL;
}

void sb_batch_seal(struct sb_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct sb_item *item = &batch->items[i];
        struct sb_member *member = &item->member;

        member->entry.path = text_at(batch, item->path_at);
        item->original = text_at(batch, item->original_at);
        member->hard_link = text_at(batch, item->hard_link_at);
        member->user = text_at(batch, item->user_at);
        member->group = text_at(batch, item->group_at);
        member->component = text_at(batch, item->component_at);
        member->disk_path = text_at(batch, item->disk_path_at);
    }
}

enum sb_code sb_batch_allocate(struct sb_batch *batch)
{
    return batch->data ? SB_OK : sb_alloc(&batch->data, SB_BATCH_BYTES + SLACK);
}

static enum sb_code stream_spooled(struct sb_item *item, bool sparse, sb_each_block *each,
                                   void *context)
{
    CLEANUP(sb_freep) char *block = NULL;
    int64_t size = item->member.entry.size, run = INT64_MAX;
    size_t got = 0;
    struct stat st;
    bool hole = false;

    TRY(sb_alloc(&block, SPOOL_BLOCK));
    if (fstat(item->spooled, &st))
        return sb_fail_errno(errno, "temporary file");
    for (int64_t at = 0; at < size; at += (int64_t)got) {
        if (sparse)
            run = sb_run_length(item->spooled, &st, at, &hole);
        got = (size_t)(run < size - at ? run : size - at);
        if (!hole)
            TRY(sb_pread_full(item->spooled, block, sparse && got < SPOOL_BLOCK ? got : SPOOL_BLOCK,
                              at, &got, "temporary file"));
        if (got == 0)
            return sb_fail(SB_CHANGED, "a temporary file became shorter");
        TRY(sb_heed_interrupt());
        TRY(each(context, hole ? NULL : block, got));
    }
    return SB_OK;
}

static enum sb_code stream(struct sb_batch *batch, struct sb_item *item, bool sparse,
                           sb_each_block *each, void *context)
{
    if (item->spooled >= 0)
        return stream_spooled(item, sparse, each, context);
    return (sparse ? sb_loader_stream_sparse : sb_loader_stream)(batch->loader, &item->member, each,
                                                                 context, &batch->events);
}

/* An item whose bytes are summed on their way. */
struct summing {
    struct sb_item *item;
    sb_each_block *each;
    void *context;
};

static void add_to_sum(struct sb_item *item, const void *data, size_t size)
{
    item->sum = sb_crc32c_block(item->sum, data, size);
    item->summed_size += (int64_t)size;
}

static enum sb_code sum_block(void *context, const void *data, size_t size)
{
    struct summing *summing = context;

    add_to_sum(summing->item, data, size);
    return summing->each(summing->context, data, size);
}

static enum sb_code stream_and_sum(struct sb_batch *batch, struct sb_item *item, bool sparse,
                                   sb_each_block *each, void *context)
{
    struct summing summing = {.item = item, .each = each, .context = context};
    enum sb_code code;

    item->sum = 0;
    item->summed_size = 0;
    code = stream(batch, item, sparse, sum_block, &summing);
    item->summed = code == SB_OK;
    return code;
}

static enum sb_code pass_block(void *context, const void *data, size_t size)
{
    (void)context, (void)data, (void)size;
    return SB_OK;
}

enum sb_code sb_item_sum_all(struct sb_batch *batch, struct sb_item *item)
{
    if (item->summed)
        return SB_OK;
    if (item->state == SB_ITEM_LARGE)
        return stream_and_sum(batch, item, true, pass_block, NULL);
    item->sum = sb_crc32c_zeros(0, item->hole);
    item->summed_size = item->hole;
    if (item->data_size > 0)
        add_to_sum(item, batch->data + item->data_at, item->data_size);
    item->summed = true;
    return SB_OK;
}

enum sb_code sb_item_stream(struct sb_batch *batch, struct sb_item *item, sb_each_block *each,
                            void *context)
{
    return (item->sums ? stream_and_sum : stream)(batch, item, false, each, context);
}

enum sb_code sb_item_stream_sparse(struct sb_batch *batch, struct sb_item *item,
                                   sb_each_block *each, void *context)
{
    return (item->sums ? stream_and_sum : stream)(batch, item, true, each, context);
}

int64_t sb_item_part_size(const struct sb_item *item)
{
    return item->hole + (int64_t)item->data_size;
}

enum sb_code sb_item_fail(struct sb_batch *batch, struct sb_item *item, const char *kind,
                          const char *text)
{
    item->state = SB_ITEM_FAILED;
    return sb_events_add(&batch->events, SB_PROBLEM, kind, item->member.entry.path, text);
}
