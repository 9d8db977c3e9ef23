#include "task/transfer/seen.h"

#include "archive/archive.h"
#include "archive/database.h"

#include <sqlite3.h>
#include <stdlib.h>

const char *const sb_duplicate_words[] = {"error", "first", "last", NULL};

struct sb_seen {
    sqlite3 *db;
    sqlite3_stmt *add;
    sqlite3_stmt *find;
    sqlite3_stmt *set_bytes;
};

enum sb_code sb_seen_new(struct sb_seen **out, const char *beside)
{
    CLEANUP(sb_seen_freep) struct sb_seen *seen = calloc(1, sizeof(*seen));

    *out = NULL;
    if (!seen)
        return sb_fail_memory();
    TRY(SB_TABLES(
        &seen->db, beside,
        "BEGIN; CREATE TABLE seen (name BLOB PRIMARY KEY, place INTEGER, size INTEGER,"
        " crc32c INTEGER, link INTEGER) WITHOUT ROWID",
        {&seen->add, "INSERT OR IGNORE INTO seen (name, place) VALUES (?1, ?2)"},
        {&seen->find, "SELECT place, size, crc32c, link FROM seen WHERE name = ?1"},
        {&seen->set_bytes, "UPDATE seen SET size = ?2, crc32c = ?3, link = ?4 WHERE name = ?1"}));
    *out = TAKE(seen);
    return SB_OK;
}

void sb_seen_free(struct sb_seen *seen)
{
    if (!seen)
        return;
    sqlite3_finalize(seen->add);
    sqlite3_finalize(seen->find);
    sqlite3_finalize(seen->set_bytes);
    sb_database_close(seen->db);
    free(seen);
}

void sb_seen_shrink(struct sb_seen *seen)
{
    sb_database_shrink(seen->db);
}

static enum sb_code add(struct sb_seen *seen, const char *name, size_t size, int64_t place,
                        bool *before)
{
    int result = sqlite3_bind_blob64(seen->add, 1, name, size, SQLITE_STATIC);

    sqlite3_bind_int64(seen->add, 2, place);
    if (result == SQLITE_OK)
        result = sqlite3_step(seen->add);
    *before = sqlite3_changes(seen->db) == 0;
    if (result != SQLITE_DONE)
        sb_database_fail(seen->db);
    sqlite3_reset(seen->add);
    return result == SQLITE_DONE ? SB_OK : sb_error()->code;
}

enum sb_code sb_seen_add(struct sb_seen *seen, const char *name, size_t size, bool *before)
{
    return add(seen, name, size, 0, before);
}

enum sb_code sb_seen_add_from(struct sb_seen *seen, const char *name, size_t size, int64_t place,
                              int64_t *first)
{
    bool before;
    enum sb_code code = add(seen, name, size, place, &before);

    *first = place;
    return code || !before ? code : sb_seen_find(seen, name, size, first);
}

enum sb_code sb_seen_find(struct sb_seen *seen, const char *name, size_t size, int64_t *first)
{
    enum sb_code code = sqlite3_bind_blob64(seen->find, 1, name, size, SQLITE_STATIC)
                            ? sb_database_fail(seen->db)
                            : SB_OK;

    *first = -1;
    if (sb_database_row(seen->find, &code))
        *first = sqlite3_column_int64(seen->find, 0);
    sqlite3_reset(seen->find);
    return code;
}

enum sb_code sb_seen_set_bytes(struct sb_seen *seen, const char *name, size_t size,
                               const struct sb_seen_bytes *bytes)
{
    sqlite3_bind_blob64(seen->set_bytes, 1, name, size, SQLITE_STATIC);
    sqlite3_bind_int64(seen->set_bytes, 2, bytes->size);
    sqlite3_bind_int64(seen->set_bytes, 3, bytes->crc32c);
    sqlite3_bind_int(seen->set_bytes, 4, bytes->link);
    return sb_database_step(seen->set_bytes);
}

enum sb_code sb_seen_find_bytes(struct sb_seen *seen, const char *name, size_t size,
                                struct sb_seen_bytes *bytes)
{
    enum sb_code code = SB_OK;

    *bytes = (struct sb_seen_bytes){0};
    sqlite3_bind_blob64(seen->find, 1, name, size, SQLITE_STATIC);
    if (sb_database_row(seen->find, &code))
        *bytes = (struct sb_seen_bytes){
            .known = sqlite3_column_type(seen->find, 1) == SQLITE_INTEGER,
            .size = sqlite3_column_int64(seen->find, 1),
            .crc32c = (uint32_t)sqlite3_column_int64(seen->find, 2),
            .link = sqlite3_column_int(seen->find, 3) != 0,
        };
    sqlite3_reset(seen->find);
    return code;
}

enum sb_code sb_seen_add_archive(struct sb_seen *seen, const char *path)
{
    const struct sb_query names = {.order = SB_BY_PATH, .files = true};
    CLEANUP(sb_archive_freep) struct sb_archive *archive = NULL;
    CLEANUP(sb_cursor_freep) struct sb_cursor *cursor = NULL;
    struct sb_entry entry;
    bool before;
    enum sb_code code;

    TRY(sb_archive_open(&archive, path));
    TRY(sb_cursor_open(&cursor, archive, &names));
    while ((code = sb_cursor_next(cursor, &entry)) == SB_OK) {
        const struct sb_seen_bytes bytes = {
            .size = entry.size, .crc32c = entry.crc32c, .link = entry.type == SB_LINK};

        TRY(sb_seen_add(seen, entry.path, entry.path_size, &before));
        if (entry.has & SB_HAS_CRC)
            TRY(sb_seen_set_bytes(seen, entry.path, entry.path_size, &bytes));
    }
    return code == SB_END ? SB_OK : code;
}
