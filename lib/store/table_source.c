#include "store/table_source.h"

#include "core/number.h"
#include "store/bag/record_names.h"
#include "store/record_choice.h"

#include <stdlib.h>
#include <string.h>

struct column {
    uint32_t number;
    struct sb_array_name name; /* name of its cells as files, without the row */
    bool nested;               /* the name has a '/' */
};

struct table_source {
    struct sb_source base;
    const struct sb_notify *notify;
    struct sb_table *table;
    void *reader;
    struct column *columns; /* the requested columns, in the requested order */
    uint32_t column_count;
    /* columns whose cells must be found, or the row is left out; none: no row is */
    struct column *checked;
    uint32_t checked_count;
    struct sb_record_names *names;
    struct sb_record_names *own_names; /* NULL if the caller gave the names */
    struct sb_record_choice *choice;   /* NULL: all */
    struct sb_record_run run;          /* the rest of the current run */
    int64_t row;
    uint32_t next; /* next of `columns` in the current row */
    bool numbered; /* rows are named by their numbers */
    bool raw;      /* plain values */
    bool unsized;  /* only loaders look up cells, and set their sizes */
    bool shared;   /* other columns of the rows go to other outputs */
    bool silent;   /* another source reports what is left out */
    bool located;  /* stored values lie in the input's file */
    struct sb_buf row_name;
    struct sb_buf name;
};

/* member.place for loaders: the extent, with its shard in the upper half of PLACE_COLUMN. Without
 * extents: the row. */
enum { PLACE_OFFSET, PLACE_SIZE, PLACE_COLUMN, PLACE_ROW = 0 };
#define SHARD_SHIFT 32

static void free_source(struct sb_source *base)
{
    struct table_source *source = (struct table_source *)base;

    sb_record_choice_free(source->choice);
    sb_record_names_free(source->own_names);
    if (source->reader)
        source->table->ops->reader_free(source->reader);
    sb_table_free(source->table);
    free(source->columns);
    free(source->checked);
    sb_buf_release(&source->row_name);
    sb_buf_release(&source->name);
    free(source);
}

static enum sb_code next_run(struct table_source *source)
{
    enum sb_code code;

    if (!source->choice)
        return SB_END;
    while ((code = sb_record_choice_next(source->choice, &source->run)) == SB_INVALID) {
        source->run.count = 0;
        if (!source->silent)
            sb_report(source->notify, SB_PROBLEM, "missing", source->base.name, "%s",
                      sb_error()->text);
    }
    return code;
}

static struct sb_stored_cell cell_of(const struct table_source *source, int64_t row,
                                     uint32_t column)
{
    return (struct sb_stored_cell){.cell = {.row = row, .column = column, .npy = !source->raw}};
}

/* SB_DAMAGED: its extent or size cannot be found; the text says which cell. */
static enum sb_code find_cell(const struct table_source *source, struct sb_stored_cell *cell,
                              int64_t *size)
{
    const struct sb_table_ops *ops = source->table->ops;
    CLEANUP(sb_buf_release) struct sb_buf subject = {0};
    enum sb_code code;

    TRY(sb_table_cell_find(source->table, source->reader, cell));
    code = ops->size(source->reader, cell, size);
    if (code == SB_DAMAGED && !ops->subject(source->reader, &cell->cell, &subject))
        return sb_fail(SB_DAMAGED, "%s: %s", subject.data, sb_error()->text);
    return code;
}

/* SB_DAMAGED: the cell of one of `checked` cannot be found. */
static enum sb_code check_row(const struct table_source *source)
{
    for (uint32_t i = 0; i < source->checked_count; i++) {
        struct sb_stored_cell cell = cell_of(source, source->row, source->checked[i].number);
        int64_t ignored;

        cell.cell.npy = false;
        TRY(find_cell(source, &cell, &ignored));
    }
    return SB_OK;
}

/* SB_DAMAGED: the row is left out. */
static enum sb_code next_row(struct table_source *source)
{
    struct sb_record_run *run = &source->run;
    enum sb_code code;

    if (run->count == 0)
        TRY(next_run(source));
    source->row = run->first;
    if (--run->count > 0)
        run->first += run->step;
    code = sb_record_name(source->names, source->row, &source->row_name);
    if (code == SB_DAMAGED)
        return sb_fail(SB_DAMAGED, "%s %lld: %s", source->table->row_word, (long long)source->row,
                       sb_error()->text);
    TRY(code);
    TRY(check_row(source));
    source->next = 0;
    return SB_OK;
}

/* Sets *name to the name of the current row's cell; if the column has no name, to that of the row.
 */
static enum sb_code name_member(struct table_source *source, const struct column *column,
                                const struct sb_buf **name)
{
    struct sb_array_name parts;

    *name = &source->row_name;
    if (column->name.array_size == 0 && column->name.form == SB_FORM_BYTES)
        return SB_OK;
    *name = &source->name;
    parts = column->name;
    parts.item = source->row_name.data;
    parts.item_size = source->row_name.size;
    return sb_array_name_make(&source->name, &parts);
}

/* SB_DAMAGED: the cell cannot be read. */
static enum sb_code make_member(struct table_source *source, const struct column *column,
                                struct sb_member *member)
{
    struct sb_stored_cell cell = cell_of(source, source->row, column->number);
    const struct sb_table_ops *ops = source->table->ops;
    const struct sb_buf *name;
    int64_t size = -1;

    if (!source->unsized)
        TRY(find_cell(source, &cell, &size));
    TRY(name_member(source, column, &name));
    sb_count_up(&source->base.done, cell.extent.size);
    *member = (struct sb_member){
        .entry = {.path = name->data, .path_size = name->size, .type = SB_FILE, .size = size},
        .located = source->located && !ops->is_encoded(source->table, &cell),
        .at = cell.extent.offset,
        .numbered = source->numbered,
        .array_size = column->nested ? name->size - source->row_name.size - 1 : 0,
        .dir_fd = -1,
        .place = {[PLACE_OFFSET] = (uint64_t)cell.extent.offset,
                  [PLACE_SIZE] = (uint64_t)cell.extent.size,
                  [PLACE_COLUMN] = (uint64_t)cell.extent.shard << SHARD_SHIFT | column->number},
    };
    if (!ops->extents)
        member->place[PLACE_ROW] = (uint64_t)source->row;
    return SB_OK;
}

static enum sb_code next_member(struct sb_source *base, struct sb_member *member)
{
    struct table_source *source = (struct table_source *)base;
    enum sb_code code = SB_DAMAGED;

    if (source->column_count == 0)
        return SB_END;
    while (code == SB_DAMAGED) {
        code = source->next < source->column_count ? SB_OK : next_row(source);
        if (!code)
            code = make_member(source, &source->columns[source->next++], member);
        if (code == SB_DAMAGED && !source->silent)
            sb_report(source->notify, SB_PROBLEM, "damaged", base->name, "%s; left out%s",
                      sb_error()->text, source->checked_count > 0 ? ", with all of its item" : "");
    }
    return code;
}

/* Bytes */

struct table_loader {
    struct sb_loader base;
    void *reader;
};

static void free_loader(struct sb_loader *base)
{
    struct table_loader *loader = (struct table_loader *)base;

    ((const struct table_source *)base->source)->table->ops->reader_free(loader->reader);
    free(loader);
}

static enum sb_code open_loader(struct sb_source *base, struct sb_loader **out)
{
    const struct sb_table *table = ((const struct table_source *)base)->table;
    CLEANUP(sb_freep) struct table_loader *loader = NULL;
    enum sb_code code;

    *out = NULL;
    TRY(SB_NEW(&loader));
    code = table->ops->reader_new(table, &loader->reader);
    if (code) {
        table->ops->reader_free(loader->reader);
        return code;
    }
    loader->base.source = base;
    *out = &TAKE(loader)->base;
    return SB_OK;
}

static struct sb_stored_cell cell_of_member(const struct table_source *source,
                                            const struct sb_member *member)
{
    const uint64_t *place = member->place;
    struct sb_stored_cell cell = cell_of(source, 0, (uint32_t)place[PLACE_COLUMN]);

    if (!source->table->ops->extents)
        cell.cell.row = (int64_t)place[PLACE_ROW];
    else
        cell.extent = (struct sb_extent){.shard = (uint32_t)(place[PLACE_COLUMN] >> SHARD_SHIFT),
                                         .offset = (int64_t)place[PLACE_OFFSET],
                                         .size = (int64_t)place[PLACE_SIZE]};
    cell.place.shard = cell.extent.shard;
    return cell;
}

static enum sb_code check_size(const struct sb_member *member, int64_t got)
{
    if (got == member->entry.size || member->entry.size < 0)
        return SB_OK;
    return sb_fail(SB_DAMAGED, "has %lld bytes now, and had %lld before", (long long)got,
                   (long long)member->entry.size);
}

/* A damaged cell is left out; but if other outputs take the rest of its row, it ends the work. */
static enum sb_code judge(const struct table_loader *loader, const struct sb_member *member,
                          struct sb_events *events)
{
    const struct table_source *source = (const struct table_source *)loader->base.source;

    if (sb_error()->code != SB_DAMAGED || source->shared)
        return sb_error()->code;
    sb_fail(SB_DAMAGED, "%s: %s; left out", source->base.name, sb_error()->text);
    TRY(sb_events_add(events, SB_PROBLEM, "damaged", member->entry.path, sb_error()->text));
    return SB_END;
}

static enum sb_code load(struct sb_loader *base, struct sb_member *member, void *data,
                         size_t capacity, struct sb_events *events)
{
    struct table_loader *loader = (struct table_loader *)base;
    const struct table_source *source = (const struct table_source *)base->source;
    struct sb_stored_cell cell = cell_of_member(source, member);
    size_t got;
    enum sb_code code;

    if (member->entry.size > (int64_t)capacity)
        return SB_LIMIT;
    code = source->table->ops->decode(loader->reader, &cell, NULL, data, capacity, &got);
    if (!code)
        code = check_size(member, (int64_t)got);
    if (!code)
        member->entry.size = (int64_t)got;
    return code && code != SB_LIMIT ? judge(loader, member, events) : code;
}

struct streaming {
    sb_each_block *each;
    void *context;
    int64_t done;
    bool refused; /* `each` failed, so the cell itself is fine */
};

static enum sb_code pass_on(void *context, const void *data, size_t size)
{
    struct streaming *streaming = context;
    enum sb_code code = streaming->each(streaming->context, data, size);

    streaming->done += (int64_t)size;
    streaming->refused = code != SB_OK;
    return code;
}

static enum sb_code stream(struct sb_loader *base, struct sb_member *member, sb_each_block *each,
                           void *context, struct sb_events *events)
{
    struct table_loader *loader = (struct table_loader *)base;
    const struct table_source *source = (const struct table_source *)base->source;
    struct sb_stored_cell cell = cell_of_member(source, member);
    struct streaming streaming = {.each = each, .context = context};

    if (source->table->ops->stream(loader->reader, &cell, pass_on, &streaming) ||
        check_size(member, streaming.done))
        return streaming.refused ? sb_error()->code : judge(loader, member, events);
    return SB_OK;
}

static const struct sb_source_ops table_source_ops = {
    .free = free_source,
    .next = next_member,
    .open_loader = open_loader,
    .free_loader = free_loader,
    .load = load,
    .stream = stream,
};

/* Opening */

/* The columns of these names; without names, all columns. */
static enum sb_code list_columns(const struct table_source *source, uint32_t count,
                                 const char *const *names, size_t name_count, struct column **out,
                                 uint32_t *out_count)
{
    TRY(SB_NEW_ARRAY(out, (size_t)count + 1));
    for (uint32_t i = 0; i < count; i++) {
        struct sb_column column = sb_table_column(source->table, i);

        if (sb_array_is_among(column.name, names, name_count))
            (*out)[(*out_count)++] =
                (struct column){.number = i,
                                .nested = strchr(column.name, '/') != NULL,
                                .name = {.array = column.name,
                                         .array_size = strlen(column.name),
                                         .form = sb_column_form(&column, !source->raw),
                                         .dtype = column.dtype}};
    }
    return SB_OK;
}

static enum sb_code choose_columns(struct table_source *source,
                                   const struct sb_source_options *options)
{
    const char *const *checked = options->item_arrays ? options->item_arrays : options->arrays;
    size_t checked_count = options->item_arrays ? options->item_array_count : options->array_count;
    struct sb_table *table = source->table;
    uint32_t count;

    TRY(sb_table_columns(table, 0, &count));
    for (size_t i = 0; i < options->array_count; i++) {
        const char *wanted = options->arrays[i];

        if (table->ops->find(table, wanted, strlen(wanted)) < 0)
            return sb_fail(SB_INVALID, "%s: has no array '%s'; ls shows which it has", table->name,
                           wanted);
    }
    TRY(list_columns(source, count, options->arrays, options->array_count, &source->columns,
                     &source->column_count));
    if (options->whole_items)
        TRY(list_columns(source, count, checked, checked_count, &source->checked,
                         &source->checked_count));
    source->next = source->column_count;
    source->shared = options->item_arrays;
    source->silent = source->shared && source->columns[0].number != source->checked[0].number;
    return SB_OK;
}

static int64_t bytes_of(struct sb_table *table)
{
    struct sb_table_part part;
    int64_t bytes = 0;

    for (uint32_t i = 0; !IGNORED(table->ops->part(table, i, &part)); i++) {
        if (__builtin_add_overflow(bytes, part.bytes, &bytes))
            return 0;
    }
    return bytes;
}

static enum sb_code choose_rows(struct table_source *source,
                                const struct sb_source_options *options)
{
    TRY(source->table->ops->count(source->table, &source->base.records));
    source->names = options->names;
    if (!source->names) {
        TRY(sb_record_names_by_format(&source->own_names, SB_RECORD_NAME_FORMAT));
        source->names = source->own_names;
    }
    source->numbered = sb_record_names_count(source->names) < 0;
    if (options->records)
        return sb_record_choice_new(&source->choice, options->records, source->base.records);
    source->run = (struct sb_record_run){.step = 1, .count = source->base.records};
    if (options->array_count == 0 && source->table->ops->extents)
        source->base.total = bytes_of(source->table);
    return SB_OK;
}

/* Columns have different names, but a name with a '/' may become the stored name of another. */
static bool names_differ(const struct table_source *source, const struct sb_source_options *options)
{
    if (options->records || !source->numbered)
        return false;
    for (uint32_t i = 0; i < source->column_count; i++) {
        const struct column *column = &source->columns[i];

        if ((column->name.array_size == 0 && source->column_count > 1) || column->nested)
            return false;
    }
    return true;
}

enum sb_code sb_source_of_table(struct sb_source **out, struct sb_table *table,
                                const struct sb_source_options *options,
                                const struct sb_notify *notify)
{
    struct table_source *source = calloc(1, sizeof(*source));
    CLEANUP(sb_source_freep) struct sb_source *base = source ? &source->base : NULL;

    *out = NULL;
    if (!source) {
        sb_table_free(table);
        return sb_fail_memory();
    }
    *base = (struct sb_source){.ops = &table_source_ops, .name = table->name, .loads = true};
    source->notify = notify;
    source->table = table;
    source->raw = options->raw_arrays;
    source->unsized = options->unsized;
    TRY(table->ops->reader_new(table, &source->reader));
    TRY(choose_columns(source, options));
    TRY(choose_rows(source, options));
    base->unique = names_differ(source, options);
    *out = TAKE(base);
    return SB_OK;
}

enum sb_code sb_source_open_rows(struct sb_source **out, struct sb_input *input,
                                 const struct sb_source_options *options,
                                 const struct sb_notify *notify)
{
    struct sb_table *table;

    *out = NULL;
    TRY(sb_input_spool(input, options->max_size));
    TRY(input->kind->table(&table, input, options->bag, notify));
    TRY(sb_source_of_table(out, table, options, notify));
    ((struct table_source *)*out)->located = input->file && !input->pipe;
    return SB_OK;
}
