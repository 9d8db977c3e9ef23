/*
 * The rows of a table, or their cells, a line or an object each: by what the table says that there
 * is to be listed (store/facts.h).
 */
#include "ls/ls.h"
#include "open/given.h"
#include "open/opening.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/output.h"

#include "store/facts.h"
#include "store/table.h"
#include "task/index/record_index.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define FOUND_MOST  1024 /* records that were found by their bytes, shown together */
#define FOUND_FEW   64
#define FOUND_BYTES ((size_t)1 << 20) /* of their keys */

struct cell {
    struct sb_facts facts;
    struct sb_npy shape;
};

struct list {
    const struct ls_settings *wanted;
    struct sb_table *table;
    const enum sb_fact_of *line;
    bool by_rows; /* a line, or an object, is a row, not a cell */

    struct cell *cells; /* of a row that is listed as a whole */
    size_t count, capacity;
    struct sb_buf text; /* these in one column */

    struct sb_buf name;
    struct rows rows;
    struct json json;
    const char **columns; /* of --csv */
};

static bool is_number(enum sb_fact_of of, const struct sb_facts *facts, int64_t *number)
{
    static const size_t places[] = {
        [SB_FACT_ROW] = offsetof(struct sb_facts, row),
        [SB_FACT_PART] = offsetof(struct sb_facts, part),
        [SB_FACT_PLACE] = offsetof(struct sb_facts, place),
        [SB_FACT_LENGTH] = offsetof(struct sb_facts, length),
        [SB_FACT_SIZE] = offsetof(struct sb_facts, size),
        [SB_FACT_STORED] = offsetof(struct sb_facts, stored),
        [SB_FACT_OFFSET] = offsetof(struct sb_facts, offset),
        [SB_FACT_DAMAGED] = 0, /* no number, as all others */
    };

    if (places[of] == 0)
        return false;
    memcpy(number, (const char *)facts + places[of], sizeof(*number));
    return true;
}

static struct sb_row_key bytes_of(enum sb_fact_of of, const struct sb_facts *facts)
{
    const char *text = of == SB_FACT_PATH ? facts->path : facts->name;

    if (of == SB_FACT_KEY)
        return facts->key;
    return of == SB_FACT_MEMBER ? facts->member
                                : (struct sb_row_key){.text = text, .size = strlen(text)};
}

/* "[3,4]" */
static void add_shape(struct sb_buf *out, const struct sb_npy *array)
{
    char number[NUMBER_SIZE];

    output_need(sb_buf_add_char(out, '['));
    for (size_t i = 0; i < array->dims; i++) {
        if (i > 0)
            output_need(sb_buf_add_char(out, ','));
        output_need(sb_buf_add_text(out, format_number(array->shape[i], number)));
    }
    output_need(sb_buf_add_char(out, ']'));
}

static void add_name(struct sb_buf *out, const char *name)
{
    if (*name)
        output_need(sb_quote(out, name, strlen(name), SB_ESCAPE));
    else
        output_need(sb_buf_add_char(out, '-'));
}

/* "emb:float32[3,4]" */
static void add_cell_text(struct sb_buf *text, const struct sb_facts *cell)
{
    if (text->size > 0)
        output_need(sb_buf_add_char(text, ','));
    if (*cell->name || !cell->dtype)
        add_name(text, cell->name);
    if (!cell->dtype)
        return;
    if (*cell->name)
        output_need(sb_buf_add_char(text, ':'));
    output_need(sb_buf_add_text(text, cell->defect ? "damaged" : cell->dtype));
    if (cell->shape)
        add_shape(text, cell->shape);
}

static const char *text_of_cells(struct list *list)
{
    sb_buf_clear(&list->text);
    for (size_t i = 0; i < list->count; i++)
        add_cell_text(&list->text, &list->cells[i].facts);
    return list->text.size > 0 ? list->text.data : "-";
}

/* One of the facts that are texts. */
static const char *text_of(struct list *list, enum sb_fact_of of, const struct sb_facts *facts)
{
    struct sb_buf *name = &list->name;

    sb_buf_clear(name);
    switch (of) {
    case SB_FACT_STRUCTURE:
        return facts->structure;
    case SB_FACT_SUPERSEDED:
        return facts->superseded ? "superseded" : "-";
    case SB_FACT_CELLS:
        return text_of_cells(list);
    case SB_FACT_DTYPE:
        return facts->dtype;
    case SB_FACT_SHAPE:
        if (!facts->shape)
            return "-";
        add_shape(name, facts->shape);
        return name->data;
    default:
        add_name(name, facts->name);
        return name->data;
    }
}

static void add_fact(struct list *list, enum sb_fact_of of, const struct sb_facts *facts)
{
    bool is_size = of == SB_FACT_SIZE || of == SB_FACT_STORED;
    int64_t number;

    if (!is_number(of, facts, &number)) {
        if (of != SB_FACT_SUPERSEDED || list->wanted->all)
            rows_text(&list->rows, text_of(list, of, facts));
    } else if (number < 0 || (of == SB_FACT_SIZE && facts->defect)) {
        rows_word(&list->rows, "damaged");
    } else {
        rows_number(&list->rows, number, is_size && list->wanted->style.human);
    }
}

static void write_line(struct list *list, const struct sb_facts *facts)
{
    const enum sb_fact_of *of = list->line;
    struct sb_row_key name = {0};

    for (; of[1] != SB_FACT_END; of++)
        add_fact(list, *of, facts);
    if (*of == SB_FACT_KEY || *of == SB_FACT_NAME || *of == SB_FACT_MEMBER)
        name = bytes_of(*of, facts);
    else
        add_fact(list, *of, facts);
    rows_end(&list->rows, name.text, name.size);
}

static void write_members(struct list *list, const struct sb_fact *fact,
                          const struct sb_facts *facts);

static void write_cells(struct list *list, const char *word)
{
    json_open(&list->json, word, '[');
    for (size_t i = 0; i < list->count; i++) {
        json_open(&list->json, NULL, '{');
        write_members(list, list->table->listing->cells, &list->cells[i].facts);
        json_close(&list->json, '}');
    }
    json_close(&list->json, ']');
}

static void write_shape(struct json *line, const char *word, const struct sb_npy *shape)
{
    json_open(line, word, '[');
    for (size_t i = 0; i < shape->dims; i++)
        json_number(line, NULL, shape->shape[i]);
    json_close(line, ']');
}

/* One that is no number. */
static void write_member(struct list *list, const struct sb_fact *fact,
                         const struct sb_facts *facts)
{
    struct json *line = &list->json;
    struct sb_row_key bytes;

    switch (fact->of) {
    case SB_FACT_STRUCTURE:
        json_text(line, fact->word, facts->structure);
        break;
    case SB_FACT_DTYPE:
        json_text(line, fact->word, facts->dtype);
        break;
    case SB_FACT_SUPERSEDED:
        json_flag(line, fact->word, facts->superseded);
        break;
    case SB_FACT_CELLS:
        write_cells(list, fact->word);
        break;
    case SB_FACT_SHAPE:
        if (facts->shape)
            write_shape(line, fact->word, facts->shape);
        break;
    case SB_FACT_DEFECT:
        if (facts->defect)
            json_text(line, fact->word, facts->defect);
        break;
    default:
        bytes = bytes_of(fact->of, facts);
        if (bytes.text && (bytes.size > 0 || fact->of != SB_FACT_NAME_IF_ANY))
            json_bytes(line, fact->word, bytes.text, bytes.size);
    }
}

static void write_members(struct list *list, const struct sb_fact *fact,
                          const struct sb_facts *facts)
{
    int64_t number;

    for (; fact->of != SB_FACT_END; fact++) {
        if (is_number(fact->of, facts, &number)) {
            json_known(&list->json, fact->word, number >= 0, number);
        } else if (fact->of != SB_FACT_DAMAGED) {
            write_member(list, fact, facts);
        } else if (facts->defect) {
            json_flag(&list->json, fact->word, true);
            break;
        }
    }
}

static void show(struct list *list, const struct sb_facts *facts)
{
    if (!list->wanted->style.json) {
        write_line(list, facts);
        return;
    }
    json_begin(&list->json);
    write_members(list, list->table->listing->object, facts);
    json_print(&list->json);
}

static void complain(const struct list *list, const struct sb_facts *facts)
{
    if (!list->table->numbered)
        complain_of_key(&facts->key, facts->defect);
    else if (facts->member.text)
        message_problem("%s: %s: %s", list->table->name, facts->member.text, facts->defect);
    else
        message_problem("%s: %s", list->table->name, facts->defect);
}

static void reserve(struct list *list, size_t count)
{
    struct cell *cells;

    if (count <= list->capacity)
        return;
    cells = reallocarray(list->cells, count, sizeof(*cells));
    if (!cells)
        output_check(ENOMEM);
    list->cells = cells;
    list->capacity = count;
}

/* A cell of the row that is listed as a whole; shapes are the table's until its next call. */
static void keep(struct list *list, const struct sb_facts *facts, struct sb_facts *row)
{
    struct cell *cell = &list->cells[list->count++];
    const struct sb_npy *shape = facts->shape;

    cell->facts = *facts;
    if (shape) {
        cell->shape.dims = shape->dims;
        memcpy(cell->shape.shape, shape->shape, shape->dims * sizeof(*shape->shape));
        cell->facts.shape = &cell->shape;
    }
    if (facts->defect)
        row->defect = facts->defect;
    else if (__builtin_add_overflow(row->size, facts->size, &row->size))
        row->size = INT64_MAX;
}

static enum sb_code show_row(struct list *list, int64_t number, const struct sb_cell_run *run,
                             const struct sb_facts *found)
{
    const struct sb_table_ops *ops = list->table->ops;
    struct sb_facts row = found ? *found : (struct sb_facts){0};
    enum sb_code code;

    row.row = number;
    code = ops->describe_row ? ops->describe_row(list->table, number, &row) : SB_OK;
    list->count = 0;
    reserve(list, run->column_count);
    for (uint32_t i = 0; !code && i < run->column_count; i++) {
        struct sb_facts cell = row;

        cell.defect = NULL;
        code = ops->describe(list->table, number, run->columns ? run->columns[i] : i, &cell);
        if (!code && cell.defect)
            complain(list, &cell);
        if (!code && list->by_rows)
            keep(list, &cell, &row);
        else if (!code)
            show(list, &cell);
    }
    if (!code && list->by_rows)
        show(list, &row);
    return code;
}

/* name: what a problem begins with; NULL: it says it all. */
static enum sb_code show_feed(struct list *list, const struct sb_cell_feed *feed, const char *name)
{
    struct sb_cell_run run;
    enum sb_code code;

    for (;;) {
        if (!feed->ready(feed->context)) {
            rows_flush(&list->rows);
            output_flush();
        }
        code = feed->next(feed->context, &run);
        if (code == SB_INVALID && run.rows.count == 0) {
            rows_flush(&list->rows);
            message_problem("%s%s%s", name ? name : "", name ? ": " : "", sb_error()->text);
            continue;
        }
        for (int64_t i = 0; !code && i < run.rows.count; i++)
            code = show_row(list, run.rows.first + i * run.rows.step, &run, NULL);
        if (code)
            break;
    }
    rows_flush(&list->rows);
    return code == SB_END ? SB_OK : code;
}

static enum sb_code show_record(void *context, const struct sb_facts *row)
{
    struct list *list = context;

    if (row->defect)
        complain(list, row);
    show(list, row);
    return SB_OK;
}

static void flush_rows(void *context)
{
    struct list *list = context;

    rows_flush(&list->rows);
    output_flush();
}

/* Records are looked at many at once. */
static enum sb_code show_many(struct list *list, const struct sb_cell_feed *feed,
                              const struct sb_cell_facts *facts)
{
    const struct sb_table_fetch_options options = {.facts = facts,
                                                   .threads = (unsigned)list->wanted->threads};
    struct sb_table_fetch_counts counts;
    enum sb_code code = sb_table_fetch(list->table, feed, &options, NULL, &message_notify, &counts);

    rows_flush(&list->rows);
    return code;
}

static enum sb_code begin_widths(struct list *list)
{
    struct sb_table *table = list->table;
    struct sb_table_part part;
    char number[NUMBER_SIZE];
    uint32_t parts = 0;
    int64_t count;

    if (!table->numbered)
        return SB_OK;
    TRY(table->ops->count(table, &count));
    list->rows.widths[0] = strlen(format_number(count > 0 ? count - 1 : 0, number));
    for (size_t i = 0; list->line[i] != SB_FACT_END; i++) {
        if (list->line[i] != SB_FACT_PART)
            continue;
        while (!table->ops->part(table, parts, &part))
            parts++;
        list->rows.widths[i] = strlen(format_number(parts, number));
    }
    return SB_OK;
}

static enum sb_code list_chosen(struct list *list, char *const *operands, size_t count)
{
    const struct ls_settings *wanted = list->wanted;
    const struct sb_cell_facts facts = {.each = show_record, .waits = flush_rows, .context = list};
    struct sb_cell_feed feed;
    CLEANUP(chosen_rows_close) struct chosen_rows chosen = {0};

    TRY(chosen_rows_open(&chosen, list->table, wanted->files_from, wanted->style.nul ? '\0' : '\n',
                         operands, count));
    chosen.named.none_is_fine = true;
    TRY(chosen_rows_feed(&chosen, list->table, &feed));
    if (!wanted->count)
        return list->table->ops->records
                   ? show_many(list, &feed, &facts)
                   : show_feed(list, &feed, chosen.choice ? list->table->name : NULL);
    output_format("%" PRId64 "\n", sb_table_choice_rows(chosen.choice));
    return SB_OK;
}

static void complain_of_missing(const struct list *list, const void *key, size_t size)
{
    struct sb_buf text = {0};

    output_need(sb_quote(&text, key, size, SB_ESCAPE));
    message_problem("%s: no %s is '%s'", list->table->name, list->table->row_word,
                    text.data ? text.data : "");
    sb_buf_release(&text);
}

/* Records that were found wait for others, so that they are looked at together. */
struct found {
    struct list *list;
    struct sb_fetch_names names;
    struct sb_buf keys; /* each with a NUL */
    int64_t records[FOUND_MOST];
    struct sb_row_key key[FOUND_MOST]; /* of each record; text is set when the keys stay */
    size_t key_at[FOUND_MOST];
    size_t count, shown;
};

static enum sb_code show_found_row(void *context, const struct sb_facts *facts)
{
    struct found *found = context;
    struct sb_facts row = *facts;

    row.key = found->key[found->shown++];
    TRY(show_record(found->list, &row));
    rows_flush(&found->list->rows);
    return SB_OK;
}

/* A few are not worth threads of their own. */
static enum sb_code show_singly(struct found *found)
{
    static const struct sb_cell_run whole = {.column_count = 1};
    enum sb_code code = SB_OK;

    for (size_t i = 0; !code && i < found->count; i++) {
        const struct sb_facts facts = {.key = found->key[i]};

        code = show_row(found->list, found->records[i], &whole, &facts);
        rows_flush(&found->list->rows);
    }
    return code;
}

static enum sb_code show_pending(struct found *found)
{
    struct found_records records = {.records = found->records, .count = found->count};
    const struct sb_cell_feed feed = found_records_feed(&records);
    const struct sb_cell_facts facts = {.each = show_found_row, .context = found};
    enum sb_code code;

    found->shown = 0;
    for (size_t i = 0; i < found->count; i++)
        found->key[i].text = found->keys.data + found->key_at[i];
    code = found->count <= FOUND_FEW ? show_singly(found) : show_many(found->list, &feed, &facts);
    found->count = 0;
    sb_buf_clear(&found->keys);
    return code;
}

static enum sb_code add_found(struct found *found, const void *key, size_t key_size, int64_t record)
{
    found->records[found->count] = record;
    found->key[found->count].size = key_size;
    found->key_at[found->count++] = found->keys.size;
    TRY(sb_buf_add(&found->keys, key, key_size));
    TRY(sb_buf_add_char(&found->keys, '\0'));
    return found->count == FOUND_MOST || found->keys.size > FOUND_BYTES ? show_pending(found)
                                                                        : SB_OK;
}

static enum sb_code take_found(void *context, const void *key, size_t key_size,
                               const int64_t *records, size_t count)
{
    struct found *found = context;

    message_progress_hide();
    for (size_t i = 0; i < count; i++)
        TRY(add_found(found, key, key_size, records[i]));
    if (count == 0 || !found->names.ready(found->names.context))
        TRY(show_pending(found));
    if (count == 0)
        complain_of_missing(found->list, key, key_size);
    return SB_OK;
}

/* By what records hold. */
static enum sb_code list_found(struct list *list, struct given_keys *keys)
{
    struct sb_record_index_options options = {
        .all = keys->find_all,
        .threads = (unsigned)list->wanted->threads,
        .progress = message_progress_call,
    };
    struct found found = {.list = list, .names = given_names_of(&keys->names)};
    enum sb_code code = given_keys_open(keys, NULL, 0, list->wanted->files_from,
                                        list->wanted->style.nul ? '\0' : '\n');

    if (!code) {
        message_progress_counts("records");
        code = sb_record_index_find(list->table->ops->records(list->table), &options, &found.names,
                                    take_found, &found, &message_notify);
        if (!code)
            code = show_pending(&found);
        sb_buf_release(&found.keys);
    }
    given_keys_close(keys);
    message_progress_end();
    return code;
}

/* The word of a fact, as objects have it. */
static const char *word_of(const struct sb_listing *listing, enum sb_fact_of of)
{
    const struct sb_fact *const lists[] = {listing->object, listing->cells};

    for (size_t i = 0; i < 2; i++) {
        for (const struct sb_fact *fact = lists[i]; fact && fact->of != SB_FACT_END; fact++) {
            if (fact->of == of || (fact->of == SB_FACT_NAME_IF_ANY && of == SB_FACT_NAME))
                return fact->word;
        }
    }
    return "-";
}

/* A line of words, where more than names is shown. */
static void add_heading(struct list *list)
{
    const enum sb_fact_of *of = list->line;
    static const struct sb_facts none;
    int64_t number;

    for (; of[0] != SB_FACT_END; of++) {
        const char *word = word_of(list->table->listing, *of);

        if (of[1] == SB_FACT_END && !is_number(*of, &none, &number)) {
            rows_end(&list->rows, word, strlen(word));
            return;
        }
        if (is_number(*of, &none, &number))
            rows_word(&list->rows, word);
        else if (*of != SB_FACT_SUPERSEDED || list->wanted->all)
            rows_text(&list->rows, word);
    }
    rows_end(&list->rows, NULL, 0);
}

static void begin_output(struct list *list)
{
    const struct sb_fact *fact = list->table->listing->object;
    size_t count = 0;

    if (list->wanted->count)
        return;
    if (!list->wanted->style.json && rows_have_heading())
        add_heading(list);
    while (fact[count].of != SB_FACT_END)
        count++;
    list->columns = calloc(count + 1, sizeof(*list->columns));
    if (!list->columns) {
        output_need(SB_NOMEM);
        return;
    }
    for (size_t i = 0; i < count; i++)
        list->columns[i] = fact[i].word;
    json_rows(&list->json, list->wanted->style.json, list->columns);
}

enum sb_code ls_rows(const struct ls_settings *settings, struct sb_table *table,
                     struct given_keys *keys, char *const *operands, size_t count)
{
    const struct sb_listing *listing = table->listing;
    struct list list = {.wanted = settings,
                        .table = table,
                        .line = settings->details ? listing->details : listing->line,
                        .by_rows = listing->cells && (settings->style.json || !settings->details)};
    enum sb_code code;

    table->superseded = settings->all && !table->numbered;
    code = begin_widths(&list);
    if (!code)
        begin_output(&list);
    if (!code)
        code = keys->find || keys->find_all ? list_found(&list, keys)
                                            : list_chosen(&list, operands, count);
    free(list.cells);
    free(list.columns);
    sb_buf_release(&list.text);
    sb_buf_release(&list.name);
    rows_release(&list.rows);
    json_release(&list.json);
    return code;
}
