#include "store/arrow/writer.h"

#include "core/flatbuffer_build.h"
#include "core/little_endian.h"
#include "store/arrow/column_spool.h"
#include "store/arrow/format.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY ((size_t)32 << 20)

/* Bools packed at once. */
#define BOOLS 4096

/* Offsets in a column are int32. */
#define MOST INT32_MAX

/* The size of a column. */
struct progress {
    int64_t bytes; /* added */
    int64_t ended; /* values completed */
    unsigned bits; /* for bools: those that do not fill a byte yet */
};

struct column {
    int64_t value_size; /* of a list; else 1 */
    bool packed;        /* bools as bits */
    struct progress now;
    struct progress complete; /* at the end of the last complete row */
};

struct sb_arrow_writer {
    struct sb_arrow_schema schema;
    struct column *columns;
    struct sb_column_spool *spool; /* for each column: offsets, then values */
    int64_t rows;
};

/* A file being written. */
struct output {
    sb_each_block *each;
    void *context;
    int64_t written;
};

static size_t offsets_of(size_t column)
{
    return 2 * column;
}

static size_t values_of(size_t column)
{
    return 2 * column + 1;
}

void sb_arrow_writer_free(struct sb_arrow_writer *writer)
{
    if (!writer)
        return;
    sb_column_spool_free(writer->spool);
    free(writer->columns);
    free(writer);
}

static enum sb_code set_columns(struct sb_arrow_writer *writer)
{
    const struct sb_arrow_schema *schema = &writer->schema;

    TRY(SB_NEW_ARRAY(&writer->columns, schema->column_count + 1));
    for (size_t i = 0; i < schema->column_count; i++) {
        const struct sb_arrow_column *column = &schema->columns[i];

        writer->columns[i].value_size = 1;
        if (column->type != SB_ARROW_LIST)
            continue;
        if (column->dtype < SB_DTYPE_BOOL || column->dtype > SB_DTYPE_FLOAT64)
            return sb_fail(SB_INVALID, "column '%s': a list of %s cannot be written", column->name,
                           sb_dtype_word(column->dtype));
        writer->columns[i].value_size = (int64_t)sb_dtype_size(column->dtype);
        writer->columns[i].packed = column->dtype == SB_DTYPE_BOOL;
    }
    return SB_OK;
}

enum sb_code sb_arrow_writer_new(struct sb_arrow_writer **out, const struct sb_arrow_schema *schema)
{
    CLEANUP(sb_arrow_writer_freep) struct sb_arrow_writer *writer = NULL;

    *out = NULL;
    TRY(SB_NEW(&writer));
    writer->schema = *schema;
    TRY(set_columns(writer));
    TRY(sb_column_spool_new(&writer->spool, 2 * schema->column_count, MEMORY, schema->beside));
    *out = TAKE(writer);
    return SB_OK;
}

/* The lowest bit of a byte comes first. */
static enum sb_code add_bools(struct sb_arrow_writer *writer, size_t column,
                              const unsigned char *bools, size_t count)
{
    struct progress *now = &writer->columns[column].now;
    unsigned char packed[BOOLS / 8 + 1];

    while (count) {
        size_t run = count < BOOLS ? count : BOOLS, full = 0;

        for (size_t i = 0; i < run; i++) {
            now->bits |= (bools[i] ? 1U : 0U) << (unsigned)(now->bytes % 8);
            if (++now->bytes % 8 == 0) {
                packed[full++] = (unsigned char)now->bits;
                now->bits = 0;
            }
        }
        TRY(sb_column_spool_add(writer->spool, values_of(column), packed, full));
        bools += run;
        count -= run;
    }
    return SB_OK;
}

enum sb_code sb_arrow_writer_add(struct sb_arrow_writer *writer, size_t column, const void *data,
                                 size_t size)
{
    struct column *to = &writer->columns[column];

    if (size > (size_t)(MOST * to->value_size - to->now.bytes))
        return sb_fail(SB_LIMIT, "column '%s' would have more than %d bytes or values in one file",
                       writer->schema.columns[column].name, MOST);
    if (to->packed)
        return add_bools(writer, column, data, size);
    TRY(sb_column_spool_add(writer->spool, values_of(column), data, size));
    to->now.bytes += (int64_t)size;
    return SB_OK;
}

enum sb_code sb_arrow_writer_end_value(struct sb_arrow_writer *writer, size_t column)
{
    struct column *of = &writer->columns[column];
    uint8_t end[sizeof(uint32_t)];

    if (of->now.bytes % of->value_size)
        return sb_fail(SB_INVALID, "column '%s': %lld bytes are no whole values",
                       writer->schema.columns[column].name, (long long)of->now.bytes);
    sb_put_u32(end, (uint32_t)(of->now.bytes / of->value_size));
    TRY(sb_column_spool_add(writer->spool, offsets_of(column), end, sizeof(end)));
    of->now.ended++;
    return SB_OK;
}

void sb_arrow_writer_end_row(struct sb_arrow_writer *writer)
{
    for (size_t i = 0; i < writer->schema.column_count; i++)
        writer->columns[i].complete = writer->columns[i].now;
    writer->rows++;
}

void sb_arrow_writer_cut(struct sb_arrow_writer *writer)
{
    for (size_t i = 0; i < writer->schema.column_count; i++) {
        struct column *column = &writer->columns[i];

        column->now = column->complete;
        sb_column_spool_cut(writer->spool, offsets_of(i),
                            column->now.ended * (int64_t)sizeof(uint32_t));
        sb_column_spool_cut(writer->spool, values_of(i),
                            column->packed ? column->now.bytes / 8 : column->now.bytes);
    }
}

int64_t sb_arrow_writer_rows(const struct sb_arrow_writer *writer)
{
    return writer->rows;
}

/*
 * The metadata: as pyarrow makes them for the tables of a torchcachex cache: columns and the values
 * of lists are nullable (but none is null), and the values are called "item".
 */

#define REFERENCE                                                                                  \
    {                                                                                              \
        .size = sizeof(uint32_t)                                                                   \
    }
#define NUMBER(s, v)                                                                               \
    {                                                                                              \
        .size = (s), .value = (v)                                                                  \
    }

struct column_place {
    struct sb_extent offsets;
    struct sb_extent values;
    int64_t count; /* number of values of a list */
};

/* Where the buffers of a batch are in its body. */
struct layout {
    int64_t rows;
    struct column_place *columns;
    int64_t body_size;
};

/* The footer's entry for a batch. */
struct block {
    int64_t offset;
    int64_t head; /* size of the prefix and the metadata */
    int64_t body;
};

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

static enum sb_code make_schema(struct sb_flat_build *build, const struct sb_arrow_schema *schema)
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

static enum sb_code make_batch(struct sb_flat_build *build, const struct sb_arrow_schema *schema,
                               const struct layout *layout)
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
        const struct column_place *column = &layout->columns[i];

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

static enum sb_code make_footer(struct sb_flat_build *build, const struct sb_arrow_schema *schema,
                                const struct block *block)
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

/* The file */

static int64_t padded(int64_t size)
{
    return (size + SB_ARROW_ALIGNMENT - 1) / SB_ARROW_ALIGNMENT * SB_ARROW_ALIGNMENT;
}

static void lay_out(const struct sb_arrow_writer *writer, struct layout *layout)
{
    int64_t at = 0;

    layout->rows = writer->rows;
    for (size_t i = 0; i < writer->schema.column_count; i++) {
        const struct column *column = &writer->columns[i];
        struct column_place *place = &layout->columns[i];
        int64_t bytes = column->now.bytes;

        place->offsets.offset = at;
        place->offsets.size = (writer->rows + 1) * (int64_t)sizeof(uint32_t);
        at += padded(place->offsets.size);
        place->values.offset = at;
        place->values.size = column->packed ? (bytes + 7) / 8 : bytes;
        place->count = bytes / column->value_size;
        at += padded(place->values.size);
    }
    layout->body_size = at;
}

static enum sb_code put(void *context, const void *data, size_t size)
{
    struct output *out = context;

    out->written += (int64_t)size;
    return out->each(out->context, data, size);
}

static enum sb_code put_padding(struct output *out)
{
    static const char zeros[SB_ARROW_ALIGNMENT];
    int64_t padding = padded(out->written) - out->written;

    return padding ? put(out, zeros, (size_t)padding) : SB_OK;
}

/* Writes a message's prefix and metadata; size 0 ends the messages. */
static enum sb_code put_message(struct output *out, const void *metadata, size_t size)
{
    uint8_t prefix[SB_ARROW_PREFIX];

    sb_put_u32(sb_put_u32(prefix, SB_ARROW_CONTINUATION), (uint32_t)size);
    TRY(put(out, prefix, sizeof(prefix)));
    return size ? put(out, metadata, size) : SB_OK;
}

/* The first offset, 0, is not in the spool, and the last byte of bits may be incomplete. */
static enum sb_code put_column(const struct sb_arrow_writer *writer, size_t column,
                               struct output *out)
{
    static const char zero[sizeof(uint32_t)];
    const struct column *of = &writer->columns[column];
    unsigned char rest = (unsigned char)of->now.bits;

    TRY(put(out, zero, sizeof(zero)));
    TRY(sb_column_spool_feed(writer->spool, offsets_of(column), put, out));
    TRY(put_padding(out));
    TRY(sb_column_spool_feed(writer->spool, values_of(column), put, out));
    if (of->packed && of->now.bytes % 8)
        TRY(put(out, &rest, 1));
    return put_padding(out);
}

static void release_build(struct sb_flat_build *build)
{
    sb_buf_release(&build->out);
}

static enum sb_code put_schema(const struct sb_arrow_writer *writer, struct output *out)
{
    CLEANUP(release_build) struct sb_flat_build build = {0};

    TRY(make_schema(&build, &writer->schema));
    TRY(put(out, SB_ARROW_MAGIC "\0", SB_ARROW_START));
    return put_message(out, build.out.data, build.out.size);
}

static enum sb_code put_batch(const struct sb_arrow_writer *writer, struct output *out,
                              struct block *block)
{
    CLEANUP(release_build) struct sb_flat_build build = {0};
    struct layout layout = {0};
    CLEANUP(sb_freep) struct column_place *columns = NULL;

    TRY(SB_NEW_ARRAY(&columns, writer->schema.column_count + 1));
    layout.columns = columns;
    lay_out(writer, &layout);
    TRY(make_batch(&build, &writer->schema, &layout));
    *block = (struct block){.offset = out->written,
                            .head = SB_ARROW_PREFIX + (int64_t)build.out.size,
                            .body = layout.body_size};
    TRY(put_message(out, build.out.data, build.out.size));
    for (size_t i = 0; i < writer->schema.column_count; i++)
        TRY(put_column(writer, i, out));
    return SB_OK;
}

static enum sb_code put_footer(const struct sb_arrow_writer *writer, struct output *out,
                               const struct block *block)
{
    CLEANUP(release_build) struct sb_flat_build build = {0};
    uint8_t size[sizeof(uint32_t)];

    TRY(make_footer(&build, &writer->schema, block));
    sb_put_u32(size, (uint32_t)build.out.size);
    TRY(put_message(out, NULL, 0));
    TRY(put(out, build.out.data, build.out.size));
    TRY(put(out, size, sizeof(size)));
    return put(out, SB_ARROW_MAGIC, SB_ARROW_MAGIC_SIZE);
}

enum sb_code sb_arrow_writer_finish(struct sb_arrow_writer *writer, sb_each_block *each,
                                    void *context)
{
    struct output out = {.each = each, .context = context};
    struct block block;

    sb_arrow_writer_cut(writer);
    TRY(put_schema(writer, &out));
    TRY(put_batch(writer, &out, &block));
    TRY(put_footer(writer, &out, &block));
    for (size_t i = 0; i < writer->schema.column_count; i++) {
        writer->columns[i].now = (struct progress){0};
        writer->columns[i].complete = (struct progress){0};
    }
    writer->rows = 0;
    sb_column_spool_clear(writer->spool);
    return SB_OK;
}
