/*
 * A Syrah file, written as a stream of items.
 *
 * Each worker looks at the headers of the arrays in its batch; in its turn it gives them to the
 * writer, and knows by their names where an item ends.
 */
#include "core/name.h"
#include "store/array_file.h"
#include "store/npy.h"
#include "store/sinks.h"
#include "store/syrah_writer.h"

#include <stdlib.h>
#include <string.h>

struct counts {
    int64_t items, arrays, bytes, unchecked;
};

/* batch->own */
struct syrah_batch {
    struct sb_array_file files[SB_BATCH_ITEMS]; /* of what is SB_ITEM_READ */
    struct counts counts;                       /* of items that ended in its turn */
};

struct syrah_sink {
    struct sb_sink sink;
    struct sb_syrah_writer *writer;
    const struct sb_notify *notify;

    /* Of the turn: the present item, */
    struct sb_buf item; /* its name; empty: there is none */
    bool spoiled;       /* it is going to be left out */
    struct counts part; /* what came of it */
    struct counts done; /* what the batch's turn has brought so far */

    /* and an array that comes in pieces. */
    bool in_pieces;
    bool begun;            /* its header was looked at */
    struct sb_buf head;    /* what came of it until then */
    int64_t left;          /* of its values; -1: all that comes */
    struct sb_error unfit; /* its code: why it cannot be used */
};

static void free_sink(struct sb_sink *sink)
{
    struct syrah_sink *syrah = (struct syrah_sink *)sink;

    sb_syrah_writer_free(syrah->writer);
    sb_buf_release(&syrah->item);
    sb_buf_release(&syrah->head);
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
    if (!sb_array_name_parse(&name, entry->path, entry->path_size) || name.form == SB_FORM_PICKLE ||
        name.form == SB_FORM_SHAPE)
        return "is no array (.npy, or .txt for text), which is all that a Syrah file holds; left "
               "out";
    if (name.item_size == 0)
        return "is in no directory, which would be its item; left out";
    return NULL;
}

static enum sb_code accept(struct sb_sink *sink, const struct sb_member *member,
                           struct sb_item *item, struct sb_error *err)
{
    struct syrah_sink *syrah = (struct syrah_sink *)sink;
    const char *why;

    (void)item;
    (void)err;
    if (member->entry.type == SB_DIR)
        return SB_END;
    why = misfit(member);
    if (!why)
        return SB_OK;
    sb_tell(syrah->notify, SB_PROBLEM, "array", member->entry.path, "%s", why);
    return SB_END;
}

/* Workers: headers */

static struct sb_array_name name_of(const struct sb_item *item)
{
    struct sb_array_name name;

    (void)sb_array_name_parse(&name, item->member.entry.path, item->member.entry.path_size);
    return name;
}

static enum sb_code look(struct sb_item *item, const char *data, size_t have, int64_t size,
                         struct sb_array_file *out, struct sb_error *err)
{
    struct sb_array_name name = name_of(item);
    enum sb_code code = sb_array_file_look(out, &name, data, have, size, err);

    if (!code && !out->is_row)
        item->member.has |= SB_KEEPS_SHAPE;
    return code;
}

static enum sb_code fail_array(struct sb_batch *batch, struct sb_item *item,
                               const struct sb_error *why, struct sb_error *err)
{
    struct sb_error text;

    sb_fail(&text, SB_INVALID, "%s; left out", why->text);
    return sb_item_fail(batch, item, "array", text.text, err);
}

static enum sb_code look_at_read(struct sb_batch *batch, struct sb_item *item,
                                 struct sb_array_file *out, struct sb_error *err)
{
    const char *data = batch->data + item->data_at;
    struct sb_error why;
    enum sb_code code = look(item, data, item->data_size, (int64_t)item->data_size, out, &why);

    if (!code && out->dtype == SB_DTYPE_STR && !sb_is_utf8(data, item->data_size))
        code = sb_fail(&why, SB_INVALID, "is no UTF-8 text");
    if (!code || sb_concerns_array(code))
        return code ? fail_array(batch, item, &why, err) : SB_OK;
    *err = why;
    return code;
}

static enum sb_code look_at_batch(struct sb_batch *batch, struct sb_error *err)
{
    struct syrah_batch *own = batch->own;
    enum sb_code code = SB_OK;

    if (!own)
        own = batch->own = malloc(sizeof(*own));
    if (!own)
        return sb_fail_memory(err);
    own->counts = (struct counts){0};
    for (size_t i = 0; !code && i < batch->count; i++) {
        if (batch->items[i].state == SB_ITEM_READ)
            code = look_at_read(batch, &batch->items[i], &own->files[i], err);
    }
    return code;
}

/* The turn: items */

/* Is the present item's name the number that it gets? */
static bool is_number(const struct syrah_sink *syrah)
{
    int64_t number = 0;

    for (size_t i = 0; i < syrah->item.size; i++) {
        char digit = syrah->item.data[i];

        if (digit < '0' || digit > '9' || __builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, digit - '0', &number))
            return false;
    }
    return number == sb_syrah_writer_count(syrah->writer);
}

/* The writer says what is wrong with an array; of which item is known here. */
static enum sb_code name_item(const struct syrah_sink *syrah, enum sb_code code,
                              struct sb_error *err)
{
    struct sb_error why;

    if (code != SB_INVALID)
        return code;
    why = *err;
    return sb_fail(err, SB_INVALID, "%s: %s", syrah->item.data, why.text);
}

/* One that is spoiled is left out, which was told. */
static enum sb_code end_item(struct syrah_sink *syrah, struct sb_error *err)
{
    enum sb_code code;

    if (syrah->item.size == 0)
        return SB_OK;
    if (syrah->spoiled) {
        code = sb_syrah_writer_drop_item(syrah->writer, err);
    } else {
        code = name_item(syrah, sb_syrah_writer_end_item(syrah->writer, err), err);
        syrah->done.items++;
        syrah->done.arrays += syrah->part.arrays;
        syrah->done.bytes += syrah->part.bytes;
        syrah->done.unchecked += syrah->part.unchecked;
    }
    syrah->part = (struct counts){0};
    syrah->spoiled = false;
    sb_buf_clear(&syrah->item);
    return code;
}

/* The item that the array belongs to. */
static enum sb_code enter_item(struct syrah_sink *syrah, struct sb_item *item, struct sb_error *err)
{
    struct sb_array_name name = name_of(item);
    enum sb_code code;

    if (syrah->item.size == name.item_size &&
        memcmp(syrah->item.data, name.item, name.item_size) == 0)
        return SB_OK;
    code = end_item(syrah, err);
    if (!code && sb_buf_set(&syrah->item, name.item, name.item_size))
        code = sb_fail_memory(err);
    if (!code && !is_number(syrah))
        item->member.has |= SB_KEEPS_ITEM_NAME;
    return code;
}

static enum sb_code spoil_item(struct syrah_sink *syrah, struct sb_batch *batch,
                               struct sb_error *err)
{
    bool before = syrah->spoiled;

    syrah->spoiled = true;
    if (before)
        return SB_OK;
    return sb_events_add(&batch->events, SB_PROBLEM, "item", syrah->item.data,
                         "is left out as an item, for one of its arrays cannot be used", err);
}

/* The turn: arrays */

static enum sb_code begin_array(struct syrah_sink *syrah, const struct sb_item *item,
                                const struct sb_array_file *file, struct sb_error *err)
{
    struct sb_array_name name = name_of(item);

    syrah->part.arrays++;
    syrah->part.unchecked += !(item->member.entry.has & SB_HAS_CRC);
    return name_item(syrah,
                     sb_syrah_writer_array(syrah->writer, name.array, name.array_size, file->dtype,
                                           file->size, err),
                     err);
}

static enum sb_code write_values(struct syrah_sink *syrah, const char *data, size_t size,
                                 struct sb_error *err)
{
    syrah->part.bytes += (int64_t)size;
    return sb_syrah_writer_write(syrah->writer, data, size, err);
}

static enum sb_code write_read(struct syrah_sink *syrah, const struct sb_batch *batch,
                               const struct sb_item *item, const struct sb_array_file *file,
                               struct sb_error *err)
{
    const char *values = batch->data + item->data_at + file->header_size;
    enum sb_code code = begin_array(syrah, item, file, err);

    return code ? code : write_values(syrah, values, (size_t)file->size, err);
}

/* Values of what comes in pieces: more than the header says make it unfit. */
static enum sb_code feed_values(struct syrah_sink *syrah, const char *data, size_t size,
                                struct sb_error *err)
{
    if (syrah->left >= 0 && (int64_t)size > syrah->left) {
        sb_fail(&syrah->unfit, SB_DAMAGED, "has more bytes than its .npy header says");
        return SB_OK;
    }
    if (syrah->left >= 0)
        syrah->left -= (int64_t)size;
    return write_values(syrah, data, size, err);
}

/* Once as much of it is at hand as its header may take. */
static enum sb_code begin_values(struct syrah_sink *syrah, struct sb_item *item,
                                 struct sb_error *err)
{
    const struct sb_buf *head = &syrah->head;
    struct sb_array_file file;
    enum sb_code code = look(item, head->data ? head->data : "", head->size,
                             item->member.entry.size, &file, &syrah->unfit);

    syrah->begun = true;
    if (code) {
        *err = syrah->unfit;
        return sb_concerns_array(code) ? SB_OK : code;
    }
    syrah->left = file.size;
    code = begin_array(syrah, item, &file, err);
    return code ? code
                : feed_values(syrah, head->data + file.header_size, head->size - file.header_size,
                              err);
}

struct piece {
    struct syrah_sink *syrah;
    struct sb_item *item;
};

/* A sb_each_block. What is behind a fault is passed over. */
static enum sb_code feed(void *context, const void *data, size_t size, struct sb_error *err)
{
    struct piece *piece = context;
    struct syrah_sink *syrah = piece->syrah;

    if (syrah->unfit.code)
        return SB_OK;
    if (syrah->begun)
        return feed_values(syrah, data, size, err);
    if (sb_buf_add(&syrah->head, data, size))
        return sb_fail_memory(err);
    return syrah->head.size < SB_NPY_HEADER_MOST ? SB_OK : begin_values(syrah, piece->item, err);
}

static void begin_pieces(struct syrah_sink *syrah)
{
    syrah->in_pieces = true;
    syrah->begun = false;
    syrah->unfit.code = SB_OK;
    sb_buf_clear(&syrah->head);
}

static enum sb_code end_pieces(struct syrah_sink *syrah, struct sb_batch *batch,
                               struct sb_item *item, struct sb_error *err)
{
    enum sb_code code = SB_OK;

    syrah->in_pieces = false;
    if (!syrah->begun && !syrah->unfit.code)
        code = begin_values(syrah, item, err);
    if (!code && !syrah->unfit.code && syrah->left > 0)
        sb_fail(&syrah->unfit, SB_DAMAGED, "has fewer bytes than it should");
    if (code || !syrah->unfit.code)
        return code;
    code = fail_array(batch, item, &syrah->unfit, err);
    return code ? code : spoil_item(syrah, batch, err);
}

static enum sb_code write_large(struct syrah_sink *syrah, struct sb_batch *batch,
                                struct sb_item *item, struct sb_error *err)
{
    struct piece piece = {syrah, item};
    enum sb_code code;

    begin_pieces(syrah);
    code = sb_item_stream(batch, item, feed, &piece, err);
    if (code != SB_END)
        return code ? code : end_pieces(syrah, batch, item, err);
    syrah->in_pieces = false;
    item->state = SB_ITEM_FAILED;
    return spoil_item(syrah, batch, err);
}

static enum sb_code write_part(struct syrah_sink *syrah, struct sb_batch *batch,
                               struct sb_item *item, struct sb_error *err)
{
    struct piece piece = {syrah, item};
    enum sb_code code;

    if (item->part_offset == 0)
        begin_pieces(syrah);
    code = feed(&piece, batch->data + item->data_at, item->data_size, err);
    return code || !item->part_last ? code : end_pieces(syrah, batch, item, err);
}

static enum sb_code write_item(struct syrah_sink *syrah, struct sb_batch *batch, size_t number,
                               struct sb_error *err)
{
    const struct syrah_batch *own = batch->own;
    struct sb_item *item = &batch->items[number];
    enum sb_code code = enter_item(syrah, item, err);

    if (code)
        return code;
    if (item->state == SB_ITEM_FAILED)
        return spoil_item(syrah, batch, err);
    if (syrah->spoiled) {
        syrah->in_pieces = item->state == SB_ITEM_PART && !item->part_last;
        item->state = SB_ITEM_FAILED;
        return SB_OK;
    }
    if (item->state == SB_ITEM_READ)
        return write_read(syrah, batch, item, &own->files[number], err);
    return item->state == SB_ITEM_LARGE ? write_large(syrah, batch, item, err)
                                        : write_part(syrah, batch, item, err);
}

static enum sb_code store(struct sb_sink *sink, struct sb_batch *batch, struct sb_pipeline *turns,
                          struct sb_error *err)
{
    struct syrah_sink *syrah = (struct syrah_sink *)sink;
    enum sb_code code = look_at_batch(batch, err);

    if (code)
        return code;
    code = sb_turn_begin(turns, batch);
    if (code)
        return sb_fail(err, code, "interrupted");
    syrah->done = (struct counts){0};
    for (size_t i = 0; !code && i < batch->count; i++)
        code = write_item(syrah, batch, i, err);
    ((struct syrah_batch *)batch->own)->counts = syrah->done;
    sb_turn_end(turns, batch);
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

static enum sb_code drain(struct sb_sink *sink, struct sb_batch *batch, struct sb_error *err)
{
    const struct syrah_batch *own = batch->own;

    (void)err;
    add_counts(sink, &own->counts);
    for (size_t i = 0; i < batch->count; i++) {
        if (batch->items[i].state != SB_ITEM_FAILED)
            batch->items[i].state = SB_ITEM_STORED;
    }
    return SB_OK;
}

static enum sb_code commit(struct sb_sink *sink, struct sb_error *err)
{
    struct syrah_sink *syrah = (struct syrah_sink *)sink;
    enum sb_code code;

    if (syrah->in_pieces)
        return sb_fail(err, SB_DAMAGED, "%s: the last array ends before its size",
                       syrah->item.data);
    syrah->done = (struct counts){0};
    code = end_item(syrah, err);
    add_counts(sink, &syrah->done);
    return code ? code : sb_syrah_writer_commit(syrah->writer, err);
}

static const struct sb_sink_ops syrah_ops = {
    .free = free_sink,
    .accept = accept,
    .store = store,
    .drain = drain,
    .release = release_batch,
    .commit = commit,
};

enum sb_code sb_sink_open_syrah(struct sb_sink **out, const struct sb_stream_sink_options *options,
                                struct sb_error *err)
{
    struct syrah_sink *syrah = calloc(1, sizeof(*syrah));
    enum sb_code code;

    *out = NULL;
    if (!syrah)
        return sb_fail_memory(err);
    code = sb_syrah_writer_open(&syrah->writer, options, err);
    if (code) {
        free_sink(&syrah->sink);
        return code;
    }
    syrah->notify = options->notify;
    syrah->sink = (struct sb_sink){
        .ops = &syrah_ops, .name = sb_syrah_writer_name(syrah->writer), .any_names = true};
    *out = &syrah->sink;
    return SB_OK;
}
