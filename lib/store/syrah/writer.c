#include "store/syrah/writer.h"

#include "core/little_endian.h"
#include "core/name.h"
#include "store/out/out_file.h"
#include "store/syrah/document.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define VERSION     0, 0, 2, 0 /* of the original whose format this is */
#define MAGIC_BYTES 6          /* and its version */

struct sb_syrah_writer {
    struct sb_outfile *file;
    char *path;
    int64_t limit; /* of the document */

    struct sb_spool spool; /* what comes after the header, where that cannot be gone back to */

    int64_t end; /* of the data, in the file that is made */
    struct sb_syrah_written *arrays;
    size_t array_count;
    size_t array_capacity;
    uint32_t *by_name; /* numbers of arrays, once the first item is complete */
    struct sb_syrah_waiting waiting;
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
    sb_syrah_waiting_release(&writer->waiting);
    forget_arrays(writer);
    free(writer->arrays);
    free(writer->by_name);
    free(writer->path);
    free(writer);
}

/* Of a file the header's place. */
static enum sb_code begin(struct sb_syrah_writer *writer)
{
    static const char nothing[SB_SYRAH_HEADER];

    if (!sb_outfile_goes_back(writer->file))
        return SB_OK;
    return sb_outfile_write(writer->file, nothing, sizeof(nothing));
}

enum sb_code sb_syrah_writer_open(struct sb_syrah_writer **out,
                                  const struct sb_stream_sink_options *options)
{
    struct sb_stream_sink_options plain = *options;
    CLEANUP(sb_syrah_writer_freep) struct sb_syrah_writer *writer = calloc(1, sizeof(*writer));

    *out = NULL;
    if (!writer)
        return sb_fail_memory();
    plain.filter = SB_FILTER_NONE;
    writer->limit = SB_SYRAH_DOCUMENT_MOST;
    writer->begin = writer->end = SB_SYRAH_HEADER;
    writer->path = strdup(options->path);
    writer->spool = writer->waiting.blocks = (struct sb_spool){.beside = writer->path, .fd = -1};
    TRY(writer->path ? sb_outfile_open(&writer->file, &plain) : sb_fail_memory());
    TRY(begin(writer));
    *out = TAKE(writer);
    return SB_OK;
}

static enum sb_code fail_array(const struct sb_syrah_written *array, const char *what)
{
    return sb_fail(SB_INVALID, "array '%s': %s", array->name, what);
}

/* What came of the array at hand is all of it. */
static enum sb_code close_array(struct sb_syrah_writer *writer)
{
    struct sb_syrah_written *array;

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

static bool is_called(const struct sb_syrah_written *array, const char *name, size_t size)
{
    return strncmp(array->name, name, size) == 0 && array->name[size] == '\0';
}

/* -1 or 1 as `name` comes before or after that of the array; 0: it is its own. */
static int compare_with(const struct sb_syrah_written *array, const char *name, size_t size)
{
    int order = strncmp(name, array->name, size);

    return order ? order : array->name[size] ? -1 : 0;
}

/* Items are mostly alike, so it is the next one. array_count: there is none. */
static size_t find_array(const struct sb_syrah_writer *writer, const char *name, size_t size)
{
    size_t next = writer->have == 0 ? 0 : writer->last + 1, low = 0, high = writer->array_count;

    if (next < writer->array_count && is_called(&writer->arrays[next], name, size))
        return next;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = compare_with(&writer->arrays[writer->by_name[middle]], name, size);

        if (order == 0)
            return writer->by_name[middle];
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return writer->array_count;
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
    writer->arrays[writer->array_count++] = (struct sb_syrah_written){.name = copy, .dtype = dtype};
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
    const struct sb_syrah_written *arrays = context;

    return strcmp(arrays[*(const uint32_t *)a].name, arrays[*(const uint32_t *)b].name);
}

static enum sb_code sort_names(struct sb_syrah_writer *writer)
{
    uint32_t *by_name = calloc(writer->array_count + 1, sizeof(*by_name));

    free(writer->by_name);
    writer->by_name = by_name;
    if (!by_name)
        return sb_fail_memory();
    for (size_t i = 0; i < writer->array_count; i++)
        by_name[i] = (uint32_t)i;
    qsort_r(by_name, writer->array_count, sizeof(*by_name), compare_names, writer->arrays);
    for (size_t i = 1; i < writer->array_count; i++) {
        if (strcmp(writer->arrays[by_name[i - 1]].name, writer->arrays[by_name[i]].name) == 0)
            return fail_array(&writer->arrays[by_name[i]], "it comes twice");
    }
    return SB_OK;
}

static enum sb_code check_first(struct sb_syrah_writer *writer)
{
    TRY(sort_names(writer));
    if (writer->array_count == 0)
        return sb_fail(SB_INVALID, "has no arrays");
    writer->most_items =
        sb_syrah_document_capacity(writer->arrays, writer->array_count, writer->limit);
    return sb_syrah_waiting_begin(&writer->waiting, writer->array_count);
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
    TRY(sb_syrah_waiting_add(&writer->waiting, &writer->arrays->extent, sizeof(*writer->arrays)));
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

static void make_header(const struct sb_syrah_writer *writer, uint8_t header[SB_SYRAH_HEADER])
{
    static const uint8_t magic[MAGIC_BYTES] = {'G', 'S', VERSION};
    int64_t size = sb_syrah_document_size(writer->arrays, writer->array_count, writer->items);

    memcpy(header, magic, sizeof(magic));
    sb_put_u64(sb_put_u64(header + sizeof(magic), (uint64_t)writer->end), (uint64_t)size);
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
    TRY(sb_syrah_document_write(writer->arrays, writer->array_count, writer->items,
                                &writer->waiting, put, writer));
    if (sb_outfile_goes_back(writer->file))
        TRY(sb_outfile_patch(writer->file, 0, header, sizeof(header)));
    else
        TRY(sb_outfile_write(writer->file, header, sizeof(header)));
    TRY(sb_spool_feed(&writer->spool, 0, sb_spool_size(&writer->spool), put_out, writer->file));
    return sb_outfile_commit(writer->file);
}
