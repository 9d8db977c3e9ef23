#include "store/arrow/metadata.h"
#include "store/arrow/format.h"

#include <string.h>

#define REFERENCE                                                                                  \
    {                                                                                              \
        .size = sizeof(uint32_t)                                                                   \
    }
#define NUMBER(s, v)                                                                               \
    {                                                                                              \
        .size = (s), .value = (v)                                                                  \
    }

/* The width and sign of an int, the precision of a float; other types have no parameters. */
static void add_type(struct sb_flat_build *build, size_t refers, int64_t type, enum sb_dtype dtype)
{
    struct sb_flat_field fields[SB_FLAT_INT_SLOTS] = {{0}};
    int64_t bits = (int64_t)sb_dtype_size(dtype) * 8;

    if (type == SB_ARROW_TYPE_INT) {
        fields[SB_FLAT_INT_BIT_WIDTH] = (struct sb_flat_field)NUMBER(4, bits);
        fields[SB_FLAT_INT_IS_SIGNED] =
            (struct sb_flat_field)NUMBER(1, dtype >= SB_DTYPE_INT8 && dtype <= SB_DTYPE_INT64);
    } else if (type == SB_ARROW_TYPE_FLOAT) {
        fields[SB_FLAT_FLOAT_PRECISION] = (struct sb_flat_field)NUMBER(2, bits / 32);
    }
    sb_flat_add_table(build, refers, fields, SB_FLAT_INT_SLOTS);
}

/* Returns the offset of the reference to its first child, if it has children. */
static size_t add_field(struct sb_flat_build *build, size_t refers, const char *name, int64_t type,
                        enum sb_dtype dtype, size_t children)
{
    struct sb_flat_field fields[SB_FLAT_FIELD_SLOTS] = {
        [SB_FLAT_FIELD_NAME] = REFERENCE,
        [SB_FLAT_FIELD_NULLABLE] = NUMBER(1, 1),
        [SB_FLAT_FIELD_TYPE_TYPE] = NUMBER(1, type),
        [SB_FLAT_FIELD_TYPE] = REFERENCE,
        [SB_FLAT_FIELD_CHILDREN] = REFERENCE,
    };

    sb_flat_add_table(build, refers, fields, SB_FLAT_FIELD_SLOTS);
    sb_flat_add_text(build, fields[SB_FLAT_FIELD_NAME].at, name, strlen(name));
    add_type(build, fields[SB_FLAT_FIELD_TYPE].at, type, dtype);
    return sb_flat_add_vector(build, fields[SB_FLAT_FIELD_CHILDREN].at, children, sizeof(uint32_t));
}

static int64_t type_of_values(enum sb_dtype dtype)
{
    switch (dtype) {
    case SB_DTYPE_BOOL:
        return SB_ARROW_TYPE_BOOL;
    case SB_DTYPE_FLOAT16:
    case SB_DTYPE_FLOAT32:
    case SB_DTYPE_FLOAT64:
        return SB_ARROW_TYPE_FLOAT;
    default:
        return SB_ARROW_TYPE_INT;
    }
}

static void add_column(struct sb_flat_build *build, size_t refers,
                       const struct sb_arrow_column *column)
{
    size_t child;

    switch (column->type) {
    case SB_ARROW_TEXT:
        add_field(build, refers, column->name, SB_ARROW_TYPE_UTF8, SB_DTYPE_NONE, 0);
        break;
    case SB_ARROW_BINARY:
        add_field(build, refers, column->name, SB_ARROW_TYPE_BINARY, SB_DTYPE_NONE, 0);
        break;
    case SB_ARROW_LIST:
        child = add_field(build, refers, column->name, SB_ARROW_TYPE_LIST, SB_DTYPE_NONE, 1);
        add_field(build, child, "item", type_of_values(column->dtype), column->dtype, 0);
        break;
    }
}

static void add_pair(struct sb_flat_build *build, size_t refers, const struct sb_arrow_pair *pair)
{
    struct sb_flat_field fields[SB_FLAT_PAIR_SLOTS] = {REFERENCE, REFERENCE};

    sb_flat_add_table(build, refers, fields, SB_FLAT_PAIR_SLOTS);
    sb_flat_add_text(build, fields[SB_FLAT_PAIR_KEY].at, pair->key, strlen(pair->key));
    sb_flat_add_text(build, fields[SB_FLAT_PAIR_VALUE].at, pair->value, pair->value_size);
}

static void add_schema(struct sb_flat_build *build, size_t refers,
                       const struct sb_arrow_schema *schema)
{
    struct sb_flat_field fields[SB_FLAT_SCHEMA_SLOTS] = {
        [SB_FLAT_SCHEMA_FIELDS] = REFERENCE,
        [SB_FLAT_SCHEMA_METADATA] = {.size = schema->pair_count ? sizeof(uint32_t) : 0},
    };
    size_t at;

    sb_flat_add_table(build, refers, fields, SB_FLAT_SCHEMA_SLOTS);
    at = sb_flat_add_vector(build, fields[SB_FLAT_SCHEMA_FIELDS].at, schema->column_count,
                            sizeof(uint32_t));
    for (size_t i = 0; i < schema->column_count; i++)
        add_column(build, at + i * sizeof(uint32_t), &schema->columns[i]);
    if (schema->pair_count == 0)
        return;
    at = sb_flat_add_vector(build, fields[SB_FLAT_SCHEMA_METADATA].at, schema->pair_count,
                            sizeof(uint32_t));
    for (size_t i = 0; i < schema->pair_count; i++)
        add_pair(build, at + i * sizeof(uint32_t), &schema->pairs[i]);
}

/* Returns the offset of the reference to its header. */
static size_t add_message(struct sb_flat_build *build, int64_t header_type, int64_t body_size)
{
    struct sb_flat_field fields[SB_FLAT_MESSAGE_SLOTS] = {
        [SB_FLAT_MESSAGE_VERSION] = NUMBER(2, SB_ARROW_VERSION),
        [SB_FLAT_MESSAGE_HEADER_TYPE] = NUMBER(1, header_type),
        [SB_FLAT_MESSAGE_HEADER] = REFERENCE,
        [SB_FLAT_MESSAGE_BODY_SIZE] = NUMBER(8, body_size),
    };

    sb_flat_add_table(build, sb_flat_begin(build), fields, SB_FLAT_MESSAGE_SLOTS);
    return fields[SB_FLAT_MESSAGE_HEADER].at;
}

enum sb_code sb_arrow_make_schema(struct sb_flat_build *build, const struct sb_arrow_schema *schema)
{
    add_schema(build, add_message(build, SB_ARROW_SCHEMA, 0), schema);
    return sb_flat_end(build);
}

/* Sets a struct of two int64; returns the offset after it. */
static size_t set_two(struct sb_flat_build *build, size_t at, int64_t first, int64_t second)
{
    sb_flat_set(build, at, sizeof(first), first);
    sb_flat_set(build, at + sizeof(first), sizeof(second), second);
    return at + 2 * sizeof(int64_t);
}

/* A column is one node, the values of a list another; the values of a list have validity bits, too.
 */
static void count_parts(const struct sb_arrow_schema *schema, size_t *nodes, size_t *buffers)
{
    *nodes = *buffers = 0;
    for (size_t i = 0; i < schema->column_count; i++) {
        *nodes += schema->columns[i].type == SB_ARROW_LIST ? 2 : 1;
        *buffers += schema->columns[i].type == SB_ARROW_LIST ? 4 : 3;
    }
}

enum sb_code sb_arrow_make_batch(struct sb_flat_build *build, const struct sb_arrow_schema *schema,
                                 const struct sb_arrow_layout *layout)
{
    struct sb_flat_field fields[SB_FLAT_BATCH_SLOTS] = {
        [SB_FLAT_BATCH_LENGTH] = NUMBER(8, layout->rows),
        [SB_FLAT_BATCH_NODES] = REFERENCE,
        [SB_FLAT_BATCH_BUFFERS] = REFERENCE,
    };
    size_t header = add_message(build, SB_ARROW_RECORD_BATCH, layout->body_size);
    size_t nodes, buffers, node, buffer;

    count_parts(schema, &nodes, &buffers);
    sb_flat_add_table(build, header, fields, SB_FLAT_BATCH_SLOTS);
    node = sb_flat_add_vector(build, fields[SB_FLAT_BATCH_NODES].at, nodes, 2 * sizeof(int64_t));
    buffer =
        sb_flat_add_vector(build, fields[SB_FLAT_BATCH_BUFFERS].at, buffers, 2 * sizeof(int64_t));
    for (size_t i = 0; i < schema->column_count; i++) {
        const struct sb_arrow_layout_column *column = &layout->columns[i];

        node = set_two(build, node, layout->rows, 0);
        buffer = set_two(build, buffer, column->offsets.offset, 0);
        buffer = set_two(build, buffer, column->offsets.offset, column->offsets.size);
        if (schema->columns[i].type == SB_ARROW_LIST) {
            node = set_two(build, node, column->count, 0);
            buffer = set_two(build, buffer, column->values.offset, 0);
        }
        buffer = set_two(build, buffer, column->values.offset, column->values.size);
    }
    return sb_flat_end(build);
}

enum sb_code sb_arrow_make_footer(struct sb_flat_build *build, const struct sb_arrow_schema *schema,
                                  const struct sb_arrow_block *block)
{
    struct sb_flat_field fields[SB_FLAT_FOOTER_SLOTS] = {
        [SB_FLAT_FOOTER_VERSION] = NUMBER(2, SB_ARROW_VERSION),
        [SB_FLAT_FOOTER_SCHEMA] = REFERENCE,
        [SB_FLAT_FOOTER_DICTIONARIES] = REFERENCE,
        [SB_FLAT_FOOTER_BATCHES] = REFERENCE,
    };
    size_t at;

    sb_flat_add_table(build, sb_flat_begin(build), fields, SB_FLAT_FOOTER_SLOTS);
    add_schema(build, fields[SB_FLAT_FOOTER_SCHEMA].at, schema);
    (void)sb_flat_add_vector(build, fields[SB_FLAT_FOOTER_DICTIONARIES].at, 0, SB_ARROW_BLOCK_SIZE);
    at = sb_flat_add_vector(build, fields[SB_FLAT_FOOTER_BATCHES].at, 1, SB_ARROW_BLOCK_SIZE);
    sb_flat_set(build, at, 8, block->offset);
    sb_flat_set(build, at + 8, 4, block->head);
    sb_flat_set(build, at + 16, 8, block->body);
    return sb_flat_end(build);
}
