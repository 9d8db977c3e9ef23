#include "store/arrow/writer.h"
#include "core/little_endian.h"
#include "store/arrow/column_spool.h"
#include "store/arrow/format.h"
#include "store/arrow/metadata.h"

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
    struct sb_buf texts; /* the schema points into it */
    struct sb_arrow_column *list;
    struct sb_arrow_pair *pairs;
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
    sb_buf_release(&writer->texts);
    free(writer->list);
    free(writer->pairs);
    free(writer->columns);
    free(writer);
}

/* Copies all texts of a schema into one buffer, each with a NUL. */
static enum sb_code copy_texts(struct sb_buf *texts, const struct sb_arrow_schema *schema)
{
    for (size_t i = 0; i < schema->column_count; i++)
        TRY(sb_buf_add(texts, schema->columns[i].name, strlen(schema->columns[i].name) + 1));
    for (size_t i = 0; i < schema->pair_count; i++) {
        const struct sb_arrow_pair *pair = &schema->pairs[i];

        TRY(sb_buf_add(texts, pair->key, strlen(pair->key) + 1));
        TRY(sb_buf_add(texts, pair->value, pair->value_size));
        TRY(sb_buf_add_char(texts, '\0'));
    }
    return SB_OK;
}

static enum sb_code copy_schema(struct sb_arrow_writer *writer,
                                const struct sb_arrow_schema *schema)
{
    const char *at;

    writer->list = calloc(schema->column_count + 1, sizeof(*writer->list));
    writer->pairs = calloc(schema->pair_count + 1, sizeof(*writer->pairs));
    if (!writer->list || !writer->pairs || copy_texts(&writer->texts, schema))
        return sb_fail_memory();
    writer->schema = *schema;
    writer->schema.columns = writer->list;
    writer->schema.pairs = writer->pairs;
    at = writer->texts.data;
    for (size_t i = 0; i < schema->column_count; i++) {
        writer->list[i] = schema->columns[i];
        writer->list[i].name = at;
        at += strlen(at) + 1;
    }
    for (size_t i = 0; i < schema->pair_count; i++) {
        writer->pairs[i].key = at;
        at += strlen(at) + 1;
        writer->pairs[i].value = at;
        writer->pairs[i].value_size = schema->pairs[i].value_size;
        at += schema->pairs[i].value_size + 1;
    }
    return SB_OK;
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
    CLEANUP(sb_arrow_writer_freep) struct sb_arrow_writer *writer = calloc(1, sizeof(*writer));

    *out = NULL;
    if (!writer)
        return sb_fail_memory();
    TRY(copy_schema(writer, schema));
    TRY(set_columns(writer));
    TRY(sb_column_spool_new(&writer->spool, 2 * schema->column_count, MEMORY, schema->beside));
    writer->schema.beside = NULL;
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

static int64_t padded(int64_t size)
{
    return (size + SB_ARROW_ALIGNMENT - 1) / SB_ARROW_ALIGNMENT * SB_ARROW_ALIGNMENT;
}

static void lay_out(const struct sb_arrow_writer *writer, struct sb_arrow_layout *layout)
{
    int64_t at = 0;

    layout->rows = writer->rows;
    for (size_t i = 0; i < writer->schema.column_count; i++) {
        const struct column *column = &writer->columns[i];
        struct sb_arrow_layout_column *place = &layout->columns[i];
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

    TRY(sb_arrow_make_schema(&build, &writer->schema));
    TRY(put(out, SB_ARROW_MAGIC "\0", SB_ARROW_START));
    return put_message(out, build.out.data, build.out.size);
}

static enum sb_code put_batch(const struct sb_arrow_writer *writer, struct output *out,
                              struct sb_arrow_block *block)
{
    CLEANUP(release_build) struct sb_flat_build build = {0};
    struct sb_arrow_layout layout = {0};
    CLEANUP(sb_freep)
    void *columns = calloc(writer->schema.column_count + 1, sizeof(*layout.columns));

    layout.columns = columns;
    if (!layout.columns)
        return sb_fail_memory();
    lay_out(writer, &layout);
    TRY(sb_arrow_make_batch(&build, &writer->schema, &layout));
    *block = (struct sb_arrow_block){.offset = out->written,
                                     .head = SB_ARROW_PREFIX + (int64_t)build.out.size,
                                     .body = layout.body_size};
    TRY(put_message(out, build.out.data, build.out.size));
    for (size_t i = 0; i < writer->schema.column_count; i++)
        TRY(put_column(writer, i, out));
    return SB_OK;
}

static enum sb_code put_footer(const struct sb_arrow_writer *writer, struct output *out,
                               const struct sb_arrow_block *block)
{
    CLEANUP(release_build) struct sb_flat_build build = {0};
    uint8_t size[sizeof(uint32_t)];

    TRY(sb_arrow_make_footer(&build, &writer->schema, block));
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
    struct sb_arrow_block block;

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
