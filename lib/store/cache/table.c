#include "store/table.h"
#include "store/kind.h"

#include "core/name.h"
#include "store/cache/cache.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK        ((size_t)256 << 10) /* of what is streamed */
#define USUAL_SIZE   4096                /* of a cell; nothing was read that would tell */
#define SEGMENT_BITS 40                  /* a row is a segment, and below it the row in that */

struct cache_table {
    struct sb_table base;
    struct sb_cache_reader *reader;  /* of keys; made when first needed */
    struct sb_cache_segment segment; /* of the row that was looked at last */
    uint32_t looked_at;
};

struct cache_reader {
    struct sb_cache *cache;
    struct sb_cache_reader *reader;
    struct sb_npy shape; /* what `head` is the header of */
    struct sb_buf head, block;
};

static struct cache_table *of(const struct sb_table *table)
{
    return (struct cache_table *)table;
}

int64_t sb_cache_row_of(struct sb_cache_place place)
{
    return (int64_t)place.segment << SEGMENT_BITS | place.row;
}

static struct sb_cache_place place_of_row(int64_t row)
{
    return (struct sb_cache_place){.segment = (uint32_t)(row >> SEGMENT_BITS),
                                   .row = row & ((INT64_C(1) << SEGMENT_BITS) - 1)};
}

static void free_table(struct sb_table *table)
{
    sb_cache_reader_free(of(table)->reader);
    sb_cache_free(table->cache);
}

static enum sb_code count(struct sb_table *table, int64_t *keys, struct sb_error *err)
{
    int64_t rows;

    return sb_cache_count(table->cache, &rows, keys, err);
}

static enum sb_code row_at(struct sb_table *table, int64_t number, int64_t *row,
                           struct sb_error *err)
{
    struct sb_cache_place place;

    if (sb_cache_live(table->cache, number, &place, err))
        return err->code;
    *row = sb_cache_row_of(place);
    return SB_OK;
}

static enum sb_code columns(struct sb_table *base, int64_t row, uint32_t *number,
                            struct sb_error *err)
{
    struct cache_table *table = of(base);
    uint32_t segment = place_of_row(row).segment;

    if (segment != table->looked_at && sb_cache_segment(base->cache, segment, &table->segment, err))
        return err->code;
    table->looked_at = segment;
    *number = (uint32_t)table->segment.field_count;
    return SB_OK;
}

static struct sb_column column(struct sb_table *table, uint32_t number)
{
    const struct sb_cache_field *field = &of(table)->segment.fields[number];

    return (struct sb_column){.name = field->name, .blob = field->blob, .dtype = field->dtype};
}

/* The last of several. */
static int64_t find(struct sb_table *table, const char *name, size_t size)
{
    const struct sb_cache_segment *segment = &of(table)->segment;
    int64_t found = -1;

    for (size_t i = 0; i < segment->field_count; i++) {
        if (strlen(segment->fields[i].name) == size &&
            memcmp(segment->fields[i].name, name, size) == 0)
            found = (int64_t)i;
    }
    return found;
}

static enum sb_code need(struct sb_table *table, const char *name, struct sb_error *err)
{
    return sb_cache_need_array(table->cache, name, table->name, err);
}

static enum sb_code row_name(struct sb_table *base, int64_t row, struct sb_buf *out,
                             struct sb_error *err)
{
    struct cache_table *table = of(base);
    struct sb_cache_key key;

    if (!table->reader && sb_cache_reader_new(&table->reader, base->cache, err))
        return err->code;
    if (sb_cache_key_at(table->reader, place_of_row(row), &key, err))
        return err->code;
    return sb_buf_add(out, key.text, key.size) ? sb_fail_memory(err) : SB_OK;
}

static enum sb_code reader_new(const struct sb_table *table, void **out, struct sb_error *err)
{
    struct cache_reader *reader = calloc(1, sizeof(*reader));

    *out = reader;
    if (!reader)
        return sb_fail_memory(err);
    reader->cache = table->cache;
    return sb_cache_reader_new(&reader->reader, reader->cache, err);
}

static void reader_free(void *context)
{
    struct cache_reader *reader = context;

    if (!reader)
        return;
    sb_cache_reader_free(reader->reader);
    sb_buf_release(&reader->head);
    sb_buf_release(&reader->block);
    free(reader);
}

static bool same_shape(const struct sb_npy *a, const struct sb_npy *b)
{
    return a->dtype == b->dtype && a->dims == b->dims &&
           memcmp(a->shape, b->shape, a->dims * sizeof(*a->shape)) == 0;
}

/* Neighbours are often of one shape: their header is the same. */
static enum sb_code make_head(struct cache_reader *reader, const struct sb_npy *array,
                              struct sb_error *err)
{
    if (reader->head.size > 0 && same_shape(&reader->shape, array))
        return SB_OK;
    reader->shape = *array;
    sb_buf_clear(&reader->head);
    return sb_npy_add_header(&reader->head, array, err);
}

/* The value, and how much of `head` comes before it. Of a blob, which has no type, nothing does. */
static enum sb_code look(struct cache_reader *reader, const struct sb_cell *cell, bool values,
                         struct sb_cache_value *out, size_t *head, struct sb_error *err)
{
    struct sb_cache_place place = place_of_row(cell->row);
    enum sb_code code = values ? sb_cache_value(reader->reader, place, cell->column, out, err)
                               : sb_cache_describe(reader->reader, place, cell->column, out, err);

    *head = 0;
    if (code || !cell->npy || out->array.dtype == SB_DTYPE_NONE)
        return code;
    code = make_head(reader, &out->array, err);
    *head = reader->head.size;
    return code;
}

/* Bytes are copied before they are looked at a last time: whoever has them would not see that they
 * are no longer there. */
static enum sb_code decode(void *context, const struct sb_stored_cell *cell, const void *stored,
                           void *data, size_t room, size_t *size, struct sb_error *err)
{
    struct cache_reader *reader = context;
    struct sb_cache_value value;
    size_t head, bytes;

    (void)stored;
    if (look(reader, &cell->cell, true, &value, &head, err))
        return err->code;
    if (value.array.data_size > (int64_t)room || head > room - (size_t)value.array.data_size) {
        err->code = SB_LIMIT;
        return SB_LIMIT;
    }
    bytes = (size_t)value.array.data_size;
    if (head > 0)
        memcpy(data, reader->head.data, head);
    if (bytes > 0)
        memcpy((char *)data + head, value.data, bytes);
    *size = head + bytes;
    return sb_cache_reader_check(reader->reader, err);
}

static enum sb_code size_of(void *context, const struct sb_stored_cell *cell, int64_t *size,
                            struct sb_error *err)
{
    struct cache_reader *reader = context;
    struct sb_cache_value value;
    size_t head;

    if (look(reader, &cell->cell, false, &value, &head, err))
        return err->code;
    *size = (int64_t)head + value.array.data_size;
    return SB_OK;
}

static enum sb_code stream(void *context, const struct sb_stored_cell *cell, sb_each_block *each,
                           void *each_context, struct sb_error *err)
{
    struct cache_reader *reader = context;
    struct sb_cache_value value;
    size_t head;
    enum sb_code code = look(reader, &cell->cell, false, &value, &head, err);

    if (!code && sb_buf_reserve(&reader->block, BLOCK))
        code = sb_fail_memory(err);
    if (!code && head > 0)
        code = each(each_context, reader->head.data, head, err);
    for (int64_t at = 0; !code && at < value.array.data_size;) {
        int64_t left = value.array.data_size - at;
        size_t size = left < (int64_t)BLOCK ? (size_t)left : BLOCK;

        code = sb_cache_copy(reader->reader, place_of_row(cell->cell.row), cell->cell.column, at,
                             size, reader->block.data, err);
        if (!code)
            code = each(each_context, reader->block.data, size, err);
        at += (int64_t)size;
    }
    return code;
}

static enum sb_code subject(void *context, const struct sb_cell *cell, struct sb_buf *out)
{
    const struct cache_reader *reader = context;
    struct sb_cache_key key;
    struct sb_error ignored;
    const char *array;

    if (sb_cache_key_at(reader->reader, place_of_row(cell->row), &key, &ignored))
        return sb_buf_add_text(out, "a key");
    array = sb_cache_field_name(reader->reader, cell->column);
    if (sb_buf_add_text(out, "key '") || sb_quote(out, key.text, key.size, SB_ESCAPE) ||
        sb_buf_add_char(out, '\''))
        return SB_NOMEM;
    return *array ? sb_buf_add_format(out, ", array '%s'", array) : SB_OK;
}

static const struct sb_table_ops cache_ops = {
    .free = free_table,
    .count = count,
    .row = row_at,
    .columns = columns,
    .column = column,
    .find = find,
    .need = need,
    .row_name = row_name,
    .reader_new = reader_new,
    .reader_free = reader_free,
    .decode = decode,
    .size = size_of,
    .stream = stream,
    .subject = subject,
};

static enum sb_code make_table(struct sb_table **out, struct sb_cache *cache, const char *name,
                               struct sb_error *err)
{
    struct cache_table *table = calloc(1, sizeof(*table));

    *out = NULL;
    if (!table) {
        sb_cache_free(cache);
        return sb_fail_memory(err);
    }
    table->base = (struct sb_table){.ops = &cache_ops,
                                    .cache = cache,
                                    .name = name,
                                    .row_word = "key",
                                    .varied = true,
                                    .cell_size = USUAL_SIZE};
    table->looked_at = SB_CACHE_NOWHERE;
    *out = &table->base;
    return SB_OK;
}

/* Of a cache that has segments, one can be read. */
static enum sb_code need_segment(struct sb_cache *cache, const char *path, struct sb_error *err)
{
    uint32_t segments = sb_cache_segment_count(cache);
    struct sb_cache_segment segment;

    for (uint32_t i = 0; i < segments; i++) {
        if (sb_cache_segment(cache, i, &segment, err))
            return err->code;
        if (!segment.damaged)
            return SB_OK;
    }
    return segments == 0
               ? SB_OK
               : sb_fail(err, SB_FORMAT, "%s: no segment of this cache can be read", path);
}

enum sb_code sb_table_open_cache(struct sb_table **out, struct sb_input *input,
                                 const struct sb_bag_options *none, const struct sb_notify *notify,
                                 struct sb_error *err)
{
    struct sb_cache *cache;

    (void)none;
    if (sb_cache_open(&cache, &input->path, 1, notify, err))
        return err->code;
    if (!need_segment(cache, input->path, err))
        return make_table(out, cache, input->path, err);
    sb_cache_free(cache);
    return err->code;
}
