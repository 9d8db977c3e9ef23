#include "store/samples/samples.h"

#include "archive/database.h"
#include "core/buf.h"
#include "core/interrupt.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#define FILES_BETWEEN 65536 /* looks whether a signal came */

struct sb_samples {
    struct sb_archive *archive;
    sqlite3 *db;
    sqlite3_stmt *find;
    int64_t count;

    struct sb_buf name;       /* of the sample at hand: SB_BY_PATH files begin with it */
    struct sb_cursor *cursor; /* NULL: it is a file of its own, */
    bool given;               /* which was given */
};

size_t sb_sample_name_size(const char *path, size_t size)
{
    const char *slash = memrchr(path, '/', size);
    const char *last = slash ? slash + 1 : path;
    const char *dot = memchr(last, '.', size - (size_t)(last - path));

    return dot && dot > last ? (size_t)(dot - path) + 1 : size;
}

void sb_samples_free(struct sb_samples *samples)
{
    if (!samples)
        return;
    sb_cursor_free(samples->cursor);
    sqlite3_finalize(samples->find);
    sb_database_close(samples->db);
    sb_buf_release(&samples->name);
    free(samples);
}

/* A sample has its number when its first file comes. */
static enum sb_code number_samples(struct sb_samples *samples, struct sb_cursor *cursor,
                                   sqlite3_stmt *add, struct sb_error *err)
{
    struct sb_entry entry;
    int64_t between = 0;
    enum sb_code code;

    while (!(code = sb_cursor_next(cursor, &entry, err))) {
        size_t size = sb_sample_name_size(entry.path, entry.path_size);

        if (between++ % FILES_BETWEEN == 0 && sb_interrupted())
            return sb_fail(err, SB_INTERRUPT, "interrupted");
        /* Neighbours are mostly of one sample. */
        if (entry.type != SB_FILE || entry.defect ||
            (samples->name.size == size && memcmp(samples->name.data, entry.path, size) == 0))
            continue;
        if (sb_buf_set(&samples->name, entry.path, size))
            return sb_fail_memory(err);
        sqlite3_bind_int64(add, 1, samples->count);
        sqlite3_bind_blob(add, 2, samples->name.data, (int)size, SQLITE_STATIC);
        code = sb_database_step(add, err);
        if (code)
            return code;
        samples->count += sqlite3_changes(samples->db);
    }
    return code == SB_END ? SB_OK : code;
}

static enum sb_code look_through(struct sb_samples *samples, struct sb_error *err)
{
    const struct sb_query files = {.order = SB_BY_ADDRESS, .files = true, .all_shards = true};
    struct sb_cursor *cursor = NULL;
    sqlite3_stmt *add = NULL;
    enum sb_code code = sb_database_prepare(samples->db, &add,
                                            "INSERT OR IGNORE INTO samples VALUES (?1, ?2)", err);

    if (!code)
        code = sb_cursor_open(&cursor, samples->archive, &files, err);
    if (!code)
        code = number_samples(samples, cursor, add, err);
    sb_cursor_free(cursor);
    sqlite3_finalize(add);
    return code;
}

enum sb_code sb_samples_open(struct sb_samples **out, struct sb_archive *archive,
                             const char *beside, struct sb_error *err)
{
    struct sb_samples *samples = calloc(1, sizeof(*samples));
    enum sb_code code;

    *out = NULL;
    if (!samples)
        return sb_fail_memory(err);
    samples->archive = archive;
    code = sb_database_open_private(&samples->db, beside, err);
    if (!code)
        code =
            sb_database_run(samples->db,
                            "CREATE TABLE samples (number INTEGER PRIMARY KEY, name BLOB UNIQUE);"
                            " BEGIN",
                            err);
    if (!code)
        code = look_through(samples, err);
    if (!code)
        code = sb_database_prepare(samples->db, &samples->find,
                                   "SELECT name FROM samples WHERE number = ?1", err);
    if (code)
        sb_samples_free(samples);
    else
        *out = samples;
    return code;
}

int64_t sb_samples_count(const struct sb_samples *samples)
{
    return samples->count;
}

static enum sb_code read_name(struct sb_samples *samples, int64_t number, struct sb_error *err)
{
    enum sb_code code = SB_OK;

    sqlite3_bind_int64(samples->find, 1, number);
    if (sqlite3_step(samples->find) != SQLITE_ROW)
        code = sb_database_fail(samples->db, err);
    else if (sb_buf_set(&samples->name, sqlite3_column_blob(samples->find, 0),
                        (size_t)sqlite3_column_bytes(samples->find, 0)))
        code = sb_fail_memory(err);
    sqlite3_reset(samples->find);
    return code;
}

enum sb_code sb_samples_seek(struct sb_samples *samples, int64_t number, struct sb_error *err)
{
    struct sb_query query = {.order = SB_BY_PATH, .files = true, .names_only = true};

    sb_cursor_free(samples->cursor);
    samples->cursor = NULL;
    samples->given = false;
    if (read_name(samples, number, err))
        return err->code;
    if (samples->name.size == 0 || samples->name.data[samples->name.size - 1] != '.')
        return SB_OK;
    query.prefix = samples->name.data;
    return sb_cursor_open(&samples->cursor, samples->archive, &query, err);
}

enum sb_code sb_samples_next(struct sb_samples *samples, const char **path, size_t *size,
                             struct sb_error *err)
{
    struct sb_entry entry = {.path = samples->name.data, .path_size = samples->name.size};
    enum sb_code code = SB_OK;

    if (!samples->cursor && samples->given)
        return err->code = SB_END;
    samples->given = true;
    /* A directory may be called as a sample is, "0017.more/x"; what is in it is of others. */
    while (!code && samples->cursor) {
        code = sb_cursor_next(samples->cursor, &entry, err);
        if (!code && sb_sample_name_size(entry.path, entry.path_size) == samples->name.size)
            break;
    }
    *path = entry.path;
    *size = entry.path_size;
    return code;
}
