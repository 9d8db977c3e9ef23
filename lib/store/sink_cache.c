/*
 * A torchcachex cache: members become fields of keys.
 *
 * In their turn the batches' members are put together to rows, one at a time; a row is written when
 * the next key begins.
 */
#include "store/array_name.h"
#include "store/row_spool.h"
#include "store/sinks.h"

#include "core/number.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ITEM "item"

struct field {
    size_t name_at; /* in names */
    bool blob;
    struct sb_npy array;
    int64_t at; /* of its values in the spool */
};

struct cache_sink {
    struct sb_sink sink;
    struct sb_cache_sink_options options;
    struct sb_cache_writer *writer;

    /* Of the turn: the row that is put together. */
    bool open;
    bool alone;   /* it is a file outside of any directory */
    bool spoiled; /* something of it cannot be read */
    struct sb_buf item;
    struct sb_row_spool bytes;
    int64_t member_at; /* where the present member begins in them */
    struct sb_buf names;
    struct field *fields;
    size_t count, room;

    /* What it comes to, in the order of the form. */
    struct sb_buf key;
    struct sb_cache_field *form;
    size_t *parts;      /* numbers of fields */
    struct sb_buf head; /* of a .npy */
};

static struct cache_sink *to_cache(struct sb_sink *sink)
{
    return (struct cache_sink *)sink;
}

static void free_sink(struct sb_sink *sink)
{
    struct cache_sink *cache = to_cache(sink);

    sb_cache_writer_free(cache->writer);
    sb_row_spool_release(&cache->bytes);
    sb_buf_release(&cache->item);
    sb_buf_release(&cache->names);
    sb_buf_release(&cache->key);
    sb_buf_release(&cache->head);
    free(cache->fields);
    free(cache->form);
    free(cache->parts);
    free(cache);
}

static enum sb_code accept(struct sb_sink *sink, const struct sb_member *member,
                           struct sb_item *item, struct sb_error *err)
{
    const struct sb_notify *notify = to_cache(sink)->options.notify;
    const struct sb_entry *entry = &member->entry;
    struct sb_array_name name;

    (void)item;
    (void)err;
    if (entry->type == SB_DIR)
        return SB_END;
    if (entry->type != SB_FILE || member->hard_link) {
        sb_tell(notify, SB_PROBLEM, "link", entry->path,
                "is a link, which a cache cannot hold; left out");
        return SB_END;
    }
    if (sb_array_name_parse(&name, entry->path, entry->path_size) &&
        (name.form == SB_FORM_NPY || name.form == SB_FORM_PICKLE))
        return SB_OK;
    sb_tell(notify, SB_PROBLEM, "no-array", entry->path,
            "is no .npy or .pkl, which is all that a cache can hold; left out");
    return SB_END;
}

/* Events of the turn are of the batch, and those of the end are told at once. */
static enum sb_code tell_spoiled(const struct cache_sink *cache, struct sb_batch *batch,
                                 struct sb_error *err)
{
    static const char text[] = "is left out, for not all of it can be read";

    if (batch)
        return sb_events_add(&batch->events, SB_PROBLEM, "damaged", cache->item.data, text, err);
    sb_tell(cache->options.notify, SB_PROBLEM, "damaged", cache->item.data, "%s", text);
    return SB_OK;
}

/* The row */

/* SIZE_MAX: it is not the name of a tuple's field. */
static size_t sequence_number(const char *name)
{
    const char *digits = name + strlen(ITEM);
    int64_t number;

    if (strncmp(name, ITEM, strlen(ITEM)) != 0 || *digits < '0' || *digits > '9' ||
        (*digits == '0' && digits[1]) || !sb_parse_integer(digits, 0, INT32_MAX, &number))
        return SIZE_MAX;
    return (size_t)number;
}

static void place_field(struct cache_sink *cache, size_t place, size_t number)
{
    const struct field *field = &cache->fields[number];

    cache->form[place] = (struct sb_cache_field){
        .name = cache->alone ? "" : cache->names.data + field->name_at,
        .blob = field->blob,
        .dtype = field->array.dtype,
    };
    cache->parts[place] = number;
}

/* By their numbers, where they are those of a tuple, without gaps. */
static bool place_sequence(struct cache_sink *cache)
{
    for (size_t i = 0; i < cache->count; i++)
        cache->parts[i] = SIZE_MAX;
    for (size_t i = 0; i < cache->count; i++) {
        size_t number = sequence_number(cache->names.data + cache->fields[i].name_at);

        if (number >= cache->count || cache->parts[number] != SIZE_MAX)
            return false;
        place_field(cache, number, i);
    }
    return true;
}

static struct sb_cache_form make_form(struct cache_sink *cache)
{
    struct sb_cache_form form = {.fields = cache->form, .field_count = cache->count};

    if (!cache->alone && place_sequence(cache)) {
        form.structure = cache->options.list ? SB_CACHE_LIST : SB_CACHE_TUPLE;
        return form;
    }
    for (size_t i = 0; i < cache->count; i++)
        place_field(cache, i, i);
    form.structure = !cache->alone           ? SB_CACHE_DICT
                     : cache->fields[0].blob ? SB_CACHE_BLOB
                                             : SB_CACHE_TENSOR;
    return form;
}

/* A sb_each_block. */
static enum sb_code write_block(void *context, const void *data, size_t size, struct sb_error *err)
{
    return sb_cache_writer_write(context, data, size, err);
}

static enum sb_code write_value(const struct cache_sink *cache, const struct field *field,
                                struct sb_error *err)
{
    enum sb_code code = sb_cache_writer_value(cache->writer, &field->array, err);

    return code ? code
                : sb_row_spool_feed(&cache->bytes, field->at, field->array.data_size, write_block,
                                    cache->writer, err);
}

static enum sb_code make_key(struct cache_sink *cache, struct sb_error *err)
{
    const char *prefix = cache->options.key_prefix ? cache->options.key_prefix : "";

    if (sb_buf_set(&cache->key, prefix, strlen(prefix)) ||
        sb_buf_add(&cache->key, cache->item.data, cache->item.size))
        return sb_fail_memory(err);
    return SB_OK;
}

static enum sb_code write_row(struct cache_sink *cache, struct sb_error *err)
{
    struct sb_cache_form form = make_form(cache);
    struct sb_cache_key key;
    const size_t *order = NULL;
    int64_t bytes = 0;
    enum sb_code code = make_key(cache, err);

    for (size_t i = 0; i < cache->count; i++)
        bytes += cache->fields[i].array.data_size;
    key = (struct sb_cache_key){cache->key.data, cache->key.size};
    if (!code)
        code = sb_cache_writer_begin_row(cache->writer, &form, &key, bytes, &order, err);
    for (size_t i = 0; !code && i < cache->count; i++)
        code = write_value(cache, &cache->fields[cache->parts[order[i]]], err);
    return code ? code : sb_cache_writer_end_row(cache->writer, err);
}

static enum sb_code end_row(struct cache_sink *cache, struct sb_batch *batch, struct sb_error *err)
{
    enum sb_code code = SB_OK;

    if (cache->open && cache->spoiled)
        code = tell_spoiled(cache, batch, err);
    else if (cache->open)
        code = write_row(cache, err);
    cache->open = cache->spoiled = false;
    cache->count = 0;
    sb_buf_clear(&cache->names);
    sb_row_spool_clear(&cache->bytes);
    return code;
}

/* Members */

static enum sb_code add_room(struct cache_sink *cache, struct sb_error *err)
{
    size_t room = cache->room ? 2 * cache->room : 8;
    struct field *fields = reallocarray(cache->fields, room, sizeof(*fields));
    struct sb_cache_field *form = reallocarray(cache->form, room, sizeof(*form));
    size_t *parts = reallocarray(cache->parts, room, sizeof(*parts));

    cache->fields = fields ? fields : cache->fields;
    cache->form = form ? form : cache->form;
    cache->parts = parts ? parts : cache->parts;
    if (!fields || !form || !parts)
        return sb_fail_memory(err);
    cache->room = room;
    return SB_OK;
}

static bool is_same_row(const struct cache_sink *cache, const struct sb_array_name *name,
                        bool alone)
{
    return cache->open && !alone && !cache->alone && cache->item.size == name->item_size &&
           memcmp(cache->item.data, name->item, name->item_size) == 0;
}

/* Its row is the present one, or begins with it. */
static enum sb_code take_row(struct cache_sink *cache, struct sb_batch *batch,
                             const struct sb_array_name *name, struct sb_error *err)
{
    bool alone = name->item_size == 0;
    enum sb_code code;

    if (is_same_row(cache, name, alone))
        return SB_OK;
    code = end_row(cache, batch, err);
    if (code)
        return code;
    cache->open = true;
    cache->alone = alone;
    if (sb_buf_set(&cache->item, alone ? name->array : name->item,
                   alone ? name->array_size : name->item_size))
        return sb_fail_memory(err);
    return SB_OK;
}

static enum sb_code begin_member(struct cache_sink *cache, struct sb_batch *batch,
                                 const struct sb_item *item, struct sb_error *err)
{
    const struct sb_entry *entry = &item->member.entry;
    struct sb_array_name name = {0};
    enum sb_code code;

    if (!sb_array_name_parse(&name, entry->path, entry->path_size))
        return sb_fail(err, SB_INVALID, "%s: is no array", entry->path);
    code = take_row(cache, batch, &name, err);
    if (!code && cache->count > SB_CACHE_FIELDS_MOST)
        code = sb_fail(err, SB_INVALID,
                       "%s: has more than %d arrays; put them into directories of their own",
                       cache->item.data, SB_CACHE_FIELDS_MOST);
    if (!code && cache->count == cache->room)
        code = add_room(cache, err);
    if (code)
        return code;
    cache->member_at = sb_row_spool_size(&cache->bytes);
    cache->fields[cache->count] = (struct field){
        .name_at = cache->names.size, .blob = name.form == SB_FORM_PICKLE, .at = cache->member_at};
    if (sb_buf_add(&cache->names, name.array, name.array_size) || sb_buf_add(&cache->names, "", 1))
        return sb_fail_memory(err);
    return SB_OK;
}

/* SB_FORMAT: it is none. */
static enum sb_code read_head(struct cache_sink *cache, struct field *field, int64_t size,
                              struct sb_error *err)
{
    size_t head = size < (int64_t)SB_NPY_HEADER_MOST ? (size_t)size : SB_NPY_HEADER_MOST;
    enum sb_code code;

    sb_buf_clear(&cache->head);
    if (sb_buf_reserve(&cache->head, head + 1))
        return sb_fail_memory(err);
    code = sb_row_spool_get(&cache->bytes, cache->member_at, cache->head.data, head, err);
    if (!code)
        code = sb_npy_parse(&field->array, cache->head.data, head, err);
    if (code)
        return code;
    if (field->array.data_size != size - (int64_t)field->array.header_size)
        return sb_fail(err, SB_FORMAT, "has %lld bytes of values, where its shape says %lld",
                       (long long)size - (long long)field->array.header_size,
                       (long long)field->array.data_size);
    field->at = cache->member_at + (int64_t)field->array.header_size;
    return SB_OK;
}

static enum sb_code end_member(struct cache_sink *cache, struct sb_batch *batch,
                               struct sb_item *item, struct sb_error *err)
{
    struct field *field = &cache->fields[cache->count];
    int64_t size = sb_row_spool_size(&cache->bytes) - cache->member_at;
    struct sb_error why = {0};
    enum sb_code code = SB_OK;

    if (field->blob)
        field->array.data_size = size;
    else
        code = read_head(cache, field, size, &why);
    cache->count++;
    if (code == SB_FORMAT || code == SB_DAMAGED) {
        cache->spoiled = true;
        return sb_item_fail(batch, item, "damaged", why.text, err);
    }
    if (code == SB_INVALID)
        return sb_fail(err, code, "%s: %s", item->member.entry.path, why.text);
    if (code)
        *err = why;
    return code;
}

/* A sb_each_block. */
static enum sb_code add_block(void *context, const void *data, size_t size, struct sb_error *err)
{
    struct cache_sink *cache = context;

    return sb_row_spool_add(&cache->bytes, data, size, err);
}

/* The turn */

static enum sb_code store_large(struct cache_sink *cache, struct sb_batch *batch,
                                struct sb_item *item, struct sb_error *err)
{
    enum sb_code code = sb_item_stream(batch, item, add_block, cache, err);

    if (code != SB_END)
        return code ? code : end_member(cache, batch, item, err);
    item->state = SB_ITEM_FAILED;
    cache->spoiled = true;
    return SB_OK;
}

static enum sb_code store_bytes(struct cache_sink *cache, struct sb_batch *batch,
                                struct sb_item *item, struct sb_error *err)
{
    bool last = item->state == SB_ITEM_READ || item->part_last;
    enum sb_code code = add_block(cache, batch->data + item->data_at, item->data_size, err);

    return code || !last ? code : end_member(cache, batch, item, err);
}

static enum sb_code store_item(struct cache_sink *cache, struct sb_batch *batch,
                               struct sb_item *item, struct sb_error *err)
{
    bool begins = item->state != SB_ITEM_PART || item->part_offset == 0;
    enum sb_code code = begins ? begin_member(cache, batch, item, err) : SB_OK;

    if (code)
        return code;
    switch (item->state) {
    case SB_ITEM_READ:
    case SB_ITEM_PART:
        return store_bytes(cache, batch, item, err);
    case SB_ITEM_LARGE:
        return store_large(cache, batch, item, err);
    default:
        cache->spoiled = true;
        return SB_OK;
    }
}

static enum sb_code store(struct sb_sink *sink, struct sb_batch *batch, struct sb_pipeline *turns,
                          struct sb_error *err)
{
    enum sb_code code = sb_turn_begin(turns, batch);

    if (code)
        return sb_fail(err, code, "interrupted");
    for (size_t i = 0; !code && i < batch->count; i++)
        code = store_item(to_cache(sink), batch, &batch->items[i], err);
    sb_turn_end(turns, batch);
    return code;
}

static enum sb_code drain(struct sb_sink *sink, struct sb_batch *batch, struct sb_error *err)
{
    (void)err;
    for (size_t i = 0; i < batch->count; i++) {
        struct sb_item *item = &batch->items[i];

        if (item->state == SB_ITEM_FAILED)
            continue;
        if (item->state != SB_ITEM_PART || item->part_last)
            sink->counts.unchecked += !(item->member.entry.has & SB_HAS_CRC);
        item->state = SB_ITEM_STORED;
    }
    return SB_OK;
}

static enum sb_code commit(struct sb_sink *sink, struct sb_error *err)
{
    struct cache_sink *cache = to_cache(sink);
    enum sb_code code = end_row(cache, NULL, err);
    struct sb_cache_writer_counts counts;

    if (code)
        return code;
    counts = sb_cache_writer_counts(cache->writer);
    sink->counts.files = counts.rows;
    sink->counts.bytes = counts.bytes;
    return sb_cache_writer_commit(cache->writer, err);
}

static const struct sb_sink_ops cache_ops = {
    .free = free_sink,
    .accept = accept,
    .store = store,
    .drain = drain,
    .commit = commit,
};

enum sb_code sb_sink_open_cache(struct sb_sink **out, const struct sb_cache_sink_options *options,
                                struct sb_error *err)
{
    struct cache_sink *cache = calloc(1, sizeof(*cache));
    enum sb_code code;

    *out = NULL;
    if (!cache)
        return sb_fail_memory(err);
    cache->options = *options;
    cache->bytes = (struct sb_row_spool){.beside = options->writer.path, .fd = -1};
    cache->sink =
        (struct sb_sink){.ops = &cache_ops, .name = options->writer.path, .any_names = true};
    code = sb_cache_writer_open(&cache->writer, &options->writer, err);
    if (code)
        free_sink(&cache->sink);
    else
        *out = &cache->sink;
    return code;
}
