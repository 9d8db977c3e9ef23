/*
 * One table in order of path, a batch at a time, and the children of one directory.
 *
 * Children are delivered in order of name, including directories that have no row and are known
 * only from what is below them. The index is in order of whole path, where "c-1" comes before
 * "c/x", because '-' is less than '/': so a directory "c" without a row is found after children
 * whose names are greater. Sorting puts them in order within a batch. At the end of a batch whose
 * scan has reached the name R, the directories that can still be found later with a name less than
 * R are prefixes of R, cut where a byte less than '/' follows: those few are looked up.
 */
#include "archive/reader.h"

#include "archive/database.h"

#include <stdlib.h>
#include <string.h>

void sb_stream_release(struct sb_stream *stream)
{
    sb_buf_release(&stream->low);
    sb_buf_release(&stream->high);
    sb_buf_release(&stream->prefix);
    sb_buf_release(&stream->position);
    sb_buf_release(&stream->delivered);
    sb_rows_release(&stream->batch);
}

/* The smallest path greater than this one is the same with a NUL appended. */
static enum sb_code go_past(struct sb_stream *stream, const char *path, size_t size)
{
    TRY(sb_buf_set(&stream->low, path, size));
    return sb_buf_add_char(&stream->low, '\0');
}

static enum sb_code fail_order(const struct sb_stream *stream)
{
    const struct sb_layout *layout = &stream->archive->layout;

    return sb_fail(
        SB_DAMAGED,
        "%s: index '%s' is damaged, it is not in order; 'REINDEX' of sqlite3 may mend it",
        stream->archive->index_path,
        stream->is_dir ? layout->dirs_by_path.data : layout->files_by_path.data);
}

static enum sb_code open_range(struct sb_stream *stream, sqlite3_stmt **out)
{
    static const enum sb_statement which[2][3] = {{SB_FILE_RANGE, SB_FILE_MODES, SB_FILE_NAMES},
                                                  {SB_DIR_RANGE, SB_DIR_MODES, SB_DIR_NAMES}};

    TRY(sb_archive_statement(stream->archive, which[stream->is_dir][stream->columns], out));
    if (sb_bind_range(*out, &stream->low, &stream->high))
        return sb_database_fail(stream->archive->db);
    return SB_OK;
}

static const struct sb_row *last_row(const struct sb_stream *stream)
{
    return &stream->batch.rows[stream->batch.count - 1];
}

/* An index out of order must not make the scan loop forever. */
static bool in_order(const struct sb_stream *stream, const struct sb_entry *entry)
{
    if (!stream->lags)
        return sb_compare_bytes(entry->path, entry->path_size, stream->low.data,
                                stream->low.size) >= 0;
    return sb_compare_bytes(entry->path, entry->path_size,
                            sb_row_path(&stream->batch, last_row(stream)),
                            last_row(stream)->entry.path_size) > 0;
}

/* The next row of the statement. */
static enum sb_code step(struct sb_stream *stream, sqlite3_stmt *statement, struct sb_entry *entry)
{
    int rc = sqlite3_step(statement);

    if (rc == SQLITE_DONE) {
        stream->done = true;
        return SB_END;
    }
    if (rc != SQLITE_ROW)
        return sb_database_fail(stream->archive->db);
    if (stream->columns == SB_WHOLE_ROWS)
        sb_row_entry(statement, stream->is_dir, entry);
    else
        sb_row_name(statement, stream->is_dir, stream->columns == SB_NAMES_AND_MODES, entry);
    return in_order(stream, entry) ? SB_OK : fail_order(stream);
}

static enum sb_code add_row(struct sb_stream *stream, const struct sb_entry *entry)
{
    enum sb_code code = sb_rows_add(&stream->batch, entry, false);

    stream->lags |= !code;
    return code;
}

/* Before its rows change places. */
static enum sb_code catch_up(struct sb_stream *stream)
{
    const size_t base = stream->prefix.size;
    const struct sb_row *last;
    const char *path;

    if (!stream->lags)
        return SB_OK;
    stream->lags = false;
    last = last_row(stream);
    path = sb_row_path(&stream->batch, last);
    TRY(sb_buf_set(&stream->position, path + base, last->entry.path_size - base));
    return go_past(stream, path, last->entry.path_size);
}

/* code is that of the scan, whose rows are fetched also if it failed. */
static enum sb_code end_scan(struct sb_stream *stream, sqlite3_stmt *statement, enum sb_code code)
{
    struct sb_error other;

    sqlite3_reset(statement);
    if (!INTO(&other, catch_up(stream)) || (code && code != SB_END))
        return code;
    *sb_error() = other;
    return sb_error()->code;
}

enum sb_code sb_stream_fill(struct sb_stream *stream)
{
    sqlite3_stmt *statement = NULL;
    struct sb_entry entry = {.path = ""};
    enum sb_code code;

    sb_rows_begin(&stream->batch);
    code = open_range(stream, &statement);
    while (!code && !sb_rows_is_full(&stream->batch)) {
        code = step(stream, statement, &entry);
        if (!code)
            code = add_row(stream, &entry);
    }
    code = end_scan(stream, statement, code);
    return code == SB_END ? SB_OK : code;
}

/* Was this name, or one greater, in an earlier batch? Then it was delivered too. */
static bool was_delivered(const struct sb_stream *stream, const char *name, size_t size)
{
    return stream->any_delivered &&
           sb_compare_bytes(name, size, stream->delivered.data, stream->delivered.size) <= 0;
}

static enum sb_code add_implied(struct sb_stream *stream, const char *path, size_t size)
{
    struct sb_entry entry = {.path = path, .path_size = size, .type = SB_DIR};

    if (!stream->implied_wanted ||
        was_delivered(stream, path + stream->prefix.size, size - stream->prefix.size))
        return SB_OK;
    return sb_rows_add(&stream->batch, &entry, true);
}

/* A row somewhere below a child: the child is a directory, and the scan continues after it. */
static enum sb_code skip_below(struct sb_stream *stream, sqlite3_stmt *statement, const char *path,
                               size_t child_size)
{
    TRY(add_implied(stream, path, child_size));
    stream->lags = false;
    TRY(sb_buf_set(&stream->position, path + stream->prefix.size,
                   child_size - stream->prefix.size));
    TRY(sb_buf_set(&stream->low, path, child_size));
    TRY(sb_buf_add_char(&stream->low, '/' + 1));
    sqlite3_reset(statement);
    if (sb_bind_range(statement, &stream->low, &stream->high))
        return sb_database_fail(stream->archive->db);
    return SB_OK;
}

static enum sb_code take_child(struct sb_stream *stream, sqlite3_stmt *statement,
                               const struct sb_entry *entry)
{
    const char *name = entry->path + stream->prefix.size;
    size_t size = entry->path_size - stream->prefix.size;
    const char *slash = size ? memchr(name, '/', size) : NULL;

    /* An empty component is not a directory: such a row counts as a child with an odd name. */
    if (slash && slash != name)
        return skip_below(stream, statement, entry->path, (size_t)(slash - entry->path));
    if (stream->rows_wanted)
        return add_row(stream, entry);
    TRY(sb_buf_set(&stream->position, name, size));
    return go_past(stream, entry->path, entry->path_size);
}

/* Directories that come after the scan's position, but before it in order of name. */
static enum sb_code add_overtaken(struct sb_stream *stream)
{
    const char *name = stream->position.data;
    size_t size = stream->position.size;
    CLEANUP(sb_buf_release) struct sb_buf child = {0};
    enum sb_code code;

    for (size_t i = 1; i <= size; i++) {
        if ((i < size && (unsigned char)name[i] >= '/') || was_delivered(stream, name, i))
            continue;
        TRY(sb_buf_set(&child, stream->prefix.data, stream->prefix.size));
        TRY(sb_buf_add(&child, name, i));
        code = sb_first_row_below(stream->archive, stream->is_dir, child.data, child.size, NULL);
        if (!code)
            code = add_implied(stream, child.data, child.size);
        if (code && code != SB_NOENT)
            return code;
    }
    return SB_OK;
}

struct ordering {
    const struct sb_rows *batch;
    size_t base;
};

static int compare_children(const void *a, const void *b, void *context)
{
    const struct ordering *ordering = context;
    const struct sb_row *x = a, *y = b;
    int order = sb_compare_bytes(
        sb_row_path(ordering->batch, x) + ordering->base, x->entry.path_size - ordering->base,
        sb_row_path(ordering->batch, y) + ordering->base, y->entry.path_size - ordering->base);

    /* A row, which has more information, comes before an implied directory. */
    return order ? order : x->implied - y->implied;
}

static bool same_child(const struct sb_rows *batch, const struct sb_row *a, const struct sb_row *b)
{
    return a->entry.type == SB_DIR && b->entry.type == SB_DIR &&
           sb_compare_bytes(sb_row_path(batch, a), a->entry.path_size, sb_row_path(batch, b),
                            b->entry.path_size) == 0;
}

/* Sorts by name and drops implied directories that have a row or are duplicates. */
static void arrange(struct sb_stream *stream)
{
    struct sb_rows *batch = &stream->batch;
    struct ordering ordering = {batch, stream->prefix.size};
    size_t to = 0;

    qsort_r(batch->rows, batch->count, sizeof(*batch->rows), compare_children, &ordering);
    for (size_t from = 0; from < batch->count; from++) {
        if (to > 0 && batch->rows[from].implied &&
            same_child(batch, &batch->rows[to - 1], &batch->rows[from]))
            continue;
        batch->rows[to++] = batch->rows[from];
    }
    batch->count = to;
}

static enum sb_code remember_delivered(struct sb_stream *stream)
{
    const struct sb_rows *batch = &stream->batch;
    const struct sb_row *last = batch->count ? &batch->rows[batch->count - 1] : NULL;

    if (!last)
        return SB_OK;
    stream->any_delivered = true;
    return sb_buf_set(&stream->delivered, sb_row_path(batch, last) + stream->prefix.size,
                      last->entry.path_size - stream->prefix.size);
}

enum sb_code sb_stream_fill_children(struct sb_stream *stream)
{
    sqlite3_stmt *statement = NULL;
    struct sb_entry entry = {.path = ""};
    enum sb_code code;
    bool implied = false;

    sb_rows_begin(&stream->batch);
    code = open_range(stream, &statement);
    while (!code && !sb_rows_is_full(&stream->batch)) {
        code = step(stream, statement, &entry);
        if (!code)
            code = take_child(stream, statement, &entry);
    }
    code = end_scan(stream, statement, code);
    if (!code && stream->implied_wanted)
        code = add_overtaken(stream);
    if (code && code != SB_END)
        return code;
    for (size_t i = 0; i < stream->batch.count && !implied; i++)
        implied = stream->batch.rows[i].implied;
    if (implied)
        arrange(stream);
    return remember_delivered(stream);
}
