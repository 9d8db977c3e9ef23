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
        return SB_NOMEM;
    *number = layout->column_count;
    layout->columns[layout->column_count++] =
        (struct sb_arrow_column){.name = name, .type = type, .dtype = dtype};
    return SB_OK;
}

static enum sb_code add_field(struct sb_cache_columns *layout, const struct sb_cache_field *field)
{
    struct sb_cache_field *own = &layout->fields[layout->count];

    *own = *field;
    own->name = strdup(field->name);
    if (!own->name)
        return SB_NOMEM;
    layout->count++;
    if (field->blob)
        return add_column(layout, field->name, "blob", SB_ARROW_BINARY, SB_DTYPE_NONE, &own->data);
    TRY(add_column(layout, field->name, "data", SB_ARROW_LIST, field->dtype, &own->data));
    return add_column(layout, field->name, "shape", SB_ARROW_LIST, SB_DTYPE_INT64, &own->shape);
}

static enum sb_code copy_form(struct sb_cache_columns *layout, const struct sb_cache_form *form)
{
    size_t key;
    enum sb_code code;

    layout->structure = form->structure;
    layout->fields = calloc(form->field_count + 1, sizeof(*layout->fields));
    layout->order = calloc(form->field_count + 1, sizeof(*layout->order));
    layout->columns = calloc(2 * form->field_count + 1, sizeof(*layout->columns));
    if (!layout->fields || !layout->order || !layout->columns)
        return sb_fail_memory();
    code = add_column(layout, "", "key", SB_ARROW_TEXT, SB_DTYPE_NONE, &key);
    for (size_t i = 0; !code && i < form->field_count; i++)
        code = add_field(layout, &form->fields[i]);
    return code ? sb_fail_memory() : SB_OK;
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
