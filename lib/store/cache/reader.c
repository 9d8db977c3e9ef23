#include "store/cache/impl.h"

#include "core/little_endian.h"

#include <stdlib.h>
#include <string.h>

/* As SB_CACHE_TOUCHED_MOST, of a segment that is left. */
#define LEFT_MOST ((int64_t)1 << 20)

struct sb_cache_reader {
    struct sb_cache *cache;
    struct sb_cache_map *map; /* of the segment that was read last */
    int64_t touched;          /* bytes of it */
    struct sb_buf bools;
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

static enum sb_code take_value(struct sb_cache_reader *reader, const struct sb_cache_field *field,
                               int64_t row, struct sb_cache_value *out)
{
    struct sb_arrow_value value, shape;

    out->array = (struct sb_npy){.dtype = field->blob ? SB_DTYPE_NONE : field->dtype};
    TRY(take(reader, field->data, row, &value));
    out->data = value.data;
    out->offset = value.offset;
    out->shape_offset = -1;
    if (field->blob) {
        out->array.data_size = value.count;
        return SB_OK;
    }
    TRY(take(reader, field->shape, row, &shape));
    TRY(read_shape(reader, &shape, &out->array));
    /* The format bounds the number of values, so that this cannot overflow. */
    if (value.count * (int64_t)sb_dtype_size(field->dtype) != out->array.data_size)
        return fail_value(reader, "a shape does not fit the number of values");
    if (field->dtype == SB_DTYPE_BOOL)
        out->offset = -1;
    out->shape_offset = shape.offset;
    return SB_OK;
}

/* Of a value that was taken; the file may have changed since. */
static enum sb_code unpack_bools(struct sb_cache_reader *reader, int64_t row, size_t column,
                                 struct sb_cache_value *out)
{
    struct sb_arrow_value value;

    if (take(reader, column, row, &value))
        return judge(reader);
    if (value.count != out->array.data_size) {
        (void)fail_value(reader, "has been changed meanwhile");
        return judge(reader);
    }
    sb_buf_clear(&reader->bools);
    TRY(sb_buf_reserve(&reader->bools, (size_t)value.count));
    sb_arrow_unpack_bits(&value, (unsigned char *)reader->bools.data);
    out->data = (unsigned char *)reader->bools.data;
    return SB_OK;
}

/* made: data has the values, also where they lie in the file as bits. */
static enum sb_code take_field(struct sb_cache_reader *reader, struct sb_cache_place place,
                               size_t number, bool made, struct sb_cache_value *out)
{
    const struct sb_cache_field *field;

    TRY(go_to(reader, place));
    if (number >= reader->map->layout->field_count)
        return fail_value(reader, "there is no such array");
    field = &reader->map->layout->fields[number];
    if (take_value(reader, field, place.row, out))
        return judge(reader);
    if (made && field->dtype == SB_DTYPE_BOOL && !field->blob)
        return unpack_bools(reader, place.row, field->data, out);
    return SB_OK;
}

enum sb_code sb_cache_value(struct sb_cache_reader *reader, struct sb_cache_place place,
                            size_t field, struct sb_cache_value *out)
{
    TRY(take_field(reader, place, field, true, out));
    reader->touched += out->array.data_size;
    return SB_OK;
}

enum sb_code sb_cache_describe(struct sb_cache_reader *reader, struct sb_cache_place place,
                               size_t field, struct sb_cache_value *out)
{
    TRY(take_field(reader, place, field, false, out));
    out->data = NULL;
    return sb_cache_reader_check(reader);
}

enum sb_code sb_cache_copy(struct sb_cache_reader *reader, struct sb_cache_place place,
                           size_t field, int64_t at, size_t size, void *out)
{
    const struct sb_cache_field *of;
    struct sb_arrow_value value;
    int64_t bytes;

    TRY(go_to(reader, place));
    if (field >= reader->map->layout->field_count)
        return fail_value(reader, "there is no such array");
    of = &reader->map->layout->fields[field];
    if (take(reader, of->data, place.row, &value))
        return judge(reader);
    bytes = of->blob ? value.count : value.count * (int64_t)sb_dtype_size(of->dtype);
    if (at < 0 || at > bytes || (uint64_t)size > (uint64_t)(bytes - at)) {
        (void)fail_value(reader, "a value has become shorter");
        return judge(reader);
    }
    if (of->dtype == SB_DTYPE_BOOL) {
        int64_t first = value.bit + at;
        struct sb_arrow_value part = {.data = (const unsigned char *)value.data + first / 8,
                                      .bit = (unsigned)(first % 8),
                                      .count = (int64_t)size};

        sb_arrow_unpack_bits(&part, out);
    } else if (size > 0) {
        memcpy(out, (const unsigned char *)value.data + at, size);
    }
    reader->touched += (int64_t)size;
    return sb_cache_reader_check(reader);
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
