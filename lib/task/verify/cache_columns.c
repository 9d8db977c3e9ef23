#include "task/verify/cache_columns.h"

#include "archive/database.h"
#include "core/array.h"
#include "core/file.h"
#include "store/arrow/arrow.h"
#include "store/cache/cache.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

void sb_cache_schema_release(struct sb_cache_schema *schema)
{
    for (size_t i = 0; i < schema->count; i++) {
        free(schema->fields[i].name);
        free(schema->fields[i].type);
    }
    for (size_t i = 0; i < schema->tensor_count; i++)
        free(schema->tensors[i]);
    free(schema->fields);
    free(schema->tensors);
    free(schema->structure);
    *schema = (struct sb_cache_schema){0};
}

static int by_name(const void *a, const void *b)
{
    const struct sb_cache_column *x = a, *y = b;

    return strcmp(x->name, y->name);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* name and type are NULL if they are missing in the JSON; then they are empty. */
static enum sb_code add_field(struct sb_cache_schema *schema, const char *name, const char *type)
{
    struct sb_cache_column *field;

    TRY(sb_grow(&schema->fields, &schema->capacity, schema->count, sizeof(*field)));
    field = &schema->fields[schema->count++];
    *field = (struct sb_cache_column){.name = strdup(name ? name : ""),
                                      .type = strdup(type ? type : "")};
    return field->name && field->type ? SB_OK : sb_fail_memory();
}

static enum sb_code add_tensor(struct sb_cache_schema *schema, const char *name)
{
    TRY(sb_grow(&schema->tensors, &schema->tensor_capacity, schema->tensor_count,
                sizeof(*schema->tensors)));
    schema->tensors[schema->tensor_count] = strdup(name ? name : "");
    return schema->tensors[schema->tensor_count++] ? SB_OK : sb_fail_memory();
}

/* PyArrow has used several words for a type, and torchcachex reads them all: the usual one. */
static const char *usual_word(const char *type)
{
    static const char *const words[][2] = {
        {"halffloat", "float16"}, {"float", "float32"}, {"double", "float64"}};

    for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
        if (strcmp(type, words[i][0]) == 0)
            return words[i][1];
    }
    return type;
}

enum sb_code sb_cache_usual_type(const char *type, struct sb_buf *out)
{
    const char *inner = strncmp(type, "list<", 5) == 0 ? type + 5 : NULL;
    const char *colon = inner ? strstr(inner, ": ") : NULL;

    sb_buf_clear(out);
    if (!inner || type[strlen(type) - 1] != '>')
        return sb_buf_add_text(out, type);
    inner = colon ? colon + 2 : inner;
    TRY(sb_buf_add(out, inner, strlen(inner) - 1));
    if (out->size > 0) {
        const char *word = usual_word(out->data);

        if (word != out->data)
            TRY(sb_buf_set(out, word, strlen(word)));
    }
    TRY(sb_buf_reserve(out, 6));
    memmove(out->data + 5, out->data, out->size);
    memcpy(out->data, "list<", 5);
    out->size += 5;
    return sb_buf_add_char(out, '>');
}

/* Runs a query over the text as ?1 and calls `take` for each row. SB_FORMAT: the text cannot be
 * queried. */
static enum sb_code query(sqlite3 *db, const char *question, const struct sb_buf *text,
                          enum sb_code (*take)(struct sb_cache_schema *schema, sqlite3_stmt *row),
                          struct sb_cache_schema *schema)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    int result = SQLITE_OK;

    TRY(sb_database_prepare(db, &statement, question));
    result = sqlite3_bind_text(statement, 1, text->data, (int)text->size, SQLITE_STATIC);
    while (result == SQLITE_OK || result == SQLITE_ROW) {
        result = sqlite3_step(statement);
        if (result == SQLITE_ROW)
            TRY(take(schema, statement));
    }
    if (result == SQLITE_NOMEM)
        return sb_fail_memory();
    else if (result != SQLITE_DONE)
        return sb_fail(SB_FORMAT, "is no JSON that a cache has (%s)", sqlite3_errmsg(db));
    return SB_OK;
}

static const char *text_of(sqlite3_stmt *row, int column)
{
    return (const char *)sqlite3_column_text(row, column);
}

static enum sb_code take_field(struct sb_cache_schema *schema, sqlite3_stmt *row)
{
    return add_field(schema, text_of(row, 0), text_of(row, 1));
}

static enum sb_code take_structure(struct sb_cache_schema *schema, sqlite3_stmt *row)
{
    const char *text = text_of(row, 0);

    schema->structure = text ? strdup(text) : NULL;
    return !text || schema->structure ? SB_OK : sb_fail_memory();
}

static enum sb_code take_tensor(struct sb_cache_schema *schema, sqlite3_stmt *row)
{
    return add_tensor(schema, text_of(row, 0));
}

static enum sb_code take_presence(struct sb_cache_schema *schema, sqlite3_stmt *row)
{
    schema->names_tensors = sqlite3_column_int(row, 0) != 0;
    return SB_OK;
}

static enum sb_code parse(sqlite3 *db, const struct sb_buf *text, struct sb_cache_schema *schema)
{
    static const char fields[] = "SELECT json_extract(value, '$.name'), json_extract(value, "
                                 "'$.type') FROM json_each(?1, '$.fields')";
    static const char structure[] = "SELECT json_extract(?1, '$.output_structure')";
    static const char presence[] = "SELECT json_type(?1, '$.metadata.tensor_keys') IS NOT NULL";
    static const char tensors[] =
        "SELECT value FROM json_each(json_extract(?1, '$.metadata.tensor_keys'))";

    TRY(query(db, fields, text, take_field, schema));
    TRY(query(db, structure, text, take_structure, schema));
    TRY(query(db, presence, text, take_presence, schema));
    if (schema->names_tensors)
        TRY(query(db, tensors, text, take_tensor, schema));
    if (schema->count > 0)
        qsort(schema->fields, schema->count, sizeof(*schema->fields), by_name);
    if (schema->tensor_count > 0)
        qsort(schema->tensors, schema->tensor_count, sizeof(*schema->tensors), by_text);
    return SB_OK;
}

enum sb_code sb_cache_schema_read(struct sb_cache_schema *schema, const char *dir)
{
    struct sb_buf text = {0};
    sqlite3 *db = NULL;
    enum sb_code code = sb_cache_load_schema(dir, &text);

    if (!code)
        code = sb_database_open_private(&db, dir);
    if (!code)
        code = parse(db, &text, schema);
    sb_database_close(db);
    sb_buf_release(&text);
    return code;
}

static enum sb_code describe_column(const struct sb_arrow_column *column,
                                    struct sb_cache_schema *schema, struct sb_buf *type)
{
    enum sb_code code = SB_OK;

    sb_buf_clear(type);
    if (column->type == SB_ARROW_LIST)
        code = sb_buf_add_format(type, "list<%s>", sb_dtype_word(column->dtype));
    else
        code = sb_buf_add_text(type, column->type == SB_ARROW_TEXT ? "string" : "binary");
    return code ? sb_fail_memory() : add_field(schema, column->name, type->data);
}

enum sb_code sb_cache_schema_of_segment(struct sb_cache_schema *schema, const char *path)
{
    CLEANUP(sb_mapping_freep) struct sb_mapping *mapping = NULL;
    CLEANUP(sb_arrow_freep) struct sb_arrow *arrow = NULL;
    CLEANUP(sb_buf_release) struct sb_buf type = {0};

    TRY(sb_file_map_path(&mapping, path));
    TRY(sb_arrow_open(&arrow, mapping->data, mapping->size));
    for (size_t i = 0; i < sb_arrow_column_count(arrow); i++)
        TRY(describe_column(sb_arrow_column(arrow, i), schema, &type));
    TRY(sb_mapping_check(mapping));
    if (schema->count > 0)
        qsort(schema->fields, schema->count, sizeof(*schema->fields), by_name);
    return SB_OK;
}

bool sb_cache_schema_has_tensor(const struct sb_cache_schema *schema, const char *name)
{
    return schema->tensor_count > 0 &&
           bsearch(&name, schema->tensors, schema->tensor_count, sizeof(*schema->tensors), by_text);
}
