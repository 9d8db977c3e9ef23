#include "store/samples/samples.h"

#include "archive/database.h"
#include "core/array.h"
#include "core/context.h"
#include "core/number.h"
#include "store/facts.h"
#include "store/usage.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

struct sample_file {
    struct sb_row_key path;
    const char *column; /* what follows its stem; "" where it has none */
    int64_t size;
    const char *defect; /* NULL, or why its row cannot be used */
};

struct sample_column {
    char *name;
    int64_t files;
    int64_t bytes;
};

struct samples {
    struct sb_table base;
    struct sb_archive *archive;
    bool everything;
    const struct sb_notify *notify;
    struct sb_buf seen; /* the columns of the sample whose files come now */
    sqlite3 *db;
    sqlite3_stmt *add, *find;
    int64_t count;
    struct sample_column columns[SB_SAMPLE_COLUMNS_MOST + 1]; /* of all, in order of name; the last,
                                                                 whose name is NULL, is of others */
    size_t column_count;
    size_t last_column;

    int64_t looked_at;         /* -1: none */
    struct sb_buf name;        /* of that sample: files begin with it; or it is a file of its own */
    struct sb_buf text;        /* of their paths, each followed by its column */
    struct sample_file *files; /* in order of name */
    size_t file_count, capacity;
};

static struct samples *of(const struct sb_table *table)
{
    return (struct samples *)table;
}

static const char *last_part(const char *path, size_t size)
{
    const char *slash = memrchr(path, '/', size);

    return slash ? slash + 1 : path;
}

size_t sb_sample_name_size(const char *path, size_t size)
{
    const char *last = last_part(path, size);
    const char *dot = memchr(last, '.', size - (size_t)(last - path));

    return dot && dot > last ? (size_t)(dot - path) + 1 : size;
}

/* Is it the name of a sample, a stem and its dot? ".x." is all of a file's name, without one. */
static bool is_stem(const char *name, size_t size)
{
    return size > 0 && name[size - 1] == '.' && *last_part(name, size) != '.';
}

static bool has_stem(const struct samples *samples)
{
    return is_stem(samples->name.data, samples->name.size);
}

bool sb_sample_takes(const char *path, size_t size)
{
    size_t top = strcspn(path, "/");

    return is_stem(path, sb_sample_name_size(path, size)) &&
           !(top >= 4 && memcmp(path, "__", 2) == 0 && memcmp(path + top - 2, "__", 2) == 0);
}

static enum sb_code add_folded(struct sb_buf *out, const char *column, size_t size)
{
    size_t begin = out->size;

    if (sb_buf_add(out, column, size) || sb_buf_add_char(out, '\0'))
        return SB_NOMEM;
    for (size_t i = begin; !sb_context_now->keep_case && i < out->size; i++) {
        if (out->data[i] >= 'A' && out->data[i] <= 'Z')
            out->data[i] = (char)(out->data[i] - 'A' + 'a');
    }
    return SB_OK;
}

enum sb_code sb_sample_extension(struct sb_buf *seen, const char *extension, size_t size,
                                 size_t *at, bool *again)
{
    size_t begin = seen->size;

    if (add_folded(seen, extension, size))
        return SB_NOMEM;
    for (*at = 0; strcmp(seen->data + *at, seen->data + begin) != 0;)
        *at += strlen(seen->data + *at) + 1;
    *again = *at < begin;
    if (*again)
        sb_buf_cut(seen, begin);
    return SB_OK;
}

void sb_sample_report_outside(const struct sb_notify *notify, const char *path)
{
    sb_report(notify, SB_WARNING, "no-sample", path, "belongs to no sample");
}

void sb_sample_report_twice(const struct sb_notify *notify, const char *path, const char *column)
{
    sb_report(notify, SB_PROBLEM, "twice", path, "its sample has a file '%s' already", column);
}

static void free_table(struct sb_table *table)
{
    struct samples *samples = of(table);

    sb_database_finish(samples->db);
    for (size_t i = 0; i < samples->column_count; i++)
        free(samples->columns[i].name);
    sb_buf_release(&samples->name);
    sb_buf_release(&samples->text);
    sb_buf_release(&samples->seen);
    free(samples->files);
}

/* Numbering, and counting of columns. */

static int compare(const char *name, size_t size, const struct sample_column *column)
{
    return sb_compare_bytes(name, size, column->name, strlen(column->name));
}

/* The place of the first column that does not come before the name. */
static size_t find_place(const struct samples *samples, const char *name, size_t size)
{
    size_t count = samples->column_count < SB_SAMPLE_COLUMNS_MOST ? samples->column_count
                                                                  : SB_SAMPLE_COLUMNS_MOST;

    return FIRST_WHERE(i, count, compare(name, size, &samples->columns[i]) <= 0);
}

static bool is_at(const struct samples *samples, size_t place, const char *name, size_t size)
{
    return place < samples->column_count && samples->columns[place].name &&
           compare(name, size, &samples->columns[place]) == 0;
}

static enum sb_code add_column(struct samples *samples, size_t place, const char *name, size_t size)
{
    struct sample_column *at = &samples->columns[place];
    char *copy = strndup(name, size);

    if (!copy)
        return SB_NOMEM;
    memmove(at + 1, at, (samples->column_count - place) * sizeof(*at));
    *at = (struct sample_column){.name = copy};
    samples->column_count++;
    return SB_OK;
}

/* Extensions come in turn: the one after the last is looked at first. */
static enum sb_code count_file(struct samples *samples, const char *name, size_t size,
                               int64_t bytes)
{
    size_t place = samples->last_column + 1;

    if (!is_at(samples, place, name, size))
        place = find_place(samples, name, size);
    if (!is_at(samples, place, name, size)) {
        if (samples->column_count >= SB_SAMPLE_COLUMNS_MOST) {
            place = SB_SAMPLE_COLUMNS_MOST;
            samples->column_count = place + 1;
        } else if (add_column(samples, place, name, size)) {
            return SB_NOMEM;
        }
    }
    samples->last_column = place;
    samples->columns[place].files++;
    sb_count_up(&samples->columns[place].bytes, bytes);
    return SB_OK;
}

/* A sample has its number when its first file comes; neighbours are mostly of one sample. */
static enum sb_code number_file(struct samples *samples, const struct sb_entry *entry, size_t size)
{
    if (samples->name.size == size && memcmp(samples->name.data, entry->path, size) == 0)
        return SB_OK;
    sb_buf_clear(&samples->seen);
    TRY(sb_buf_set(&samples->name, entry->path, size));
    sqlite3_bind_int64(samples->add, 1, samples->count);
    sqlite3_bind_blob(samples->add, 2, samples->name.data, (int)size, SQLITE_STATIC);
    TRY(sb_database_step(samples->add));
    samples->count += sqlite3_changes(samples->db);
    return SB_OK;
}

static enum sb_code take_file(struct samples *samples, const struct sb_entry *entry)
{
    size_t size = sb_sample_name_size(entry->path, entry->path_size), at;
    bool again;

    if (!samples->everything && (entry->type != SB_FILE || entry->defect))
        return SB_OK;
    if (!samples->everything && !sb_sample_takes(entry->path, entry->path_size)) {
        sb_sample_report_outside(samples->notify, entry->path);
        return SB_OK;
    }
    TRY(number_file(samples, entry, size));
    TRY(sb_sample_extension(&samples->seen, entry->path + size, entry->path_size - size, &at,
                            &again));
    if (again)
        sb_sample_report_twice(samples->notify, entry->path, samples->seen.data + at);
    if (count_file(samples, samples->seen.data + at, entry->path_size - size, entry->size))
        return sb_fail_memory();
    return SB_OK;
}

static enum sb_code look_through(struct samples *samples)
{
    const struct sb_query files = {.order = SB_BY_ADDRESS, .files = true, .all_shards = true};
    struct sb_cursor *cursor;
    struct sb_entry entry;
    enum sb_code code = sb_cursor_open(&cursor, samples->archive, &files);

    while (!code && !(code = sb_cursor_next(cursor, &entry)))
        code = take_file(samples, &entry);
    sb_cursor_free(cursor);
    return code == SB_END ? SB_OK : code;
}

/* The files of one sample. */

static enum sb_code read_name(struct samples *samples, int64_t number)
{
    enum sb_code code = SB_OK;

    SB_BIND(samples->find, number);
    if (sqlite3_step(samples->find) != SQLITE_ROW)
        code = sb_database_fail(samples->db);
    else if (sb_buf_set(&samples->name, sqlite3_column_blob(samples->find, 0),
                        (size_t)sqlite3_column_bytes(samples->find, 0)))
        code = sb_fail_memory();
    sqlite3_reset(samples->find);
    return code;
}

/* But for its path: the text may move. */
static enum sb_code add_file(struct samples *samples, const struct sb_entry *entry)
{
    if (IGNORED(sb_grow(&samples->files, &samples->capacity, samples->file_count,
                        sizeof(*samples->files))))
        return SB_NOMEM;
    samples->files[samples->file_count++] = (struct sample_file){
        .path.size = entry->path_size,
        .size = entry->size,
        .defect = entry->defect,
    };
    return sb_buf_add(&samples->text, entry->path, entry->path_size + 1)
               ? SB_NOMEM
               : add_folded(&samples->text, entry->path + samples->name.size,
                            entry->path_size - samples->name.size);
}

static enum sb_code read_stem(struct samples *samples)
{
    const struct sb_query query = {
        .order = SB_BY_PATH, .files = true, .prefix = samples->name.data};
    struct sb_cursor *cursor;
    struct sb_entry entry;
    enum sb_code code = sb_cursor_open(&cursor, samples->archive, &query);

    while (!code && !(code = sb_cursor_next(cursor, &entry))) {
        /* A directory may be called as a sample is, "0017.more/x"; what is in it is of others. */
        if (sb_sample_name_size(entry.path, entry.path_size) == samples->name.size &&
            add_file(samples, &entry))
            code = sb_fail_memory();
    }
    sb_cursor_free(cursor);
    return code == SB_END ? SB_OK : code;
}

static enum sb_code read_alone(struct samples *samples)
{
    struct sb_entry entry;
    enum sb_code code =
        sb_archive_lookup(samples->archive, samples->name.data, samples->name.size, &entry);

    if (code)
        return code == SB_NOENT ? SB_OK : code;
    return add_file(samples, &entry) ? sb_fail_memory() : SB_OK;
}

static enum sb_code look_at(struct samples *samples, int64_t row)
{
    const char *path;

    if (samples->looked_at == row)
        return SB_OK;
    samples->looked_at = -1;
    samples->file_count = 0;
    sb_buf_clear(&samples->text);
    TRY(read_name(samples, row));
    TRY(has_stem(samples) ? read_stem(samples) : read_alone(samples));
    path = samples->text.data;
    for (size_t i = 0; i < samples->file_count; i++) {
        struct sample_file *file = &samples->files[i];

        file->path.text = path;
        file->column = path + file->path.size + 1;
        path = file->column + strlen(file->column) + 1;
    }
    samples->looked_at = row;
    return SB_OK;
}

/* As a table. */

static enum sb_code count(struct sb_table *table, int64_t *out)
{
    *out = of(table)->count;
    return SB_OK;
}

static enum sb_code row_at(struct sb_table *table, int64_t number, int64_t *row)
{
    (void)table;
    *row = number;
    return SB_OK;
}

static enum sb_code columns(struct sb_table *table, int64_t row, uint32_t *out)
{
    struct samples *samples = of(table);

    TRY(look_at(samples, row));
    *out = (uint32_t)samples->file_count;
    return SB_OK;
}

static struct sb_column column(struct sb_table *table, uint32_t number)
{
    return (struct sb_column){.name = of(table)->files[number].column, .form = SB_FORM_BYTES};
}

static int64_t find(struct sb_table *table, const char *name, size_t size)
{
    const struct samples *samples = of(table);

    for (size_t i = 0; i < samples->file_count; i++) {
        const char *other = samples->files[i].column;

        if (strlen(other) == size && memcmp(other, name, size) == 0)
            return (int64_t)i;
    }
    return -1;
}

static enum sb_code need(struct sb_table *table, const char *name)
{
    const struct samples *samples = of(table);
    size_t size = strlen(name);

    if (samples->column_count > SB_SAMPLE_COLUMNS_MOST ||
        is_at(samples, find_place(samples, name, size), name, size))
        return SB_OK;
    return sb_fail(SB_INVALID, "%s: no sample has a file '%s'", table->name, name);
}

static enum sb_code row_name(struct sb_table *table, int64_t row, struct sb_buf *out)
{
    struct samples *samples = of(table);

    TRY(look_at(samples, row));
    return sb_buf_add(out, samples->name.data, samples->name.size - has_stem(samples));
}

static enum sb_code describe_row(struct sb_table *table, int64_t row, struct sb_facts *facts)
{
    struct samples *samples = of(table);

    TRY(look_at(samples, row));
    facts->key.text = samples->name.data;
    facts->key.size = samples->name.size - has_stem(samples);
    return SB_OK;
}

static enum sb_code describe(struct sb_table *table, int64_t row, uint32_t number,
                             struct sb_facts *facts)
{
    const struct sample_file *file = &of(table)->files[number];

    (void)row;
    facts->name = file->column;
    facts->member = file->path;
    facts->size = file->defect ? -1 : file->size;
    facts->defect = file->defect;
    return SB_OK;
}

/* What there is, by what files are called after the stem. */
enum { SAMPLES, FILES_BYTES };
static const struct sb_measure of_samples[] = {{"samples", false}, {"bytes", true}};

static enum sb_code usage_of(struct sb_table *table, const struct sb_usage_options *options,
                             struct sb_usage *usage)
{
    size_t count = of(table)->column_count;
    const struct sample_column *columns_of_all = of(table)->columns;

    TRY(sb_usage_begin(usage, of_samples, 2, count));
    usage->line_word = "extension";
    for (size_t i = 0; i < count; i++) {
        const char *name = columns_of_all[i].name;

        if (name && !sb_array_is_among(name, options->columns, options->column_count))
            continue;
        usage->lines[i] =
            (struct sb_usage_line){.name = name ? name : "others",
                                   .rest = !name,
                                   .amounts = {columns_of_all[i].files, columns_of_all[i].bytes}};
    }
    sb_usage_sum_up(usage);
    return table->ops->count(table, &usage->total.amounts[SAMPLES]);
}

static const struct sb_listing listing = {
    .object = SB_FACTS(SB_FACT(ROW, "sample"), SB_FACT(KEY, "name"), SB_FACT(SIZE, "bytes"),
                       SB_FACT(CELLS, "files")),
    .cells = SB_FACTS(SB_FACT(NAME, "extension"), SB_FACT(MEMBER, "path"), SB_FACT(SIZE, "size"),
                      SB_FACT(DEFECT, "defect")),
    .line = (const enum sb_fact_of[]){SB_FACT_ROW, SB_FACT_SIZE, SB_FACT_CELLS, SB_FACT_KEY,
                                      SB_FACT_END},
    .details = (const enum sb_fact_of[]){SB_FACT_ROW, SB_FACT_SIZE, SB_FACT_NAME, SB_FACT_MEMBER,
                                         SB_FACT_END},
};

enum sb_code sb_table_of_samples(struct sb_table **out, struct sb_archive *archive, bool everything,
                                 const char *beside, const struct sb_notify *notify)
{
    static const struct sb_table_ops ops = {.free = free_table,
                                            .count = count,
                                            .row = row_at,
                                            .columns = columns,
                                            .column = column,
                                            .find = find,
                                            .need = need,
                                            .row_name = row_name,
                                            .describe_row = describe_row,
                                            .describe = describe,
                                            .usage = usage_of};
    struct samples *samples = calloc(1, sizeof(*samples));
    CLEANUP(sb_table_freep) struct sb_table *table = samples ? &samples->base : NULL;

    *out = NULL;
    if (!samples)
        return sb_fail_memory();
    *table = (struct sb_table){.ops = &ops,
                               .name = sb_archive_path(archive),
                               .row_word = "sample",
                               .cell_word = "file",
                               .numbered = true,
                               .varied = true,
                               .listing = &listing};
    samples->archive = archive;
    samples->everything = everything;
    samples->notify = notify;
    samples->looked_at = -1;
    TRY(SB_TABLES(&samples->db, beside,
                  "CREATE TABLE samples (number INTEGER PRIMARY KEY, name BLOB UNIQUE); BEGIN",
                  {&samples->add, "INSERT OR IGNORE INTO samples VALUES (?1, ?2)"},
                  {&samples->find, "SELECT name FROM samples WHERE number = ?1"}));
    TRY(look_through(samples));
    *out = TAKE(table);
    return SB_OK;
}
