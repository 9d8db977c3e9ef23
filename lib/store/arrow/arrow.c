#include "store/arrow/arrow.h"

#include "core/flatbuffer.h"
#include "core/little_endian.h"
#include "store/arrow/format.h"

#include <stdlib.h>
#include <string.h>

/* The record batch while its nodes and buffers are read one by one. */
struct batch {
    struct sb_flat_vector nodes;
    size_t node;
    struct sb_flat_vector buffers;
    size_t buffer;
    struct sb_extent body;
};

void sb_arrow_free(struct sb_arrow *arrow)
{
    if (!arrow)
        return;
    free(arrow->footer);
    free(arrow->columns);
    free(arrow->places);
    free(arrow->pairs);
    free(arrow);
}

/* `what` points outside of the file. */
static enum sb_code lead_out(const char *what)
{
    return sb_fail(SB_DAMAGED, "its %s leads out of the file", what);
}

/* Copies a part of the file, so that a file that changes meanwhile cannot invalidate the checks. */
static enum sb_code copy_part(const struct sb_arrow *arrow, const struct sb_extent *part,
                              struct sb_flat *flat, unsigned char **copy)
{
    if (part->size > SB_ARROW_METADATA_MOST)
        return sb_fail(SB_FORMAT, "its metadata are of more than %d MiB",
                       SB_ARROW_METADATA_MOST >> 20);
    TRY(sb_alloc(copy, (size_t)part->size));
    memcpy(*copy, arrow->data + part->offset, (size_t)part->size);
    *flat = (struct sb_flat){.data = *copy, .size = (size_t)part->size};
    return SB_OK;
}

/* At the end of the file: the size of the footer, and the magic. */
static enum sb_code find_footer(const struct sb_arrow *arrow, struct sb_extent *footer)
{
    const int64_t tail = sizeof(uint32_t) + SB_ARROW_MAGIC_SIZE;

    if (arrow->size < SB_ARROW_START + tail ||
        memcmp(arrow->data, SB_ARROW_MAGIC, SB_ARROW_MAGIC_SIZE) != 0)
        return sb_fail(SB_FORMAT, "is not an Arrow file");
    if (memcmp(arrow->data + arrow->size - SB_ARROW_MAGIC_SIZE, SB_ARROW_MAGIC,
               SB_ARROW_MAGIC_SIZE) != 0)
        return sb_fail(SB_DAMAGED, "is an Arrow file without an end");
    footer->size = (int32_t)sb_get_u32(arrow->data + arrow->size - tail);
    footer->offset = arrow->size - tail - footer->size;
    if (footer->size <= 0 || footer->offset < SB_ARROW_START)
        return lead_out("footer");
    return SB_OK;
}

static enum sb_dtype int_type(const struct sb_flat_table *type)
{
    bool is_signed = sb_flat_number(type, SB_FLAT_INT_IS_SIGNED, 1, 0) != 0;

    switch (sb_flat_number(type, SB_FLAT_INT_BIT_WIDTH, 4, 0)) {
    case 8:
        return is_signed ? SB_DTYPE_INT8 : SB_DTYPE_UINT8;
    case 16:
        return is_signed ? SB_DTYPE_INT16 : SB_DTYPE_UINT16;
    case 32:
        return is_signed ? SB_DTYPE_INT32 : SB_DTYPE_UINT32;
    case 64:
        return is_signed ? SB_DTYPE_INT64 : SB_DTYPE_UINT64;
    default:
        return SB_DTYPE_NONE;
    }
}

static enum sb_dtype float_type(const struct sb_flat_table *type)
{
    switch (sb_flat_number(type, SB_FLAT_FLOAT_PRECISION, 2, 0)) {
    case 0:
        return SB_DTYPE_FLOAT16;
    case 1:
        return SB_DTYPE_FLOAT32;
    case 2:
        return SB_DTYPE_FLOAT64;
    default:
        return SB_DTYPE_NONE;
    }
}

/* The type of the only child of a list. */
static enum sb_dtype child_type(const struct sb_flat_table *field)
{
    struct sb_flat_vector children = sb_flat_vector_in(field, SB_FLAT_FIELD_CHILDREN, 4);
    struct sb_flat_table child, type;

    if (children.count != 1)
        return SB_DTYPE_NONE;
    child = sb_flat_item_table(&children, 0);
    if (sb_flat_table_in(&child, SB_FLAT_FIELD_DICTIONARY).at)
        return SB_DTYPE_NONE;
    type = sb_flat_table_in(&child, SB_FLAT_FIELD_TYPE);
    switch (sb_flat_number(&child, SB_FLAT_FIELD_TYPE_TYPE, 1, 0)) {
    case SB_ARROW_TYPE_INT:
        return int_type(&type);
    case SB_ARROW_TYPE_FLOAT:
        return float_type(&type);
    case SB_ARROW_TYPE_BOOL:
        return SB_DTYPE_BOOL;
    default:
        return SB_DTYPE_NONE;
    }
}

static enum sb_code read_field(const struct sb_flat_table *field, struct sb_arrow_column *column)
{
    struct sb_flat_text name = sb_flat_text_in(field, SB_FLAT_FIELD_NAME);
    bool known = !sb_flat_table_in(field, SB_FLAT_FIELD_DICTIONARY).at;

    if (strlen(name.data) != name.size)
        return sb_fail(SB_FORMAT, "the name of a column has a NUL");
    column->name = name.data;
    switch (sb_flat_number(field, SB_FLAT_FIELD_TYPE_TYPE, 1, 0)) {
    case SB_ARROW_TYPE_UTF8:
        column->type = SB_ARROW_TEXT;
        break;
    case SB_ARROW_TYPE_BINARY:
        column->type = SB_ARROW_BINARY;
        break;
    case SB_ARROW_TYPE_LIST:
        column->type = SB_ARROW_LIST;
        column->dtype = child_type(field);
        known = known && column->dtype != SB_DTYPE_NONE;
        break;
    default:
        known = false;
    }
    return known
               ? SB_OK
               : sb_fail(SB_FORMAT, "column '%s' is of a type that is not read here", column->name);
}

static enum sb_code read_pairs(struct sb_arrow *arrow, const struct sb_flat_table *schema)
{
    struct sb_flat_vector pairs = sb_flat_vector_in(schema, SB_FLAT_SCHEMA_METADATA, 4);

    TRY(SB_NEW_ARRAY(&arrow->pairs, pairs.count + 1));
    arrow->pair_count = pairs.count;
    for (size_t i = 0; i < pairs.count; i++) {
        struct sb_flat_table pair = sb_flat_item_table(&pairs, i);
        struct sb_flat_text value = sb_flat_text_in(&pair, SB_FLAT_PAIR_VALUE);

        arrow->pairs[i].key = sb_flat_text_in(&pair, SB_FLAT_PAIR_KEY).data;
        arrow->pairs[i].value = value.data;
        arrow->pairs[i].value_size = value.size;
    }
    return SB_OK;
}

/* Sets columns and pairs, whose texts point into the footer; the batch sets the places. */
static enum sb_code read_schema(struct sb_arrow *arrow, const struct sb_flat_table *schema)
{
    struct sb_flat_vector fields = sb_flat_vector_in(schema, SB_FLAT_SCHEMA_FIELDS, 4);

    if (sb_flat_number(schema, SB_FLAT_SCHEMA_ENDIANNESS, 2, 0) != 0)
        return sb_fail(SB_FORMAT, "its numbers are big-endian");
    TRY(SB_NEW_ARRAY(&arrow->columns, fields.count + 1));
    TRY(SB_NEW_ARRAY(&arrow->places, fields.count + 1));
    arrow->column_count = fields.count;
    for (size_t i = 0; i < fields.count; i++) {
        struct sb_flat_table field = sb_flat_item_table(&fields, i);

        if (schema->flat->bad)
            return lead_out("schema");
        if (read_field(&field, &arrow->columns[i]))
            return schema->flat->bad ? lead_out("schema") : sb_error()->code;
    }
    return read_pairs(arrow, schema);
}

/* The next buffer of the batch, as an extent of the file. */
static bool next_buffer(struct batch *batch, struct sb_extent *out)
{
    int64_t offset, size;

    if (batch->buffer == batch->buffers.count)
        return false;
    offset = sb_flat_item_number(&batch->buffers, batch->buffer, 0, 8);
    size = sb_flat_item_number(&batch->buffers, batch->buffer++, 8, 8);
    if (offset < 0 || size < 0 || offset > batch->body.size || size > batch->body.size - offset)
        return false;
    *out = (struct sb_extent){.offset = batch->body.offset + offset, .size = size};
    return true;
}

/* The next node: the number of values, and the extent of its validity bits. */
static bool next_node(struct batch *batch, int64_t *count, struct sb_extent *validity)
{
    int64_t nulls;

    if (batch->node == batch->nodes.count || !next_buffer(batch, validity))
        return false;
    *count = sb_flat_item_number(&batch->nodes, batch->node, 0, 8);
    nulls = sb_flat_item_number(&batch->nodes, batch->node++, 8, 8);
    if (*count < 0 || nulls < 0 || nulls > *count)
        return false;
    if (nulls == 0)
        validity->size = 0;
    return nulls == 0 || validity->size >= (*count - 1) / 8 + 1;
}

/* The values of a list: their buffer limits their number. */
static enum sb_code place_values(const struct sb_arrow_column *column, struct sb_arrow_place *place,
                                 struct batch *batch)
{
    struct sb_extent validity;
    int64_t capacity;

    if (column->type != SB_ARROW_LIST) {
        if (!next_buffer(batch, &place->values))
            return lead_out("batch");
        place->most = place->values.size;
        return SB_OK;
    }
    if (!next_node(batch, &place->most, &validity) || !next_buffer(batch, &place->values))
        return lead_out("batch");
    if (validity.size)
        return sb_fail(SB_FORMAT, "a list of column '%s' has nulls", column->name);
    if (column->dtype == SB_DTYPE_BOOL)
        capacity = place->values.size > INT64_MAX / 8 ? INT64_MAX : place->values.size * 8;
    else
        capacity = place->values.size / (int64_t)sb_dtype_size(column->dtype);
    return place->most <= capacity ? SB_OK : lead_out("batch");
}

static enum sb_code place_column(struct sb_arrow *arrow, size_t column, struct batch *batch)
{
    struct sb_arrow_place *place = &arrow->places[column];
    int64_t count;

    if (!next_node(batch, &count, &place->validity) || count != arrow->rows ||
        !next_buffer(batch, &place->offsets))
        return lead_out("batch");
    if (count && place->offsets.size / (int64_t)sizeof(uint32_t) <= count)
        return lead_out("batch");
    return place_values(&arrow->columns[column], place, batch);
}

static enum sb_code read_batch(struct sb_arrow *arrow, struct sb_flat *flat, struct batch *batch)
{
    struct sb_flat_table message = sb_flat_root(flat);
    struct sb_flat_table header = sb_flat_table_in(&message, SB_FLAT_MESSAGE_HEADER);

    if (sb_flat_number(&message, SB_FLAT_MESSAGE_HEADER_TYPE, 1, 0) != SB_ARROW_RECORD_BATCH)
        return lead_out("batch");
    if (sb_flat_table_in(&header, SB_FLAT_BATCH_COMPRESSION).at)
        return sb_fail(SB_FORMAT, "its batch is compressed");
    arrow->rows = sb_flat_number(&header, SB_FLAT_BATCH_LENGTH, 8, 0);
    batch->nodes = sb_flat_vector_in(&header, SB_FLAT_BATCH_NODES, 16);
    batch->buffers = sb_flat_vector_in(&header, SB_FLAT_BATCH_BUFFERS, 16);
    if (flat->bad || arrow->rows < 0 || (arrow->column_count == 0 && arrow->rows))
        return lead_out("batch");
    for (size_t i = 0; i < arrow->column_count; i++)
        TRY(place_column(arrow, i, batch));
    return SB_OK;
}

/* The footer has the extent of the batch's message; the body follows it. */
static enum sb_code open_batch(struct sb_arrow *arrow, const struct sb_flat_vector *blocks)
{
    int64_t offset = sb_flat_item_number(blocks, 0, 0, 8);
    int64_t head = sb_flat_item_number(blocks, 0, 8, 4);
    int64_t body = sb_flat_item_number(blocks, 0, 16, 8);
    struct sb_extent message;
    struct batch batch = {.body = {.size = body}};
    CLEANUP(sb_freep) unsigned char *copy = NULL;
    struct sb_flat flat;

    if (offset < SB_ARROW_START || head <= SB_ARROW_PREFIX || body < 0 || offset > arrow->size ||
        head > arrow->size - offset || body > arrow->size - offset - head)
        return lead_out("batch");
    if (sb_get_u32(arrow->data + offset) != SB_ARROW_CONTINUATION)
        return sb_fail(SB_FORMAT, "its messages are framed as before Arrow 0.15");
    message.offset = offset + SB_ARROW_PREFIX;
    message.size = (int32_t)sb_get_u32(arrow->data + offset + sizeof(uint32_t));
    if (message.size <= 0 || message.size > head - SB_ARROW_PREFIX)
        return lead_out("batch");
    batch.body.offset = offset + head;
    TRY(copy_part(arrow, &message, &flat, &copy));
    return read_batch(arrow, &flat, &batch);
}

static enum sb_code read_footer(struct sb_arrow *arrow)
{
    struct sb_flat_table root, schema;
    struct sb_flat_vector blocks;
    struct sb_extent footer = {0};
    struct sb_flat flat;

    TRY(find_footer(arrow, &footer));
    TRY(copy_part(arrow, &footer, &flat, &arrow->footer));
    root = sb_flat_root(&flat);
    schema = sb_flat_table_in(&root, SB_FLAT_FOOTER_SCHEMA);
    blocks = sb_flat_vector_in(&root, SB_FLAT_FOOTER_BATCHES, SB_ARROW_BLOCK_SIZE);
    if (flat.bad || !schema.at)
        return lead_out("footer");
    if (sb_flat_number(&root, SB_FLAT_FOOTER_VERSION, 2, 0) < SB_ARROW_VERSION_LEAST)
        return sb_fail(SB_FORMAT, "is of a version before Arrow 0.8");
    TRY(read_schema(arrow, &schema));
    if (flat.bad)
        return lead_out("schema");
    if (blocks.count == 0)
        return sb_fail(SB_FORMAT, "has no record batch");
    if (blocks.count > 1)
        return sb_fail(SB_FORMAT, "has %zu record batches, and is read where it has one alone",
                       blocks.count);
    return open_batch(arrow, &blocks);
}

enum sb_code sb_arrow_open(struct sb_arrow **out, const void *data, int64_t size)
{
    CLEANUP(sb_arrow_freep) struct sb_arrow *arrow = NULL;

    *out = NULL;
    TRY(SB_NEW(&arrow));
    arrow->data = data;
    arrow->size = size;
    TRY(read_footer(arrow));
    *out = TAKE(arrow);
    return SB_OK;
}

static int64_t offset_at(const struct sb_arrow *arrow, const struct sb_arrow_place *place,
                         int64_t row)
{
    return (int32_t)sb_get_u32(arrow->data + place->offsets.offset +
                               row * (int64_t)sizeof(uint32_t));
}

static unsigned char bit_at(const unsigned char *bits, int64_t at)
{
    return (unsigned)bits[at / 8] >> (unsigned)(at % 8) & 1U;
}

enum sb_code sb_arrow_value(const struct sb_arrow *arrow, size_t column, int64_t row,
                            struct sb_arrow_value *out)
{
    const struct sb_arrow_column *of = &arrow->columns[column];
    const struct sb_arrow_place *place = &arrow->places[column];
    int64_t begin = offset_at(arrow, place, row), end = offset_at(arrow, place, row + 1);
    int64_t at = begin;

    if (begin < 0 || end < begin || end > place->most)
        return sb_fail(SB_DAMAGED, "row %lld of column '%s' leads out of it", (long long)row,
                       of->name);
    *out = (struct sb_arrow_value){.count = end - begin};
    if (place->validity.size)
        out->null = bit_at(arrow->data + place->validity.offset, row) == 0;
    if (out->null)
        out->count = 0;
    if (of->type == SB_ARROW_LIST && of->dtype == SB_DTYPE_BOOL) {
        out->bit = (unsigned)(begin % 8);
        at = begin / 8;
    } else if (of->type == SB_ARROW_LIST) {
        at = begin * (int64_t)sb_dtype_size(of->dtype);
    }
    out->offset = place->values.offset + at;
    out->data = arrow->data + out->offset;
    return SB_OK;
}

/* Turns the bits of a byte into bytes of 0 and 1, the lowest first: each byte keeps its own bit of
 * a copy; if that is not 0, the addition carries it into the highest bit. */
static uint64_t spread(unsigned char byte)
{
    uint64_t bits = byte * UINT64_C(0x0101010101010101) & UINT64_C(0x8040201008040201);

    return (bits + UINT64_C(0x7f7f7f7f7f7f7f7f)) >> 7 & UINT64_C(0x0101010101010101);
}

void sb_arrow_unpack_bits(const struct sb_arrow_value *value, unsigned char *out)
{
    const unsigned char *bits = value->data;
    int64_t at = value->bit, end = at + value->count;

    for (; at < end && at % 8; at++)
        *out++ = bit_at(bits, at);
    for (; end - at >= 8; at += 8)
        out = sb_put_u64(out, spread(bits[at / 8]));
    for (; at < end; at++)
        *out++ = bit_at(bits, at);
}
