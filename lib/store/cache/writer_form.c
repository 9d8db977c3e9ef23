#include "store/cache/writer_private.h"

#include "core/name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_sequence(enum sb_cache_structure structure)
{
    return structure == SB_CACHE_TUPLE || structure == SB_CACHE_LIST;
}

static enum sb_code check_name(const struct sb_cache_form *form, size_t number, const char *subject)
{
    const char *name = form->fields[number].name;
    char wanted[32];

    if (!sb_is_utf8(name, strlen(name)))
        return sb_fail(SB_INVALID,
                       "%s: the name '%s' is not UTF-8, which a cache cannot hold; rename it",
                       subject, name);
    snprintf(wanted, sizeof(wanted), "item%zu", number);
    if (is_sequence(form->structure) && strcmp(name, wanted) != 0)
        return sb_fail(SB_INVALID, "%s: has '%s' where a tuple has '%s'; rename one of them",
                       subject, name, wanted);
    if (form->structure == SB_CACHE_DICT && !*name)
        return sb_fail(SB_INVALID, "%s: has an array without a name; give it one", subject);
    for (size_t i = 0; i < number; i++) {
        if (strcmp(form->fields[i].name, name) == 0)
            return sb_fail(SB_INVALID, "%s: has '%s' twice; leave one of them out", subject, name);
    }
    return SB_OK;
}

static enum sb_code check_type(const struct sb_cache_field *field, const char *subject)
{
    switch (field->blob ? SB_DTYPE_UINT8 : field->dtype) {
    case SB_DTYPE_NONE:
    case SB_DTYPE_STR:
    case SB_DTYPE_FLOAT128:
        return sb_fail(SB_INVALID,
                       "%s: '%s' is of type %s, which a cache cannot hold; leave it out with "
                       "--exclude, or make it of another type",
                       subject, field->name, sb_dtype_word(field->dtype));
    default:
        return SB_OK;
    }
}

/* Fields */

static enum sb_code add_column(struct sb_cache_columns *layout, const char *field, const char *end,
                               enum sb_arrow_type type, enum sb_dtype dtype, size_t *number)
{
    char *name;

    if (asprintf(&name, "%s%s%s", field, *field ? "_" : "", end) < 0)
        return sb_fail_memory();
    *number = layout->column_count;
    layout->columns[layout->column_count++] =
        (struct sb_arrow_column){.name = name, .type = type, .dtype = dtype};
    return SB_OK;
}

static enum sb_code add_field(struct sb_cache_columns *layout, const struct sb_cache_field *field)
{
    struct sb_cache_field *own = &layout->fields[layout->count];
    char *name;

    TRY(sb_copy_text(&name, field->name));
    *own = *field;
    own->name = name;
    layout->count++;
    if (field->blob)
        return add_column(layout, field->name, "blob", SB_ARROW_BINARY, SB_DTYPE_NONE, &own->data);
    TRY(add_column(layout, field->name, "data", SB_ARROW_LIST, field->dtype, &own->data));
    return add_column(layout, field->name, "shape", SB_ARROW_LIST, SB_DTYPE_INT64, &own->shape);
}

static enum sb_code copy_form(struct sb_cache_columns *layout, const struct sb_cache_form *form)
{
    size_t key;

    layout->structure = form->structure;
    TRY(SB_NEW_ARRAY(&layout->fields, form->field_count + 1));
    TRY(SB_NEW_ARRAY(&layout->order, form->field_count + 1));
    TRY(SB_NEW_ARRAY(&layout->columns, 2 * form->field_count + 1));
    TRY(add_column(layout, "", "key", SB_ARROW_TEXT, SB_DTYPE_NONE, &key));
    for (size_t i = 0; i < form->field_count; i++)
        TRY(add_field(layout, &form->fields[i]));
    return SB_OK;
}

enum sb_code sb_cache_columns_set(struct sb_cache_columns *layout, const struct sb_cache_form *form,
                                  const char *subject)
{
    layout->known = false;
    if (form->field_count > SB_CACHE_FIELDS_MOST)
        return sb_fail(SB_INVALID,
                       "%s: has %zu arrays, and at most %d are held; put them into directories of "
                       "their own",
                       subject, form->field_count, SB_CACHE_FIELDS_MOST);
    for (size_t i = 0; i < form->field_count; i++) {
        TRY(check_name(form, i, subject));
        TRY(check_type(&form->fields[i], subject));
    }
    TRY(copy_form(layout, form));
    layout->known = true;
    return SB_OK;
}

void sb_cache_columns_release(struct sb_cache_columns *layout)
{
    for (size_t i = 0; i < layout->count; i++)
        free((char *)layout->fields[i].name);
    for (size_t i = 0; i < layout->column_count; i++)
        free((char *)layout->columns[i].name);
    free(layout->fields);
    free(layout->order);
    free(layout->columns);
    *layout = (struct sb_cache_columns){0};
}

/* Rows */

/* The first place is tried first: where the order is the same, that is it. */
static bool find_field(const struct sb_cache_form *form, const char *name, size_t first,
                       size_t *found)
{
    for (size_t i = 0; i < form->field_count; i++) {
        *found = (first + i) % form->field_count;
        if (strcmp(form->fields[*found].name, name) == 0)
            return true;
    }
    return false;
}

/* A field of the row that the layout does not have: there is one. */
static const char *find_other(const struct sb_cache_columns *layout,
                              const struct sb_cache_form *form)
{
    struct sb_cache_form own = {.fields = layout->fields, .field_count = layout->count};
    size_t ignored;

    for (size_t i = 0; i < form->field_count; i++) {
        if (!find_field(&own, form->fields[i].name, i, &ignored))
            return form->fields[i].name;
    }
    return form->fields[0].name;
}

static const char *type_word(const struct sb_cache_field *field)
{
    return field->blob ? "a pickle" : sb_dtype_word(field->dtype);
}

enum sb_code sb_cache_columns_arrange(struct sb_cache_columns *layout,
                                      const struct sb_cache_form *form, const char *subject)
{
    if (form->structure != layout->structure &&
        !(is_sequence(form->structure) && is_sequence(layout->structure)))
        return sb_fail(
            SB_INVALID,
            "%s: is a %s, where the first key is a %s; all keys of a cache have the same "
            "arrays, which come one after the other",
            subject, sb_cache_structure_words[form->structure],
            sb_cache_structure_words[layout->structure]);
    for (size_t i = 0; i < layout->count; i++) {
        const struct sb_cache_field *own = &layout->fields[i], *other;

        if (!find_field(form, own->name, i, &layout->order[i]))
            return sb_fail(SB_INVALID,
                           "%s: has no '%s', which the first key has; all keys of a cache have the "
                           "same arrays, which come one after the other",
                           subject, own->name);
        other = &form->fields[layout->order[i]];
        if (own->blob != other->blob || (!own->blob && own->dtype != other->dtype))
            return sb_fail(SB_INVALID,
                           "%s: '%s' is %s, where the first key has %s; all keys of a cache have "
                           "the same types",
                           subject, own->name, type_word(other), type_word(own));
    }
    if (form->field_count > layout->count)
        return sb_fail(SB_INVALID,
                       "%s: has '%s', which the first key has not; all keys of a cache have the "
                       "same arrays, without any twice",
                       subject, find_other(layout, form));
    return SB_OK;
}

/* schema.json, as the original's _save_schema writes it, and the metadata of the Arrow schema */

static enum sb_code add_escape(struct sb_buf *out, uint32_t point)
{
    static const char letters[] = "b\bf\fn\nr\rt\t\"\"\\\\";

    for (const char *at = letters; *at; at += 2) {
        if ((unsigned char)at[1] == point)
            return sb_buf_add_format(out, "\\%c", at[0]);
    }
    if (point < 0x10000)
        return sb_buf_add_format(out, "\\u%04x", point);
    point -= 0x10000;
    return sb_buf_add_format(out, "\\u%04x\\u%04x", 0xd800 + (point >> 10),
                             0xdc00 + (point & 0x3ff));
}

/* Appends text as json.dumps writes it, in ASCII. It must be UTF-8. */
static enum sb_code add_json(struct sb_buf *out, const char *text)
{
    size_t left = strlen(text), step;
    uint32_t point;

    TRY(sb_buf_add_char(out, '"'));
    for (; left > 0; text += step, left -= step) {
        step = sb_utf8_character(text, left, &point);
        if (step == 0) {
            step = 1;
            point = 0xfffd;
        }
        if (point >= ' ' && point <= '~' && point != '"' && point != '\\')
            TRY(sb_buf_add_char(out, (char)point));
        else
            TRY(add_escape(out, point));
    }
    return sb_buf_add_char(out, '"');
}

/* The names of a dict's tensors: a list in JSON. */
static enum sb_code tensor_keys(const struct sb_cache_columns *layout, struct sb_buf *out)
{
    const char *comma = "";

    TRY(sb_buf_add_char(out, '['));
    for (size_t i = 0; i < layout->count; i++) {
        if (layout->fields[i].blob)
            continue;
        TRY(sb_buf_add_text(out, comma));
        TRY(add_json(out, layout->fields[i].name));
        comma = ", ";
    }
    return sb_buf_add_char(out, ']');
}

enum sb_code sb_cache_schema_pair(const struct sb_cache_columns *layout, struct sb_buf *value,
                                  struct sb_arrow_pair *pair, size_t *count)
{
    enum sb_code code = SB_OK;

    sb_buf_clear(value);
    *count = 1;
    if (layout->structure == SB_CACHE_DICT) {
        pair->key = "tensor_keys";
        code = tensor_keys(layout, value);
    } else if (layout->structure == SB_CACHE_TENSOR) {
        pair->key = "torch_dtype";
        code = sb_buf_add_format(value, "torch.%s", sb_dtype_word(layout->fields[0].dtype));
    } else {
        *count = 0;
    }
    pair->value = value->data;
    pair->value_size = value->size;
    return code;
}

/* Arrow's name of a list's values. */
static const char *value_word(enum sb_dtype dtype)
{
    switch (dtype) {
    case SB_DTYPE_FLOAT16:
        return "halffloat";
    case SB_DTYPE_FLOAT32:
        return "float";
    case SB_DTYPE_FLOAT64:
        return "double";
    default:
        return sb_dtype_word(dtype);
    }
}

static enum sb_code add_json_column(struct sb_buf *out, const struct sb_arrow_column *column,
                                    bool last)
{
    TRY(sb_buf_add_text(out, "    {\n      \"name\": "));
    TRY(add_json(out, column->name));
    TRY(sb_buf_add_text(out, ",\n      \"type\": "));
    if (column->type == SB_ARROW_LIST)
        TRY(sb_buf_add_format(out, "\"list<%s>\"", value_word(column->dtype)));
    else
        TRY(sb_buf_add_text(out, column->type == SB_ARROW_TEXT ? "\"string\"" : "\"binary\""));
    return sb_buf_add_text(out, last ? "\n    }\n" : "\n    },\n");
}

static enum sb_code add_metadata(struct sb_buf *out, const struct sb_cache_columns *layout)
{
    CLEANUP(sb_buf_release) struct sb_buf value = {0};
    struct sb_arrow_pair pair;
    size_t count;

    TRY(sb_cache_schema_pair(layout, &value, &pair, &count));
    if (count == 0)
        return sb_buf_add_text(out, "  \"metadata\": {},\n");
    TRY(sb_buf_add_format(out, "  \"metadata\": {\n    \"%s\": ", pair.key));
    TRY(add_json(out, pair.value));
    return sb_buf_add_text(out, "\n  },\n");
}

enum sb_code sb_cache_schema_text(const struct sb_cache_columns *layout, struct sb_buf *out)
{
    TRY(sb_buf_add_text(out, "{\n  \"fields\": [\n"));
    for (size_t i = 0; i < layout->column_count; i++)
        TRY(add_json_column(out, &layout->columns[i], i + 1 == layout->column_count));
    TRY(sb_buf_add_text(out, "  ],\n"));
    TRY(add_metadata(out, layout));
    return sb_buf_add_format(out, "  \"output_structure\": \"%s\"\n}",
                             sb_cache_structure_words[layout->structure]);
}
