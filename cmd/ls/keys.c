#include "ls/settings.h"
#include "ls/table.h"
#include "open/arrays_given.h"
#include "open/cache_opening.h"
#include "open/given_names.h"
#include "ui/cells.h"
#include "ui/json.h"
#include "ui/message.h"
#include "ui/output.h"
#include "ui/rows.h"

#include "store/cache/cache.h"
#include "store/table.h"
#include "task/table/cache_ask.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One array of the row at hand. */
struct shown {
    bool damaged; /* else: */
    struct sb_npy array;
    int64_t offset;
};

struct list {
    const struct ls_settings *wanted;
    struct sb_cache *cache;
    struct sb_cache_reader *reader;
    const char **arrays; /* those of --array */
    size_t array_count;

    struct shown *shown; /* of the last row, as many as its fields */
    size_t room;
    const struct sb_cache_field *fields;
    size_t first, count;
    struct sb_buf text; /* these in one cell */

    struct sb_buf name;
    struct rows rows;
    struct json json;
};

static void release(struct list *list)
{
    sb_cache_reader_free(list->reader);
    free(list->arrays);
    free(list->shown);
    sb_buf_release(&list->text);
    sb_buf_release(&list->name);
    rows_release(&list->rows);
    json_release(&list->json);
}

static bool is_shown(const struct list *list, const struct sb_cache_field *field)
{
    return sb_array_is_among(field->name, list->arrays, list->array_count);
}

/* "[3,4]" */
static void add_shape(struct sb_buf *out, const struct sb_npy *array)
{
    output_need(sb_buf_add_char(out, '['));
    for (size_t i = 0; i < array->dims; i++)
        output_need(sb_buf_add_format(out, i > 0 ? ",%" PRId64 : "%" PRId64, array->shape[i]));
    output_need(sb_buf_add_char(out, ']'));
}

static const char *dtype_of(const struct sb_cache_field *field)
{
    return field->blob ? "blob" : sb_dtype_word(field->dtype);
}

static void add_field(struct sb_buf *text, const struct sb_cache_field *field,
                      const struct shown *shown)
{
    if (text->size > 0)
        output_need(sb_buf_add_char(text, ','));
    if (*field->name) {
        output_need(sb_quote(text, field->name, strlen(field->name), SB_ESCAPE));
        output_need(sb_buf_add_char(text, ':'));
    }
    output_need(sb_buf_add_text(text, shown->damaged ? "damaged" : dtype_of(field)));
    if (!shown->damaged && !field->blob)
        add_shape(text, &shown->array);
}

static void make_text(struct list *list)
{
    struct sb_buf *text = &list->text;

    sb_buf_clear(text);
    for (size_t i = list->first; i < list->first + list->count; i++) {
        if (is_shown(list, &list->fields[i]))
            add_field(text, &list->fields[i], &list->shown[i]);
    }
    if (text->size == 0)
        output_need(sb_buf_add_char(text, '-'));
}

static void add_beginning(struct list *list, const struct sb_cache_segment *segment,
                          const struct sb_cache_row *row)
{
    if (list->wanted->all)
        rows_text(&list->rows, row->superseded ? "superseded" : "-");
    rows_number(&list->rows, segment->number, false);
    if (list->wanted->details)
        rows_number(&list->rows, row->place.row, false);
    rows_text(&list->rows, sb_cache_structure_words[segment->structure]);
}

static void add_array(struct list *list, const struct sb_cache_segment *segment,
                      const struct sb_cache_row *row, size_t i)
{
    const struct sb_cache_field *field = &segment->fields[i];
    const struct shown *shown = &list->shown[i];
    struct sb_buf *name = &list->name;

    add_beginning(list, segment, row);
    sb_buf_clear(name);
    output_need(sb_quote(name, *field->name ? field->name : "-",
                         *field->name ? strlen(field->name) : 1, SB_ESCAPE));
    rows_text(&list->rows, name->data);
    rows_text(&list->rows, dtype_of(field));
    sb_buf_clear(name);
    if (field->blob || shown->damaged)
        output_need(sb_buf_add_char(name, '-'));
    else
        add_shape(name, &shown->array);
    rows_text(&list->rows, name->data);
    if (shown->damaged)
        rows_word(&list->rows, "damaged");
    else
        rows_number(&list->rows, shown->array.data_size, list->wanted->human);
    rows_end(&list->rows, row->key.text, row->key.size);
}

static void add_json_array(struct json *line, const struct sb_cache_field *field,
                           const struct shown *shown)
{
    json_open(line, NULL, '{');
    if (*field->name)
        json_bytes(line, "name", field->name, strlen(field->name));
    json_text(line, "dtype", dtype_of(field));
    if (shown->damaged)
        json_flag(line, "defect", true);
    if (!shown->damaged && !field->blob) {
        json_open(line, "shape", '[');
        for (size_t i = 0; i < shown->array.dims; i++)
            json_number(line, NULL, shown->array.shape[i]);
        json_close(line, ']');
    }
    if (!shown->damaged) {
        json_number(line, "bytes", shown->array.data_size);
        json_known(line, "offset", shown->offset >= 0, shown->offset);
    }
    json_close(line, '}');
}

static void write_json(struct list *list, const struct sb_cache_segment *segment,
                       const struct sb_cache_row *row)
{
    struct json *line = &list->json;

    json_begin(line);
    json_bytes(line, "key", row->key.text, row->key.size);
    json_text(line, "structure", sb_cache_structure_words[segment->structure]);
    json_flag(line, "superseded", row->superseded);
    json_open(line, "arrays", '[');
    for (size_t i = list->first; i < list->first + list->count; i++) {
        if (is_shown(list, &list->fields[i]))
            add_json_array(line, &list->fields[i], &list->shown[i]);
    }
    json_close(line, ']');
    json_number(line, "segment", segment->number);
    json_number(line, "row", row->place.row);
    json_bytes(line, "file", segment->path, strlen(segment->path));
    json_print(line);
}

static void need_room(struct list *list, size_t fields)
{
    struct shown *shown;

    if (fields <= list->room)
        return;
    shown = reallocarray(list->shown, fields, sizeof(*shown));
    if (!shown)
        output_check(ENOMEM);
    list->shown = shown;
    list->room = fields;
}

static bool same_shape(const struct sb_npy *a, const struct sb_npy *b)
{
    return a->dims == b->dims && memcmp(a->shape, b->shape, a->dims * sizeof(*a->shape)) == 0;
}

/* Is the field shown as it was in the row before? */
static bool take_field(struct shown *shown, const struct sb_cache_value *value, bool damaged,
                       bool is_new)
{
    bool same = !is_new && damaged == shown->damaged &&
                (damaged || same_shape(&shown->array, &value->array));

    shown->damaged = damaged;
    if (damaged)
        return same;
    if (!same)
        shown->array = value->array;
    shown->array.data_size = value->array.data_size;
    shown->offset = value->offset;
    return same;
}

/* Neighbours are often of the same shapes: the text is then the same. */
static enum sb_code look(struct list *list, const struct sb_cache_segment *segment,
                         const struct sb_cache_row *row, size_t first, size_t count,
                         struct sb_error *err)
{
    bool is_new = list->fields != segment->fields || list->first != first || list->count != count;
    bool same = !is_new;

    need_room(list, segment->field_count);
    list->fields = segment->fields;
    list->first = first;
    list->count = count;
    for (size_t i = first; i < first + count; i++) {
        struct sb_cache_value value;
        enum sb_code code;

        if (!is_shown(list, &segment->fields[i]))
            continue;
        code = sb_cache_describe(list->reader, row->place, i, &value, err);
        if (code == SB_DAMAGED)
            complain_of_key(&row->key, err->text);
        else if (code)
            return code;
        if (!take_field(&list->shown[i], &value, code == SB_DAMAGED, is_new))
            same = false;
    }
    if (!same || list->text.size == 0)
        make_text(list);
    return SB_OK;
}

/* Of the fields of its segment, those from `first` on, as far as they are among the arrays. */
static enum sb_code show_row(struct list *list, const struct sb_cache_segment *segment,
                             const struct sb_cache_row *row, size_t first, size_t count,
                             struct sb_error *err)
{
    if (!segment->fields)
        return SB_OK;
    if (look(list, segment, row, first, count, err))
        return err->code;
    if (list->wanted->json) {
        write_json(list, segment, row);
        return SB_OK;
    }
    if (!list->wanted->details) {
        add_beginning(list, segment, row);
        rows_text(&list->rows, list->text.data);
        rows_end(&list->rows, row->key.text, row->key.size);
        return SB_OK;
    }
    for (size_t i = first; i < first + count; i++) {
        if (is_shown(list, &segment->fields[i]))
            add_array(list, segment, row, i);
    }
    return SB_OK;
}

static enum sb_code list_all(struct list *list, struct sb_error *err)
{
    struct sb_cache_segment segment = {0};
    uint32_t last = SB_CACHE_NOWHERE;
    struct sb_cache_row row;
    struct sb_buf key = {0};
    enum sb_code code;

    while (!(code = sb_cache_next(list->cache, &row, err))) {
        if (row.superseded && !list->wanted->all)
            continue;
        if (row.place.segment != last) {
            output_need(sb_buf_set(&key, row.key.text, row.key.size));
            row.key.text = key.data;
            code = sb_cache_segment(list->cache, row.place.segment, &segment, err);
            last = row.place.segment;
        }
        if (!code)
            code = show_row(list, &segment, &row, 0, segment.field_count, err);
        if (code)
            break;
    }
    sb_buf_release(&key);
    return code == SB_END ? SB_OK : code;
}

static enum sb_code list_ask(struct list *list, const struct sb_cache_asks *asks,
                             const struct sb_cache_ask *ask, struct sb_error *err)
{
    const char *name = asks->names.data + ask->name_at;
    struct sb_cache_row row = {.place = ask->place, .key = {.text = name, .size = ask->key_size}};
    struct sb_cache_segment segment;

    if (ask->count == 0) {
        message_problem("%s: %s", name,
                        ask->place.segment == SB_CACHE_NOWHERE ? "no such key in the cache"
                                                               : "the key has no such array");
        return SB_OK;
    }
    if (sb_cache_segment(list->cache, ask->place.segment, &segment, err))
        return err->code;
    return show_row(list, &segment, &row, ask->first, ask->count, err);
}

static enum sb_code list_asked(struct list *list, struct given_names *given, struct sb_error *err)
{
    struct sb_fetch_names names = given_names_of(given);
    struct sb_cache_asks asks = {0};
    bool ended = false;
    enum sb_code code = SB_OK;

    while (!code && !ended) {
        code = sb_cache_asks_next(&asks, list->cache, &names, &ended, err);
        for (size_t i = 0; !code && i < asks.count; i++)
            code = list_ask(list, &asks, &asks.asks[i], err);
        rows_flush(&list->rows);
        if (!ended)
            output_flush();
    }
    sb_cache_asks_release(&asks);
    return code;
}

static enum sb_code count_keys(struct sb_cache *cache, bool all, struct sb_error *err)
{
    int64_t rows, live;
    enum sb_code code = sb_cache_count(cache, &rows, &live, err);

    if (!code)
        output_format("%" PRId64 "\n", all ? rows : live);
    return code;
}

enum sb_code ls_keys(const struct ls_settings *settings, struct sb_table *table, char **operands,
                     size_t count, struct sb_error *err)
{
    struct given_names given = {.operands = operands, .end = operands + count};
    struct list list = {.wanted = settings, .cache = table->cache};
    enum sb_code code = SB_OK;

    list.array_count = arrays_given(&list.arrays);
    if (settings->files_from)
        code = sb_list_open(&given.list, settings->files_from, settings->nul ? '\0' : '\n', err);
    if (!code)
        code = sb_table_need(table, list.arrays, list.array_count, err);
    if (!code && !settings->count)
        code = sb_cache_reader_new(&list.reader, list.cache, err);
    if (!code && settings->count)
        code = count_keys(list.cache, settings->all, err);
    else if (!code)
        code = given.list || count > 0 ? list_asked(&list, &given, err) : list_all(&list, err);
    rows_flush(&list.rows);
    given_names_release(&given);
    release(&list);
    return code;
}
