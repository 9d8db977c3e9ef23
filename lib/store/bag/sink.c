/*
 * A bag, written as a stream of records.
 *
 * Each worker encodes the records of its batch, and their keys; in its turn they go to the writers
 * in one piece. What is large is encoded in its turn, as it comes.
 */
#include "store/sinks.h"

#include <stdlib.h>
#include <string.h>

/* Stored records, back to back. */
struct column {
    struct sb_encoder *encoder; /* NULL: they are stored as they are */
    struct sb_buf bytes;
    size_t sizes[SB_BATCH_ITEMS];
    size_t count;
    size_t written;    /* so many went to the writer, */
    size_t written_to; /* with so many bytes */
};

/* batch->own: a row for each item that is READ. */
struct bag_batch {
    struct column records;
    struct column keys;
};

struct bag_sink {
    struct sb_sink sink;
    struct sb_bag_writer *writer;
    struct sb_bag_writer *keys; /* NULL: none are written */
    struct sb_dictionary *dictionary;
    int level;
    const struct sb_notify *notify;

    /* Of the turn: a record that comes in pieces. */
    struct sb_encoder *encoder;
    bool open;
    int64_t declared; /* -1: not known */
    int64_t done;
};

static void release_column(struct column *column)
{
    sb_encoder_free(column->encoder);
    sb_buf_release(&column->bytes);
}

static void release_batch(struct sb_sink *sink, struct sb_batch *batch)
{
    struct bag_batch *own = batch->own;

    (void)sink;
    if (!own)
        return;
    release_column(&own->records);
    release_column(&own->keys);
    free(own);
    batch->own = NULL;
}

static void free_sink(struct sb_sink *sink)
{
    struct bag_sink *bag = (struct bag_sink *)sink;

    sb_bag_writer_free(bag->writer);
    sb_bag_writer_free(bag->keys);
    sb_encoder_free(bag->encoder);
    free(bag);
}

static enum sb_code accept(struct sb_sink *sink, const struct sb_member *member,
                           struct sb_item *item)
{
    struct bag_sink *bag = (struct bag_sink *)sink;

    (void)item;
    if (member->hard_link) {
        sb_report(bag->notify, SB_PROBLEM, "hard link", member->entry.path,
                  "is a hard link, which a bag cannot hold; left out: unpack and convert the "
                  "directory for a record of each");
        return SB_END;
    }
    return member->entry.type == SB_DIR ? SB_END : SB_OK;
}

/* Workers: encoding */

static enum sb_code new_encoder(struct sb_encoder **out, const struct sb_bag_writer *writer,
                                struct sb_dictionary *dictionary, int level)
{
    if (*out || !sb_bag_writer_compresses(writer))
        return SB_OK;
    return sb_encoder_new(out, dictionary, level);
}

static enum sb_code make_own(const struct bag_sink *bag, struct sb_batch *batch)
{
    struct bag_batch *own = batch->own;

    if (!own)
        own = batch->own = calloc(1, sizeof(*own));
    if (!own)
        return sb_fail_memory();
    TRY(new_encoder(&own->records.encoder, bag->writer, bag->dictionary, bag->level));
    if (bag->keys)
        TRY(new_encoder(&own->keys.encoder, bag->keys, NULL, 0));
    return SB_OK;
}

static void clear_column(struct column *column)
{
    sb_buf_clear(&column->bytes);
    column->count = column->written = column->written_to = 0;
}

static enum sb_code add_row(struct column *column, const void *record, size_t size)
{
    size_t before = column->bytes.size;

    if (column->encoder)
        TRY(sb_encode(column->encoder, record, size, &column->bytes));
    else if (sb_buf_add(&column->bytes, record, size))
        return sb_fail_memory();
    column->sizes[column->count++] = column->bytes.size - before;
    return SB_OK;
}

static enum sb_code render(struct sb_sink *sink, struct sb_batch *batch)
{
    const struct bag_sink *bag = (const struct bag_sink *)sink;
    struct bag_batch *own;

    TRY(make_own(bag, batch));
    own = batch->own;
    clear_column(&own->records);
    clear_column(&own->keys);
    for (size_t i = 0; i < batch->count; i++) {
        const struct sb_item *item = &batch->items[i];

        if (item->state != SB_ITEM_READ)
            continue;
        TRY(add_row(&own->records, batch->data + item->data_at, item->data_size));
        if (bag->keys)
            TRY(add_row(&own->keys, item->member.entry.path, item->member.entry.path_size));
    }
    return SB_OK;
}

/* The turn: records that come in pieces */

static enum sb_code put_piece(void *context, const void *data, size_t size)
{
    struct bag_sink *bag = context;

    return sb_bag_writer_piece(bag->writer, data, size);
}

static enum sb_code begin_record(struct bag_sink *bag, int64_t size)
{
    bag->open = true;
    bag->declared = size;
    bag->done = 0;
    TRY(new_encoder(&bag->encoder, bag->writer, bag->dictionary, bag->level));
    return bag->encoder ? sb_encode_begin(bag->encoder, size) : SB_OK;
}

/* A sb_each_block. */
static enum sb_code feed_record(void *context, const void *data, size_t size)
{
    struct bag_sink *bag = context;

    if (bag->declared >= 0 && (int64_t)size > bag->declared - bag->done)
        return sb_fail(SB_CHANGED, "%s: a record has more bytes than the %lld it declares",
                       bag->sink.name, (long long)bag->declared);
    bag->done += (int64_t)size;
    if (bag->encoder)
        return sb_encode_more(bag->encoder, data, size, put_piece, bag);
    return put_piece(bag, data, size);
}

static enum sb_code end_record(struct bag_sink *bag)
{
    bag->open = false;
    if (bag->encoder && bag->done > 0)
        TRY(sb_encode_end(bag->encoder, put_piece, bag));
    return sb_bag_writer_end_record(bag->writer);
}

/* Its events say why it must be left out. */
static enum sb_code drop_record(struct bag_sink *bag, const struct sb_item *item)
{
    enum sb_code code = sb_bag_writer_drop_record(bag->writer);

    bag->open = false;
    if (code != SB_INVALID)
        return code;
    return sb_fail(SB_DAMAGED,
                   "%s: is damaged, and the output has its beginning already; leave it out",
                   item->member.entry.path);
}

static enum sb_code write_large(struct bag_sink *bag, struct sb_batch *batch, struct sb_item *item)
{
    enum sb_code code;

    TRY(begin_record(bag, item->member.entry.size));
    code = sb_item_stream(batch, item, feed_record, bag);
    if (code == SB_OK && bag->declared >= 0 && bag->done < bag->declared) {
        TRY(sb_item_fail(batch, item, "changed", "has become shorter; left out"));
        code = SB_END;
    }
    if (code != SB_END)
        return code ? code : end_record(bag);
    item->state = SB_ITEM_FAILED;
    return drop_record(bag, item);
}

static enum sb_code write_part(struct bag_sink *bag, const struct sb_batch *batch,
                               const struct sb_item *item)
{
    if (item->part_offset == 0)
        TRY(begin_record(bag, item->member.entry.size));
    TRY(feed_record(bag, batch->data + item->data_at, item->data_size));
    return item->part_last ? end_record(bag) : SB_OK;
}

/* The turn */

/* The rows before row number `end` that were not written yet. */
static enum sb_code write_rows(struct sb_bag_writer *writer, struct column *column, size_t end)
{
    const size_t *sizes = column->sizes + column->written;
    const char *bytes = column->bytes.data + column->written_to;
    size_t count = end - column->written;

    if (count == 0)
        return SB_OK;
    for (size_t i = 0; i < count; i++)
        column->written_to += sizes[i];
    column->written = end;
    return sb_bag_writer_add(writer, bytes, sizes, count);
}

static enum sb_code write_both(struct bag_sink *bag, struct bag_batch *own, size_t end)
{
    TRY(write_rows(bag->writer, &own->records, end));
    return bag->keys ? write_rows(bag->keys, &own->keys, end) : SB_OK;
}

/* The key of a record that came in pieces has no row: it comes after the rows, and is written
 * alone. */
static enum sb_code write_key(struct bag_sink *bag, struct bag_batch *own,
                              const struct sb_item *item)
{
    struct column key = {.encoder = own->keys.encoder};
    enum sb_code code;

    if (!bag->keys || item->state == SB_ITEM_FAILED ||
        (item->state == SB_ITEM_PART && !item->part_last))
        return SB_OK;
    code = add_row(&key, item->member.entry.path, item->member.entry.path_size);
    if (!code)
        code = write_rows(bag->keys, &key, 1);
    sb_buf_release(&key.bytes);
    return code;
}

static enum sb_code write_batch(struct sb_sink *sink, struct sb_batch *batch)
{
    struct bag_sink *bag = (struct bag_sink *)sink;
    struct bag_batch *own = batch->own;
    size_t row = 0;

    for (size_t i = 0; i < batch->count; i++) {
        struct sb_item *item = &batch->items[i];

        if (item->state == SB_ITEM_READ)
            row++;
        if (item->state != SB_ITEM_LARGE && item->state != SB_ITEM_PART)
            continue;
        TRY(write_both(bag, own, row));
        if (item->state == SB_ITEM_LARGE)
            TRY(write_large(bag, batch, item));
        else
            TRY(write_part(bag, batch, item));
        TRY(write_key(bag, own, item));
    }
    return write_both(bag, own, row);
}

static enum sb_code commit(struct sb_sink *sink)
{
    struct bag_sink *bag = (struct bag_sink *)sink;

    if (bag->open)
        return sb_fail(SB_DAMAGED, "%s: the last record ends before its size", sink->name);
    if (bag->keys)
        return sb_bag_writer_commit_pair(bag->writer, bag->keys);
    return sb_bag_writer_commit(bag->writer);
}

static const struct sb_sink_ops bag_ops = {
    .free = free_sink,
    .accept = accept,
    .render = render,
    .write = write_batch,
    .release = release_batch,
    .commit = commit,
};

enum sb_code sb_sink_open_bag(struct sb_sink **out, const struct sb_bag_sink_options *options)
{
    struct bag_sink *bag = calloc(1, sizeof(*bag));
    CLEANUP(sb_sink_freep) struct sb_sink *sink = bag ? &bag->sink : NULL;

    *out = NULL;
    if (!bag)
        return sb_fail_memory();
    bag->sink = (struct sb_sink){.ops = &bag_ops, .any_names = true};
    bag->dictionary = options->dictionary;
    bag->level = options->level;
    bag->notify = options->notify;
    TRY(sb_bag_writer_open(&bag->writer, &options->writer));
    if (options->keys)
        TRY(sb_bag_writer_open(&bag->keys, options->keys));
    /* A level that zstd does not have is reported before anything is read. */
    TRY(new_encoder(&bag->encoder, bag->writer, bag->dictionary, bag->level));
    bag->sink.name = sb_bag_writer_name(bag->writer);
    *out = TAKE(sink);
    return SB_OK;
}
