#include "archive/own/part.h"

#include "archive/config.h"
#include "archive/database.h"
#include "archive/own/hold.h"
#include "archive/own/own_names.h"
#include "archive/own/state.h"
#include "archive/parity/note.h"
#include "archive/schema.h"
#include "core/array.h"
#include "core/io.h"

#include <errno.h>
#include <sqlite3.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

char *sb_part_path(const char *archive)
{
    CLEANUP(sb_freep) char *path = sb_hold_path(archive);

    return path ? sb_own_name(path, SB_PART) : NULL;
}

enum sb_code sb_part_look(const char *part, bool *there, struct sb_progress *progress)
{
    struct stat st;
    enum sb_code code;

    *there = lstat(part, &st) == 0;
    if (!*there)
        return errno == ENOENT ? SB_OK : sb_fail_errno(errno, "%s", part);
    if (!S_ISREG(st.st_mode))
        return sb_note_fail_not_ours(part);
    code = sb_progress_read(part, progress);
    return code == SB_FORMAT || code == SB_NOENT ? sb_note_fail_not_ours(part) : code;
}

/*
 * Records on disk that it is being removed, before any file is: an incomplete part must not be
 * continued.
 */
static enum sb_code discard(struct sb_hold *hold, sqlite3 *db)
{
    CLEANUP(sb_progress_release) struct sb_progress progress = {0};
    enum sb_code code = sb_progress_load(db, &progress);

    if (code)
        return code == SB_NOENT ? sb_note_fail_not_ours(hold->path) : code;
    TRY(sb_note_begin(&hold->note, SB_AIM_CHANGE, &hold->index));
    progress.state = SB_PROGRESS_DISCARDED;
    TRY(sb_progress_save(db, &progress));
    TRY(sb_database_run(db, "COMMIT"));
    return sb_hold_begin(hold, db);
}

static enum sb_code remove_file(const char *path)
{
    TRY(sb_protect_drop(path));
    return unlink(path) && errno != ENOENT ? sb_fail_errno(errno, "%s", path) : SB_OK;
}

/* The shards that its index counts, then the index. */
static enum sb_code remove_files(const struct sb_hold *hold, sqlite3 *db)
{
    uint32_t count;

    TRY(sb_shard_count_in_use(db, hold->path, &count));
    /* An archive without files has a shard too. */
    for (uint32_t i = count > 0 ? count : 1; i > 0; i--) {
        CLEANUP(sb_freep) char *path = sb_shard_name(hold->path, i - 1);

        TRY(path ? remove_file(path) : sb_error()->code);
    }
    TRY(sb_sync_directory_of(hold->path));
    TRY(remove_file(hold->file));
    return sb_sync_directory_of(hold->path);
}

enum sb_code sb_part_remove(const char *part)
{
    struct sb_hold hold;
    sqlite3 *db;
    enum sb_code code = sb_hold_existing(&hold, &db, part);

    if (code == SB_OK)
        code = discard(&hold, db);
    if (code == SB_OK)
        code = remove_files(&hold, db);
    sb_database_close(db);
    sb_hold_drop(&hold, code != SB_OK);
    return code;
}

/* The numbers, by the ends of their keys. */
static const struct {
    const char *key;
    size_t field;
} numbers[] = {
    {"state", offsetof(struct sb_progress, state)},
    {"checkpoint", offsetof(struct sb_progress, checkpoint)},
    {"begin_shard", offsetof(struct sb_progress, begin.shard)},
    {"begin_offset", offsetof(struct sb_progress, begin.offset)},
    {"input", offsetof(struct sb_progress, input)},
    {"input_shard", offsetof(struct sb_progress, input_begin.shard)},
    {"input_offset", offsetof(struct sb_progress, input_begin.offset)},
    {"members", offsetof(struct sb_progress, members)},
    {"bytes", offsetof(struct sb_progress, bytes)},
    {"problems", offsetof(struct sb_progress, problems)},
    {"commit", offsetof(struct sb_progress, commit)},
};

static const struct {
    const char *key;
    size_t field;
} texts[] = {
    {"asked", offsetof(struct sb_progress, requested)},
    {"last", offsetof(struct sb_progress, last)},
};

void sb_progress_release(struct sb_progress *progress)
{
    sb_buf_release(&progress->requested);
    sb_buf_release(&progress->last);
    *progress = (struct sb_progress){0};
}

static enum sb_code fail_senseless(sqlite3 *db, const char *key)
{
    return sb_fail(SB_DAMAGED, "%s: the config row %s%s makes no sense",
                   sqlite3_db_filename(db, "main"), SB_CONFIG_PROGRESS, key);
}

/* The row with this key; SB_NOENT without one. */
static enum sb_code find(sqlite3_stmt *row, const char *key)
{
    enum sb_code code = SB_OK;

    sqlite3_reset(row);
    sqlite3_bind_text(row, 1, key, -1, SQLITE_STATIC);
    if (sb_database_row(row, &code) || code)
        return code;
    return sb_fail(SB_NOENT, "no run is under way");
}

static enum sb_code load_number(sqlite3_stmt *row, const char *key, int64_t *out)
{
    enum sb_code code = find(row, key);

    if (code == SB_OK)
        *out = sqlite3_column_int64(row, 1);
    if (code == SB_NOENT ||
        (code == SB_OK && (sqlite3_column_type(row, 1) != SQLITE_INTEGER || *out < 0)))
        return fail_senseless(sqlite3_db_handle(row), key);
    return code;
}

static enum sb_code load_text(sqlite3_stmt *row, const char *key, struct sb_buf *out)
{
    enum sb_code code = find(row, key);

    if (code == SB_NOENT || (code == SB_OK && sqlite3_column_type(row, 0) != SQLITE_TEXT))
        return fail_senseless(sqlite3_db_handle(row), key);
    TRY(code);
    return sb_buf_set(out, (const char *)sqlite3_column_text(row, 0),
                      (size_t)sqlite3_column_bytes(row, 0));
}

static enum sb_code load_all(sqlite3_stmt *row, struct sb_progress *progress)
{
    TRY(find(row, "state"));
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        TRY(load_number(row, numbers[i].key,
                        (int64_t *)(void *)((char *)progress + numbers[i].field)));
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        TRY(load_text(row, texts[i].key,
                      (struct sb_buf *)(void *)((char *)progress + texts[i].field)));
    if (progress->state > SB_PROGRESS_DISCARDED || progress->checkpoint == 0)
        return fail_senseless(sqlite3_db_handle(row), "state");
    return SB_OK;
}

enum sb_code sb_progress_load(struct sqlite3 *db, struct sb_progress *progress)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *row = NULL;
    enum sb_code code;

    TRY(sb_database_prepare(db, &row,
                            "SELECT value_text, value_int FROM main.config"
                            " WHERE key = '" SB_CONFIG_PROGRESS "' || ?1"));
    code = load_all(row, progress);
    if (code)
        sb_progress_release(progress);
    return code;
}

enum sb_code sb_progress_read(const char *file, struct sb_progress *progress)
{
    CLEANUP(sb_database_closep) sqlite3 *db = NULL;
    enum sb_schema schema;
    int major, minor;

    TRY(sb_database_open(&db, file, SB_DB_READ));
    /* All rows are of one commit. */
    TRY(sb_database_run(db, "BEGIN"));
    TRY(sb_schema_vet(db, &schema, &major, &minor, true));
    return schema == SB_SCHEMA_03 ? sb_progress_load(db, progress)
                                  : sb_fail(SB_NOENT, "no run is under way");
}

static enum sb_code put(sqlite3_stmt *add, const char *key, const struct sb_buf *text,
                        const int64_t *number)
{
    sqlite3_bind_text(add, 1, key, -1, SQLITE_STATIC);
    if (text)
        sqlite3_bind_text(add, 2, text->data ? text->data : "", (int)text->size, SQLITE_STATIC);
    else
        sqlite3_bind_null(add, 2);
    sb_database_bind_known(add, 3, number != NULL, number ? *number : 0);
    return sb_database_step(add);
}

enum sb_code sb_progress_save(struct sqlite3 *db, const struct sb_progress *progress)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *add = NULL;

    TRY(sb_database_run(db, "DELETE FROM main.config WHERE key GLOB '" SB_CONFIG_PROGRESS "*'"));
    if (!progress)
        return SB_OK;
    TRY(sb_database_prepare(db, &add,
                            "INSERT INTO main.config (key, value_text, value_int)"
                            " VALUES ('" SB_CONFIG_PROGRESS "' || ?1, ?2, ?3)"));
    for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
        TRY(put(add, numbers[i].key, NULL,
                (const int64_t *)(const void *)((const char *)progress + numbers[i].field)));
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
        TRY(put(add, texts[i].key,
                (const struct sb_buf *)(const void *)((const char *)progress + texts[i].field),
                NULL));
    return SB_OK;
}
