#include "store/table.h"
#include "archive/archive.h"
#include "core/number.h"
#include "store/bag/bag.h"
#include "store/bag/record_scan.h"
#include "store/facts.h"
#include "store/kind.h"
#include "store/shard_spec.h"
#include "store/table_source.h"
#include "store/usage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct bag_table {
    struct sb_table base;
    struct sb_bag *bag;
    struct sb_bag_reader *reader; /* of single records; made when first needed */
};

/* For a worker. */
struct reading {
    struct sb_bag_reader *reader;
    struct sb_bag_window window; /* of single records */
};

static struct sb_bag *bag_of(const struct sb_table *table)
{
    return ((const struct bag_table *)table)->bag;
}

static void free_table(struct sb_table *table)
{
    sb_bag_reader_free(((struct bag_table *)table)->reader);
    sb_bag_free(bag_of(table));
}

static enum sb_code count(struct sb_table *table, int64_t *records)
{
    *records = sb_bag_count(bag_of(table));
    return SB_OK;
}

static struct sb_bag *records_of(struct sb_table *table)
{
    return bag_of(table);
}

static enum sb_code part(struct sb_table *table, uint32_t number, struct sb_table_part *out)
{
    const struct sb_bag_shard *shard;

    if (number >= sb_bag_shard_count(bag_of(table)))
        return sb_error()->code = SB_END;
    shard = sb_bag_shard(bag_of(table), number);
    *out = (struct sb_table_part){.path = shard->path,
                                  .rows = shard->records,
                                  .bytes = shard->bytes,
                                  .zstd = shard->zstd,
                                  .separate = shard->separate};
    return SB_OK;
}

/* One alone; of many see task/table/fetch.h. */
static enum sb_code describe(struct sb_table *table, int64_t row, uint32_t column,
                             struct sb_facts *facts)
{
    struct bag_table *own = (struct bag_table *)table;
    struct sb_place place = sb_bag_place_of(own->bag, row);
    struct sb_extent extent = {.size = -1};
    size_t good;
    enum sb_code code;

    (void)column;
    facts->part = place.shard;
    facts->path = sb_bag_shard(own->bag, place.shard)->path;
    facts->size = facts->stored = facts->offset = -1;
    if (!own->reader)
        TRY(sb_bag_reader_new(&own->reader, own->bag));
    code = sb_bag_extents(own->reader, place, 1, &extent, &good);
    if (!code) {
        facts->stored = extent.size;
        facts->offset = extent.offset;
        code = sb_bag_record_size(own->reader, &extent, &facts->size);
        if (code == SB_DAMAGED)
            sb_fail(code, "record %" PRId64 ": %s", row, sb_error()->text);
    }
    if (code != SB_DAMAGED)
        return code;
    facts->size = -1;
    facts->defect = sb_error()->text;
    return SB_OK;
}

static void reader_free(void *context)
{
    struct reading *reading = context;

    if (!reading)
        return;
    sb_bag_window_release(&reading->window);
    sb_bag_reader_free(reading->reader);
    free(reading);
}

static enum sb_code reader_new(const struct sb_table *table, void **out)
{
    struct reading *reading = calloc(1, sizeof(*reading));

    *out = reading;
    return reading ? sb_bag_reader_new(&reading->reader, bag_of(table)) : sb_fail_memory();
}

static struct sb_place place_of(const struct sb_table *table, const struct sb_cell *cell)
{
    return sb_bag_place_of(bag_of(table), cell->row);
}

static enum sb_code extents(void *context, struct sb_place first, size_t number,
                            struct sb_extent *out, size_t *good)
{
    const struct reading *reading = context;

    return sb_bag_extents(reading->reader, first, number, out, good);
}

static enum sb_code read_stored(void *context, uint32_t shard, int64_t offset, void *data,
                                size_t size)
{
    const struct reading *reading = context;

    return sb_bag_read(reading->reader, shard, offset, data, size);
}

static bool is_encoded(const struct sb_table *table, const struct sb_stored_cell *cell)
{
    return sb_bag_shard(bag_of(table), cell->place.shard)->zstd;
}

static enum sb_code decode(void *context, const struct sb_stored_cell *cell, const void *stored,
                           void *data, size_t capacity, size_t *size)
{
    struct reading *reading = context;
    const struct sb_extent *extent = &cell->extent;
    enum sb_code code;

    if (!stored)
        return sb_bag_window_load(&reading->window, reading->reader, extent, data, capacity, size);
    code = sb_bag_decode(reading->reader, extent->shard, stored, (size_t)extent->size, data,
                         capacity, size);
    /* Once more by itself, for an error that names the place. */
    return code == SB_DAMAGED ? sb_bag_load(reading->reader, extent, data, capacity, size) : code;
}

static enum sb_code size_of(void *context, const struct sb_stored_cell *cell, int64_t *size)
{
    struct reading *reading = context;

    return sb_bag_window_size(&reading->window, reading->reader, &cell->extent, size);
}

static enum sb_code stream(void *context, const struct sb_stored_cell *cell, sb_each_block *each,
                           void *each_context)
{
    const struct reading *reading = context;

    return sb_bag_stream(reading->reader, &cell->extent, each, each_context);
}

static enum sb_code subject(void *reader, const struct sb_cell *cell, struct sb_buf *out)
{
    (void)reader;
    return sb_buf_add_format(out, "record %" PRId64, cell->row);
}

/* What there is, by shards. */
enum { RECORDS, RECORDS_STORED, RECORDS_BYTES };
static const struct sb_measure of_records[] = {
    {"records", false}, {"stored", true}, {"bytes", true}};

struct measuring {
    struct sb_bag *bag;
    struct sb_usage *usage;
};

static bool is_compressed(void *context, uint32_t shard)
{
    const struct measuring *measuring = context;

    return sb_bag_shard(measuring->bag, shard)->zstd;
}

static enum sb_code measure_records(void *context, struct sb_scan_slot *slot)
{
    const struct measuring *measuring = context;
    int64_t *sum = slot->own, size;

    *sum = 0;
    for (size_t i = 0; i < slot->block.count; i++) {
        enum sb_code code = sb_record_block_size(&slot->block, i, &size);

        if (code == SB_OK)
            sb_count_up(sum, size);
        else
            TRY(code == SB_DAMAGED ? sb_scan_damaged(slot, measuring->bag, i) : code);
    }
    return SB_OK;
}

static enum sb_code count_records(void *context, struct sb_scan_slot *slot)
{
    struct measuring *measuring = context;

    sb_count_up(&measuring->usage->lines[slot->first.shard].amounts[RECORDS_BYTES],
                *(const int64_t *)slot->own);
    return SB_OK;
}

static enum sb_code usage_of(struct sb_table *table, const struct sb_usage_options *options,
                             struct sb_usage *usage)
{
    struct measuring measuring = {.bag = bag_of(table), .usage = usage};
    const struct sb_scan scan = {
        .threads = options->threads,
        .own_size = sizeof(int64_t),
        .context = &measuring,
        .takes = is_compressed,
        .work = measure_records,
        .drain = count_records,
        .progress = options->progress,
        .notify = options->notify,
    };
    bool any = false;

    TRY(sb_usage_begin(usage, of_records, 3, sb_bag_shard_count(measuring.bag)));
    usage->packed = true;
    for (uint32_t i = 0; i < sb_bag_shard_count(measuring.bag); i++) {
        const struct sb_bag_shard *shard = sb_bag_shard(measuring.bag, i);

        any |= shard->zstd;
        usage->lines[i] = (struct sb_usage_line){
            .name = shard->path,
            .amounts = {shard->records, shard->bytes, shard->zstd ? 0 : shard->bytes}};
    }
    if (any)
        TRY(sb_record_scan(measuring.bag, &scan));
    sb_usage_sum_up(usage);
    return SB_OK;
}

static const struct sb_listing listing = {
    .object = SB_FACTS(SB_FACT(KEY, "key"), SB_FACT(ROW, "index"), SB_FACT(PART, "shard"),
                       SB_FACT(OFFSET, "offset"), SB_FACT(STORED, "stored"), SB_FACT(SIZE, "size"),
                       SB_FACT(PATH, "file"), SB_FACT(DEFECT, "defect")),
    .line = (const enum sb_fact_of[]){SB_FACT_ROW, SB_FACT_STORED, SB_FACT_SIZE, SB_FACT_END},
    .details = (const enum sb_fact_of[]){SB_FACT_ROW, SB_FACT_STORED, SB_FACT_SIZE, SB_FACT_PART,
                                         SB_FACT_OFFSET, SB_FACT_END},
};

static const struct sb_table_ops bag_ops = {
    .free = free_table,
    .count = count,
    .part = part,
    .describe = describe,
    .records = records_of,
    .usage = usage_of,
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

enum sb_code sb_input_open_bag(struct sb_bag **out, struct sb_input *input,
                               const struct sb_bag_options *options, int64_t max_size,
                               const struct sb_notify *notify)
{
    bool named = !input->pipe && strcmp(input->path, "-") != 0;

    *out = NULL;
    TRY(sb_input_spool(input, max_size));
    return input->file ? sb_bag_open_file(out, input->file, named, options, notify)
                       : sb_bag_open(out, input->path, options, notify);
}

enum sb_code sb_table_of_bag(struct sb_table **out, struct sb_bag *bag)
{
    struct bag_table *table = malloc(sizeof(*table));

    *out = NULL;
    if (!table) {
        sb_bag_free(bag);
        return sb_fail_memory();
    }
    *table = (struct bag_table){.base = {.ops = &bag_ops,
                                         .name = sb_bag_name(bag),
                                         .row_word = "record",
                                         .numbered = true,
                                         .cell_size = average_size(bag),
                                         .listing = &listing},
                                .bag = bag};
    *out = &table->base;
    return SB_OK;
}

enum sb_code sb_table_open_bag(struct sb_table **out, struct sb_input *input,
                               const struct sb_bag_options *options, const struct sb_notify *notify)
{
    struct sb_bag *bag;

    *out = NULL;
    TRY(sb_input_open_bag(&bag, input, options, 0, notify));
    return sb_table_of_bag(out, bag);
}

static enum sb_sure is_spec(const struct sb_input *input)
{
    return !input->there && sb_spec_is_of_bags(input->path) && !sb_archive_looks_like(input->path)
               ? SB_BY_NAME
               : SB_NO;
}

/* An archive may be called like a bag; and the first record of a bag may be a database, but then
 * the bag has its limits somewhere. */
static enum sb_sure is_called_bag(const struct sb_input *input)
{
    CLEANUP(sb_buf_release) struct sb_buf limits = {0};

    if (!input->there || !S_ISREG(input->st.st_mode) || !sb_is_bag_name(input->path))
        return SB_NO;
    if (sb_archive_kind.by_content(input) && !sb_input_ends_as_bag(input) &&
        (sb_limits_name(input->path, &limits) || access(limits.data, F_OK)))
        return SB_NO;
    return SB_BY_NAME;
}

const struct sb_kind sb_bag_kind = {
    .word = "bag",
    .words = (const struct sb_kind_word[]){{"bag", SB_FILTER_NONE, false},
                                           {"bagz", SB_FILTER_ZSTD, false},
                                           {0}},
    .can = SB_CAN_PATHS | SB_CAN_RECORDS | SB_CAN_BAGS | SB_CAN_PLACES | SB_CAN_PARTS,
    .can_in_pieces = SB_CAN_PATHS | SB_CAN_RECORDS | SB_CAN_BAGS,
    .can_as_several = SB_CAN_PATHS | SB_CAN_RECORDS | SB_CAN_BAGS | SB_CAN_PLACES | SB_CAN_PARTS,
    .starts_anyhow = true,
    .by_name = is_spec,
    .by_content = is_called_bag,
    .takes = SB_TO_RECORDS | SB_TO_PIPE | SB_TO_APPEND | SB_TO_SHARDS,
    .source = sb_source_open_rows,
    .table = sb_table_open_bag,
};
