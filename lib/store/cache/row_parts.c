#include "store/cache/row_parts.h"

#include "core/number.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define ITEM "item"

struct sb_row_part {
    size_t name_at; /* in names */
    bool blob;
    struct sb_npy array;
    int64_t at; /* of its values in the spool */
};

void sb_row_parts_clear(struct sb_row_parts *row)
{
    sb_spool_clear(&row->bytes);
    sb_buf_clear(&row->names);
    row->count = 0;
}

void sb_row_parts_release(struct sb_row_parts *row)
{
    sb_spool_release(&row->bytes);
    sb_buf_release(&row->names);
    sb_buf_release(&row->head);
    free(row->parts);
    free(row->fields);
    free(row->numbers);
    *row = (struct sb_row_parts){.bytes.fd = -1};
}

/* Files */

static enum sb_code grow(struct sb_row_parts *row)
{
    size_t capacity = row->capacity, same = capacity;

    TRY(sb_grow(&row->parts, &capacity, row->count, sizeof(*row->parts)));
    TRY(sb_grow(&row->fields, &same, row->count, sizeof(*row->fields)));
    return sb_grow(&row->numbers, &row->capacity, row->count, sizeof(*row->numbers));
}

enum sb_code sb_row_parts_begin(struct sb_row_parts *row, const struct sb_array_name *name)
{
    if (row->count == SB_CACHE_FIELDS_MOST)
        return sb_fail(SB_INVALID,
                       "%.*s: has more than %d arrays, which is all that a key "
                       "can have; put them into directories of their own",
                       (int)name->item_size, name->item, SB_CACHE_FIELDS_MOST);
    TRY(grow(row));
    row->begin = sb_spool_size(&row->bytes);
    row->parts[row->count] = (struct sb_row_part){
        .name_at = row->names.size, .blob = name->form == SB_FORM_PICKLE, .at = row->begin};
    if (sb_buf_add(&row->names, name->array, name->array_size) || sb_buf_add(&row->names, "", 1))
        return sb_fail_memory();
    return SB_OK;
}

static enum sb_code read_head(struct sb_row_parts *row, struct sb_row_part *part, int64_t size)
{
    size_t head = size < (int64_t)SB_NPY_HEADER_MOST ? (size_t)size : SB_NPY_HEADER_MOST;
    int64_t values;

    sb_buf_clear(&row->head);
    if (sb_buf_reserve(&row->head, head + 1))
        return sb_fail_memory();
    TRY(sb_spool_get(&row->bytes, row->begin, row->head.data, head));
    TRY(sb_npy_parse(&part->array, row->head.data, head));
    values = size - (int64_t)part->array.header_size;
    if (part->array.data_size != values)
        return sb_fail(SB_FORMAT, "has %" PRId64 " bytes of values, where its shape says %" PRId64,
                       values, part->array.data_size);
    part->at = row->begin + (int64_t)part->array.header_size;
    return SB_OK;
}

enum sb_code sb_row_parts_end(struct sb_row_parts *row)
{
    struct sb_row_part *part = &row->parts[row->count++];
    int64_t size = sb_spool_size(&row->bytes) - row->begin;

    if (!part->blob)
        return read_head(row, part, size);
    part->array.data_size = size;
    return SB_OK;
}

/* The form */

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

static void place(struct sb_row_parts *row, size_t field, size_t number, bool alone)
{
    const struct sb_row_part *part = &row->parts[number];

    row->fields[field] = (struct sb_cache_field){
        .name = alone ? "" : row->names.data + part->name_at,
        .blob = part->blob,
        .dtype = part->array.dtype,
    };
    row->numbers[field] = number;
}

/* By their numbers, where they are those of a tuple, without gaps. */
static bool place_sequence(struct sb_row_parts *row)
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

static struct sb_cache_form make_form(struct sb_row_parts *row, bool alone, bool list)
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

/* Writing */

/* A sb_each_block. */
static enum sb_code write_block(void *context, const void *data, size_t size)
{
    return sb_cache_writer_write(context, data, size);
}

static enum sb_code write_part(struct sb_row_parts *row, const struct sb_row_part *part,
                               struct sb_cache_writer *writer)
{
    TRY(sb_cache_writer_value(writer, &part->array));
    return sb_spool_feed(&row->bytes, part->at, part->array.data_size, write_block, writer);
}

enum sb_code sb_row_parts_write(struct sb_row_parts *row, bool alone, bool list,
                                const struct sb_row_key *key, struct sb_cache_writer *writer)
{
    struct sb_cache_form form = make_form(row, alone, list);
    const size_t *order = NULL;
    int64_t bytes = 0;

    for (size_t i = 0; i < row->count; i++)
        bytes += row->parts[i].array.data_size;
    TRY(sb_cache_writer_begin_row(writer, &form, key, bytes, &order));
    for (size_t i = 0; i < row->count; i++)
        TRY(write_part(row, &row->parts[row->numbers[order[i]]], writer));
    return sb_cache_writer_end_row(writer);
}
