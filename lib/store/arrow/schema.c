#include "store/arrow/format.h"
#include "store/arrow/impl.h"

#include <stdlib.h>
#include <string.h>

enum sb_code sb_arrow_lead_out(const char *what)
{
    return sb_fail(SB_DAMAGED, "its %s leads out of the file", what);
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

enum sb_code sb_arrow_read_schema(struct sb_arrow *arrow, const struct sb_flat_table *schema)
{
    struct sb_flat_vector fields = sb_flat_vector_in(schema, SB_FLAT_SCHEMA_FIELDS, 4);

    if (sb_flat_number(schema, SB_FLAT_SCHEMA_ENDIANNESS, 2, 0) != 0)
        return sb_fail(SB_FORMAT, "its numbers are big-endian");
    arrow->columns = calloc(fields.count + 1, sizeof(*arrow->columns));
    arrow->places = calloc(fields.count + 1, sizeof(*arrow->places));
    if (!arrow->columns || !arrow->places)
        return sb_fail_memory();
    arrow->column_count = fields.count;
    for (size_t i = 0; i < fields.count; i++) {
        struct sb_flat_table field = sb_flat_item_table(&fields, i);

        if (schema->flat->bad)
            return sb_arrow_lead_out("schema");
        if (read_field(&field, &arrow->columns[i]))
            return schema->flat->bad ? sb_arrow_lead_out("schema") : sb_error()->code;
    }
    return read_pairs(arrow, schema);
}
