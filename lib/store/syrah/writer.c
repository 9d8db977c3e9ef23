#include "store/syrah/writer.h"

#include "core/array.h"
#include "core/little_endian.h"
#include "core/name.h"
#include "core/spool.h"
#include "store/out/out_file.h"
#include "store/syrah/syrah.h"

#include <endian.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define VERSION     0, 0, 2, 0 /* of the original whose format this is */
#define MAGIC_BYTES 6          /* and its version */

#define TYPE_TEXT     2
#define TYPE_DOCUMENT 3
#define TYPE_BINARY   5

#define FRAME       5                     /* of a document: its length, and the zero at its end */
#define COLUMN      (sizeof(int64_t))     /* of each item, in offsets and in sizes */
#define BINARY_HEAD (sizeof(int32_t) + 1) /* length, and a subtype: 0 */
#define KEY(name)   (1 + sizeof(name))    /* type, name, zero */

#define DOCUMENT_MOST INT32_MAX /* bytes: its length is an int32 */
#define BLOCK_BYTES   ((size_t)4 << 20)

/* An array that is written, and where it lies in the present item. */
struct written {
    char *name; /* of its own */
    enum sb_dtype dtype;
    bool there; /* in the present item */
    struct sb_extent extent;
};

/*
 * Offsets and sizes that wait until the metadata are written: they come item by item, and go array
 * by array. Some MB of them are held, those of neighbouring items of one array side by side; when
 * that is full it goes to the spool as one block: so there may be very many arrays.
 */
struct waiting {
    struct sb_spool blocks; /* that are full */
    size_t block_items;     /* of a block */
    size_t held_items;
    int64_t *held; /* of each array offsets, then sizes, little-endian */
};

struct sb_syrah_writer {
    struct sb_outfile *file;
    char *path;
    int64_t limit; /* of the document */

    struct sb_spool spool; /* what comes after the header, where that cannot be gone back to */

    int64_t end; /* of the data, in the file that is made */
    struct written *arrays;
    size_t array_count;
    size_t array_capacity;
    uint32_t *by_name; /* numbers of arrays, once the first item is complete */
    struct waiting waiting;
    struct sb_buf text; /* of the document, until it is written */
    int64_t items;
    int64_t most_items;

    /* The present item. */
    int64_t begin;
    size_t have; /* arrays */
    size_t last; /* the array whose bytes come, or came last */
    bool open;   /* they do */
    int64_t declared;
};

const char *sb_syrah_writer_name(const struct sb_syrah_writer *writer)
{
    return sb_outfile_name(writer->file);
}

void sb_syrah_writer_set_limit(struct sb_syrah_writer *writer, int64_t bytes)
{
    writer->limit = bytes;
}

int64_t sb_syrah_writer_count(const struct sb_syrah_writer *writer)
{
    return writer->items;
}

static void forget_arrays(struct sb_syrah_writer *writer)
{
    for (size_t i = 0; i < writer->array_count; i++)
        free(writer->arrays[i].name);
    writer->array_count = 0;
}

void sb_syrah_writer_free(struct sb_syrah_writer *writer)
{
    if (!writer)
        return;
    sb_outfile_free(writer->file);
    sb_spool_release(&writer->spool);
    sb_spool_release(&writer->waiting.blocks);
    free(writer->waiting.held);
    sb_buf_release(&writer->text);
    forget_arrays(writer);
    free(writer->arrays);
    free(writer->by_name);
    free(writer->path);
    free(writer);
}

enum sb_code sb_syrah_writer_open(struct sb_syrah_writer **out,
                                  const struct sb_stream_sink_options *options)
{
    static const char header_place[SB_SYRAH_HEADER];
    struct sb_stream_sink_options plain = *options;
    CLEANUP(sb_syrah_writer_freep) struct sb_syrah_writer *writer = NULL;

    *out = NULL;
    TRY(SB_NEW(&writer));
    plain.filter = SB_FILTER_NONE;
    writer->limit = DOCUMENT_MOST;
    writer->begin = writer->end = SB_SYRAH_HEADER;
    writer->spool.fd = writer->waiting.blocks.fd = -1;
    TRY(sb_copy_text(&writer->path, options->path));
    writer->spool.beside = writer->waiting.blocks.beside = writer->path;
    TRY(sb_outfile_open(&writer->file, &plain));
    if (sb_outfile_goes_back(writer->file))
        TRY(sb_outfile_write(writer->file, header_place, sizeof(header_place)));
    *out = TAKE(writer);
    return SB_OK;
}

static enum sb_code fail_array(const struct written *array, const char *what)
{
    return sb_fail(SB_INVALID, "array '%s': %s", array->name, what);
}

/* What came of the array at hand is all of it. */
static enum sb_code close_array(struct sb_syrah_writer *writer)
{
    struct written *array;

    if (!writer->open)
        return SB_OK;
    writer->open = false;
    array = &writer->arrays[writer->last];
    array->extent.size = writer->end - array->extent.offset;
    if (writer->declared >= 0 && array->extent.size != writer->declared)
        return fail_array(array, "its bytes are not as many as its size");
    if (array->extent.size % (int64_t)sb_dtype_size(array->dtype) == 0)
        return SB_OK;
    return sb_fail(SB_INVALID, "array '%s': its %" PRId64 " bytes are no multiple of a %s",
                   array->name, array->extent.size, sb_dtype_word(array->dtype));
}

static int compare_with(const struct written *array, const char *name, size_t size)
{
    return sb_compare_bytes(array->name, strlen(array->name), name, size);
}

/* Items are mostly alike, so it is the next one. array_count: there is none. */
static size_t find_array(const struct sb_syrah_writer *writer, const char *name, size_t size)
{
    const struct written *arrays = writer->arrays;
    size_t next = writer->have == 0 ? 0 : writer->last + 1, count = writer->array_count, at;

    if (next < count && compare_with(&arrays[next], name, size) == 0)
        return next;
    at = FIRST_WHERE(i, count, compare_with(&arrays[writer->by_name[i]], name, size) >= 0);
    if (at == count || compare_with(&arrays[writer->by_name[at]], name, size) != 0)
        return count;
    return writer->by_name[at];
}

static enum sb_code add_array(struct sb_syrah_writer *writer, const char *name, size_t size,
                              enum sb_dtype dtype)
{
    char *copy;

    if (writer->array_count == SB_SYRAH_ARRAYS_MOST)
        return sb_fail(SB_LIMIT, "%s: an item has more than %d arrays",
                       sb_syrah_writer_name(writer), SB_SYRAH_ARRAYS_MOST);
    if (!sb_is_utf8(name, size) || memchr(name, '\0', size))
        return sb_fail(SB_INVALID, "array '%.*s': its name is no UTF-8 text", (int)size, name);
    TRY(sb_grow(&writer->arrays, &writer->array_capacity, writer->array_count,
                sizeof(*writer->arrays)));
    copy = strndup(name, size);
    if (!copy)
        return sb_fail_memory();
    writer->arrays[writer->array_count++] = (struct written){.name = copy, .dtype = dtype};
    return SB_OK;
}

/* The array of that name that the first item has. */
static enum sb_code choose_array(const struct sb_syrah_writer *writer, const char *name,
                                 size_t size, enum sb_dtype dtype, size_t *array)
{
    *array = find_array(writer, name, size);
    if (*array == writer->array_count)
        return sb_fail(SB_INVALID, "array '%.*s': the first item has none of that name", (int)size,
                       name);
    if (writer->arrays[*array].there)
        return fail_array(&writer->arrays[*array], "it comes twice");
    if (writer->arrays[*array].dtype == dtype)
        return SB_OK;
    return sb_fail(SB_INVALID, "array '%s': is of type %s, but %s in the first item",
                   writer->arrays[*array].name, sb_dtype_word(dtype),
                   sb_dtype_word(writer->arrays[*array].dtype));
}

enum sb_code sb_syrah_writer_array(struct sb_syrah_writer *writer, const char *name,
                                   size_t name_size, enum sb_dtype dtype, int64_t size)
{
    size_t array = writer->array_count;

    TRY(close_array(writer));
    if (writer->items == 0)
        TRY(add_array(writer, name, name_size, dtype));
    else
        TRY(choose_array(writer, name, name_size, dtype, &array));
    writer->arrays[array].there = true;
    writer->arrays[array].extent.offset = writer->end;
    writer->have++;
    writer->last = array;
    writer->open = true;
    writer->declared = size;
    return SB_OK;
}

/* After the header; a sb_each_block. */
static enum sb_code put(void *context, const void *data, size_t size)
{
    struct sb_syrah_writer *writer = context;

    if (!sb_outfile_goes_back(writer->file))
        return sb_spool_add(&writer->spool, data, size);
    return sb_outfile_write(writer->file, data, size);
}

enum sb_code sb_syrah_writer_write(struct sb_syrah_writer *writer, const void *data, size_t size)
{
    int64_t done = writer->end - writer->arrays[writer->last].extent.offset;

    if (writer->declared >= 0 && (int64_t)size > writer->declared - done)
        return fail_array(&writer->arrays[writer->last], "its bytes are more than its size");
    writer->end += (int64_t)size;
    return put(writer, data, size);
}

static int compare_names(const void *a, const void *b, void *context)
{
    const struct written *arrays = context;

    return strcmp(arrays[*(const uint32_t *)a].name, arrays[*(const uint32_t *)b].name);
}

static enum sb_code sort_names(struct sb_syrah_writer *writer)
{
    uint32_t *by_name;

    free(TAKE(writer->by_name));
    TRY(SB_NEW_ARRAY(&by_name, writer->array_count + 1));
    writer->by_name = by_name;
    for (size_t i = 0; i < writer->array_count; i++)
        by_name[i] = (uint32_t)i;
    qsort_r(by_name, writer->array_count, sizeof(*by_name), compare_names, writer->arrays);
    for (size_t i = 1; i < writer->array_count; i++) {
        if (strcmp(writer->arrays[by_name[i - 1]].name, writer->arrays[by_name[i]].name) == 0)
            return fail_array(&writer->arrays[by_name[i]], "it comes twice");
    }
    return SB_OK;
}

/* The document: array name -> { offset, size: binaries of an int64 for each item; dtype: text } */

/* Of the document of an array without items. */
static size_t array_frame(const struct written *array)
{
    return FRAME + KEY("offset") + BINARY_HEAD + KEY("size") + BINARY_HEAD + KEY("dtype") +
           sizeof(int32_t) + strlen(sb_dtype_word(array->dtype)) + 1;
}

/* Of a document without items; each item takes item_size of it. */
static int64_t frame_of_all(const struct sb_syrah_writer *writer)
{
    int64_t size = FRAME;

    for (size_t i = 0; i < writer->array_count; i++)
        size += (int64_t)(1 + strlen(writer->arrays[i].name) + 1 + array_frame(&writer->arrays[i]));
    return size;
}

static int64_t item_size(const struct sb_syrah_writer *writer)
{
    return (int64_t)(2 * COLUMN * writer->array_count);
}

static int64_t document_size(const struct sb_syrah_writer *writer)
{
    return frame_of_all(writer) + item_size(writer) * writer->items;
}

static size_t block_bytes(const struct sb_syrah_writer *writer)
{
    return writer->waiting.block_items * (size_t)item_size(writer);
}

static enum sb_code check_first(struct sb_syrah_writer *writer)
{
    struct waiting *waiting = &writer->waiting;
    int64_t left;

    TRY(sort_names(writer));
    if (writer->array_count == 0)
        return sb_fail(SB_INVALID, "has no arrays");
    left = writer->limit - frame_of_all(writer);
    writer->most_items = left < 0 ? 0 : left / item_size(writer);
    waiting->block_items = BLOCK_BYTES / (size_t)item_size(writer) + 1;
    free(TAKE(waiting->held));
    return sb_alloc(&waiting->held, block_bytes(writer));
}

static enum sb_code check_complete(const struct sb_syrah_writer *writer)
{
    for (size_t i = 0; writer->have < writer->array_count && i < writer->array_count; i++) {
        if (!writer->arrays[i].there)
            return sb_fail(SB_INVALID, "has no array '%s', as the first item has",
                           writer->arrays[i].name);
    }
    if (writer->items < writer->most_items)
        return SB_OK;
    return sb_fail(SB_LIMIT,
                   "%s: at most %" PRId64 " items with these arrays fit, for the metadata of a "
                   "Syrah file end at 2 GiB; make several files",
                   sb_syrah_writer_name(writer), writer->most_items);
}

/* Keeps where the arrays of the item are. */
static enum sb_code keep_extents(struct sb_syrah_writer *writer)
{
    struct waiting *waiting = &writer->waiting;
    int64_t *held;

    if (waiting->held_items == waiting->block_items) {
        TRY(sb_spool_add(&waiting->blocks, waiting->held, block_bytes(writer)));
        waiting->held_items = 0;
    }
    held = waiting->held + waiting->held_items++;
    for (size_t i = 0; i < writer->array_count; i++, held += 2 * waiting->block_items) {
        held[0] = (int64_t)htole64((uint64_t)writer->arrays[i].extent.offset);
        held[waiting->block_items] = (int64_t)htole64((uint64_t)writer->arrays[i].extent.size);
    }
    return SB_OK;
}

static void begin_item(struct sb_syrah_writer *writer)
{
    for (size_t i = 0; i < writer->array_count; i++)
        writer->arrays[i].there = false;
    writer->begin = writer->end;
    writer->have = 0;
    writer->open = false;
}

enum sb_code sb_syrah_writer_end_item(struct sb_syrah_writer *writer)
{
    TRY(close_array(writer));
    if (writer->items == 0)
        TRY(check_first(writer));
    TRY(check_complete(writer));
    TRY(keep_extents(writer));
    writer->items++;
    begin_item(writer);
    return SB_OK;
}

enum sb_code sb_syrah_writer_drop_item(struct sb_syrah_writer *writer)
{
    int64_t begin = writer->begin;
    enum sb_code code = SB_OK;

    if (!sb_outfile_goes_back(writer->file))
        sb_spool_cut(&writer->spool, begin - SB_SYRAH_HEADER);
    else if (writer->end > begin)
        code = sb_outfile_cut(writer->file, begin);
    writer->end = begin;
    if (writer->items == 0)
        forget_arrays(writer);
    begin_item(writer);
    return code;
}

static enum sb_code add_number(struct sb_buf *out, size_t number)
{
    uint8_t bytes[sizeof(int32_t)];

    sb_put_u32(bytes, (uint32_t)number);
    return sb_buf_add(out, bytes, sizeof(bytes));
}

static enum sb_code add_key(struct sb_buf *out, char type, const char *name)
{
    TRY(sb_buf_add_char(out, type));
    return sb_buf_add(out, name, strlen(name) + 1);
}

static enum sb_code add_binary_head(struct sb_buf *out, const char *name, int64_t items)
{
    TRY(add_key(out, TYPE_BINARY, name));
    TRY(add_number(out, (size_t)items * COLUMN));
    return sb_buf_add_char(out, 0);
}

static enum sb_code add_array_head(struct sb_buf *out, const struct written *array, int64_t items)
{
    TRY(add_key(out, TYPE_DOCUMENT, array->name));
    TRY(add_number(out, array_frame(array) + 2 * COLUMN * (size_t)items));
    return add_binary_head(out, "offset", items);
}

static enum sb_code add_array_end(struct sb_buf *out, const struct written *array)
{
    const char *word = sb_dtype_word(array->dtype);

    TRY(add_key(out, TYPE_TEXT, "dtype"));
    TRY(add_number(out, strlen(word) + 1));
    TRY(sb_buf_add(out, word, strlen(word) + 1));
    return sb_buf_add_char(out, 0);
}

/* `added` is what became of adding to the text. */
static enum sb_code write_text(struct sb_syrah_writer *writer, enum sb_code added)
{
    TRY(added);
    TRY(put(writer, writer->text.data, writer->text.size));
    sb_buf_clear(&writer->text);
    return SB_OK;
}

/* An array's offsets, or sizes. */
static enum sb_code write_column(struct sb_syrah_writer *writer, size_t array, bool sizes)
{
    struct waiting *waiting = &writer->waiting;
    size_t column = (2 * array + sizes) * waiting->block_items;

    for (int64_t at = 0; at < sb_spool_size(&waiting->blocks); at += (int64_t)block_bytes(writer))
        TRY(sb_spool_feed(&waiting->blocks, at + (int64_t)(column * COLUMN),
                          (int64_t)(waiting->block_items * COLUMN), put, writer));
    return put(writer, waiting->held + column, waiting->held_items * COLUMN);
}

static enum sb_code write_document(struct sb_syrah_writer *writer)
{
    struct sb_buf *text = &writer->text;

    TRY(write_text(writer, add_number(text, (size_t)document_size(writer))));
    for (size_t i = 0; i < writer->array_count; i++) {
        TRY(write_text(writer, add_array_head(text, &writer->arrays[i], writer->items)));
        TRY(write_column(writer, i, false));
        TRY(write_text(writer, add_binary_head(text, "size", writer->items)));
        TRY(write_column(writer, i, true));
        TRY(write_text(writer, add_array_end(text, &writer->arrays[i])));
    }
    return write_text(writer, sb_buf_add_char(text, 0));
}

static void make_header(const struct sb_syrah_writer *writer, uint8_t header[SB_SYRAH_HEADER])
{
    static const uint8_t magic[MAGIC_BYTES] = {'G', 'S', VERSION};
    uint8_t *size = sb_put_u64(header + sizeof(magic), (uint64_t)writer->end);

    memcpy(header, magic, sizeof(magic));
    sb_put_u64(size, (uint64_t)document_size(writer));
}

static enum sb_code put_out(void *file, const void *data, size_t size)
{
    return sb_outfile_write(file, data, size);
}

enum sb_code sb_syrah_writer_commit(struct sb_syrah_writer *writer)
{
    uint8_t header[SB_SYRAH_HEADER];

    if (writer->items == 0)
        return sb_fail(SB_INVALID, "%s: there is no item, and what has none cannot be a Syrah file",
                       sb_syrah_writer_name(writer));
    make_header(writer, header);
    TRY(write_document(writer));
    if (sb_outfile_goes_back(writer->file))
        TRY(sb_outfile_patch(writer->file, 0, header, sizeof(header)));
    else
        TRY(sb_outfile_write(writer->file, header, sizeof(header)));
    TRY(sb_spool_feed(&writer->spool, 0, sb_spool_size(&writer->spool), put_out, writer->file));
    return sb_outfile_commit(writer->file);
}
