/*
 * A Syrah file, written as a stream of items.
 *
 * Each worker looks at the headers of the arrays in its batch; in its turn it gives them to the
 * writer, and knows by their names where an item ends.
 */
#include "core/name.h"
#include "store/array/npy.h"
#include "store/sinks.h"
#include "store/syrah/writer.h"

#include <stdlib.h>
#include <string.h>

struct counts {
    int64_t items, arrays, bytes, unchecked;
};

struct items {
    struct sb_syrah_writer *writer;

    /* The present item, */
    struct sb_buf item; /* its name; empty: there is none */
    bool spoiled;       /* it is going to be left out */
    struct counts part; /* what came of it */
    struct counts done; /* of items that have ended */

    /* and an array that comes in pieces. */
    bool in_pieces;
    bool begun;            /* its header was looked at */
    struct sb_buf head;    /* what came of it until then */
    int64_t left;          /* of its values; -1: all that comes */
    struct sb_error unfit; /* its code: why it cannot be used */
};

struct array_file {
    enum sb_dtype dtype;
    size_t header_size;
    int64_t size; /* of the values; -1: up to the end */
};

/* batch->own */
struct syrah_batch {
    struct array_file files[SB_BATCH_ITEMS]; /* of what is SB_ITEM_READ */
    struct counts counts;                    /* of items that ended in its turn */
};

struct syrah_sink {
    struct sb_sink sink;
    struct items items; /* of the turn */
    const struct sb_notify *notify;
};

/* What the name of a member says; false: it is no array. */
static bool parse_name(struct sb_array_name *out, const struct sb_member *member)
{
    const char *path = member->entry.path;
    size_t size = member->entry.path_size, array = member->array_size, suffix;

    if (!sb_array_name_parse(out, path, size))
        return false;
    /* The name may have been made clean meanwhile, and be shorter. */
    if (array == 0 || array >= size || path[size - array - 1] != '/')
        return true;
    suffix = (size_t)(path + size - (out->array + out->array_size));
    out->item_size = size - array - 1;
    out->array = path + size - array;
    out->array_size = array - suffix;
    return true;
}

static struct sb_array_name name_of(const struct sb_item *item)
{
    struct sb_array_name name;

    (void)parse_name(&name, &item->member);
    return name;
}

/*
 * Finds type and values of an array: of a .npy file, a text, or plain values. It has `size` bytes
 * (-1: not known); its first `have` bytes are at data: all of them, or at least SB_NPY_HEADER_MOST.
 * A shape that is lost is a property of the item's member. SB_FORMAT, SB_INVALID: as sb_npy_parse.
 * SB_DAMAGED: the number of bytes is not what the header says, or not a multiple of a value's. The
 * text does not name the file: "has big-endian values".
 */
static enum sb_code look(struct sb_item *item, const char *data, size_t have, int64_t size,
                         struct array_file *out)
{
    struct sb_array_name name = name_of(item);
    struct sb_npy npy;

    *out = (struct array_file){.dtype = name.dtype, .size = size};
    if (name.form != SB_FORM_NPY) {
        if (size <= 0 || size % (int64_t)sb_dtype_size(name.dtype) == 0)
            return SB_OK;
        return sb_fail(SB_DAMAGED, "has bytes that are no multiple of a %s",
                       sb_dtype_word(name.dtype));
    }
    TRY(sb_npy_parse(&npy, data, have));
    if (size >= 0 && size != (int64_t)npy.header_size + npy.data_size)
        return sb_fail(SB_DAMAGED, "has not as many bytes as its .npy header says");
    *out = (struct array_file){npy.dtype, npy.header_size, npy.data_size};
    if (npy.dims != 1)
        item->member.has |= SB_KEEPS_SHAPE;
    return SB_OK;
}

/* Leaves it out, and says why. */
static enum sb_code fail_array(struct sb_batch *batch, struct sb_item *item,
                               const struct sb_error *why)
{
    sb_fail(SB_INVALID, "%s; left out", why->text);
    return sb_item_fail(batch, item, "array", sb_error()->text);
}

/* Is the present item's name the number that it gets? */
static bool is_number(const struct items *items)
{
    int64_t number = 0;

    for (size_t i = 0; i < items->item.size; i++) {
        char digit = items->item.data[i];

        if (digit < '0' || digit > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, digit - '0', &number))
            return false;
    }
    return number == sb_syrah_writer_count(items->writer);
}

/* The writer says what is wrong with an array; this adds the item. */
static enum sb_code name_item(const struct items *items, enum sb_code code)
{
    if (code != SB_INVALID)
        return code;
    return sb_fail(SB_INVALID, "%s: %s", items->item.data, sb_error()->text);
}

/* One that is spoiled is left out, which was reported. */
static enum sb_code end_item(struct items *items)
{
    enum sb_code code;

    if (items->item.size == 0)
        return SB_OK;
    if (items->spoiled) {
        code = sb_syrah_writer_drop_item(items->writer);
    } else {
        code = name_item(items, sb_syrah_writer_end_item(items->writer));
        items->done.items++;
        items->done.arrays += items->part.arrays;
        items->done.bytes += items->part.bytes;
        items->done.unchecked += items->part.unchecked;
    }
    items->part = (struct counts){0};
    items->spoiled = false;
    sb_buf_clear(&items->item);
    return code;
}

/* The item that the array belongs to. */
static enum sb_code enter_item(struct items *items, struct sb_item *item)
{
    struct sb_array_name name = name_of(item);

    if (items->item.size == name.item_size &&
        memcmp(items->item.data, name.item, name.item_size) == 0)
        return SB_OK;
    TRY(end_item(items));
    TRY(sb_buf_set(&items->item, name.item, name.item_size));
    if (!item->member.numbered && !is_number(items))
        item->member.has |= SB_KEEPS_ITEM_NAME;
    return SB_OK;
}

static enum sb_code spoil_item(struct items *items, struct sb_batch *batch)
{
    bool before = items->spoiled;

    items->spoiled = true;
    if (before)
        return SB_OK;
    return sb_events_add(&batch->events, SB_PROBLEM, "item", items->item.data,
                         "is left out as an item, for one of its arrays cannot be used");
}

static enum sb_code begin_array(struct items *items, const struct sb_item *item,
                                const struct array_file *file)
{
    struct sb_array_name name = name_of(item);

    items->part.arrays++;
    items->part.unchecked += !(item->member.entry.has & SB_HAS_CRC);
    return name_item(items, sb_syrah_writer_array(items->writer, name.array, name.array_size,
                                                  file->dtype, file->size));
}

static enum sb_code write_values(struct items *items, const char *data, size_t size)
{
    items->part.bytes += (int64_t)size;
    return sb_syrah_writer_write(items->writer, data, size);
}

static enum sb_code write_read(struct items *items, const struct sb_batch *batch,
                               const struct sb_item *item, const struct array_file *file)
{
    const char *values = batch->data + item->data_at + file->header_size;

    TRY(begin_array(items, item, file));
    return write_values(items, values, (size_t)file->size);
}

/* Values of what comes in pieces: more than the header says make it unfit. */
static enum sb_code feed_values(struct items *items, const char *data, size_t size)
{
    if (items->left >= 0 && (int64_t)size > items->left) {
        INTO(&items->unfit, sb_fail(SB_DAMAGED, "has more bytes than its .npy header says"));
        return SB_OK;
    }
    if (items->left >= 0)
        items->left -= (int64_t)size;
    return write_values(items, data, size);
}

/* Once as much of it is at hand as its header may take. */
static enum sb_code begin_values(struct items *items, struct sb_item *item)
{
    const struct sb_buf *head = &items->head;
    struct array_file file;
    enum sb_code code = INTO(&items->unfit, look(item, head->data ? head->data : "", head->size,
                                                 item->member.entry.size, &file));

    items->begun = true;
    if (code) {
        *sb_error() = items->unfit;
        return sb_concerns_array(code) ? SB_OK : code;
    }
    items->left = file.size;
    TRY(begin_array(items, item, &file));
    return feed_values(items, head->data + file.header_size, head->size - file.header_size);
}

struct piece {
    struct items *items;
    struct sb_item *item;
};

/* A sb_each_block. What follows a fault is skipped. */
static enum sb_code feed(void *context, const void *data, size_t size)
{
    struct piece *piece = context;
    struct items *items = piece->items;

    if (items->unfit.code)
        return SB_OK;
    if (items->begun)
        return feed_values(items, data, size);
    TRY(sb_buf_add(&items->head, data, size));
    return items->head.size < SB_NPY_HEADER_MOST ? SB_OK : begin_values(items, piece->item);
}

static void begin_pieces(struct items *items)
{
    items->in_pieces = true;
    items->begun = false;
    items->unfit.code = SB_OK;
    sb_buf_clear(&items->head);
}

static enum sb_code end_pieces(struct items *items, struct sb_batch *batch, struct sb_item *item)
{
    enum sb_code code = SB_OK;

    items->in_pieces = false;
    if (!items->begun && !items->unfit.code)
        code = begin_values(items, item);
    if (!code && !items->unfit.code && items->left > 0)
        INTO(&items->unfit, sb_fail(SB_DAMAGED, "has fewer bytes than it should"));
    if (code || !items->unfit.code)
        return code;
    TRY(fail_array(batch, item, &items->unfit));
    return spoil_item(items, batch);
}

static enum sb_code write_large(struct items *items, struct sb_batch *batch, struct sb_item *item)
{
    struct piece piece = {items, item};
    enum sb_code code;

    begin_pieces(items);
    code = sb_item_stream(batch, item, feed, &piece);
    if (code != SB_END)
        return code ? code : end_pieces(items, batch, item);
    items->in_pieces = false;
    item->state = SB_ITEM_FAILED;
    return spoil_item(items, batch);
}

static enum sb_code write_part(struct items *items, struct sb_batch *batch, struct sb_item *item)
{
    struct piece piece = {items, item};

    if (item->part_offset == 0)
        begin_pieces(items);
    TRY(feed(&piece, batch->data + item->data_at, item->data_size));
    return item->part_last ? end_pieces(items, batch, item) : SB_OK;
}

/* The next one; if it is SB_ITEM_READ, `file` describes it. One that has failed costs its item.
 * SB_INVALID: the item differs from the first. */
static enum sb_code take(struct items *items, struct sb_batch *batch, struct sb_item *item,
                         const struct array_file *file)
{
    TRY(enter_item(items, item));
    if (item->state == SB_ITEM_FAILED)
        return spoil_item(items, batch);
    if (items->spoiled) {
        items->in_pieces = item->state == SB_ITEM_PART && !item->part_last;
        item->state = SB_ITEM_FAILED;
        return SB_OK;
    }
    if (item->state == SB_ITEM_READ)
        return write_read(items, batch, item, file);
    return item->state == SB_ITEM_LARGE ? write_large(items, batch, item)
                                        : write_part(items, batch, item);
}

static void free_sink(struct sb_sink *sink)
{
    struct syrah_sink *syrah = (struct syrah_sink *)sink;

    sb_syrah_writer_free(syrah->items.writer);
    sb_buf_release(&syrah->items.item);
    sb_buf_release(&syrah->items.head);
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
    if (!parse_name(&name, member) || name.form == SB_FORM_PICKLE || name.form == SB_FORM_SHAPE)
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
                                 struct array_file *out)
{
    const char *data = batch->data + item->data_at;
    enum sb_code code = look(item, data, item->data_size, (int64_t)item->data_size, out);

    if (!code && out->dtype == SB_DTYPE_STR && !sb_is_utf8(data, item->data_size))
        code = sb_fail(SB_INVALID, "is no UTF-8 text");
    if (!code || sb_concerns_array(code))
        return code ? fail_array(batch, item, sb_error()) : SB_OK;
    return code;
}

static enum sb_code render(struct sb_sink *sink, struct sb_batch *batch)
{
    struct syrah_batch *own = batch->own;

    (void)sink;
    if (!own)
        TRY(sb_alloc(&own, sizeof(*own)));
    batch->own = own;
    own->counts = (struct counts){0};
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->items[i].state == SB_ITEM_READ)
            TRY(look_at_read(batch, &batch->items[i], &own->files[i]));
    }
    return SB_OK;
}

static enum sb_code write_batch(struct sb_sink *sink, struct sb_batch *batch)
{
    struct items *items = &((struct syrah_sink *)sink)->items;
    struct syrah_batch *own = batch->own;
    enum sb_code code = SB_OK;

    items->done = (struct counts){0};
    for (size_t i = 0; !code && i < batch->count; i++)
        code = take(items, batch, &batch->items[i], &own->files[i]);
    own->counts = items->done;
    return code;
}

/* The calling thread */

static void add_counts(struct sb_sink *sink, const struct counts *counts)
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
    struct items *items = &((struct syrah_sink *)sink)->items;
    enum sb_code code;

    items->done = (struct counts){0};
    if (items->in_pieces)
        return sb_fail(SB_DAMAGED, "%s: its last array ends before its size", items->item.data);
    code = end_item(items);
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
    CLEANUP(sb_sink_freep) struct sb_sink *sink = NULL;
    struct syrah_sink *syrah;

    *out = NULL;
    TRY(SB_NEW(&syrah));
    sink = &syrah->sink;
    *sink = (struct sb_sink){.ops = &syrah_ops, .any_names = true};
    TRY(sb_syrah_writer_open(&syrah->items.writer, options));
    syrah->notify = options->notify;
    sink->name = sb_syrah_writer_name(syrah->items.writer);
    *out = TAKE(sink);
    return SB_OK;
}
