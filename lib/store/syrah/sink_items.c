#include "store/syrah/sink_items.h"

#include "store/array/npy.h"

#include <string.h>

bool sb_syrah_name_of(struct sb_array_name *out, const struct sb_member *member)
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

    (void)sb_syrah_name_of(&name, &item->member);
    return name;
}

enum sb_code sb_syrah_look(struct sb_item *item, const char *data, size_t have, int64_t size,
                           struct sb_array_file *out)
{
    struct sb_array_name name = name_of(item);

    TRY(sb_array_file_look(out, &name, data, have, size));
    if (!out->is_row)
        item->member.has |= SB_KEEPS_SHAPE;
    return SB_OK;
}

enum sb_code sb_syrah_fail_array(struct sb_batch *batch, struct sb_item *item,
                                 const struct sb_error *why)
{
    sb_fail(SB_INVALID, "%s; left out", why->text);
    return sb_item_fail(batch, item, "array", sb_error()->text);
}

void sb_syrah_items_release(struct sb_syrah_items *items)
{
    sb_buf_release(&items->item);
    sb_buf_release(&items->head);
}

/* Is the present item's name the number that it gets? */
static bool is_number(const struct sb_syrah_items *items)
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
static enum sb_code name_item(const struct sb_syrah_items *items, enum sb_code code)
{
    if (code != SB_INVALID)
        return code;
    return sb_fail(SB_INVALID, "%s: %s", items->item.data, sb_error()->text);
}

/* One that is spoiled is left out, which was reported. */
static enum sb_code end_item(struct sb_syrah_items *items)
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
    items->part = (struct sb_syrah_counts){0};
    items->spoiled = false;
    sb_buf_clear(&items->item);
    return code;
}

/* The item that the array belongs to. */
static enum sb_code enter_item(struct sb_syrah_items *items, struct sb_item *item)
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

static enum sb_code spoil_item(struct sb_syrah_items *items, struct sb_batch *batch)
{
    bool before = items->spoiled;

    items->spoiled = true;
    if (before)
        return SB_OK;
    return sb_events_add(&batch->events, SB_PROBLEM, "item", items->item.data,
                         "is left out as an item, for one of its arrays cannot be used");
}

static enum sb_code begin_array(struct sb_syrah_items *items, const struct sb_item *item,
                                const struct sb_array_file *file)
{
    struct sb_array_name name = name_of(item);

    items->part.arrays++;
    items->part.unchecked += !(item->member.entry.has & SB_HAS_CRC);
    return name_item(items, sb_syrah_writer_array(items->writer, name.array, name.array_size,
                                                  file->dtype, file->size));
}

static enum sb_code write_values(struct sb_syrah_items *items, const char *data, size_t size)
{
    items->part.bytes += (int64_t)size;
    return sb_syrah_writer_write(items->writer, data, size);
}

static enum sb_code write_read(struct sb_syrah_items *items, const struct sb_batch *batch,
                               const struct sb_item *item, const struct sb_array_file *file)
{
    const char *values = batch->data + item->data_at + file->header_size;

    TRY(begin_array(items, item, file));
    return write_values(items, values, (size_t)file->size);
}

/* Values of what comes in pieces: more than the header says make it unfit. */
static enum sb_code feed_values(struct sb_syrah_items *items, const char *data, size_t size)
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
static enum sb_code begin_values(struct sb_syrah_items *items, struct sb_item *item)
{
    const struct sb_buf *head = &items->head;
    struct sb_array_file file;
    enum sb_code code =
        INTO(&items->unfit, sb_syrah_look(item, head->data ? head->data : "", head->size,
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
    struct sb_syrah_items *items;
    struct sb_item *item;
};

/* A sb_each_block. What follows a fault is skipped. */
static enum sb_code feed(void *context, const void *data, size_t size)
{
    struct piece *piece = context;
    struct sb_syrah_items *items = piece->items;

    if (items->unfit.code)
        return SB_OK;
    if (items->begun)
        return feed_values(items, data, size);
    TRY(sb_buf_add(&items->head, data, size));
    return items->head.size < SB_NPY_HEADER_MOST ? SB_OK : begin_values(items, piece->item);
}

static void begin_pieces(struct sb_syrah_items *items)
{
    items->in_pieces = true;
    items->begun = false;
    items->unfit.code = SB_OK;
    sb_buf_clear(&items->head);
}

static enum sb_code end_pieces(struct sb_syrah_items *items, struct sb_batch *batch,
                               struct sb_item *item)
{
    enum sb_code code = SB_OK;

    items->in_pieces = false;
    if (!items->begun && !items->unfit.code)
        code = begin_values(items, item);
    if (!code && !items->unfit.code && items->left > 0)
        INTO(&items->unfit, sb_fail(SB_DAMAGED, "has fewer bytes than it should"));
    if (code || !items->unfit.code)
        return code;
    TRY(sb_syrah_fail_array(batch, item, &items->unfit));
    return spoil_item(items, batch);
}

static enum sb_code write_large(struct sb_syrah_items *items, struct sb_batch *batch,
                                struct sb_item *item)
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

static enum sb_code write_part(struct sb_syrah_items *items, struct sb_batch *batch,
                               struct sb_item *item)
{
    struct piece piece = {items, item};

    if (item->part_offset == 0)
        begin_pieces(items);
    TRY(feed(&piece, batch->data + item->data_at, item->data_size));
    return item->part_last ? end_pieces(items, batch, item) : SB_OK;
}

enum sb_code sb_syrah_items_take(struct sb_syrah_items *items, struct sb_batch *batch,
                                 struct sb_item *item, const struct sb_array_file *file)
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

enum sb_code sb_syrah_items_end(struct sb_syrah_items *items)
{
    if (items->in_pieces)
        return sb_fail(SB_DAMAGED, "%s: its last array ends before its size", items->item.data);
    return end_item(items);
}
