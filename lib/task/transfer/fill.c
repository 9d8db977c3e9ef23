#include "task/transfer/impl.h"

#include <inttypes.h>
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

enum sb_code sb_transfer_fill(void *context, void *slot)
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
