#include "task/transfer.h"

#include "core/choice.h"
#include "core/glob.h"
#include "core/interrupt.h"
#include "core/name.h"
#include "store/naming.h"
#include "task/seen.h"
#include "task/stored_names.h"
#include "task/transfer_merge.h"
#include "task/transfer_recode.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* A batch of few items at first, and as long as files are large: every thread gets some of them. */
#define FIRST_BATCH_ITEMS 16

#define LINK_TEXT 96

struct transfer {
    const struct sb_transfer_options *options;
    int64_t members;
    struct sb_source *source;
    struct sb_sink *sink;
    struct sb_naming naming;
    struct sb_stored_names *names; /* NULL: those of the source are the ones to store */
    size_t batch_items;
    size_t batch_dirs;
    int64_t bytes;       /* that came out of the source */
    int64_t stretch_end; /* of them: where no member is begun any more */

    /*
     * The member at hand. It waits when there was no room for it in the batch before; or it goes in
     * parts, being too large for any, from a source that can only be read in sequence.
     */
    struct sb_member member; /* with its stored name */
    const char *original;    /* its name before its bytes are recoded; NULL: they are not */
    bool waits;
    bool again;
    bool in_parts;
    int64_t part_offset;
    struct sb_item part_choice; /* what the sink decided */
    const char *block;          /* what is left of the last block of its bytes */
    size_t block_size;
    enum sb_code broken; /* the source broke off, behind what was filled; why */
    struct sb_error why;
    struct sb_buf path; /* names that were made of its own */
    struct sb_buf hard_link;
    struct sb_buf recoded; /* what original points into */
};

/* Under strict nothing may be lost: after anything that was told as a problem it ends. */
static enum sb_code heed_problems(const struct transfer *transfer, struct sb_error *err)
{
    if (!transfer->options->strict || *transfer->options->problems == 0)
        return SB_OK;
    return sb_fail(err, SB_INVALID, "%s: not everything can be held; given up, as --strict asks",
                   transfer->sink->name);
}

static enum sb_code count_bytes(struct transfer *transfer, int64_t size, struct sb_error *err)
{
    int64_t most = transfer->options->max_size;

    transfer->bytes += size;
    if (most <= 0 || transfer->bytes <= most)
        return SB_OK;
    return sb_fail(err, SB_LIMIT, "%s: more than --max-size, %" PRId64 " bytes, comes out of it",
                   transfer->source->name, most);
}

/* Names */

/* A name as it is stored in the source. SB_END: it cannot be stored, and that was told. */
static enum sb_code clean_name(struct transfer *transfer, const char **name, size_t *size,
                               bool is_dir, struct sb_error *err)
{
    if (transfer->options->stored_names)
        return SB_OK;
    return sb_naming_map(&transfer->naming, *name, *size, is_dir, name, size, err);
}

/* The name that a clean one gets in the sink. SB_END: none. */
static enum sb_code map_name(struct transfer *transfer, const char *name, size_t size,
                             struct sb_buf *out, struct sb_error *err)
{
    const struct sb_buf *mapped;
    enum sb_code code;

    if (transfer->names) {
        code = sb_stored_names_map(transfer->names, name, size, name, &mapped, err);
        if (code)
            return code;
        name = mapped->data;
        size = mapped->size;
    }
    return sb_buf_set(out, name, size) ? sb_fail_memory(err) : SB_OK;
}

static bool wanted(const struct transfer *transfer, const char *name, size_t size, bool is_dir)
{
    const struct sb_transfer_options *options = transfer->options;

    return sb_filter_takes(options->filter, name, size, is_dir) &&
           (!options->choice || sb_choice_takes(options->choice, name, size));
}

/*
 * Files whose bytes change have another name; so have hard links to them. SB_END: the suffix makes
 * it too long, which was told.
 */
static enum sb_code recode_name(struct transfer *transfer, struct sb_buf *name,
                                const char **original, struct sb_error *err)
{
    const struct sb_recode *recode = &transfer->options->recode;
    struct sb_buf new_name = {0};
    const char *problem;
    unsigned layers;
    enum sb_code code;

    *original = NULL;
    code = sb_recode_name(recode, name->data, name->size, &new_name, &layers, err);
    problem = code ? NULL : sb_name_problem(new_name.data, new_name.size);
    if (problem) {
        sb_tell(transfer->options->notify, SB_PROBLEM, "name", name->data,
                "left out: the name, with the suffix of its compression, %s", problem);
        code = SB_END;
    }
    if (!code && (layers > 0 || recode->compress != SB_FILTER_NONE)) {
        sb_buf_release(&transfer->recoded);
        transfer->recoded = *name;
        *name = new_name;
        new_name = (struct sb_buf){0};
        *original = transfer->recoded.data;
    }
    sb_buf_release(&new_name);
    return code;
}

/*
 * What the member at hand links to, as it is called in the sink. SB_END: nothing there can have
 * that name, which was told.
 */
static enum sb_code name_hard_link(struct transfer *transfer, bool recodes, struct sb_error *err)
{
    const char *target = transfer->member.hard_link, *problem, *ignored;
    struct sb_buf clean = {0};
    enum sb_code code;

    if (sb_naming_clean(target, strlen(target), false, &clean, &problem))
        code = sb_fail_memory(err);
    else
        code = problem ? SB_END
                       : map_name(transfer, clean.data, clean.size, &transfer->hard_link, err);
    sb_buf_release(&clean);
    if (!code && recodes)
        code = recode_name(transfer, &transfer->hard_link, &ignored, err);
    if (code == SB_END)
        sb_tell(transfer->options->notify, SB_PROBLEM, "missing", transfer->path.data,
                "hard link to %s, which is not there; left out", target);
    transfer->member.hard_link = transfer->hard_link.data;
    return code;
}

/* The member at hand is the last one that was taken, as far as the next run is concerned. */
static enum sb_code note_place(struct transfer *transfer, struct sb_error *err)
{
    struct sb_transfer_place *place = transfer->options->place;
    const struct sb_entry *entry = &transfer->member.entry;

    if (!place)
        return SB_OK;
    place->members++;
    if (sb_buf_set(&place->last, entry->path, entry->path_size))
        return sb_fail_memory(err);
    transfer->again = place->until.size > 0;
    if (transfer->again && place->until.size == entry->path_size &&
        memcmp(place->until.data, entry->path, entry->path_size) == 0)
        sb_buf_clear(&place->until);
    return SB_OK;
}

/* Gives the member at hand its names in the sink. SB_END: it is left out. */
static enum sb_code name_member(struct transfer *transfer, struct sb_error *err)
{
    struct sb_member *member = &transfer->member;
    struct sb_entry *entry = &member->entry;
    bool is_dir = entry->type == SB_DIR;
    bool recodes =
        entry->type == SB_FILE && !member->special && sb_recode_works(&transfer->options->recode);
    const char *name = entry->path;
    size_t size = entry->path_size;
    enum sb_code code = clean_name(transfer, &name, &size, is_dir, err);

    if (!code && !wanted(transfer, name, size, is_dir))
        return SB_END;
    if (!code)
        code = map_name(transfer, name, size, &transfer->path, err);
    if (!code && member->hard_link)
        code = name_hard_link(transfer, recodes, err);
    transfer->original = NULL;
    if (!code && recodes)
        code = recode_name(transfer, &transfer->path, &transfer->original, err);
    if (member->hard_link)
        transfer->original = NULL;
    entry->path = transfer->path.data;
    entry->path_size = transfer->path.size;
    return code;
}

/* What the sink cannot hold */

static enum sb_code meet_duplicate(struct transfer *transfer, struct sb_error *err)
{
    const struct sb_transfer_options *options = transfer->options;
    const struct sb_entry *entry = &transfer->member.entry;
    bool before;

    if (options->merged)
        return sb_transfer_meet(options, &transfer->member, transfer->source->name,
                                &transfer->sink->counts.left, err);
    if (options->duplicates == SB_DUPLICATE_LAST || !options->seen || entry->type == SB_DIR)
        return SB_OK;
    if (sb_seen_add(options->seen, entry->path, entry->path_size, &before, err))
        return err->code;
    if (!before)
        return SB_OK;
    if (options->duplicates == SB_DUPLICATE_ERROR)
        sb_tell(transfer->options->notify, SB_PROBLEM, "duplicate", entry->path,
                "comes more than once; only the first is taken (see --duplicates)");
    else
        transfer->sink->counts.left++;
    return SB_END;
}

static void describe_long_link(char text[LINK_TEXT])
{
    snprintf(text, LINK_TEXT, "is a link whose target is longer than %zu bytes; left out",
             SB_LINK_BYTES_MOST);
}

/* SB_END: the member is left out, or passed over. */
static enum sb_code meet_limits(struct transfer *transfer, struct sb_item *item,
                                struct sb_error *err)
{
    struct sb_member *member = &transfer->member;
    char text[LINK_TEXT];
    enum sb_code code = SB_OK;

    if (member->entry.type == SB_LINK && member->entry.size > (int64_t)SB_LINK_BYTES_MOST) {
        describe_long_link(text);
        sb_tell(transfer->options->notify, SB_PROBLEM, "link", member->entry.path, "%s", text);
        return SB_END;
    }
    if (member->special && !(transfer->sink->holds & SB_KEEPS_SPECIAL)) {
        sb_tell(transfer->options->notify, SB_PROBLEM, "special", member->entry.path,
                "is a %s, which cannot be held here; left out", member->special);
        return SB_END;
    }
    /* Names that the sink has are all names that came before: it knows its own ones. */
    if (item->again && transfer->sink->ops->accept)
        code = transfer->sink->ops->accept(transfer->sink, member, item, err);
    if (!code)
        code = meet_duplicate(transfer, err);
    if (!code && !item->again && transfer->sink->ops->accept)
        code = transfer->sink->ops->accept(transfer->sink, member, item, err);
    return code;
}

static void tell_lost(const struct transfer *transfer, const struct sb_member *member)
{
    unsigned lost = member->has & ~transfer->sink->holds;

    if (lost && transfer->options->lost)
        transfer->options->lost(transfer->options->context, member->entry.path, lost);
}

/* Filling batches */

static void keep_choice(struct sb_item *item, const struct sb_item *choice)
{
    item->replaces = choice->replaces;
    item->old_size = choice->old_size;
    item->mark = choice->mark;
}

/* Copies what the source has of the member at hand, as far as there is room. SB_END after all. */
static enum sb_code copy_blocks(struct transfer *transfer, struct sb_batch *batch, size_t room,
                                struct sb_error *err)
{
    const void *data;
    enum sb_code code = SB_OK;

    while (room > 0) {
        size_t part;

        if (transfer->block_size == 0) {
            code = sb_source_block(transfer->source, &data, &transfer->block_size, err);
            transfer->block = data;
        }
        if (code)
            return code;
        part = transfer->block_size < room ? transfer->block_size : room;
        memcpy(batch->data + batch->data_size, transfer->block, part);
        batch->data_size += part;
        room -= part;
        transfer->block += part;
        transfer->block_size -= part;
        code = count_bytes(transfer, (int64_t)part, err);
        if (code)
            return code;
    }
    return SB_OK;
}

static enum sb_code expect_size(const struct transfer *transfer, int64_t got, struct sb_error *err)
{
    const struct sb_entry *entry = &transfer->member.entry;

    if (got == entry->size || entry->size < 0)
        return SB_OK;
    return sb_fail(err, SB_DAMAGED,
                   "%s: %s: has %" PRId64 " bytes, not the %" PRId64 " it declares",
                   transfer->source->name, entry->path, got, entry->size);
}

/* The next part of a large member, alone in its batch. */
static enum sb_code fill_part(struct transfer *transfer, struct sb_batch *batch,
                              struct sb_error *err)
{
    struct sb_item *item;
    enum sb_code code = sb_batch_take(batch, &transfer->member, transfer->original, &item, err);

    if (!code)
        code = copy_blocks(transfer, batch, SB_BATCH_BYTES, err);
    if (code && code != SB_END)
        return code;
    item->state = SB_ITEM_PART;
    keep_choice(item, &transfer->part_choice);
    item->data_size = batch->data_size;
    item->part_offset = transfer->part_offset;
    transfer->part_offset += (int64_t)batch->data_size;
    item->part_last = code == SB_END || (transfer->member.entry.size >= 0 &&
                                         transfer->part_offset >= transfer->member.entry.size);
    transfer->in_parts = !item->part_last;
    return item->part_last ? expect_size(transfer, transfer->part_offset, err) : SB_OK;
}

/* Would the member at hand have to be read now, without (known to be) room for it? */
static bool lacks_room(const struct transfer *transfer, const struct sb_batch *batch)
{
    int64_t size = transfer->member.entry.size;

    return !transfer->source->loads &&
           (size < 0 || size >= (int64_t)(SB_BATCH_BYTES - batch->data_size));
}

/* Takes the bytes of an item whose source has them in sequence only. */
static enum sb_code fill_bytes(struct transfer *transfer, struct sb_batch *batch,
                               struct sb_item *item, struct sb_error *err)
{
    size_t start = batch->data_size;
    enum sb_code code = SB_OK;

    if (transfer->original && lacks_room(transfer, batch)) {
        sb_batch_seal(batch);
        if (item->member.entry.size > 0)
            code = count_bytes(transfer, item->member.entry.size, err);
        return code ? code
                    : sb_recode_sequence(&transfer->options->recode, transfer->source, batch,
                                         transfer->options->beside, err);
    }
    code = copy_blocks(transfer, batch, SB_BATCH_BYTES - start, err);
    if (code && code != SB_END)
        return code;
    item->data_at = start;
    item->data_size = batch->data_size - start;
    item->state = SB_ITEM_READ;
    return expect_size(transfer, (int64_t)item->data_size, err);
}

/* Bytes that are recoded wait in a temporary file instead, where their number is known. */
static bool goes_in_parts(const struct transfer *transfer, const struct sb_batch *batch)
{
    const struct sb_member *member = &transfer->member;

    return lacks_room(transfer, batch) && !transfer->original && !member->hard_link &&
           !member->special && member->entry.type != SB_DIR;
}

static enum sb_code take_member(struct transfer *transfer, struct sb_batch *batch,
                                struct sb_error *err)
{
    struct sb_item choice = {.original = transfer->original, .again = transfer->again}, *item;
    enum sb_code code = meet_limits(transfer, &choice, err);

    if (!code && transfer->options->dry_run) {
        sb_tell(transfer->options->notify, SB_NOTE, "would-store", transfer->member.entry.path,
                "would be %s", choice.replaces ? "replaced" : "stored");
    }
    if (code)
        return code == SB_END ? SB_OK : code;
    if (transfer->options->dry_run || transfer->sink->unread) {
        tell_lost(transfer, &transfer->member);
        return SB_OK;
    }
    if (goes_in_parts(transfer, batch)) {
        transfer->in_parts = true;
        transfer->part_offset = 0;
        transfer->part_choice = choice;
        return fill_part(transfer, batch, err);
    }
    code = sb_batch_take(batch, &transfer->member, transfer->original, &item, err);
    if (code)
        return code;
    keep_choice(item, &choice);
    if (item->state == SB_ITEM_BARE)
        return SB_OK;
    if (!transfer->source->loads)
        return fill_bytes(transfer, batch, item, err);
    item->counted = item->member.entry.size >= 0;
    return item->counted ? count_bytes(transfer, item->member.entry.size, err) : SB_OK;
}

/* The next member that is wanted, with its stored names. */
static enum sb_code next_member(struct transfer *transfer, struct sb_error *err)
{
    enum sb_code code;

    if (transfer->waits) {
        transfer->waits = false;
        return SB_OK;
    }
    do {
        code = heed_problems(transfer, err);
        if (!code && sb_interrupted())
            code = sb_fail(err, SB_INTERRUPT, "interrupted");
        if (code)
            return code;
        code = sb_source_next(transfer->source, &transfer->member, err);
        if (code)
            return code;
        transfer->members++;
        transfer->block_size = 0;
        code = note_place(transfer, err);
        if (code)
            return code;
        code = name_member(transfer, err);
    } while (code == SB_END);
    return code;
}

/*
 * The source broke off: what came before it is stored all the same, and the next fill says why.
 */
static enum sb_code put_off(struct transfer *transfer, struct sb_batch *batch, size_t whole,
                            enum sb_code code, const struct sb_error *err)
{
    if (whole == 0 || (code != SB_DAMAGED && code != SB_FORMAT))
        return code;
    sb_batch_cut(batch, whole);
    transfer->broken = code;
    transfer->why = *err;
    return SB_OK;
}

/* Is it between two members, and may no other be begun? */
static bool ends_stretch(const struct transfer *transfer)
{
    return transfer->options->place && !transfer->waits && !transfer->in_parts &&
           transfer->bytes >= transfer->stretch_end;
}

static enum sb_code fill_members(struct transfer *transfer, struct sb_batch *batch,
                                 struct sb_error *err)
{
    while (batch->count < transfer->batch_items && batch->dirs < transfer->batch_dirs &&
           !transfer->in_parts) {
        size_t whole = batch->count;
        enum sb_code code;

        if (ends_stretch(transfer)) {
            transfer->options->place->more = true;
            return batch->count > 0 ? SB_OK : SB_END;
        }
        code = next_member(transfer, err);

        if (code == SB_END && batch->count > 0)
            return SB_OK;
        if (code)
            return put_off(transfer, batch, whole, code, err);
        transfer->waits = batch->count > 0 && lacks_room(transfer, batch);
        if (transfer->waits)
            return SB_OK;
        code = take_member(transfer, batch, err);
        if (code)
            return put_off(transfer, batch, whole, code, err);
    }
    return SB_OK;
}

static enum sb_code fill(void *context, void *slot, struct sb_error *err)
{
    struct transfer *transfer = context;
    struct sb_batch *batch = slot;
    enum sb_code code;

    if (transfer->broken) {
        *err = transfer->why;
        return transfer->broken;
    }
    sb_batch_clear(batch);
    code = sb_batch_make_room(batch, err);
    if (code)
        return code;
    code =
        transfer->in_parts ? fill_part(transfer, batch, err) : fill_members(transfer, batch, err);
    sb_batch_seal(batch);
    return code;
}

/* Working on them */

static enum sb_code fail_long_link(struct sb_batch *batch, struct sb_item *item,
                                   struct sb_error *err)
{
    char text[LINK_TEXT];

    describe_long_link(text);
    return sb_item_fail(batch, item, "link", text, err);
}

static enum sb_code load_item(struct sb_batch *batch, struct sb_item *item, struct sb_error *err)
{
    bool link = item->member.entry.type == SB_LINK;
    size_t room = link ? SB_LINK_BYTES_MOST : SB_BATCH_BYTES - batch->data_size;
    enum sb_code code = sb_loader_load(batch->loader, &item->member, batch->data + batch->data_size,
                                       room, &batch->events, err);

    if (link && code == SB_LIMIT)
        return fail_long_link(batch, item, err);
    item->state = code == SB_OK ? SB_ITEM_READ : code == SB_LIMIT ? SB_ITEM_LARGE : SB_ITEM_FAILED;
    if (code == SB_OK) {
        item->data_at = batch->data_size;
        item->data_size = (size_t)item->member.entry.size;
        batch->data_size += item->data_size;
    }
    return code == SB_LIMIT || code == SB_END ? SB_OK : code;
}

static enum sb_code load_items(struct sb_batch *batch, bool links, struct sb_error *err)
{
    enum sb_code code = SB_OK;

    for (size_t i = 0; !code && i < batch->count; i++) {
        struct sb_item *item = &batch->items[i];

        if (item->state == SB_ITEM_NEW && (item->member.entry.type == SB_LINK) == links)
            code = load_item(batch, item, err);
    }
    return code;
}

/* Links come first, while there is room: sinks want their targets at hand. */
static enum sb_code work(void *context, void *slot, struct sb_pipeline *turns, struct sb_error *err)
{
    const struct transfer *transfer = context;
    struct sb_batch *batch = slot;
    enum sb_code code = SB_OK;

    if (transfer->sink->ops->look)
        code = transfer->sink->ops->look(transfer->sink, batch, err);
    if (!code)
        code = load_items(batch, true, err);
    if (!code)
        code = load_items(batch, false, err);
    if (!code)
        code = sb_recode_batch(&transfer->options->recode, batch, transfer->options->beside, err);
    return code ? code : transfer->sink->ops->store(transfer->sink, batch, turns, err);
}

/* What only the loader knew the size of. */
static enum sb_code count_loaded(struct transfer *transfer, const struct sb_batch *batch,
                                 struct sb_error *err)
{
    enum sb_code code = SB_OK;

    for (size_t i = 0; !code && transfer->source->loads && i < batch->count; i++) {
        if (!batch->items[i].counted && batch->items[i].member.entry.size > 0)
            code = count_bytes(transfer, batch->items[i].member.entry.size, err);
    }
    return code;
}

/*
 * A member is complete once it was loaded: a file's time is known from when it was opened. Under
 * strict the first loss ends it.
 */
static enum sb_code tell_all_lost(const struct transfer *transfer, const struct sb_batch *batch,
                                  struct sb_error *err)
{
    enum sb_code code = heed_problems(transfer, err);

    for (size_t i = 0; !code && i < batch->count; i++) {
        const struct sb_item *item = &batch->items[i];

        if (item->state == SB_ITEM_FAILED || item->part_offset > 0)
            continue;
        tell_lost(transfer, &item->member);
        code = heed_problems(transfer, err);
    }
    return code;
}

static void adapt(struct transfer *transfer, const struct sb_batch *batch)
{
    int64_t bytes = 0;

    for (size_t i = 0; i < batch->count; i++)
        bytes += batch->items[i].member.entry.size > 0 ? batch->items[i].member.entry.size : 0;
    if (batch->count > 0)
        transfer->batch_items = SB_BATCH_BYTES / ((size_t)bytes / batch->count + 1) + 1;
    if (transfer->batch_items > SB_BATCH_ITEMS)
        transfer->batch_items = SB_BATCH_ITEMS;
}

static void show_progress(const struct transfer *transfer)
{
    const struct sb_transfer_options *options = transfer->options;
    const struct sb_source *source = transfer->source;

    if (options->progress)
        options->progress(options->context, source->total ? source->done : transfer->bytes,
                          source->total, transfer->sink->counts.files);
}

static enum sb_code drain(void *context, void *slot, struct sb_error *err)
{
    struct transfer *transfer = context;
    struct sb_batch *batch = slot;
    enum sb_code code;

    sb_events_tell(&batch->events, transfer->options->notify);
    code = count_loaded(transfer, batch, err);
    if (!code)
        code = transfer->sink->ops->drain(transfer->sink, batch, err);
    if (!code)
        code = tell_all_lost(transfer, batch, err);
    adapt(transfer, batch);
    sb_batch_clear(batch);
    show_progress(transfer);
    return code;
}

/* Descriptors for directories that all batches together may keep open: an eighth of those allowed.
 */
static unsigned directories_in_flight(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < 128)
        return 16;
    return limit.rlim_cur < 2048 ? (unsigned)limit.rlim_cur / 8 : 256;
}

static enum sb_code run(struct transfer *transfer, struct sb_error *err)
{
    static const struct sb_pipeline_ops ops = {.fill = fill, .work = work, .drain = drain};
    unsigned threads = transfer->options->threads ? transfer->options->threads : 1;
    unsigned count = threads == 1 ? 1 : 2 * threads + 2;
    struct sb_batch *batches = calloc(count, sizeof(*batches));
    enum sb_code code = batches ? SB_OK : sb_fail_memory(err);

    transfer->batch_items = FIRST_BATCH_ITEMS;
    transfer->batch_dirs = count < directories_in_flight() ? directories_in_flight() / count : 1;
    for (unsigned i = 0; !code && transfer->source->loads && i < count; i++)
        code = sb_loader_open(transfer->source, &batches[i].loader, err);
    if (!code)
        code = sb_pipeline_run(&ops, transfer, batches, sizeof(*batches), count, threads, err);
    for (unsigned i = 0; batches && i < count; i++) {
        if (transfer->sink->ops->release)
            transfer->sink->ops->release(transfer->sink, &batches[i]);
        sb_batch_release(&batches[i]);
    }
    free(batches);
    return code;
}

enum sb_code sb_transfer_pass(struct sb_source *source, const struct sb_transfer_place *place,
                              struct sb_error *err)
{
    struct sb_member member = {.entry.path = ""};
    enum sb_code code = SB_OK;
    const char *last;

    for (int64_t i = 0; !code && i < place->members; i++) {
        code = sb_interrupted() ? sb_fail(err, SB_INTERRUPT, "interrupted")
                                : sb_source_next(source, &member, err);
    }
    if ((code && code != SB_END) || place->members == 0)
        return code;
    last = place->last.size > 0 ? place->last.data : "";
    if (!code && member.entry.path_size == place->last.size &&
        memcmp(member.entry.path, last, place->last.size) == 0)
        return SB_OK;
    return sb_fail(err, SB_CHANGED,
                   "%s: not the input that the interrupted run read: its member %" PRId64
                   " was '%s'; give that one, or start over without --resume",
                   source->name, place->members, last);
}

enum sb_code sb_transfer(struct sb_source *source, struct sb_sink *sink,
                         const struct sb_transfer_options *options, int64_t *members,
                         struct sb_error *err)
{
    struct transfer transfer = {.options = options, .source = source, .sink = sink};
    struct sb_transfer_place *place = options->place;
    enum sb_code code = SB_OK;

    if (place) {
        place->more = false;
        transfer.bytes = place->bytes;
        transfer.stretch_end = place->bytes + place->stretch;
    }
    transfer.naming.notify = options->notify;
    transfer.naming.dots_are_usual = options->dots_are_usual;
    if (options->prefix || options->strip || !options->stored_names)
        code = sb_stored_names_new(&transfer.names, options->prefix, options->strip, NULL,
                                   sink->any_names, options->notify, err);
    if (!code)
        code = run(&transfer, err);
    *members += transfer.members;
    if (place)
        place->bytes = transfer.bytes;
    sb_stored_names_free(transfer.names);
    sb_naming_release(&transfer.naming);
    sb_buf_release(&transfer.path);
    sb_buf_release(&transfer.hard_link);
    sb_buf_release(&transfer.recoded);
    return code;
}
