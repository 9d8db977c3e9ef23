#include "store/table.h"
#include "store/kind.h"

#include "store/bag/bag.h"

#include <inttypes.h>
#include <stdlib.h>

static void free_table(struct sb_table *table)
{
    sb_bag_free(table->bag);
}

static enum sb_code count(struct sb_table *table, int64_t *records, struct sb_error *err)
{
    (void)err;
    *records = sb_bag_count(table->bag);
    return SB_OK;
}

static enum sb_code reader_new(const struct sb_table *table, void **out, struct sb_error *err)
{
    struct sb_bag_reader *reader;
    enum sb_code code = sb_bag_reader_new(&reader, table->bag, err);

    *out = reader;
    return code;
}

static void reader_free(void *reader)
{
    sb_bag_reader_free(reader);
}

static struct sb_place place_of(const struct sb_table *table, const struct sb_cell *cell)
{
    return sb_bag_place_of(table->bag, cell->row);
}

static enum sb_code extents(void *reader, struct sb_place first, size_t number,
                            struct sb_extent *out, size_t *good, struct sb_error *err)
{
    return sb_bag_extents(reader, first, number, out, good, err);
}

static enum sb_code read_stored(void *reader, uint32_t shard, int64_t offset, void *data,
                                size_t size, struct sb_error *err)
{
    return sb_bag_read(reader, shard, offset, data, size, err);
}

static bool is_encoded(const struct sb_table *table, const struct sb_stored_cell *cell)
{
    return sb_bag_shard(table->bag, cell->place.shard)->zstd;
}

static enum sb_code decode(void *reader, const struct sb_stored_cell *cell, const void *stored,
                           void *data, size_t room, size_t *size, struct sb_error *err)
{
    const struct sb_extent *extent = &cell->extent;
    enum sb_code code =
        sb_bag_decode(reader, extent->shard, stored, (size_t)extent->size, data, room, size, err);

    /* Once more by itself, which tells the place of what is wrong. */
    return code == SB_DAMAGED ? sb_bag_load(reader, extent, data, room, size, err) : code;
}

static enum sb_code size_of(void *reader, const struct sb_stored_cell *cell, int64_t *size,
                            struct sb_error *err)
{
    return sb_bag_record_size(reader, &cell->extent, size, err);
}

static enum sb_code stream(void *reader, const struct sb_stored_cell *cell, sb_each_block *each,
                           void *context, struct sb_error *err)
{
    return sb_bag_stream(reader, &cell->extent, each, context, err);
}

static enum sb_code subject(void *reader, const struct sb_cell *cell, struct sb_buf *out)
{
    (void)reader;
    return sb_buf_add_format(out, "record %" PRId64, cell->row);
}

static const struct sb_table_ops bag_ops = {
    .free = free_table,
    .count = count,
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

static int64_t average_size(const struct sb_bag *bag)
{
    int64_t bytes = 0, records = sb_bag_count(bag);

    for (uint32_t i = 0; i < sb_bag_shard_count(bag); i++) {
        if (__builtin_add_overflow(bytes, sb_bag_shard(bag, i)->bytes, &bytes))
            return INT64_MAX;
    }
    return records > 0 ? bytes / records + 1 : 1;
}

enum sb_code sb_table_open_bag(struct sb_table **out, struct sb_input *input,
                               const struct sb_bag_options *options, const struct sb_notify *notify,
                               struct sb_error *err)
{
    struct sb_table *table = malloc(sizeof(*table));
    struct sb_bag *bag;

    *out = NULL;
    if (!table)
        return sb_fail_memory(err);
    if (sb_input_open_bag(&bag, input, options, 0, notify, err)) {
        free(table);
        return err->code;
    }
    *table = (struct sb_table){.ops = &bag_ops,
                               .bag = bag,
                               .name = sb_bag_name(bag),
                               .row_word = "record",
                               .numbered = true,
                               .cell_size = average_size(bag)};
    *out = table;
    return SB_OK;
}
