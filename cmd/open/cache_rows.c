#include "open/cache_rows.h"
#include "open/cache_opening.h"
#include "ui/cells.h"
#include "ui/output.h"

#include "store/array/name.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ROWS_AT_ONCE 512

void cache_rows_release(struct cache_rows *rows)
{
    free(rows->shown);
    sb_buf_release(&rows->text);
    sb_buf_release(&rows->cells);
    sb_buf_release(&rows->line);
}

static bool is_shown(const struct cache_rows *rows, const struct sb_cache_field *field)
{
    return sb_array_is_among(field->name, rows->arrays, rows->array_count);
}

static void add_number(struct sb_buf *out, int64_t value)
{
    char number[NUMBER_SIZE];

    output_need(sb_buf_add_text(out, format_number(value, number)));
}

/* "[3,4]" */
static void add_shape(struct sb_buf *out, const struct sb_npy *array)
{
    output_need(sb_buf_add_char(out, '['));
    for (size_t i = 0; i < array->dims; i++) {
        if (i > 0)
            output_need(sb_buf_add_char(out, ','));
        add_number(out, array->shape[i]);
    }
    output_need(sb_buf_add_char(out, ']'));
}

static void make_text(struct cache_rows *rows)
{
    struct sb_buf *text = &rows->text;

    sb_buf_clear(text);
    for (size_t i = rows->first; i < rows->first + rows->count; i++) {
        const struct sb_cache_field *field = &rows->fields[i];
        const struct cache_shown *shown = &rows->shown[i];

        if (!is_shown(rows, field))
            continue;
        if (text->size > 0)
            output_need(sb_buf_add_char(text, ','));
        if (*field->name) {
            output_need(sb_quote(text, field->name, strlen(field->name), SB_ESCAPE));
            output_need(sb_buf_add_char(text, ':'));
        }
        if (shown->damaged) {
            output_need(sb_buf_add_text(text, "damaged"));
        } else if (field->blob) {
            output_need(sb_buf_add_text(text, "blob"));
        } else {
            output_need(sb_buf_add_text(text, sb_dtype_word(shown->array.dtype)));
            add_shape(text, &shown->array);
        }
    }
    if (text->size == 0)
        output_need(sb_buf_add_char(text, '-'));
}

/* The columns from the left on, and the key, which stands last. */
static void add_text(struct cache_rows *rows, size_t *column, const char *text)
{
    size_t size = strlen(text);

    output_need(sb_buf_add(&rows->cells, text, size + 1));
    if (size > rows->widths[*column])
        rows->widths[*column] = size;
    (*column)++;
}

static void add_amount(struct cache_rows *rows, size_t *column, int64_t value, bool human)
{
    char number[NUMBER_SIZE];

    add_text(rows, column, format_amount(value, human, number));
}

static void add_beginning(struct cache_rows *rows, const struct sb_cache_segment *segment,
                          const struct sb_cache_row *row, size_t *column)
{
    if (rows->all)
        add_text(rows, column, row->superseded ? "superseded" : "-");
    add_amount(rows, column, segment->number, false);
    if (rows->details)
        add_amount(rows, column, row->place.row, false);
    add_text(rows, column, sb_cache_structure_words[segment->structure]);
}

static void end_row(struct cache_rows *rows, const struct sb_cache_key *key)
{
    output_need(sb_buf_add(&rows->cells, &key->size, sizeof(key->size)));
    output_need(sb_buf_add(&rows->cells, key->text, key->size));
    rows->waiting++;
    if (rows->waiting >= ROWS_AT_ONCE)
        cache_rows_flush(rows);
}

static void add_array(struct cache_rows *rows, const struct sb_cache_segment *segment,
                      const struct sb_cache_row *row, size_t field)
{
    const struct cache_shown *shown = &rows->shown[field];
    const char *name = segment->fields[field].name;
    size_t column = 0;

    add_beginning(rows, segment, row, &column);
    sb_buf_clear(&rows->line);
    output_need(sb_quote(&rows->line, *name ? name : "-", *name ? strlen(name) : 1, SB_ESCAPE));
    add_text(rows, &column, rows->line.data);
    sb_buf_clear(&rows->line);
    if (segment->fields[field].blob || shown->damaged)
        output_need(sb_buf_add_char(&rows->line, '-'));
    else
        add_shape(&rows->line, &shown->array);
    add_text(rows, &column,
             segment->fields[field].blob ? "blob" : sb_dtype_word(segment->fields[field].dtype));
    add_text(rows, &column, rows->line.data);
    if (shown->damaged)
        add_text(rows, &column, "damaged");
    else
        add_amount(rows, &column, shown->array.data_size, rows->human);
    end_row(rows, &row->key);
}

static void add_json_arrays(struct cache_rows *rows)
{
    struct sb_buf *line = &rows->line;
    bool begun = false;

    for (size_t i = rows->first; i < rows->first + rows->count; i++) {
        const struct sb_cache_field *field = &rows->fields[i];
        const struct cache_shown *shown = &rows->shown[i];

        if (!is_shown(rows, field))
            continue;
        output_need(sb_buf_add_text(line, begun ? ",{" : "{"));
        begun = true;
        if (*field->name) {
            output_need(json_name(line, "name", field->name, strlen(field->name)));
            output_need(sb_buf_add_char(line, ','));
        }
        output_need(sb_buf_add_text(line, "\"dtype\":\""));
        output_need(sb_buf_add_text(line, field->blob ? "blob" : sb_dtype_word(field->dtype)));
        output_need(sb_buf_add_char(line, '"'));
        if (shown->damaged) {
            output_need(sb_buf_add_text(line, ",\"defect\":true}"));
            continue;
        }
        if (!field->blob) {
            output_need(sb_buf_add_text(line, ",\"shape\":"));
            add_shape(line, &shown->array);
        }
        output_need(sb_buf_add_text(line, ",\"bytes\":"));
        add_number(line, shown->array.data_size);
        output_need(sb_buf_add_text(line, ",\"offset\":"));
        if (shown->offset < 0)
            output_need(sb_buf_add_text(line, "null"));
        else
            add_number(line, shown->offset);
        output_need(sb_buf_add_char(line, '}'));
    }
}

static void write_json(struct cache_rows *rows, const struct sb_cache_segment *segment,
                       const struct sb_cache_row *row)
{
    struct sb_buf *line = &rows->line;

    sb_buf_clear(line);
    output_need(sb_buf_add_char(line, '{'));
    output_need(json_name(line, "key", row->key.text, row->key.size));
    output_need(sb_buf_add_text(line, ",\"structure\":\""));
    output_need(sb_buf_add_text(line, sb_cache_structure_words[segment->structure]));
    output_need(sb_buf_add_text(line, "\",\"superseded\":"));
    output_need(sb_buf_add_text(line, row->superseded ? "true" : "false"));
    output_need(sb_buf_add_text(line, ",\"arrays\":["));
    add_json_arrays(rows);
    output_need(sb_buf_add_text(line, "],\"segment\":"));
    add_number(line, segment->number);
    output_need(sb_buf_add_text(line, ",\"row\":"));
    add_number(line, row->place.row);
    output_need(sb_buf_add_char(line, ','));
    output_need(json_name(line, "file", segment->path, strlen(segment->path)));
    output_need(sb_buf_add_text(line, "}\n"));
    output_bytes(line->data, line->size);
}

static void need_room(struct cache_rows *rows, size_t fields)
{
    struct cache_shown *shown;

    if (fields <= rows->room)
        return;
    shown = reallocarray(rows->shown, fields, sizeof(*shown));
    if (!shown)
        output_check(ENOMEM);
    rows->shown = shown;
    rows->room = fields;
}

static bool same_shape(const struct sb_npy *a, const struct sb_npy *b)
{
    return a->dims == b->dims && memcmp(a->shape, b->shape, a->dims * sizeof(*a->shape)) == 0;
}

/* Is the field shown as it was in the row before? */
static bool take_field(struct cache_rows *rows, size_t i, const struct sb_cache_value *value,
                       bool damaged, bool is_new)
{
    struct cache_shown *shown = &rows->shown[i];
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
static enum sb_code look(struct cache_rows *rows, const struct sb_cache_segment *segment,
                         const struct sb_cache_row *row, size_t first, size_t count,
                         struct sb_error *err)
{
    bool is_new = rows->fields != segment->fields || rows->first != first || rows->count != count;
    bool same = !is_new;

    need_room(rows, segment->field_count);
    rows->fields = segment->fields;
    rows->first = first;
    rows->count = count;
    for (size_t i = first; i < first + count; i++) {
        struct sb_cache_value value;
        enum sb_code code;

        if (!is_shown(rows, &segment->fields[i]))
            continue;
        code = sb_cache_describe(rows->reader, row->place, i, &value, err);
        if (code == SB_DAMAGED)
            complain_of_key(&row->key, err->text);
        else if (code)
            return code;
        if (!take_field(rows, i, &value, code == SB_DAMAGED, is_new))
            same = false;
    }
    if (!same || rows->text.size == 0)
        make_text(rows);
    return SB_OK;
}

enum sb_code cache_rows_add(struct cache_rows *rows, const struct sb_cache_segment *segment,
                            const struct sb_cache_row *row, size_t first, size_t count,
                            struct sb_error *err)
{
    size_t column = 0;

    if (look(rows, segment, row, first, count, err))
        return err->code;
    if (rows->json) {
        write_json(rows, segment, row);
        return SB_OK;
    }
    if (!rows->details) {
        add_beginning(rows, segment, row, &column);
        add_text(rows, &column, rows->text.data);
        end_row(rows, &row->key);
        return SB_OK;
    }
    for (size_t i = first; i < first + count; i++) {
        if (is_shown(rows, &segment->fields[i]))
            add_array(rows, segment, row, i);
    }
    return SB_OK;
}

/* Numbers stand at the right. */
static bool is_number(const struct cache_rows *rows, size_t column)
{
    size_t first = rows->all ? 1 : 0;

    if (column == first)
        return true;
    return rows->details && (column == first + 1 || column == first + 6);
}

void cache_rows_flush(struct cache_rows *rows)
{
    size_t columns = (rows->all ? 1U : 0U) + (rows->details ? 7U : 3U);
    const char *at = rows->cells.data;

    for (; rows->waiting > 0; rows->waiting--) {
        size_t key_size;

        sb_buf_clear(&rows->line);
        for (size_t i = 0; i < columns; i++) {
            add_cell(&rows->line, at, rows->widths[i], is_number(rows, i));
            at += strlen(at) + 1;
        }
        output_bytes(rows->line.data, rows->line.size);
        memcpy(&key_size, at, sizeof(key_size));
        at += sizeof(key_size);
        output_line(at, key_size, false);
        at += key_size;
    }
    sb_buf_clear(&rows->cells);
}
