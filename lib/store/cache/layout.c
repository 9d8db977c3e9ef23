#include "store/cache/impl.h"

#include "archive/database.h"
#include "core/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define COLUMNS_MOST 16384

#define SCHEMA_NAME "schema.json"
#define SCHEMA_MOST (1 << 20) /* bytes; of ten thousand columns */

#define KEY   "key"
#define DATA  "data"
#define SHAPE "shape"
#define BLOB  "blob"

const char *const sb_cache_structure_words[] = {"tensor", "dict", "tuple", "list", "blob", NULL};

void sb_cache_layout_free(struct sb_cache_layout *layout)
{
    if (!layout)
        return;
    for (size_t i = 0; i < layout->field_count; i++)
        free((char *)layout->fields[i].name);
    free(layout->fields);
    sb_buf_release(&layout->columns);
    free(layout);
}

/* A pair of the schema's metadata that only dicts have. */
static bool is_of_dict(const struct sb_arrow *arrow)
{
    for (size_t i = 0; i < arrow->pair_count; i++) {
        if (strcmp(arrow->pairs[i].key, "tensor_keys") == 0)
            return true;
    }
    return false;
}

enum sb_code sb_cache_layout_describe(const struct sb_arrow *arrow, struct sb_buf *out)
{
    TRY(sb_buf_add_char(out, is_of_dict(arrow) ? 'd' : '-'));
    for (size_t i = 0; i < arrow->column_count; i++) {
        const struct sb_arrow_column *column = &arrow->columns[i];

        TRY(sb_buf_add(out, column->name, strlen(column->name) + 1));
        TRY(sb_buf_add_char(out, (char)('a' + column->type)));
        TRY(sb_buf_add_char(out, (char)('A' + column->dtype)));
    }
    return SB_OK;
}

/* The columns of an Arrow file while it is found out what each is. */
struct columns {
    const struct sb_arrow *arrow;
    size_t count;
    bool *taken;
};

/* Takes the column of that name (of `size` bytes, and an end to it) and type, looking from `first`
 * on; false: there is none, or it was taken before. */
static bool take(const struct columns *columns, size_t first, const char *name, size_t size,
                 const char *end, enum sb_arrow_type type, size_t *found)
{
    for (size_t i = 0; i < columns->count; i++) {
        size_t at = (first + i) % columns->count;
        const struct sb_arrow_column *column = &columns->arrow->columns[at];

        if (columns->taken[at] || column->type != type || strncmp(column->name, name, size) != 0 ||
            strcmp(column->name + size, end) != 0)
            continue;
        columns->taken[at] = true;
        *found = at;
        return true;
    }
    return false;
}

static bool is_there(const struct columns *columns, const char *name)
{
    for (size_t i = 0; i < columns->count; i++) {
        if (strcmp(columns->arrow->columns[i].name, name) == 0)
            return true;
    }
    return false;
}

/* Is it a column of values, or of blobs? *name_size: of the name before '_', which a single array
 * or blob (!named) lacks. */
static bool has_values(const struct sb_arrow_column *column, bool named, size_t *name_size)
{
    const char *end = (column->type == SB_ARROW_BINARY ? "_" BLOB : "_" DATA) + !named;
    size_t size = strlen(column->name), end_size = strlen(end);

    if (column->type == SB_ARROW_TEXT || size < end_size ||
        strcmp(column->name + size - end_size, end) != 0)
        return false;
    *name_size = size - end_size;
    return named || size == end_size;
}

static enum sb_code add_field(const struct columns *columns, size_t at, bool named,
                              size_t name_size, struct sb_cache_layout *layout)
{
    const struct sb_arrow_column *column = &columns->arrow->columns[at];
    struct sb_cache_field field = {
        .data = at, .dtype = column->dtype, .blob = column->type == SB_ARROW_BINARY};
    bool whole = field.blob || take(columns, at + 1, column->name, name_size,
                                    named ? "_" SHAPE : SHAPE, SB_ARROW_LIST, &field.shape);

    if (!whole || (!field.blob && columns->arrow->columns[field.shape].dtype != SB_DTYPE_INT64))
        return sb_fail(SB_FORMAT, "column '%s' has no column of shapes", column->name);
    columns->taken[at] = true;
    field.name = strndup(column->name, name_size);
    if (!field.name)
        return sb_fail_memory();
    layout->fields[layout->field_count++] = field;
    return SB_OK;
}

static enum sb_code read_fields(const struct columns *columns, bool named,
                                struct sb_cache_layout *layout)
{
    size_t name_size;

    for (size_t i = 0; i < columns->count; i++) {
        const struct sb_arrow_column *column = &columns->arrow->columns[i];

        if (!columns->taken[i] && has_values(column, named, &name_size))
            TRY(add_field(columns, i, named, name_size, layout));
    }
    for (size_t i = 0; i < columns->count; i++) {
        if (!columns->taken[i])
            return sb_fail(SB_FORMAT, "column '%s' is none that a cache has",
                           columns->arrow->columns[i].name);
    }
    return SB_OK;
}

/* item0, item1, ...: as tuples and lists have it. */
static bool are_numbered(const struct sb_cache_layout *layout)
{
    char name[32];

    for (size_t i = 0; i < layout->field_count; i++) {
        snprintf(name, sizeof(name), "item%zu", i);
        if (strcmp(layout->fields[i].name, name) != 0)
            return false;
    }
    return true;
}

enum sb_code sb_cache_load_schema(const char *dir, struct sb_buf *out)
{
    CLEANUP(sb_closep) int fd = -1;
    struct stat st;
    size_t got;

    TRY(sb_buf_add_format(out, "%s/" SCHEMA_NAME, dir));
    fd = open(out->data, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return errno == ENOENT ? sb_fail_errno(errno, "%s", out->data)
                               : sb_fail(SB_FORMAT, "cannot be read: %s", strerror(errno));
    sb_buf_clear(out);
    if (fstat(fd, &st) || !S_ISREG(st.st_mode))
        return sb_fail(SB_FORMAT, "is not a regular file");
    if (st.st_size >= SCHEMA_MOST)
        return sb_fail(SB_FORMAT, "is larger than any that a cache has");
    TRY(sb_buf_reserve(out, SCHEMA_MOST));
    TRY(sb_read_full(fd, out->data, SCHEMA_MOST, &got, SCHEMA_NAME));
    out->size = got;
    out->data[got] = '\0';
    return SB_OK;
}

/* What cannot be read says nothing; nor does JSON that is none. */
static enum sb_code is_list(const char *dir, bool *list)
{
    static const char query[] = "SELECT json_extract(?1, '$.output_structure') = 'list'";
    CLEANUP(sb_buf_release) struct sb_buf text = {0};
    CLEANUP(sb_database_closep) sqlite3 *db = NULL;
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    enum sb_code code = sb_cache_load_schema(dir, &text);
    int result;

    *list = false;
    if (code)
        return code == SB_NOMEM ? code : SB_OK;
    TRY(sb_database_open_private(&db, dir));
    TRY(sb_database_prepare(db, &statement, query));
    result = sqlite3_bind_text(statement, 1, text.data, (int)text.size, SQLITE_STATIC);
    if (result == SQLITE_OK)
        result = sqlite3_step(statement);
    *list = result == SQLITE_ROW && sqlite3_column_int(statement, 0) != 0;
    return result == SQLITE_NOMEM ? sb_fail_memory() : SB_OK;
}

static enum sb_code find_structure(const struct sb_arrow *arrow, const char *dir, bool named,
                                   struct sb_cache_layout *layout)
{
    bool list;

    if (!named) {
        layout->structure = layout->fields[0].blob ? SB_CACHE_BLOB : SB_CACHE_TENSOR;
        return SB_OK;
    }
    layout->structure = SB_CACHE_DICT;
    if (is_of_dict(arrow) || !are_numbered(layout))
        return SB_OK;
    TRY(is_list(dir, &list));
    layout->structure = list ? SB_CACHE_LIST : SB_CACHE_TUPLE;
    return SB_OK;
}

enum sb_code sb_cache_layout_make(const struct sb_arrow *arrow, const char *dir,
                                  struct sb_cache_layout *layout)
{
    size_t count = arrow->column_count, single = count - 1;
    CLEANUP(sb_freep) bool *taken = NULL;
    struct columns columns;
    bool named;

    if (count > COLUMNS_MOST)
        return sb_fail(SB_FORMAT, "has more than %d columns", COLUMNS_MOST);
    taken = calloc(count + 1, sizeof(*taken));
    columns = (struct columns){.arrow = arrow, .count = count, .taken = taken};
    layout->field_count = 0;
    layout->fields = calloc(count + 1, sizeof(*layout->fields));
    if (!taken || !layout->fields)
        return sb_fail_memory();
    if (!take(&columns, 0, KEY, strlen(KEY), "", SB_ARROW_TEXT, &layout->key))
        return sb_fail(SB_FORMAT, "has no column 'key' of texts");
    named = !(single == 2 && is_there(&columns, DATA) && is_there(&columns, SHAPE)) &&
            !(single == 1 && is_there(&columns, BLOB));
    TRY(read_fields(&columns, named, layout));
    return find_structure(arrow, dir, named, layout);
}
