/*
 * A Syrah file, written as a stream of items.
 *
 * Each worker looks at the headers of the arrays in its batch; in its turn it gives them to the
 * writer, and knows by their names where an item ends.
 */
#include "core/name.h"
#include "store/sinks.h"
#include "store/syrah/sink_items.h"

#include <stdlib.h>
#include <string.h>

/* batch->own */
struct syrah_batch {
    struct sb_array_file files[SB_BATCH_ITEMS]; /* of what is SB_ITEM_READ */
    struct sb_syrah_counts counts;              /* of items that ended in its turn */
};

struct syrah_sink {
    struct sb_sink sink;
    struct sb_syrah_items items; /* of the turn */
    const struct sb_notify *notify;
};

static void free_sink(struct sb_sink *sink)
{
    struct syrah_sink *syrah = (struct syrah_sink *)sink;

    sb_syrah_writer_free(syrah->items.writer);
    sb_syrah_items_release(&syrah->items);
    free(syrah);
}

static void release_batch(struct sb_sink *sink, struct sb_batch *batch)
{
    (void)sink;
    free(batch->own);
    batch->own = NULL;
}

/* What keeps it from being an array of an item; NULL: nothing. */
static const char *misfit(const struct sb_member *member)
{
    const struct sb_entry *entry = &member->entry;
    struct sb_array_name name;

    if (member->hard_link || entry->type == SB_LINK)
        return "is a link, which a Syrah file cannot hold; left out";
    if (!sb_syrah_name_of(&name, member) || name.form == SB_FORM_PICKLE ||
        name.form == SB_FORM_SHAPE)
        return "is no array (.npy, or .txt for text), which is all that a Syrah file holds; left "
               "out";
    if (name.item_size == 0)
        return "is in no directory, which would be its item; left out";
    return NULL;
}

static enum sb_code accept(struct sb_sink *sink, const struct sb_member *member,
                           struct sb_item *item)
{
    struct syrah_sink *syrah = (struct syrah_sink *)sink;
    const char *why;

    (void)item;
    if (member->entry.type == SB_DIR)
        return SB_END;
    why = misfit(member);
    if (!why)
        return SB_OK;
    sb_report(syrah->notify, SB_PROBLEM, "array", member->entry.path, "%s", why);
    return SB_END;
}

static enum sb_code look_at_read(struct sb_batch *batch, struct sb_item *item,
                                 struct sb_array_file *out)
{
    const char *data = batch->data + item->data_at;
    enum sb_code code = sb_syrah_look(item, data, item->data_size, (int64_t)item->data_size, out);

    if (!code && out->dtype == SB_DTYPE_STR && !sb_is_utf8(data, item->data_size))
        code = sb_fail(SB_INVALID, "is no UTF-8 text");
    if (!code || sb_concerns_array(code))
        return code ? sb_syrah_fail_array(batch, item, sb_error()) : SB_OK;
    return code;
}

static enum sb_code render(struct sb_sink *sink, struct sb_batch *batch)
{
    struct syrah_batch *own = batch->own;

    (void)sink;
    if (!own)
        own = batch->own = malloc(sizeof(*own));
    if (!own)
        return sb_fail_memory();
    own->counts = (struct sb_syrah_counts){0};
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->items[i].state == SB_ITEM_READ)
            TRY(look_at_read(batch, &batch->items[i], &own->files[i]));
    }
    return SB_OK;
}

static enum sb_code write_batch(struct sb_sink *sink, struct sb_batch *batch)
{
    struct sb_syrah_items *items = &((struct syrah_sink *)sink)->items;
    struct syrah_batch *own = batch->own;
    enum sb_code code = SB_OK;

    items->done = (struct sb_syrah_counts){0};
    for (size_t i = 0; !code && i < batch->count; i++)
        code = sb_syrah_items_take(items, batch, &batch->items[i], &own->files[i]);
    own->counts = items->done;
    return code;
}

/* The calling thread */

static void add_counts(struct sb_sink *sink, const struct sb_syrah_counts *counts)
{
    sink->counts.dirs += counts->items;
    sink->counts.files += counts->arrays;
    sink->counts.bytes += counts->bytes;
    sink->counts.unchecked += counts->unchecked;
}

static enum sb_code drain(struct sb_sink *sink, struct sb_batch *batch)
{
    const struct syrah_batch *own = batch->own;

    add_counts(sink, &own->counts);
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->items[i].state != SB_ITEM_FAILED)
            batch->items[i].state = SB_ITEM_STORED;
    }
    return SB_OK;
}

static enum sb_code commit(struct sb_sink *sink)
{
    struct sb_syrah_items *items = &((struct syrah_sink *)sink)->items;
    enum sb_code code;

    items->done = (struct sb_syrah_counts){0};
    code = sb_syrah_items_end(items);
    add_counts(sink, &items->done);
    return code ? code : sb_syrah_writer_commit(items->writer);
}

static const struct sb_sink_ops syrah_ops = {
    .free = free_sink,
    .accept = accept,
    .render = render,
    .write = write_batch,
    .drain = drain,
    .release = release_batch,
    .commit = commit,
};

enum sb_code sb_sink_open_syrah(struct sb_sink **out, const struct sb_stream_sink_options *options)
{
    struct syrah_sink *syrah = calloc(1, sizeof(*syrah));
    CLEANUP(sb_sink_freep) struct sb_sink *sink = syrah ? &syrah->sink : NULL;

    *out = NULL;
    if (!syrah)
        return sb_fail_memory();
    *sink = (struct sb_sink){.ops = &syrah_ops, .any_names = true};
    TRY(sb_syrah_writer_open(&syrah->items.writer, options));
    syrah->notify = options->notify;
    sink->name = sb_syrah_writer_name(syrah->items.writer);
    *out = TAKE(sink);
    return SB_OK;
}
