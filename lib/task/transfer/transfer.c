#include "core/name.h"
#include "core/number.h"
#include "store/names.h"
#include "store/tree/tree.h"
#include "task/fetch/stored_names.h"
#include "task/transfer/impl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void keep_choice(struct sb_item *item, const struct sb_item *choice)
{
    item->replaces = choice->replaces;
    item->old_size = choice->old_size;
    item->old_crc = choice->old_crc;
    item->old_row = choice->old_row;
    item->old_shard = choice->old_shard;
    item->old_offset = choice->old_offset;
    item->mark = choice->mark;
    item->change = choice->change;
    item->compares = choice->compares;
    item->rival = choice->rival;
    item->sums = choice->sums;
    item->only_sums = choice->only_sums;
}

static bool takes_holes(const struct sb_transfer_run *transfer)
{
    return transfer->sink->holds & SB_KEEPS_SPARSE;
}

/*
 * Copies what the source has of the current member, at most `capacity` bytes. SB_END after all.
 * hole: what the bytes begin with, if that may be a hole; else NULL.
 */
static enum sb_code copy_blocks(struct sb_transfer_run *transfer, struct sb_batch *batch,
                                size_t capacity, int64_t *hole)
{
    const size_t end = batch->data_size + capacity, start = batch->data_size;

    while (batch->data_size < end) {
        size_t part, left = end - batch->data_size;
        const void *data = transfer->block;

        if (transfer->block_size == 0)
            TRY((hole ? sb_source_block_sparse : sb_source_block)(transfer->source, &data,
                                                                  &transfer->block_size));
        transfer->block = data;
        if (!data && batch->data_size > start)
            return SB_OK;
        part = transfer->block_size < left || !data ? transfer->block_size : left;
        if (data) {
            memcpy(batch->data + batch->data_size, data, part);
            batch->data_size += part;
            transfer->block += part;
        } else if (hole) {
            *hole += (int64_t)part;
        }
        transfer->block_size -= part;
        TRY(sb_transfer_count(transfer, (int64_t)part));
    }
    return SB_OK;
}

static enum sb_code expect_size(const struct sb_transfer_run *transfer, int64_t got)
{
    const struct sb_entry *entry = &transfer->member.entry;

    if (got == entry->size || entry->size < 0)
        return SB_OK;
    return sb_fail(SB_DAMAGED, "%s: %s: has %" PRId64 " bytes, not the %" PRId64 " it declares",
                   transfer->source->name, entry->path, got, entry->size);
}

/* The next part of a large member, alone in its batch. */
static enum sb_code fill_part(struct sb_transfer_run *transfer, struct sb_batch *batch)
{
    struct sb_item *item;
    enum sb_code code;

    TRY(sb_batch_take(batch, &transfer->member, transfer->original, &item));
    code = copy_blocks(transfer, batch, SB_BATCH_BYTES, takes_holes(transfer) ? &item->hole : NULL);
    if (code && code != SB_END)
        return code;
    item->state = SB_ITEM_PART;
    keep_choice(item, &transfer->part_choice);
    item->data_size = batch->data_size;
    item->part_offset = transfer->part_offset;
    transfer->part_offset += sb_item_part_size(item);
    item->part_last = code == SB_END || (transfer->member.entry.size >= 0 &&
                                         transfer->part_offset >= transfer->member.entry.size);
    transfer->in_parts = !item->part_last;
    return item->part_last ? expect_size(transfer, transfer->part_offset) : SB_OK;
}

/* Would the current member have to be read now, although it may not fit? One with holes never does.
 */
static bool lacks_space(const struct sb_transfer_run *transfer, const struct sb_batch *batch)
{
    int64_t size = transfer->member.entry.size;

    return !transfer->source->loads &&
           (size < 0 || size >= (int64_t)(SB_BATCH_BYTES - batch->data_size) ||
            (takes_holes(transfer) && (transfer->member.has & SB_KEEPS_SPARSE)));
}

/* Recoded bytes wait in a temporary file, where their number is known; so do bytes that are
 * compared, those that may turn out to be damaged although others come after them, and those whose
 * holes the sink has to know first. */
static bool goes_by_spool(const struct sb_transfer_run *transfer, bool compares)
{
    return transfer->original || compares || transfer->source->goes_on ||
           (transfer->sink->maps && (transfer->member.has & SB_KEEPS_SPARSE));
}

/* Takes the bytes of an item from a source that can be read only in sequence. */
static enum sb_code fill_bytes(struct sb_transfer_run *transfer, struct sb_batch *batch,
                               struct sb_item *item)
{
    size_t start = batch->data_size;
    enum sb_code code;

    if (goes_by_spool(transfer, item->compares && !item->only_sums) &&
        lacks_space(transfer, batch)) {
        sb_batch_seal(batch);
        if (item->member.entry.size > 0)
            TRY(sb_transfer_count(transfer, item->member.entry.size));
        return sb_recode_sequence(&transfer->options->recode, transfer->source, batch,
                                  transfer->options->beside);
    }
    code = copy_blocks(transfer, batch, SB_BATCH_BYTES - start, NULL);
    if (code && code != SB_END)
        return code;
    item->data_at = start;
    item->data_size = batch->data_size - start;
    item->state = SB_ITEM_READ;
    return expect_size(transfer, (int64_t)item->data_size);
}

/* Leaves the item out whose bytes are damaged, if others can be read after it. */
static enum sb_code pass_damaged(const struct sb_transfer_run *transfer, struct sb_batch *batch,
                                 struct sb_item *item, enum sb_code code)
{
    if (code != SB_DAMAGED || !transfer->source->goes_on)
        return code;
    sb_fail(SB_DAMAGED, "%s; left out", sb_error()->text);
    sb_batch_seal(batch);
    return sb_item_fail(batch, item, "damaged", sb_error()->text);
}

static enum sb_code take_member(struct sb_transfer_run *transfer, struct sb_batch *batch)
{
    const struct sb_member *member = &transfer->member;
    struct sb_item choice = {.original = transfer->original, .again = transfer->again}, *item;
    enum sb_code code = sb_transfer_admit(transfer, &choice);

    if (code)
        return code == SB_END ? SB_OK : code;
    if (transfer->options->dry_run && (!choice.compares || choice.only_sums)) {
        sb_report(transfer->options->notify, SB_NOTE, "would-store", transfer->member.entry.path,
                  "would be %s", choice.replaces ? "replaced" : "stored");
        transfer->member.has |= choice.member.has;
        sb_transfer_report_lost(transfer, &transfer->member);
        if (!choice.only_sums)
            return SB_OK;
    }
    if (transfer->sink->unread) {
        transfer->member.has |= choice.member.has;
        sb_transfer_report_lost(transfer, &transfer->member);
        return SB_OK;
    }
    if (lacks_space(transfer, batch) &&
        !goes_by_spool(transfer, choice.compares && !choice.only_sums) && !member->hard_link &&
        !member->special && member->entry.type != SB_DIR) {
        transfer->in_parts = true;
        transfer->part_offset = 0;
        transfer->part_choice = choice;
        return fill_part(transfer, batch);
    }
    TRY(sb_batch_take(batch, &transfer->member, transfer->original, &item));
    keep_choice(item, &choice);
    if (choice.bare)
        item->state = SB_ITEM_BARE;
    if (item->state == SB_ITEM_BARE)
        return SB_OK;
    if (!transfer->source->loads)
        return pass_damaged(transfer, batch, item, fill_bytes(transfer, batch, item));
    item->counted = item->member.entry.size >= 0;
    return item->counted ? sb_transfer_count(transfer, item->member.entry.size) : SB_OK;
}

/* Notes the current member as the last one processed, for the next run. */
static enum sb_code note_place(struct sb_transfer_run *transfer)
{
    struct sb_transfer_place *place = transfer->options->place;
    const struct sb_entry *entry = &transfer->member.entry;

    if (!place)
        return SB_OK;
    place->members++;
    TRY(sb_buf_set(&place->last, entry->path, entry->path_size));
    transfer->again = place->until.size > 0;
    if (transfer->again && place->until.size == entry->path_size &&
        memcmp(place->until.data, entry->path, entry->path_size) == 0)
        sb_buf_clear(&place->until);
    return SB_OK;
}

/* The next member that is wanted, with its stored names. */
static enum sb_code next_member(struct sb_transfer_run *transfer)
{
    enum sb_code code;

    if (transfer->waits) {
        transfer->waits = false;
        return SB_OK;
    }
    do {
        TRY(sb_transfer_heed(transfer));
        code = sb_source_next(transfer->source, &transfer->member);
        if (code == SB_END)
            TRY(sb_transfer_heed(transfer));
        if (code)
            return code;
        transfer->members++;
        transfer->block_size = 0;
        TRY(note_place(transfer));
        code = sb_transfer_name(transfer);
    } while (code == SB_END);
    if (!code && transfer->options->local_owners)
        sb_local_owners_apply(&transfer->owners, &transfer->member);
    return code;
}

/*
 * The source broke off: members before that are stored nevertheless, and the next fill says why.
 */
static enum sb_code put_off(struct sb_transfer_run *transfer, struct sb_batch *batch, size_t whole,
                            enum sb_code code)
{
    if (whole == 0 || (code != SB_DAMAGED && code != SB_FORMAT))
        return code;
    sb_batch_cut(batch, whole);
    transfer->broken = code;
    transfer->why = *sb_error();
    return SB_OK;
}

static enum sb_code fill_members(struct sb_transfer_run *transfer, struct sb_batch *batch)
{
    while (batch->count < transfer->batch_items && batch->dirs < transfer->batch_dirs &&
           !transfer->in_parts) {
        size_t whole = batch->count;
        enum sb_code code;

        /* Between two members, no other may be begun once the stretch ended. */
        if (transfer->options->place && !transfer->waits &&
            transfer->bytes >= transfer->stretch_end) {
            transfer->options->place->more = true;
            return batch->count > 0 ? SB_OK : SB_END;
        }
        code = next_member(transfer);

        if (code == SB_END && batch->count > 0)
            return SB_OK;
        if (code)
            return put_off(transfer, batch, whole, code);
        transfer->waits = batch->count > 0 && lacks_space(transfer, batch);
        if (transfer->waits)
            return SB_OK;
        code = take_member(transfer, batch);
        if (code)
            return put_off(transfer, batch, whole, code);
    }
    return SB_OK;
}

/* The next batch, as in sb_pipeline_ops: context is the run, slot the struct sb_batch. */
static enum sb_code fill(void *context, void *slot)
{
    struct sb_transfer_run *transfer = context;
    struct sb_batch *batch = slot;
    enum sb_code code = SB_OK;

    if (transfer->broken) {
        *sb_error() = transfer->why;
        return transfer->broken;
    }
    sb_batch_clear(batch);
    TRY(sb_batch_allocate(batch));
    code = transfer->in_parts ? fill_part(transfer, batch) : fill_members(transfer, batch);
    sb_batch_seal(batch);
    return code;
}

const char *const sb_duplicate_words[] = {"error", "first", "last", NULL};

/* The first batches, and those of large files, have few items, so that every thread gets some. */
#define FIRST_BATCH_ITEMS 16

static enum sb_code load_item(struct sb_batch *batch, struct sb_item *item)
{
    bool link = item->member.entry.type == SB_LINK;
    size_t capacity = link ? SB_LINK_BYTES_MOST : SB_BATCH_BYTES - batch->data_size;
    enum sb_code code = sb_loader_load(batch->loader, &item->member, batch->data + batch->data_size,
                                       capacity, &batch->events);
    char text[SB_LONG_LINK_TEXT];

    if (link && code == SB_LIMIT) {
        sb_transfer_describe_long_link(text);
        return sb_item_fail(batch, item, "link", text);
    }
    item->state = code == SB_OK ? SB_ITEM_READ : code == SB_LIMIT ? SB_ITEM_LARGE : SB_ITEM_FAILED;
    if (code == SB_OK) {
        item->data_at = batch->data_size;
        item->data_size = (size_t)item->member.entry.size;
        batch->data_size += item->data_size;
    }
    return code == SB_LIMIT || code == SB_END ? SB_OK : code;
}

static enum sb_code load_items(struct sb_batch *batch, bool links)
{
    for (size_t i = 0; i < batch->count; i++) {
        struct sb_item *item = &batch->items[i];

        if (item->state == SB_ITEM_NEW && (item->member.entry.type == SB_LINK) == links)
            TRY(load_item(batch, item));
    }
    return SB_OK;
}

/* All that a dry run reads is to be compared, by this file or by the sink. */
static bool is_left_out(const struct sb_batch *batch)
{
    bool left_out = true;

    for (size_t i = 0; i < batch->count; i++)
        left_out &= batch->items[i].state == SB_ITEM_FAILED;
    return left_out;
}

/* Links come first, while there is space: sinks want their targets in memory. */
static enum sb_code work_on(const struct sb_transfer_run *transfer, struct sb_batch *batch,
                            struct sb_pipeline *turns)
{
    const struct sb_transfer_options *options = transfer->options;

    if (transfer->sink->ops->look)
        TRY(transfer->sink->ops->look(transfer->sink, batch));
    TRY(load_items(batch, true));
    TRY(load_items(batch, false));
    TRY(sb_recode_batch(&options->recode, batch, options->beside));
    TRY(sb_transfer_sum(transfer, batch));
    if (options->dry_run && is_left_out(batch))
        return SB_OK;
    return sb_sink_store(transfer->sink, batch, turns);
}

static enum sb_code work(void *context, void *slot, struct sb_pipeline *turns)
{
    struct sb_batch *batch = slot;
    enum sb_code code = work_on(context, batch, turns);

    batch->failed = code != SB_OK;
    return code;
}

/* Resolves a symbolic link by names alone; false: it leads out of the tree, or to its root. */
static bool resolve(const struct sb_entry *link, const char *target, size_t size,
                    struct sb_buf *out)
{
    size_t at = 0;

    sb_error()->code = SB_OK;
    if (size == 0 || target[0] == '/')
        return false;
    if (sb_buf_set(out, link->path, sb_parent_size(link->path, link->path_size))) {
        sb_fail_memory();
        return false;
    }
    for (size_t end; at < size; at = end + 1) {
        const char *slash = memchr(target + at, '/', size - at);
        bool up;

        end = slash ? (size_t)(slash - target) : size;
        up = end - at == 2 && memcmp(target + at, "..", 2) == 0;
        if (up && out->size == 0)
            return false;
        if (up)
            out->size = sb_parent_size(out->data, out->size);
        if (up || end == at || (end - at == 1 && target[at] == '.'))
            continue;
        if ((out->size > 0 && sb_buf_add_char(out, '/')) ||
            sb_buf_add(out, target + at, end - at)) {
            sb_fail_memory();
            return false;
        }
    }
    return out->size > 0;
}

/* Does a link lead to a file that has lost its suffix, or may one yet lose it? */
static enum sb_code heed_link(struct sb_transfer_run *transfer, const struct sb_batch *batch,
                              const struct sb_item *item)
{
    const struct sb_transfer_options *options = transfer->options;
    const struct sb_entry *entry = &item->member.entry;
    struct sb_buf *target = &transfer->link_target;
    bool shortened = false, comes = false;

    if (!resolve(entry, batch->data + item->data_at, item->data_size, target))
        return sb_error()->code;
    TRY(sb_taken_has(options->taken, SB_TAKEN_SHORTENED, target, &shortened));
    if (shortened)
        TRY(sb_transfer_comes(transfer, target, &comes));
    if (shortened && !comes)
        sb_report(options->notify, SB_PROBLEM, "link", entry->path,
                  "links to %.*s, which has lost its suffix here", (int)target->size, target->data);
    return sb_taken_add(options->taken, SB_TAKEN_LINKED, target);
}

static void adapt(struct sb_transfer_run *transfer, const struct sb_batch *batch)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < batch->count; i++)
        sb_count_up(&bytes,
                    batch->items[i].member.entry.size > 0 ? batch->items[i].member.entry.size : 0);
    if (batch->count > 0)
        transfer->batch_items = SB_BATCH_BYTES / ((size_t)bytes / batch->count + 1) + 1;
    if (transfer->batch_items > SB_BATCH_ITEMS)
        transfer->batch_items = SB_BATCH_ITEMS;
}

/* What became of a batch, once it was stored. */
static enum sb_code heed_batch(struct sb_transfer_run *transfer, const struct sb_batch *batch)
{
    const struct sb_transfer_options *options = transfer->options;
    bool heeds_links = options->taken && options->recode.decompress;

    for (size_t i = 0; heeds_links && i < batch->count; i++) {
        const struct sb_item *item = &batch->items[i];

        if (item->member.entry.type == SB_LINK && item->state != SB_ITEM_FAILED)
            TRY(heed_link(transfer, batch, item));
    }
    TRY(sb_transfer_heed(transfer));
    /* Losses are known once a member was loaded: a file's time is that of its opening. Under strict
     * the first loss ends the run. */
    for (size_t i = 0; i < batch->count; i++) {
        const struct sb_item *item = &batch->items[i];

        if (item->state == SB_ITEM_FAILED || item->part_offset > 0)
            continue;
        sb_transfer_report_lost(transfer, &item->member);
        TRY(sb_transfer_heed(transfer));
    }
    return SB_OK;
}

static enum sb_code finish(struct sb_transfer_run *transfer, struct sb_batch *batch)
{
    /* Counts items whose size only the loader knew. */
    for (size_t i = 0; transfer->source->loads && i < batch->count; i++) {
        if (!batch->items[i].counted && batch->items[i].member.entry.size > 0)
            TRY(sb_transfer_count(transfer, batch->items[i].member.entry.size));
    }
    TRY(sb_transfer_note_sums(transfer, batch));
    if (!(transfer->options->dry_run && is_left_out(batch)))
        TRY(sb_sink_drain(transfer->sink, batch));
    return heed_batch(transfer, batch);
}

static enum sb_code drain(void *context, void *slot)
{
    struct sb_transfer_run *transfer = context;
    const struct sb_transfer_options *options = transfer->options;
    const struct sb_source *source = transfer->source;
    struct sb_batch *batch = slot;
    enum sb_code code;

    sb_events_report(&batch->events, options->notify);
    code = finish(transfer, batch);
    adapt(transfer, batch);
    sb_batch_clear(batch);
    if (options->progress)
        options->progress(options->context, source->total ? source->done : transfer->bytes,
                          source->total, transfer->sink->counts.files);
    return code;
}

static enum sb_code run(struct sb_transfer_run *transfer)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work, .drain = drain};
    unsigned threads = transfer->options->threads ? transfer->options->threads : 1;
    unsigned count = threads == 1 ? 1 : 2 * threads + 2;
    struct sb_batch *batches;
    enum sb_code code = SB_NEW_ARRAY(&batches, count);

    transfer->batch_items = FIRST_BATCH_ITEMS;
    transfer->batch_dirs = sb_tree_dirs_each(count);
    for (unsigned i = 0; !code && transfer->source->loads && i < count; i++) {
        code = sb_loader_open(transfer->source, &batches[i].loader);
        if (!code)
            batches[i].loader->sparse = transfer->sink->holds & SB_KEEPS_SPARSE;
    }
    if (!code)
        code = sb_pipeline_run(&ops, transfer, batches, sizeof(*batches), count, threads);
    for (unsigned i = 0; batches && i < count; i++) {
        if (code && batches[i].failed)
            sb_events_report(&batches[i].events, transfer->options->notify);
        if (transfer->sink->ops->release)
            transfer->sink->ops->release(transfer->sink, &batches[i]);
        sb_batch_release(&batches[i]);
    }
    free(batches);
    return code;
}

enum sb_code sb_transfer(struct sb_source *source, struct sb_sink *sink,
                         const struct sb_transfer_options *options, int64_t *members)
{
    struct sb_transfer_run transfer = {.options = options, .source = source, .sink = sink};
    struct sb_transfer_place *place = options->place;
    enum sb_code code = SB_OK;

    if (place) {
        place->more = false;
        transfer.bytes = place->bytes;
        transfer.stretch_end = place->bytes;
        sb_count_up(&transfer.stretch_end, place->stretch);
    }
    transfer.naming.notify = options->notify;
    if (options->prefix || options->strip || !options->stored_names)
        code = sb_stored_names_new(&transfer.names, options->prefix, options->strip, NULL,
                                   sink->any_names, options->notify);
    if (!code)
        code = run(&transfer);
    *members += transfer.members;
    if (place)
        place->bytes = transfer.bytes;
    sb_stored_names_free(transfer.names);
    sb_names_free(transfer.left);
    sb_names_free(transfer.conflicts);
    sb_naming_release(&transfer.naming);
    sb_buf_release(&transfer.path);
    sb_buf_release(&transfer.clean);
    sb_buf_release(&transfer.target);
    sb_buf_release(&transfer.hard_link);
    sb_buf_release(&transfer.recoded);
    sb_buf_release(&transfer.link_target);
    return code;
}
