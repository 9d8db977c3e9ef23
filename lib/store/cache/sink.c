/*
 * A torchcachex cache: members become fields of keys.
 *
 * In their turn the batches' members, .npy files and pickles, are put together to rows, one at a
 * time; a row is written when the next key begins. Its bytes are kept as core/spool.h says.
 */
#include "core/number.h"
#include "core/spool.h"
#include "store/array/array.h"
#include "store/cache/writer.h"
#include "store/sinks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ITEM "item"

/* A member of the row. */
struct part {
    size_t name_at; /* in names */
    bool blob;
    struct sb_npy array;
    int64_t at; /* of its values in the spool */
};

struct row {
    struct sb_spool bytes;
    int64_t begin; /* of the present member in them */
    struct sb_buf names;
    struct part *parts;
    size_t count, capacity;
    struct sb_cache_field *fields; /* of the form, */
    size_t *numbers;               /* and which parts they are */
    struct sb_buf head;            /* of a .npy */
};

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
    struct row row;
    struct sb_buf key;
};

static struct cache_sink *to_cache(struct sb_sink *sink)
{
    return (struct cache_sink *)sink;
}

static void free_sink(struct sb_sink *sink)
{
    struct cache_sink *cache = to_cache(sink);
    struct row *row = &cache->row;

    sb_cache_writer_free(cache->writer);
    sb_spool_release(&row->bytes);
    sb_buf_release(&row->names);
    sb_buf_release(&row->head);
    free(row->parts);
    free(row->fields);
    free(row->numbers);
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

static void place(struct row *row, size_t field, size_t number, bool alone)
{
    const struct part *part = &row->parts[number];

    row->fields[field] = (struct sb_cache_field){
        .name = alone ? "" : row->names.data + part->name_at,
        .blob = part->blob,
        .dtype = part->array.dtype,
    };
    row->numbers[field] = number;
}

/* By their numbers, where they are those of a tuple, without gaps. */
static bool place_sequence(struct row *row)
{
    for (size_t i = 0; i < row->count; i++)
        row->numbers[i] = SIZE_MAX;
    for (size_t i = 0; i < row->count; i++) {
        size_t number = sequence_number(row->names.data + row->parts[i].name_at);

        if (number >= row->count || row->numbers[number] != SIZE_MAX)
            return false;
        place(row, number, i, false);
    }
    return true;
}

static struct sb_cache_form make_form(struct row *row, bool alone, bool list)
{
    struct sb_cache_form form = {.fields = row->fields, .field_count = row->count};

    if (!alone && place_sequence(row)) {
        form.structure = list ? SB_CACHE_LIST : SB_CACHE_TUPLE;
        return form;
    }
    for (size_t i = 0; i < row->count; i++)
        place(row, i, i, alone);
    form.structure = !alone ? SB_CACHE_DICT : row->parts[0].blob ? SB_CACHE_BLOB : SB_CACHE_TENSOR;
    return form;
}

/* A sb_each_block. */
static enum sb_code write_block(void *context, const void *data, size_t size)
{
    return sb_cache_writer_write(context, data, size);
}

static enum sb_code write_row(struct cache_sink *cache)
{
    const char *prefix = cache->options.key_prefix ? cache->options.key_prefix : "";
    struct row *row = &cache->row;
    struct sb_cache_form form = make_form(row, cache->alone, cache->options.list);
    const size_t *order = NULL;
    struct sb_row_key key;
    int64_t bytes = 0;

    TRY(sb_buf_set(&cache->key, prefix, strlen(prefix)));
    TRY(sb_buf_add(&cache->key, cache->item.data, cache->item.size));
    key = (struct sb_row_key){cache->key.data, cache->key.size};
    for (size_t i = 0; i < row->count; i++)
        bytes += row->parts[i].array.data_size;
    TRY(sb_cache_writer_begin_row(cache->writer, &form, &key, bytes, &order));
    for (size_t i = 0; i < row->count; i++) {
        const struct part *part = &row->parts[row->numbers[order[i]]];

        TRY(sb_cache_writer_value(cache->writer, &part->array));
        TRY(sb_spool_feed(&row->bytes, part->at, part->array.data_size, write_block,
                          cache->writer));
    }
    return sb_cache_writer_end_row(cache->writer);
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
    sb_spool_clear(&cache->row.bytes);
    sb_buf_clear(&cache->row.names);
    cache->row.count = 0;
    return code;
}

/* Members */

/* Its row is the present one, or begins with it. */
static enum sb_code take_row(struct cache_sink *cache, struct sb_batch *batch,
                             const struct sb_array_name *name)
{
    bool alone = name->item_size == 0;

    if (cache->open && !alone && !cache->alone && cache->item.size == name->item_size &&
        memcmp(cache->item.data, name->item, name->item_size) == 0)
        return SB_OK;
    TRY(end_row(cache, batch));
    cache->open = true;
    cache->alone = alone;
    TRY(sb_buf_set(&cache->item, alone ? name->array : name->item,
                   alone ? name->array_size : name->item_size));
    return SB_OK;
}

/* SB_INVALID: there are too many. */
static enum sb_code begin_part(struct row *row, const struct sb_array_name *name)
{
    size_t capacity = row->capacity, same = capacity;

    if (row->count == SB_CACHE_FIELDS_MOST)
        return sb_fail(SB_INVALID,
                       "%.*s: has more than %d arrays, which is all that a key "
                       "can have; put them into directories of their own",
                       (int)name->item_size, name->item, SB_CACHE_FIELDS_MOST);
    TRY(sb_grow(&row->parts, &capacity, row->count, sizeof(*row->parts)));
    TRY(sb_grow(&row->fields, &same, row->count, sizeof(*row->fields)));
    TRY(sb_grow(&row->numbers, &row->capacity, row->count, sizeof(*row->numbers)));
    row->begin = sb_spool_size(&row->bytes);
    row->parts[row->count] = (struct part){
        .name_at = row->names.size, .blob = name->form == SB_FORM_PICKLE, .at = row->begin};
    TRY(sb_buf_add(&row->names, name->array, name->array_size));
    TRY(sb_buf_add(&row->names, "", 1));
    return SB_OK;
}

/* SB_FORMAT: it is no .npy, or its bytes are not as many as it says; SB_INVALID: of a type that is
 * not held here. The text does not name it. */
static enum sb_code end_part(struct row *row)
{
    struct part *part = &row->parts[row->count++];
    int64_t size = sb_spool_size(&row->bytes) - row->begin, values;
    size_t head = size < (int64_t)SB_NPY_HEADER_MOST ? (size_t)size : SB_NPY_HEADER_MOST;

    if (part->blob) {
        part->array.data_size = size;
        return SB_OK;
    }
    sb_buf_clear(&row->head);
    TRY(sb_buf_reserve(&row->head, head + 1));
    TRY(sb_spool_get(&row->bytes, row->begin, row->head.data, head));
    TRY(sb_npy_parse(&part->array, row->head.data, head));
    values = size - (int64_t)part->array.header_size;
    if (part->array.data_size != values)
        return sb_fail(SB_FORMAT, "has %" PRId64 " bytes of values, where its shape says %" PRId64,
                       values, part->array.data_size);
    part->at = row->begin + (int64_t)part->array.header_size;
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
    return begin_part(&cache->row, &name);
}

static enum sb_code end_member(struct cache_sink *cache, struct sb_batch *batch,
                               struct sb_item *item)
{
    struct sb_error why = {0};
    enum sb_code code = INTO(&why, end_part(&cache->row));

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

static enum sb_code store_item(struct cache_sink *cache, struct sb_batch *batch,
                               struct sb_item *item)
{
    if (item->state != SB_ITEM_PART || item->part_offset == 0)
        TRY(begin_member(cache, batch, item));
    switch (item->state) {
    case SB_ITEM_READ:
    case SB_ITEM_PART:
        TRY(add_block(cache, batch->data + item->data_at, item->data_size));
        return item->state == SB_ITEM_PART && !item->part_last ? SB_OK
                                                               : end_member(cache, batch, item);
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
    CLEANUP(sb_sink_freep) struct sb_sink *sink = NULL;

    *out = NULL;
    if (!cache)
        return sb_fail_memory();
    cache->options = *options;
    cache->row = (struct row){.bytes = {.beside = options->writer.path, .fd = -1}};
    sink = &cache->sink;
    *sink = (struct sb_sink){.ops = &cache_ops, .name = options->writer.path, .any_names = true};
    TRY(sb_cache_writer_open(&cache->writer, &options->writer));
    *out = TAKE(sink);
    return SB_OK;
}
