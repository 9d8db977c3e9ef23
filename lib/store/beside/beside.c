#include "store/beside/beside.h"

#include "core/number.h"
#include "store/array/npy.h"
#include "store/facts.h"
#include "store/kind.h"
#include "store/shard_spec.h"
#include "store/table_source.h"
#include "store/usage.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct column {
    struct sb_table *bag; /* alone */
    uint32_t shards;
    char *name;
    enum sb_array_form form; /* as sb_column has it */
    enum sb_dtype dtype;
};

struct beside {
    struct sb_table base;
    char *name;
    int64_t rows;
    struct column *columns;
    uint32_t count;
};

bool sb_bag_array_name(struct sb_array_name *out, const char *spec)
{
    const char *slash = strrchr(spec, '/'), *name = slash ? slash + 1 : spec;
    size_t size = sb_container_base_size(name), set = strcspn(name, "@,");
    const char *dot;

    /* Of a list it is the first that says it. */
    if (set < size && name[set] == ',') {
        dot = memrchr(name, '.', set);
        size = dot ? (size_t)(dot - name) : set;
    } else if (set < size) {
        size = set;
    }
    if (sb_array_name_parse(out, name, size) && out->form != SB_FORM_PICKLE &&
        out->form != SB_FORM_SHAPE)
        return true;
    *out = (struct sb_array_name){.array = name, .array_size = size};
    dot = memrchr(name, '.', size);
    if (!dot || sb_dtype_named(dot + 1, size - (size_t)(dot + 1 - name)) != SB_DTYPE_STR)
        return false;
    out->array_size = (size_t)(dot - name);
    out->form = SB_FORM_TEXT;
    out->dtype = SB_DTYPE_STR;
    return true;
}

static struct beside *of(const struct sb_table *table)
{
    return (struct beside *)table;
}

static void free_table(struct sb_table *table)
{
    struct beside *beside = of(table);

    for (uint32_t i = 0; i < beside->count; i++) {
        sb_table_free(beside->columns[i].bag);
        free(beside->columns[i].name);
    }
    free(beside->columns);
    free(beside->name);
}

static enum sb_code count(struct sb_table *table, int64_t *rows)
{
    *rows = of(table)->rows;
    return SB_OK;
}

static enum sb_code columns(struct sb_table *table, int64_t row, uint32_t *number)
{
    (void)row;
    *number = of(table)->count;
    return SB_OK;
}

static struct sb_column column(struct sb_table *table, uint32_t number)
{
    const struct column *column = &of(table)->columns[number];

    return (struct sb_column){.name = column->name, .form = column->form, .dtype = column->dtype};
}

static int64_t find(struct sb_table *table, const char *name, size_t size)
{
    const struct beside *beside = of(table);

    for (uint32_t i = 0; i < beside->count; i++) {
        if (strlen(beside->columns[i].name) == size &&
            memcmp(beside->columns[i].name, name, size) == 0)
            return i;
    }
    return -1;
}

static enum sb_code row_name(struct sb_table *table, int64_t row, struct sb_buf *out)
{
    (void)table;
    return sb_buf_add_format(out, "%08" PRId64, row);
}

static enum sb_code part(struct sb_table *table, uint32_t number, struct sb_table_part *out)
{
    const struct beside *beside = of(table);

    for (uint32_t i = 0; i < beside->count; i++) {
        const struct column *column = &beside->columns[i];

        if (number < column->shards)
            return column->bag->ops->part(column->bag, number, out);
        number -= column->shards;
    }
    return sb_error()->code = SB_END;
}

static const char *type_word(const struct column *column)
{
    if (column->dtype != SB_DTYPE_NONE)
        return sb_dtype_word(column->dtype);
    return column->form == SB_FORM_NPY ? "npy" : "bytes";
}

static enum sb_code describe(struct sb_table *table, int64_t row, uint32_t number,
                             struct sb_facts *facts)
{
    const struct column *column = &of(table)->columns[number];

    facts->name = column->name;
    facts->dtype = type_word(column);
    return column->bag->ops->describe(column->bag, row, 0, facts);
}

static enum sb_code usage_of(struct sb_table *table, const struct sb_usage_options *options,
                             struct sb_usage *usage)
{
    const struct beside *beside = of(table);

    TRY(sb_usage_begin(usage, NULL, 0, beside->count));
    usage->line_word = "array";
    usage->typed = usage->packed = true;
    for (uint32_t i = 0; i < beside->count; i++) {
        const struct column *column = &beside->columns[i];
        struct sb_usage one;
        enum sb_code code;

        if (!sb_array_is_among(column->name, options->columns, options->column_count))
            continue;
        code = column->bag->ops->usage(column->bag, options, &one);
        usage->lines[i] = one.total;
        usage->lines[i].name = column->name;
        usage->lines[i].dtype = type_word(column);
        usage->lines[i].rest = false;
        usage->measures = one.measures;
        usage->measure_count = one.measure_count;
        free(one.lines);
        TRY(code);
    }
    sb_usage_sum_up(usage);
    usage->total.amounts[0] = beside->rows;
    return SB_OK;
}

struct beside_reader {
    const struct beside *beside;
    void **bags; /* a reader for each column */
    struct sb_npy_row row;
};

/* A record, and how much of row.header comes before it. */
struct found {
    const struct sb_table_ops *ops;
    void *bag;
    struct sb_stored_cell cell;
    int64_t size; /* if the caller wanted it */
    size_t header;
};

static void reader_free(void *context)
{
    struct beside_reader *reader = context;

    if (!reader)
        return;
    for (uint32_t i = 0; reader->bags && i < reader->beside->count; i++)
        reader->beside->columns[i].bag->ops->reader_free(reader->bags[i]);
    free(reader->bags);
    sb_buf_release(&reader->row.header);
    free(reader);
}

static enum sb_code reader_new(const struct sb_table *table, void **out)
{
    const struct beside *beside = of(table);
    struct beside_reader *reader = calloc(1, sizeof(*reader));

    *out = reader;
    if (!reader)
        return sb_fail_memory();
    reader->beside = beside;
    TRY(SB_NEW_ARRAY(&reader->bags, beside->count));
    for (uint32_t i = 0; i < beside->count; i++)
        TRY(beside->columns[i].bag->ops->reader_new(beside->columns[i].bag, &reader->bags[i]));
    return SB_OK;
}

/* Of what is damaged it is said in which bag. */
static enum sb_code fail(const struct column *column)
{
    if (sb_error()->code == SB_DAMAGED)
        return sb_fail(SB_DAMAGED, "%s: %s", column->bag->name, sb_error()->text);
    return sb_error()->code;
}

static enum sb_code look(struct beside_reader *reader, const struct sb_cell *cell, bool sized,
                         struct found *out)
{
    const struct column *column = &reader->beside->columns[cell->column];
    bool made = cell->npy && column->form == SB_FORM_NPY && column->dtype != SB_DTYPE_NONE;

    *out = (struct found){
        .ops = column->bag->ops, .bag = reader->bags[cell->column], .cell.cell.row = cell->row};
    if (sb_table_cell_find(column->bag, out->bag, &out->cell) ||
        ((sized || made) && out->ops->size(out->bag, &out->cell, &out->size)) ||
        (made && sb_npy_row_header(&reader->row, column->dtype, out->size)))
        return fail(column);
    out->header = made ? reader->row.header.size : 0;
    return SB_OK;
}

static enum sb_code decode(void *context, const struct sb_stored_cell *cell, const void *stored,
                           void *data, size_t capacity, size_t *size)
{
    struct beside_reader *reader = context;
    struct found found;

    (void)stored;
    TRY(look(reader, &cell->cell, false, &found));
    if (found.header > capacity)
        return sb_error()->code = SB_LIMIT;
    if (found.header > 0)
        memcpy(data, reader->row.header.data, found.header);
    if (found.ops->decode(found.bag, &found.cell, NULL, (char *)data + found.header,
                          capacity - found.header, size))
        return fail(&reader->beside->columns[cell->cell.column]);
    *size += found.header;
    return SB_OK;
}

static enum sb_code size_of(void *context, const struct sb_stored_cell *cell, int64_t *size)
{
    struct found found;
    enum sb_code code = look(context, &cell->cell, true, &found);

    *size = (int64_t)found.header + found.size;
    return code;
}

static enum sb_code stream(void *context, const struct sb_stored_cell *cell, sb_each_block *each,
                           void *each_context)
{
    struct beside_reader *reader = context;
    struct found found;

    TRY(look(reader, &cell->cell, false, &found));
    if (found.header > 0)
        TRY(each(each_context, reader->row.header.data, found.header));
    return found.ops->stream(found.bag, &found.cell, each, each_context);
}

static enum sb_code subject(void *context, const struct sb_cell *cell, struct sb_buf *out)
{
    const struct beside_reader *reader = context;

    return sb_buf_add_format(out, "item %" PRId64 ", array '%s'", cell->row,
                             reader->beside->columns[cell->column].name);
}

static const struct sb_listing listing = {
    .object = SB_FACTS(SB_FACT(ROW, "item"), SB_FACT(NAME, "array"), SB_FACT(DTYPE, "dtype"),
                       SB_FACT(OFFSET, "offset"), SB_FACT(STORED, "stored"), SB_FACT(SIZE, "bytes"),
                       SB_FACT(PATH, "file"), SB_FACT(DEFECT, "defect")),
    .line = (const enum sb_fact_of[]){SB_FACT_ROW, SB_FACT_DTYPE, SB_FACT_SIZE, SB_FACT_NAME,
                                      SB_FACT_END},
    .details = (const enum sb_fact_of[]){SB_FACT_ROW, SB_FACT_DTYPE, SB_FACT_STORED, SB_FACT_SIZE,
                                         SB_FACT_OFFSET, SB_FACT_NAME, SB_FACT_END},
};

static const struct sb_table_ops beside_ops = {
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
    .decode = decode,
    .size = size_of,
    .stream = stream,
    .subject = subject,
};

/* Opening */

struct beginning {
    char bytes[SB_NPY_MAGIC_SIZE];
    size_t size;
};

/* A sb_each_block, which takes no more than its capacity. The code in the error ends a stream. */
static enum sb_code take_beginning(void *context, const void *data, size_t size)
{
    struct beginning *beginning = context;
    size_t space = sizeof(beginning->bytes) - beginning->size, part = size < space ? size : space;

    memcpy(beginning->bytes + beginning->size, data, part);
    beginning->size += part;
    sb_error()->code = beginning->size == sizeof(beginning->bytes) ? SB_END : SB_OK;
    return sb_error()->code;
}

static enum sb_code begins_as_npy(struct sb_table *bag, int64_t records, bool *is_npy)
{
    struct beginning beginning = {.size = 0};
    struct sb_stored_cell first = {0};
    void *reader;
    enum sb_code code;

    *is_npy = false;
    if (records == 0)
        return SB_OK;
    code = bag->ops->reader_new(bag, &reader);
    if (!code)
        code = sb_table_cell_find(bag, reader, &first);
    if (!code)
        code = bag->ops->stream(reader, &first, take_beginning, &beginning);
    bag->ops->reader_free(reader);
    *is_npy = beginning.size == SB_NPY_MAGIC_SIZE &&
              memcmp(beginning.bytes, SB_NPY_MAGIC, SB_NPY_MAGIC_SIZE) == 0;
    return code == SB_END ? SB_OK : code;
}

/* By its name; and `arrays` that it does not say the type of by their first record. */
static enum sb_code choose_form(struct column *column, const char *spec, int64_t records,
                                const struct sb_beside_options *options)
{
    struct sb_array_name said;
    bool known = sb_bag_array_name(&said, spec), is_npy = true;

    if (said.array_size == 0)
        return sb_fail(SB_INVALID, "%s: its name has none for an array", spec);
    column->name = strndup(said.array, said.array_size);
    if (!column->name)
        return sb_fail_memory();
    column->dtype = known ? said.dtype : options->dtype;
    column->form = column->dtype == SB_DTYPE_STR ? SB_FORM_TEXT
                   : known || options->arrays    ? SB_FORM_NPY
                                                 : SB_FORM_BYTES;
    if (!known && options->arrays && options->dtype == SB_DTYPE_NONE)
        TRY(begins_as_npy(column->bag, records, &is_npy));
    if (is_npy)
        return SB_OK;
    return sb_fail(SB_INVALID,
                   "%s: neither its name nor its first record says what type its values have; "
                   "--dtype=float32 does",
                   spec);
}

static enum sb_code add_column(struct beside *beside, const char *spec,
                               const struct sb_beside_options *options,
                               const struct sb_notify *notify)
{
    struct column *column = &beside->columns[beside->count], *first = beside->columns;
    struct sb_input input = {.path = spec, .name = spec};
    int64_t records, other;

    TRY(sb_table_open_bag(&column->bag, &input, options->bag, notify));
    beside->count++;
    sb_count_up(&beside->base.cell_size, column->bag->cell_size);
    records = sb_bag_count(column->bag->ops->records(column->bag));
    column->shards = sb_bag_shard_count(column->bag->ops->records(column->bag));
    TRY(choose_form(column, spec, records, options));
    other = find(&beside->base, column->name, strlen(column->name));
    if (&first[other] != column)
        return sb_fail(SB_INVALID, "%s: is called '%s', as %s is; arrays need different names",
                       spec, column->name, first[other].bag->name);
    if (column == first)
        beside->rows = records;
    if (records == beside->rows)
        return SB_OK;
    return sb_fail(SB_INVALID,
                   "%s: has %" PRId64 " records, and %s %" PRId64
                   "; arrays of the same items are equally many",
                   spec, records, first->bag->name, beside->rows);
}

enum sb_code sb_table_of_bags(struct sb_table **out, char *const *specs, size_t count,
                              const struct sb_beside_options *options,
                              const struct sb_notify *notify)
{
    struct beside *beside = calloc(1, sizeof(*beside));
    CLEANUP(sb_table_freep) struct sb_table *table = beside ? &beside->base : NULL;
    CLEANUP(sb_buf_release) struct sb_buf name = {0};

    *out = NULL;
    if (!beside)
        return sb_fail_memory();
    *table = (struct sb_table){
        .ops = &beside_ops, .row_word = "item", .numbered = true, .listing = &listing};
    for (size_t i = 0; i < count; i++) {
        TRY(sb_buf_add_format(&name, "%s%s", i > 0 ? "+" : "", specs[i]));
    }
    table->name = beside->name = TAKE(name.data);
    TRY(SB_NEW_ARRAY(&beside->columns, count + 1));
    for (size_t i = 0; i < count; i++)
        TRY(add_column(beside, specs[i], options, notify));
    table->cell_size /= count > 0 ? (int64_t)count : 1;
    *out = TAKE(table);
    return SB_OK;
}

static enum sb_code open_table(struct sb_table **out, struct sb_input *input,
                               const struct sb_bag_options *bag, const struct sb_notify *notify)
{
    const struct sb_beside_options options = {.bag = bag};
    CLEANUP(sb_spec_release) struct sb_spec bags = {0};

    *out = NULL;
    TRY(sb_spec_beside(&bags, input->path));
    return sb_table_of_bags(out, bags.paths, bags.count, &options, notify);
}

static enum sb_sure is_spec(const struct sb_input *input)
{
    CLEANUP(sb_spec_release) struct sb_spec bags = {0};
    bool found;

    if (input->there || !strchr(input->path, '+') || IGNORED(sb_spec_beside(&bags, input->path)))
        return SB_NO;
    found = bags.count > 1;
    for (size_t i = 0; i < bags.count; i++)
        found &= sb_spec_is_of_bags(bags.paths[i]);
    return found ? SB_BY_NAME : SB_NO;
}

const struct sb_kind sb_beside_kind = {
    .word = "table of bags",
    .words = (const struct sb_kind_word[]){{0}},
    .can_as_several = SB_CAN_PATHS | SB_CAN_ITEMS | SB_CAN_BAGS,
    .by_name = is_spec,
    .source = sb_source_open_rows,
    .table = open_table,
};
