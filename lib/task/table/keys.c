#include "task/table/keys.h"

#include <stdlib.h>
#include <string.h>

#define NAMES_BYTES ((size_t)8 << 20) /* of one look-up */
#define SUFFIX_SIZE (sizeof(".npy") - 1)

/* One name, whose bytes are followed by a NUL. */
struct request {
    size_t name_at, name_size;
    size_t key_size; /* after it: '/' and the name of a column, or the suffix of a file */
    int64_t row;     /* SB_NO_ROW: there is none */
    int64_t column;  /* if the name is longer than the key; -1: no such column */
    bool as_file;    /* the column was named as a file */
};

struct sb_table_keys {
    struct sb_table *table;
    struct sb_table_keys_options options;
    struct sb_buf names; /* of the requests, which are looked up together */
    struct request *requests;
    size_t count, capacity;
    size_t next;             /* of the requests */
    bool ended;              /* there are no further names */
    struct sb_row_key *keys; /* of one look-up, */
    int64_t *rows;           /* and their rows */
    int64_t bytes;           /* expected size of these */
    uint32_t *columns;
    size_t column_capacity;
    struct sb_buf missing;
};

void sb_table_keys_free(struct sb_table_keys *keys)
{
    if (!keys)
        return;
    sb_buf_release(&keys->names);
    sb_buf_release(&keys->missing);
    free(keys->requests);
    free(keys->keys);
    free(keys->rows);
    free(keys->columns);
    free(keys);
}

static enum sb_code grow(struct sb_table_keys *keys)
{
    size_t requests = keys->capacity, names = requests, rows = requests;

    TRY(sb_grow(&keys->requests, &requests, keys->count, sizeof(*keys->requests)));
    TRY(sb_grow(&keys->keys, &names, keys->count, sizeof(*keys->keys)));
    TRY(sb_grow(&keys->rows, &rows, keys->count, sizeof(*keys->rows)));
    keys->capacity = requests;
    return SB_OK;
}

static enum sb_code add(struct sb_table_keys *keys, const char *name, size_t size)
{
    if (keys->count == keys->capacity)
        TRY(grow(keys));
    keys->requests[keys->count++] = (struct request){.name_at = keys->names.size,
                                                     .name_size = size,
                                                     .key_size = size,
                                                     .row = SB_NO_ROW,
                                                     .column = -1};
    TRY(sb_buf_add(&keys->names, name, size));
    TRY(sb_buf_add_char(&keys->names, '\0'));
    return SB_OK;
}

static enum sb_code collect(struct sb_table_keys *keys)
{
    const struct sb_fetch_names *names = &keys->options.names;
    const char *name;
    enum sb_code code;
    size_t size;

    keys->count = keys->next = 0;
    keys->bytes = 0;
    sb_buf_clear(&keys->names);
    do {
        code = names->next(names->context, &name, &size);
        keys->ended = code == SB_END;
        if (code)
            return keys->ended ? SB_OK : code;
        TRY(add(keys, name, size));
    } while (keys->count < SB_TABLE_KEYS_MOST && keys->names.size < NAMES_BYTES &&
             names->ready(names->context));
    return SB_OK;
}

static bool is_cut(const struct request *request)
{
    return request->key_size < request->name_size;
}

/* The requested column of the row: the key is followed by '/' and the column's name, bare or as a
 * file's; or, for the only column without a name, by just the suffix of such a file. */
static enum sb_code choose_column(struct sb_table_keys *keys, struct request *request)
{
    struct sb_table *table = keys->table;
    const char *rest = keys->names.data + request->name_at + request->key_size;
    size_t size = request->name_size - request->key_size;
    uint32_t ignored;

    TRY(sb_table_columns(table, request->row, &ignored));
    if (*rest == '/') {
        request->column = sb_table_find(table, rest + 1, size - 1, &request->as_file);
        return SB_OK;
    }
    request->column = sb_table_find(table, "", 0, &request->as_file);
    request->as_file = true;
    if (request->column >= 0 && (sb_table_column(table, (uint32_t)request->column).form ==
                                 SB_FORM_PICKLE) != (strcmp(rest, ".pkl") == 0))
        request->column = -1;
    return SB_OK;
}

/* Looks up the keys that names begin with: those of names for which `part` is true and sets the
 * size of the key. */
static enum sb_code find(struct sb_table_keys *keys, bool (*part)(const struct request *request,
                                                                  const char *name, size_t *size))
{
    int64_t bytes;
    size_t count = 0, found = 0, size;

    for (size_t i = 0; i < keys->count; i++) {
        const char *name = keys->names.data + keys->requests[i].name_at;

        if (part(&keys->requests[i], name, &size))
            keys->keys[count++] = (struct sb_row_key){.text = name, .size = size};
    }
    TRY(keys->table->ops->find_rows(keys->table, keys->keys, count, keys->rows, &bytes));
    keys->bytes += bytes;
    for (size_t i = 0; i < keys->count; i++) {
        struct request *request = &keys->requests[i];
        const char *name = keys->names.data + request->name_at;

        if (!part(request, name, &size) || keys->rows[found++] == SB_NO_ROW)
            continue;
        request->row = keys->rows[found - 1];
        request->key_size = size;
        if (is_cut(request))
            TRY(choose_column(keys, request));
    }
    return SB_OK;
}

static bool whole(const struct request *request, const char *name, size_t *size)
{
    (void)name;
    *size = request->name_size;
    return true;
}

/* For a name that is no key: a key, '/' and the name of a column. */
static bool before_slash(const struct request *request, const char *name, size_t *size)
{
    const char *slash = memrchr(name, '/', request->name_size);

    *size = slash ? (size_t)(slash - name) : 0;
    return request->row == SB_NO_ROW && slash && *size + 1 < request->name_size;
}

/* For a name that is neither: a key and the suffix of a file, of a column without a name. */
static bool before_suffix(const struct request *request, const char *name, size_t *size)
{
    if (request->name_size <= SUFFIX_SIZE ||
        (request->row != SB_NO_ROW && (!is_cut(request) || request->column >= 0)))
        return false;
    *size = request->name_size - SUFFIX_SIZE;
    return strcmp(name + *size, ".npy") == 0 || strcmp(name + *size, ".pkl") == 0;
}

static enum sb_code turn(struct sb_table_keys *keys)
{
    TRY(collect(keys));
    TRY(find(keys, whole));
    TRY(find(keys, before_slash));
    return find(keys, before_suffix);
}

static enum sb_code choose_columns(struct sb_table_keys *keys, const struct request *request,
                                   struct sb_cell_run *run)
{
    uint32_t count;

    TRY(sb_table_columns(keys->table, request->row, &count));
    TRY(sb_grow(&keys->columns, &keys->column_capacity, count, sizeof(*keys->columns)));
    for (uint32_t i = 0; i < count; i++) {
        if (is_cut(request) ? i == request->column
                            : sb_array_is_among(sb_table_column(keys->table, i).name,
                                                keys->options.arrays, keys->options.array_count))
            keys->columns[run->column_count++] = i;
    }
    run->columns = keys->columns;
    return SB_OK;
}

static enum sb_code fail_missing(struct sb_table_keys *keys, const struct request *request)
{
    const char *name = keys->names.data + request->name_at;

    TRY(sb_buf_set(&keys->missing, name, request->name_size));
    if (request->row == SB_NO_ROW)
        return sb_fail(SB_INVALID, "%s: no such key in the cache", name);
    return sb_fail(SB_INVALID, "%s: the key has no such array%s", name, keys->options.advice);
}

static enum sb_code next_run(void *context, struct sb_cell_run *run)
{
    struct sb_table_keys *keys = context;
    const struct request *request;

    *run = (struct sb_cell_run){.rows.step = 1};
    if (keys->next == keys->count && !keys->ended)
        TRY(turn(keys));
    if (keys->next == keys->count)
        return sb_error()->code = SB_END;
    request = &keys->requests[keys->next++];
    if (request->row != SB_NO_ROW)
        TRY(choose_columns(keys, request, run));
    if (request->row == SB_NO_ROW ||
        (run->column_count == 0 && (is_cut(request) || !keys->options.none_is_fine)))
        return fail_missing(keys, request);
    run->rows.first = request->row;
    run->rows.count = 1;
    run->as_file = is_cut(request) && request->as_file;
    return SB_OK;
}

static bool is_ready(void *context)
{
    const struct sb_table_keys *keys = context;

    return keys->next < keys->count || keys->ended ||
           keys->options.names.ready(keys->options.names.context);
}

/* Estimated from the expected bytes, if all names are known. */
static int64_t total_of(void *context)
{
    const struct sb_table_keys *keys = context;

    return keys->ended ? keys->bytes / keys->table->cell_size : -1;
}

static const char *missing(void *context)
{
    return ((const struct sb_table_keys *)context)->missing.data;
}

enum sb_code sb_table_keys_new(struct sb_table_keys **out, struct sb_table *table,
                               const struct sb_table_keys_options *options)
{
    CLEANUP(sb_table_keys_freep) struct sb_table_keys *keys = calloc(1, sizeof(*keys));

    *out = NULL;
    if (!keys)
        return sb_fail_memory();
    keys->table = table;
    keys->options = *options;
    TRY(turn(keys));
    *out = TAKE(keys);
    return SB_OK;
}

struct sb_cell_feed sb_table_keys_feed(struct sb_table_keys *keys)
{
    return (struct sb_cell_feed){.next = next_run,
                                 .ready = is_ready,
                                 .total = total_of,
                                 .missing = missing,
                                 .context = keys};
}
