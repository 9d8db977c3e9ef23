#include "store/table.h"
#include "store/kind.h"

#include "store/array/npy.h"
#include "store/syrah/set.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK ((size_t)256 << 10) /* of what is streamed */

struct syrah_reader {
    const struct sb_table *table;
    const struct sb_syrah_set *set;
    int64_t arrays;
    struct sb_buf header, block;
};

static void free_table(struct sb_table *table)
{
    sb_syrah_set_free(table->syrah);
}

static enum sb_code count(struct sb_table *table, int64_t *items, struct sb_error *err)
{
    (void)err;
    *items = sb_syrah_set_count(table->syrah);
    return SB_OK;
}

static enum sb_code columns(struct sb_table *table, int64_t row, uint32_t *number,
                            struct sb_error *err)
{
    (void)row;
    (void)err;
    *number = sb_syrah_set_array_count(table->syrah);
    return SB_OK;
}

static struct sb_column column(struct sb_table *table, uint32_t number)
{
    const struct sb_syrah_array *array = sb_syrah_set_array(table->syrah, number);

    return (struct sb_column){.name = array->name, .dtype = array->dtype};
}

static int64_t find(struct sb_table *table, const char *name, size_t size)
{
    return sb_syrah_set_find(table->syrah, name, size);
}

static enum sb_code row_name(struct sb_table *table, int64_t row, struct sb_buf *out,
                             struct sb_error *err)
{
    (void)table;
    return sb_buf_add_format(out, "%08" PRId64, row) ? sb_fail_memory(err) : SB_OK;
}

static enum sb_code reader_new(const struct sb_table *table, void **out, struct sb_error *err)
{
    struct syrah_reader *reader = calloc(1, sizeof(*reader));

    *out = reader;
    if (!reader)
        return sb_fail_memory(err);
    reader->table = table;
    reader->set = table->syrah;
    reader->arrays = sb_syrah_set_array_count(reader->set);
    return SB_OK;
}

static void reader_free(void *context)
{
    struct syrah_reader *reader = context;

    if (!reader)
        return;
    sb_buf_release(&reader->header);
    sb_buf_release(&reader->block);
    free(reader);
}

/* The index of a place counts the arrays of its file. */
static struct sb_place place_of(const struct sb_table *table, const struct sb_cell *cell)
{
    const struct sb_syrah_set *set = table->syrah;
    struct sb_place place = sb_syrah_set_place(set, cell->row);

    place.index = place.index * sb_syrah_set_array_count(set) + cell->column;
    return place;
}

static enum sb_code extents(void *context, struct sb_place first, size_t number,
                            struct sb_extent *out, size_t *good, struct sb_error *err)
{
    const struct syrah_reader *reader = context;

    for (*good = 0; *good < number; ++*good) {
        int64_t index = first.index + (int64_t)*good;
        struct sb_place item = {.shard = first.shard, .index = index / reader->arrays};

        if (sb_syrah_set_extent(reader->set, item, (uint32_t)(index % reader->arrays), &out[*good],
                                err))
            return err->code;
        out[*good].shard = first.shard;
    }
    return SB_OK;
}

static enum sb_code read_stored(void *context, uint32_t file, int64_t offset, void *data,
                                size_t size, struct sb_error *err)
{
    const struct syrah_reader *reader = context;

    return sb_syrah_read(sb_syrah_set_file(reader->set, file), offset, data, size, err);
}

/* Texts are as they are. */
static bool is_npy(const struct sb_syrah_set *set, const struct sb_cell *cell)
{
    return cell->npy && sb_syrah_set_array(set, cell->column)->dtype != SB_DTYPE_STR;
}

static bool is_encoded(const struct sb_table *table, const struct sb_stored_cell *cell)
{
    return is_npy(table->syrah, &cell->cell);
}

/* What stands before the values: nothing, or the header of a .npy. */
static enum sb_code make_header(struct syrah_reader *reader, const struct sb_stored_cell *cell,
                                struct sb_error *err)
{
    const struct sb_syrah_array *array = sb_syrah_set_array(reader->set, cell->cell.column);
    struct sb_npy npy = {.dtype = array->dtype, .dims = 1};

    sb_buf_clear(&reader->header);
    if (!is_npy(reader->set, &cell->cell))
        return SB_OK;
    npy.shape[0] = cell->extent.size / (int64_t)sb_dtype_size(array->dtype);
    return sb_npy_add_header(&reader->header, &npy, err);
}

static enum sb_code decode(void *context, const struct sb_stored_cell *cell, const void *stored,
                           void *data, size_t room, size_t *size, struct sb_error *err)
{
    struct syrah_reader *reader = context;
    size_t stored_size = (size_t)cell->extent.size;

    if (make_header(reader, cell, err))
        return err->code;
    *size = reader->header.size + stored_size;
    if (*size > room) {
        err->code = SB_LIMIT;
        return SB_LIMIT;
    }
    if (reader->header.size > 0)
        memcpy(data, reader->header.data, reader->header.size);
    if (stored_size > 0)
        memcpy((char *)data + reader->header.size, stored, stored_size);
    return SB_OK;
}

static enum sb_code size_of(void *context, const struct sb_stored_cell *cell, int64_t *size,
                            struct sb_error *err)
{
    struct syrah_reader *reader = context;

    if (make_header(reader, cell, err))
        return err->code;
    *size = (int64_t)reader->header.size + cell->extent.size;
    return SB_OK;
}

static enum sb_code stream(void *context, const struct sb_stored_cell *cell, sb_each_block *each,
                           void *each_context, struct sb_error *err)
{
    struct syrah_reader *reader = context;
    struct sb_extent left = cell->extent;
    enum sb_code code = make_header(reader, cell, err);

    if (!code && sb_buf_reserve(&reader->block, BLOCK))
        code = sb_fail_memory(err);
    if (!code && reader->header.size > 0)
        code = each(each_context, reader->header.data, reader->header.size, err);
    while (!code && left.size > 0) {
        size_t size = left.size < (int64_t)BLOCK ? (size_t)left.size : BLOCK;

        code = read_stored(reader, left.shard, left.offset, reader->block.data, size, err);
        if (!code)
            code = each(each_context, reader->block.data, size, err);
        left.offset += (int64_t)size;
        left.size -= (int64_t)size;
    }
    return code;
}

static enum sb_code subject(void *context, const struct sb_cell *cell, struct sb_buf *out)
{
    const struct syrah_reader *reader = context;

    return sb_buf_add_format(out, "item %" PRId64 ", array '%s'", cell->row,
                             sb_syrah_set_array(reader->set, cell->column)->name);
}

static const struct sb_table_ops syrah_ops = {
    .free = free_table,
    .count = count,
    .columns = columns,
    .column = column,
    .find = find,
    .row_name = row_name,
    .reader_new = reader_new,
    .reader_free = reader_free,
    .place_of = place_of,
    .extents = extents,
    .read = read_stored,
    .is_encoded = is_encoded,
    .decode = decode,
    .size = size_of,
    .stream = stream,
    .subject = subject,
};

static int64_t average_size(const struct sb_syrah_set *set)
{
    int64_t bytes = 0, arrays = sb_syrah_set_count(set) * sb_syrah_set_array_count(set);

    for (uint32_t i = 0; i < sb_syrah_set_file_count(set); i++) {
        if (__builtin_add_overflow(bytes, sb_syrah_data_end(sb_syrah_set_file(set, i)), &bytes))
            return INT64_MAX;
    }
    return arrays > 0 ? bytes / arrays + 1 : 1;
}

enum sb_code sb_table_of_syrah(struct sb_table **out, struct sb_syrah_set *set,
                               struct sb_error *err)
{
    struct sb_table *table = calloc(1, sizeof(*table));

    *out = table;
    if (!table) {
        sb_syrah_set_free(set);
        return sb_fail_memory(err);
    }
    *table = (struct sb_table){.ops = &syrah_ops,
                               .syrah = set,
                               .name = sb_syrah_set_name(set),
                               .row_word = "item",
                               .numbered = true,
                               .cell_size = average_size(set)};
    return SB_OK;
}

enum sb_code sb_table_open_syrah(struct sb_table **out, struct sb_input *input,
                                 const struct sb_bag_options *none, const struct sb_notify *notify,
                                 struct sb_error *err)
{
    struct sb_syrah_set *set;

    (void)none;
    (void)notify;
    if (sb_input_open_syrah(&set, input, 0, err))
        return err->code;
    return sb_table_of_syrah(out, set, err);
}
