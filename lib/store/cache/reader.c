#include "store/cache/impl.h"

#include "core/little_endian.h"

#include <stdlib.h>
#include <string.h>

/* As SB_CACHE_TOUCHED_MOST, of a segment that is left. */
#define LEFT_MOST ((int64_t)1 << 20)

#define BLOCK ((size_t)256 << 10) /* of what is given block by block */

struct sb_cache_reader {
    struct sb_cache *cache;
    struct sb_cache_map *map; /* of the segment that was read last */
    int64_t touched;          /* bytes of it */
    struct sb_buf bools;
    struct sb_npy shape; /* what `head` is the header of, if that is not empty */
    struct sb_buf head;  /* of the part that was found last */
    struct sb_buf block;
};

enum sb_code sb_cache_reader_new(struct sb_cache_reader **out, struct sb_cache *cache)
{
    TRY(SB_NEW(out));
    (*out)->cache = cache;
    return SB_OK;
}

void sb_cache_reader_free(struct sb_cache_reader *reader)
{
    if (!reader)
        return;
    sb_cache_unpin(reader->cache, reader->map);
    sb_buf_release(&reader->bools);
    sb_buf_release(&reader->head);
    sb_buf_release(&reader->block);
    free(reader);
}

/* Maps the segment of a row, which must be there. */
static enum sb_code go_to(struct sb_cache_reader *reader, struct sb_cache_place place)
{
    bool stays = reader->map && reader->map->segment == place.segment;

    if (reader->touched > (stays ? SB_CACHE_TOUCHED_MOST : LEFT_MOST)) {
        sb_cache_map_forget(reader->map);
        reader->touched = 0;
    }
    if (!stays) {
        sb_cache_unpin(reader->cache, reader->map);
        reader->map = NULL;
        reader->touched = 0;
        if (place.segment >= reader->cache->segment_count)
            return sb_fail(SB_DAMAGED, "there is no segment %lu", (unsigned long)place.segment);
        TRY(sb_cache_pin(reader->cache, place.segment, &reader->map));
    }
    if (place.row < 0 || place.row >= reader->map->arrow->rows)
        return sb_fail(SB_DAMAGED, "%s: there is no row %lld", reader->map->mapping->name,
                       (long long)place.row);
    return SB_OK;
}

/* What is gone of the file reads as zeros: then that is what is wrong. */
static enum sb_code judge(const struct sb_cache_reader *reader)
{
    struct sb_error inner = *sb_error();

    if (inner.code == SB_DAMAGED && sb_mapping_check(reader->map->mapping))
        return sb_error()->code;
    *sb_error() = inner;
    return inner.code;
}

/* A column's value. */
static enum sb_code take(const struct sb_cache_reader *reader, size_t column, int64_t row,
                         struct sb_arrow_value *value)
{
    if (sb_arrow_value(reader->map->arrow, column, row, value))
        return sb_fail(sb_error()->code, "%s: %s", reader->map->mapping->name, sb_error()->text);
    return SB_OK;
}

static enum sb_code fail_value(const struct sb_cache_reader *reader, const char *what)
{
    return sb_fail(SB_DAMAGED, "%s: %s", reader->map->mapping->name, what);
}

static enum sb_code read_shape(const struct sb_cache_reader *reader,
                               const struct sb_arrow_value *shape, struct sb_npy *array)
{
    const unsigned char *at = shape->data;

    if (shape->count > SB_NPY_DIMS_MOST)
        return fail_value(reader, "a shape has too many dimensions");
    array->dims = (size_t)shape->count;
    for (size_t i = 0; i < array->dims; i++, at += sizeof(uint64_t))
        array->shape[i] = (int64_t)sb_get_u64(at);
    if (sb_npy_data_size(array->dtype, array->shape, array->dims, &array->data_size))
        return fail_value(reader, sb_error()->text);
    return SB_OK;
}

static bool is_bits(const struct sb_cache_value *value)
{
    return value->array.dtype == SB_DTYPE_BOOL;
}

/* raw: the value as it lies in the file. */
static enum sb_code take_value(struct sb_cache_reader *reader, const struct sb_cache_field *field,
                               int64_t row, struct sb_cache_value *out, struct sb_arrow_value *raw)
{
    struct sb_arrow_value shape;

    out->array = (struct sb_npy){.dtype = field->blob ? SB_DTYPE_NONE : field->dtype};
    TRY(take(reader, field->data, row, raw));
    out->data = NULL;
    out->offset = is_bits(out) ? -1 : raw->offset;
    out->shape_offset = -1;
    if (field->blob) {
        out->array.data_size = raw->count;
        return SB_OK;
    }
    TRY(take(reader, field->shape, row, &shape));
    TRY(read_shape(reader, &shape, &out->array));
    /* The format bounds the number of values, so that this cannot overflow. */
    if (raw->count * (int64_t)sb_dtype_size(field->dtype) != out->array.data_size)
        return fail_value(reader, "a shape does not fit the number of values");
    out->shape_offset = shape.offset;
    return SB_OK;
}

static enum sb_code find_value(struct sb_cache_reader *reader, struct sb_cache_place place,
                               size_t field, struct sb_cache_value *out, struct sb_arrow_value *raw)
{
    TRY(go_to(reader, place));
    if (field >= reader->map->layout->field_count)
        return fail_value(reader, "there is no such array");
    return take_value(reader, &reader->map->layout->fields[field], place.row, out, raw)
               ? judge(reader)
               : SB_OK;
}

enum sb_code sb_cache_value(struct sb_cache_reader *reader, struct sb_cache_place place,
                            size_t field, struct sb_cache_value *out)
{
    struct sb_arrow_value raw;

    TRY(find_value(reader, place, field, out, &raw));
    reader->touched += out->array.data_size;
    out->data = raw.data;
    if (!is_bits(out))
        return SB_OK;
    sb_buf_clear(&reader->bools);
    TRY(sb_buf_reserve(&reader->bools, (size_t)raw.count));
    out->data = (unsigned char *)reader->bools.data;
    sb_arrow_unpack_bits(&raw, (unsigned char *)reader->bools.data);
    return SB_OK;
}

/* Neighbours are often of one shape: their header is the same. */
static enum sb_code make_header(struct sb_cache_reader *reader, const struct sb_npy *array)
{
    struct sb_npy *last = &reader->shape;

    if (reader->head.size > 0 && array->dtype == last->dtype && array->dims == last->dims &&
        memcmp(array->shape, last->shape, array->dims * sizeof(*array->shape)) == 0)
        return SB_OK;
    last->dtype = array->dtype;
    last->dims = array->dims;
    memcpy(last->shape, array->shape, array->dims * sizeof(*array->shape));
    sb_buf_clear(&reader->head);
    return sb_npy_add_header(&reader->head, array);
}

/* As int64; no values follow it. */
static enum sb_code make_shape(struct sb_cache_reader *reader, const struct sb_npy *array)
{
    uint8_t shape[SB_NPY_DIMS_MOST * sizeof(uint64_t)], *end = shape;

    for (size_t i = 0; i < array->dims; i++)
        end = sb_put_u64(end, (uint64_t)array->shape[i]);
    reader->shape.dtype = SB_DTYPE_NONE;
    return sb_buf_set(&reader->head, shape, (size_t)(end - shape));
}

enum sb_code sb_cache_part_find(struct sb_cache_reader *reader, struct sb_cache_place place,
                                size_t field, enum sb_array_form form, struct sb_cache_part *out)
{
    const struct sb_npy *array = &out->value.array;

    TRY(find_value(reader, place, field, &out->value, &out->raw));
    TRY(sb_cache_reader_check(reader));
    out->place = place;
    out->head_size = 0;
    if (form == SB_FORM_SHAPE || (form == SB_FORM_NPY && array->dtype != SB_DTYPE_NONE)) {
        TRY(form == SB_FORM_SHAPE ? make_shape(reader, array) : make_header(reader, array));
        out->head_size = reader->head.size;
    }
    out->size = (int64_t)out->head_size + (form == SB_FORM_SHAPE ? 0 : array->data_size);
    return SB_OK;
}

/* Bytes are copied before they are looked at a last time: whoever has them would not see that they
 * are no longer there. */
enum sb_code sb_cache_part_copy(struct sb_cache_reader *reader, const struct sb_cache_part *part,
                                int64_t at, size_t size, void *out)
{
    size_t left = at < (int64_t)part->head_size ? part->head_size - (size_t)at : 0;
    size_t head = left < size ? left : size;
    const unsigned char *values = part->raw.data;

    if (head > 0)
        memcpy(out, reader->head.data + at, head);
    size -= head;
    if (size == 0)
        return SB_OK;
    at += (int64_t)head - (int64_t)part->head_size;
    TRY(go_to(reader, part->place));
    if (is_bits(&part->value)) {
        int64_t first = part->raw.bit + at;
        struct sb_arrow_value some = {
            .data = values + first / 8, .bit = (unsigned)(first % 8), .count = (int64_t)size};

        sb_arrow_unpack_bits(&some, (unsigned char *)out + head);
    } else {
        memcpy((char *)out + head, values + at, size);
    }
    reader->touched += (int64_t)size;
    return sb_cache_reader_check(reader);
}

enum sb_code sb_cache_part_block(struct sb_cache_reader *reader, const struct sb_cache_part *part,
                                 int64_t at, const void **data, size_t *size)
{
    *size = part->size - at < (int64_t)BLOCK ? (size_t)(part->size - at) : BLOCK;
    TRY(sb_buf_reserve(&reader->block, BLOCK));
    *data = reader->block.data;
    return sb_cache_part_copy(reader, part, at, *size, reader->block.data);
}

enum sb_code sb_cache_reader_check(struct sb_cache_reader *reader)
{
    return reader->map ? sb_mapping_check(reader->map->mapping) : SB_OK;
}

const char *sb_cache_field_name(const struct sb_cache_reader *reader, size_t field)
{
    const struct sb_cache_layout *layout = reader->map ? reader->map->layout : NULL;

    return layout && field < layout->field_count ? layout->fields[field].name : "";
}

enum sb_code sb_cache_key_at(struct sb_cache_reader *reader, struct sb_cache_place place,
                             struct sb_row_key *out)
{
    TRY(go_to(reader, place));
    if (sb_cache_key(reader->map, &reader->cache->segments[place.segment], place.row, out))
        return judge(reader);
    reader->touched += (int64_t)out->size;
    return SB_OK;
}
