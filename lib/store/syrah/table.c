#include "store/table.h"
#include "store/kind.h"

#include "core/interrupt.h"
#include "core/number.h"
#include "store/array/npy.h"
#include "store/facts.h"
#include "store/sinks.h"
#include "store/syrah/set.h"
#include "store/table_source.h"
#include "store/usage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK ((size_t)256 << 10) /* of what is streamed */

struct syrah_table {
    struct sb_table base;
    struct sb_syrah_set *set;
};

struct syrah_reader {
    const struct sb_syrah_set *set;
    int64_t arrays;
    struct sb_npy_row row;
    struct sb_buf block;
};

static struct sb_syrah_set *set_of(const struct sb_table *table)
{
    return ((const struct syrah_table *)table)->set;
}

static void free_table(struct sb_table *table)
{
    sb_syrah_set_free(set_of(table));
}

static enum sb_code count(struct sb_table *table, int64_t *items)
{
    *items = set_of(table)->items;
    return SB_OK;
}

static enum sb_code columns(struct sb_table *table, int64_t row, uint32_t *number)
{
    (void)row;
    *number = set_of(table)->first->array_count;
    return SB_OK;
}

static struct sb_column column(struct sb_table *table, uint32_t number)
{
    const struct sb_syrah_array *array = &set_of(table)->first->arrays[number];

    return (struct sb_column){.name = array->name,
                              .form = array->dtype == SB_DTYPE_STR ? SB_FORM_TEXT : SB_FORM_NPY,
                              .dtype = array->dtype};
}

static int64_t find(struct sb_table *table, const char *name, size_t size)
{
    return sb_syrah_find(set_of(table)->first, name, size);
}

static enum sb_code row_name(struct sb_table *table, int64_t row, struct sb_buf *out)
{
    (void)table;
    return sb_buf_add_format(out, "%08" PRId64, row);
}

static enum sb_code part(struct sb_table *table, uint32_t number, struct sb_table_part *out)
{
    const struct sb_syrah *file;

    if (number >= set_of(table)->count)
        return sb_error()->code = SB_END;
    file = set_of(table)->files[number].syrah;
    *out = (struct sb_table_part){
        .path = file->file->name, .rows = file->items, .bytes = file->data_end};
    return SB_OK;
}

static enum sb_code describe(struct sb_table *table, int64_t row, uint32_t number,
                             struct sb_facts *facts)
{
    const struct sb_syrah_set *set = set_of(table);
    const struct sb_syrah_array *array = &set->first->arrays[number];
    struct sb_place place = sb_syrah_set_place(set, row);
    struct sb_extent extent;
    enum sb_code code = sb_syrah_set_extent(set, place, number, &extent);

    facts->path = set->files[place.shard].syrah->file->name;
    facts->name = array->name;
    facts->dtype = sb_dtype_word(array->dtype);
    facts->length = facts->size = facts->offset = -1;
    if (code == SB_DAMAGED)
        facts->defect = sb_error()->text;
    if (code)
        return code == SB_DAMAGED ? SB_OK : code;
    facts->length = extent.size / (int64_t)sb_dtype_size(array->dtype);
    facts->size = extent.size;
    facts->offset = extent.offset;
    return SB_OK;
}

static enum sb_code reader_new(const struct sb_table *table, void **out)
{
    struct syrah_reader *reader;

    *out = NULL;
    TRY(SB_NEW(&reader));
    *out = reader;
    reader->set = set_of(table);
    reader->arrays = reader->set->first->array_count;
    return SB_OK;
}

static void reader_free(void *context)
{
    struct syrah_reader *reader = context;

    if (!reader)
        return;
    sb_buf_release(&reader->row.header);
    sb_buf_release(&reader->block);
    free(reader);
}

/* The index of a place counts the arrays of its file. */
static struct sb_place place_of(const struct sb_table *table, const struct sb_cell *cell)
{
    const struct sb_syrah_set *set = set_of(table);
    struct sb_place place = sb_syrah_set_place(set, cell->row);

    place.index = place.index * set->first->array_count + cell->column;
    return place;
}

static enum sb_code extents(void *context, struct sb_place first, size_t number,
                            struct sb_extent *out, size_t *good)
{
    const struct syrah_reader *reader = context;

    for (*good = 0; *good < number; ++*good) {
        int64_t index = first.index + (int64_t)*good;
        struct sb_place item = {.shard = first.shard, .index = index / reader->arrays};

        TRY(sb_syrah_set_extent(reader->set, item, (uint32_t)(index % reader->arrays),
                                &out[*good]));
        out[*good].shard = first.shard;
    }
    return SB_OK;
}

static enum sb_code read_stored(void *context, uint32_t file, int64_t offset, void *data,
                                size_t size)
{
    const struct syrah_reader *reader = context;

    return sb_syrah_read(reader->set->files[file].syrah, offset, data, size);
}

/* Texts are as they are. */
static bool is_npy(const struct sb_syrah_set *set, const struct sb_cell *cell)
{
    return cell->npy && set->first->arrays[cell->column].dtype != SB_DTYPE_STR;
}

static bool is_encoded(const struct sb_table *table, const struct sb_stored_cell *cell)
{
    return is_npy(set_of(table), &cell->cell);
}

/* What comes before the values: nothing, or the header of a .npy. */
static enum sb_code make_header(struct syrah_reader *reader, const struct sb_stored_cell *cell,
                                size_t *size)
{
    const struct sb_syrah_array *array = &reader->set->first->arrays[cell->cell.column];

    *size = 0;
    if (!is_npy(reader->set, &cell->cell))
        return SB_OK;
    TRY(sb_npy_row_header(&reader->row, array->dtype, cell->extent.size));
    *size = reader->row.header.size;
    return SB_OK;
}

static enum sb_code decode(void *context, const struct sb_stored_cell *cell, const void *stored,
                           void *data, size_t capacity, size_t *size)
{
    struct syrah_reader *reader = context;
    size_t header, stored_size = (size_t)cell->extent.size;

    TRY(make_header(reader, cell, &header));
    *size = header + stored_size;
    if (*size > capacity)
        return sb_error()->code = SB_LIMIT;
    if (header > 0)
        memcpy(data, reader->row.header.data, header);
    if (!stored)
        return read_stored(reader, cell->extent.shard, cell->extent.offset, (char *)data + header,
                           stored_size);
    if (stored_size > 0)
        memcpy((char *)data + header, stored, stored_size);
    return SB_OK;
}

static enum sb_code size_of(void *context, const struct sb_stored_cell *cell, int64_t *size)
{
    size_t header;
    enum sb_code code = make_header(context, cell, &header);

    *size = (int64_t)header + cell->extent.size;
    return code;
}

static enum sb_code stream(void *context, const struct sb_stored_cell *cell, sb_each_block *each,
                           void *each_context)
{
    struct syrah_reader *reader = context;
    struct sb_extent left = cell->extent;
    size_t header;

    TRY(make_header(reader, cell, &header));
    TRY(sb_buf_reserve(&reader->block, BLOCK));
    if (header > 0)
        TRY(each(each_context, reader->row.header.data, header));
    while (left.size > 0) {
        size_t size = left.size < (int64_t)BLOCK ? (size_t)left.size : BLOCK;

        TRY(read_stored(reader, left.shard, left.offset, reader->block.data, size));
        TRY(each(each_context, reader->block.data, size));
        left.offset += (int64_t)size;
        left.size -= (int64_t)size;
    }
    return SB_OK;
}

static enum sb_code subject(void *context, const struct sb_cell *cell, struct sb_buf *out)
{
    const struct syrah_reader *reader = context;

    return sb_buf_add_format(out, "item %" PRId64 ", array '%s'", cell->row,
                             reader->set->first->arrays[cell->column].name);
}

struct measuring {
    struct sb_table *table;
    const struct sb_usage_options *options;
    struct sb_usage *usage;
};

/* What there is, by arrays, from the metadata alone; and what is no array. */
enum { ITEMS, ITEMS_BYTES };
static const struct sb_measure of_items[] = {{"items", false}, {"bytes", true}};

static enum sb_code measure_item(const struct measuring *measuring, const struct sb_syrah_set *set,
                                 struct sb_place place)
{
    for (uint32_t i = 0; i < set->first->array_count; i++) {
        struct sb_usage_line *line = &measuring->usage->lines[i];
        struct sb_extent extent;
        enum sb_code code;

        if (!line->name)
            continue;
        code = sb_syrah_set_extent(set, place, i, &extent);
        if (code == SB_DAMAGED) {
            sb_report(measuring->options->notify, SB_PROBLEM, "damaged", measuring->table->name,
                      "%s", sb_error()->text);
            continue;
        }
        if (code)
            return code;
        line->amounts[ITEMS]++;
        sb_count_up(&line->amounts[ITEMS_BYTES], extent.size);
    }
    return SB_OK;
}

static enum sb_code measure_items(const struct measuring *measuring, const struct sb_syrah_set *set)
{
    for (uint32_t file = 0; file < set->count; file++) {
        int64_t count = set->files[file].syrah->items;

        for (int64_t item = 0; item < count; item++) {
            struct sb_place place = {.shard = file, .index = item};

            TRY(sb_heed_interrupt());
            TRY(measure_item(measuring, set, place));
        }
    }
    return SB_OK;
}

static void add_rest(struct sb_usage *usage, const char *name, int64_t bytes)
{
    if (bytes > 0)
        usage->lines[usage->line_count++] =
            (struct sb_usage_line){.name = name, .rest = true, .amounts = {-1, bytes}};
}

static void measure_rest(struct sb_usage *usage, const struct sb_syrah_set *set)
{
    int64_t metadata = 0, unused = 0;

    for (size_t i = 0; i < usage->line_count; i++)
        sb_count_up(&unused, usage->lines[i].amounts[ITEMS_BYTES]);
    unused = -unused;
    for (uint32_t i = 0; i < set->count; i++) {
        const struct sb_syrah *file = set->files[i].syrah;

        metadata += SB_SYRAH_HEADER + (int64_t)file->document_size;
        unused += file->data_end - SB_SYRAH_HEADER;
    }
    add_rest(usage, "unused", unused);
    add_rest(usage, "metadata", metadata);
}

static enum sb_code usage_of(struct sb_table *table, const struct sb_usage_options *options,
                             struct sb_usage *usage)
{
    const struct sb_syrah_set *set = set_of(table);
    const struct measuring measuring = {.table = table, .options = options, .usage = usage};
    uint32_t arrays = set->first->array_count;

    TRY(sb_usage_begin(usage, of_items, 2, (size_t)arrays + 2));
    usage->line_word = "array";
    usage->typed = true;
    usage->line_count = arrays;
    for (uint32_t i = 0; i < arrays; i++) {
        const struct sb_syrah_array *array = &set->first->arrays[i];

        usage->lines[i].dtype = sb_dtype_word(array->dtype);
        if (sb_array_is_among(array->name, options->columns, options->column_count))
            usage->lines[i].name = array->name;
    }
    TRY(measure_items(&measuring, set));
    if (options->column_count == 0)
        measure_rest(usage, set);
    sb_usage_sum_up(usage);
    usage->total.amounts[ITEMS] = set->items;
    return SB_OK;
}

static const struct sb_listing listing = {
    .object = SB_FACTS(SB_FACT(ROW, "item"), SB_FACT(NAME, "array"), SB_FACT(DTYPE, "dtype"),
                       SB_FACT(LENGTH, "length"), SB_FACT(SIZE, "bytes"), SB_FACT(OFFSET, "offset"),
                       SB_FACT(PATH, "file"), SB_FACT(DEFECT, "defect")),
    .line = (const enum sb_fact_of[]){SB_FACT_ROW, SB_FACT_DTYPE, SB_FACT_LENGTH, SB_FACT_SIZE,
                                      SB_FACT_NAME, SB_FACT_END},
    .details = (const enum sb_fact_of[]){SB_FACT_ROW, SB_FACT_DTYPE, SB_FACT_LENGTH, SB_FACT_SIZE,
                                         SB_FACT_OFFSET, SB_FACT_NAME, SB_FACT_END},
};

static const struct sb_table_ops syrah_ops = {
    .free = free_table,
    .count = count,
    .columns = columns,
    .column = column,
    .find = find,
    .row_name = row_name,
    .part = part,
    .describe = describe,
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

static int64_t average_size(const struct sb_syrah_set *set)
{
    int64_t bytes = 0, arrays = set->items * set->first->array_count;

    for (uint32_t i = 0; i < set->count; i++) {
        if (__builtin_add_overflow(bytes, set->files[i].syrah->data_end, &bytes))
            return INT64_MAX;
    }
    return arrays > 0 ? bytes / arrays + 1 : 1;
}

enum sb_code sb_table_of_syrah(struct sb_table **out, struct sb_syrah_set *set)
{
    struct syrah_table *table = malloc(sizeof(*table));

    *out = NULL;
    if (!table) {
        sb_syrah_set_free(set);
        return sb_fail_memory();
    }
    *table = (struct syrah_table){.base = {.ops = &syrah_ops,
                                           .name = set->name,
                                           .row_word = "item",
                                           .numbered = true,
                                           .cell_size = average_size(set),
                                           .listing = &listing},
                                  .set = set};
    *out = &table->base;
    return SB_OK;
}

enum sb_code sb_input_open_syrah(struct sb_syrah_set **out, struct sb_input *input)
{
    struct sb_syrah *syrah = NULL;

    *out = NULL;
    TRY(sb_input_spool(input, 0));
    if (!input->file)
        return sb_syrah_set_open(out, input->path);
    TRY(sb_syrah_open(&syrah, input->file));
    return sb_syrah_set_of(out, syrah);
}

enum sb_code sb_table_open_syrah(struct sb_table **out, struct sb_input *input,
                                 const struct sb_bag_options *none, const struct sb_notify *notify)
{
    struct sb_syrah_set *set;

    (void)none;
    (void)notify;
    TRY(sb_input_open_syrah(&set, input));
    return sb_table_of_syrah(out, set);
}

static enum sb_sure is_spec(const struct sb_input *input)
{
    return !input->there && sb_syrah_set_is_spec(input->path) ? SB_BY_NAME : SB_NO;
}

/* The header of a Syrah file is written last: of one that was not closed there is none, and only
 * the name says what it was to become. */
static enum sb_sure begins_as_syrah(const struct sb_input *input)
{
    static const unsigned char nothing[SB_SYRAH_HEADER];
    size_t size = input->first_size < SB_SYRAH_HEADER ? input->first_size : SB_SYRAH_HEADER;

    if (input->file && sb_container_by_suffix(input->path).kind == SB_SYRAH &&
        memcmp(input->first, nothing, size) == 0)
        return SB_BY_NAME;
    return sb_input_begins(input, "GS", 3) ? SB_BY_MAGIC : SB_NO;
}

const struct sb_kind sb_syrah_kind = {
    .word = "Syrah file",
    .words = (const struct sb_kind_word[]){{"syrah", 0, false}, {"syr", 0, false}, {0}},
    .can = SB_CAN_PATHS | SB_CAN_ITEMS | SB_CAN_PLACES,
    .can_in_pieces = SB_CAN_PATHS | SB_CAN_ITEMS,
    .can_as_several = SB_CAN_PATHS | SB_CAN_ITEMS,
    .by_name = is_spec,
    .by_content = begins_as_syrah,
    .takes = SB_TO_ITEMS | SB_TO_PIPE | SB_TO_SUBTREES,
    .source = sb_source_open_rows,
    .sink = sb_sink_open_syrah,
    .table = sb_table_open_syrah,
};
