/*
 * A torchcachex cache: members become fields of keys.
 *
 * In their turn the batches' members are put together to rows, one at a time; a row is written when
 * the next key begins.
 */
#include "store/array/file.h"
#include "store/cache/row_parts.h"
#include "store/sinks.h"

#include <stdlib.h>
#include <string.h>

struct cache_sink {
    struct sb_sink sink;
    struct sb_cache_sink_options options;
    struct sb_cache_writer *writer;

    /* Of the turn: the row that is put together. */
    bool open;
    bool alone;         /* it is a file outside of any directory */
    bool spoiled;       /* something of it cannot be read */
    int64_t dropped;    /* rows that were left out for that */
    struct sb_buf item; /* its key without the prefix */
    struct sb_row_parts row;
    struct sb_buf key;
};

static struct cache_sink *to_cache(struct sb_sink *sink)
{
    return (struct cache_sink *)sink;
}

static void free_sink(struct sb_sink *sink)
{
    struct cache_sink *cache = to_cache(sink);

    sb_cache_writer_free(cache->writer);
    sb_row_parts_release(&cache->row);
    sb_buf_release(&cache->item);
    sb_buf_release(&cache->key);
    free(cache);
}

static enum sb_code accept(struct sb_sink *sink, const struct sb_member *member,
                           struct sb_item *item)
{
    const struct sb_notify *notify = to_cache(sink)->options.notify;
    const struct sb_entry *entry = &member->entry;
    struct sb_array_name name;

    (void)item;
    if (entry->type == SB_DIR)
        return SB_END;
    if (entry->type != SB_FILE || member->hard_link) {
        sb_report(notify, SB_PROBLEM, "link", entry->path,
                  "is a link, which a cache cannot hold; left out");
        return SB_END;
    }
    if (sb_array_name_parse(&name, entry->path, entry->path_size) &&
        (name.form == SB_FORM_NPY || name.form == SB_FORM_PICKLE))
        return SB_OK;
    sb_report(notify, SB_PROBLEM, "no-array", entry->path,
              "is no .npy or .pkl, which is all that a cache can hold; left out");
    return SB_END;
}

/* With a batch the event joins the batch's; at the end, without one, it is reported at once. */
static enum sb_code report_spoiled(const struct cache_sink *cache, struct sb_batch *batch)
{
    static const char text[] = "is left out, for not all of it can be used";

    if (batch)
        return sb_events_add(&batch->events, SB_PROBLEM, "damaged", cache->item.data, text);
    sb_report(cache->options.notify, SB_PROBLEM, "damaged", cache->item.data, "%s", text);
    return SB_OK;
}

/* The row */

static enum sb_code write_row(struct cache_sink *cache)
{
    const char *prefix = cache->options.key_prefix ? cache->options.key_prefix : "";
    struct sb_row_key key;

    if (sb_buf_set(&cache->key, prefix, strlen(prefix)) ||
        sb_buf_add(&cache->key, cache->item.data, cache->item.size))
        return sb_fail_memory();
    key = (struct sb_row_key){cache->key.data, cache->key.size};
    return sb_row_parts_write(&cache->row, cache->alone, cache->options.list, &key, cache->writer);
}

static enum sb_code end_row(struct cache_sink *cache, struct sb_batch *batch)
{
    enum sb_code code = SB_OK;

    if (cache->open && cache->spoiled)
        code = report_spoiled(cache, batch);
    else if (cache->open)
        code = write_row(cache);
    cache->dropped += cache->open && cache->spoiled;
    cache->open = cache->spoiled = false;
    sb_row_parts_clear(&cache->row);
    return code;
}

/* Members */

static bool is_same_row(const struct cache_sink *cache, const struct sb_array_name *name,
                        bool alone)
{
    return cache->open && !alone && !cache->alone && cache->item.size == name->item_size &&
           memcmp(cache->item.data, name->item, name->item_size) == 0;
}

/* Its row is the present one, or begins with it. */
static enum sb_code take_row(struct cache_sink *cache, struct sb_batch *batch,
                             const struct sb_array_name *name)
{
    bool alone = name->item_size == 0;

    if (is_same_row(cache, name, alone))
        return SB_OK;
    TRY(end_row(cache, batch));
    cache->open = true;
    cache->alone = alone;
    if (sb_buf_set(&cache->item, alone ? name->array : name->item,
                   alone ? name->array_size : name->item_size))
        return sb_fail_memory();
    return SB_OK;
}

static enum sb_code begin_member(struct cache_sink *cache, struct sb_batch *batch,
                                 const struct sb_item *item)
{
    const struct sb_entry *entry = &item->member.entry;
    struct sb_array_name name = {0};

    if (!sb_array_name_parse(&name, entry->path, entry->path_size))
        return sb_fail(SB_INVALID, "%s: is no array", entry->path);
    if (cache->options.single && name.item_size > 0) {
        name.array = name.item;
        name.array_size += name.item_size + 1;
        name.item_size = 0;
    }
    TRY(take_row(cache, batch, &name));
    return sb_row_parts_begin(&cache->row, &name);
}

static enum sb_code end_member(struct cache_sink *cache, struct sb_batch *batch,
                               struct sb_item *item)
{
    struct sb_error why = {0};
    enum sb_code code = INTO(&why, sb_row_parts_end(&cache->row));

    if (sb_concerns_array(code)) {
        cache->spoiled = true;
        return sb_item_fail(batch, item, "damaged", why.text);
    }
    if (code)
        *sb_error() = why;
    return code;
}

/* A sb_each_block. */
static enum sb_code add_block(void *context, const void *data, size_t size)
{
    struct cache_sink *cache = context;

    return sb_spool_add(&cache->row.bytes, data, size);
}

/* The turn */

static enum sb_code store_large(struct cache_sink *cache, struct sb_batch *batch,
                                struct sb_item *item)
{
    enum sb_code code = sb_item_stream(batch, item, add_block, cache);

    if (code != SB_END)
        return code ? code : end_member(cache, batch, item);
    item->state = SB_ITEM_FAILED;
    cache->spoiled = true;
    return SB_OK;
}

static enum sb_code store_bytes(struct cache_sink *cache, struct sb_batch *batch,
                                struct sb_item *item)
{
    bool last = item->state == SB_ITEM_READ || item->part_last;
    enum sb_code code = add_block(cache, batch->data + item->data_at, item->data_size);

    return code || !last ? code : end_member(cache, batch, item);
}

static enum sb_code store_item(struct cache_sink *cache, struct sb_batch *batch,
                               struct sb_item *item)
{
    bool begins = item->state != SB_ITEM_PART || item->part_offset == 0;

    if (begins)
        TRY(begin_member(cache, batch, item));
    switch (item->state) {
    case SB_ITEM_READ:
    case SB_ITEM_PART:
        return store_bytes(cache, batch, item);
    case SB_ITEM_LARGE:
        return store_large(cache, batch, item);
    default:
        cache->spoiled = true;
        return SB_OK;
    }
}

static enum sb_code write_batch(struct sb_sink *sink, struct sb_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++)
        TRY(store_item(to_cache(sink), batch, &batch->items[i]));
    return SB_OK;
}

/* From here on it is keys that are counted, which only now are known. */
static enum sb_code commit(struct sb_sink *sink)
{
    struct cache_sink *cache = to_cache(sink);
    struct sb_cache_writer_counts counts;

    TRY(end_row(cache, NULL));
    counts = sb_cache_writer_counts(cache->writer);
    if (counts.rows == 0 && cache->dropped > 0)
        return sb_fail(SB_DAMAGED, "%s: is not written, for no key can be used as a whole",
                       sink->name);
    sink->counts.files = counts.rows;
    sink->counts.bytes = counts.bytes;
    return sb_cache_writer_commit(cache->writer);
}

static const struct sb_sink_ops cache_ops = {
    .free = free_sink,
    .accept = accept,
    .write = write_batch,
    .commit = commit,
};

enum sb_code sb_sink_open_cache(struct sb_sink **out, const struct sb_cache_sink_options *options)
{
    struct cache_sink *cache = calloc(1, sizeof(*cache));
    enum sb_code code;

    *out = NULL;
    if (!cache)
        return sb_fail_memory();
    cache->options = *options;
    cache->row = (struct sb_row_parts){.bytes = {.beside = options->writer.path, .fd = -1}};
    cache->sink =
        (struct sb_sink){.ops = &cache_ops, .name = options->writer.path, .any_names = true};
    code = sb_cache_writer_open(&cache->writer, &options->writer);
    if (code)
        free_sink(&cache->sink);
    else
        *out = &cache->sink;
    return code;
}
