#include "store/names.h"

#include "archive/archive.h"
#include "archive/database.h"
#include "core/name.h"

#include <sqlite3.h>
#include <stdlib.h>

struct sb_names {
    sqlite3 *db;
    sqlite3_stmt *add;
    sqlite3_stmt *find;
    sqlite3_stmt *set_bytes;
    sqlite3_stmt *remove;
    sqlite3_stmt *clear;
};

enum sb_code sb_names_new(struct sb_names **out, const char *beside)
{
    CLEANUP(sb_names_freep) struct sb_names *names = NULL;

    *out = NULL;
    TRY(SB_NEW(&names));
    TRY(SB_TABLES(
        &names->db, beside,
        "BEGIN; CREATE TABLE names (name BLOB PRIMARY KEY, place INTEGER, size INTEGER,"
        " crc32c INTEGER, link INTEGER) WITHOUT ROWID",
        {&names->add, "INSERT OR IGNORE INTO names (name, place) VALUES (?1, ?2)"},
        {&names->find, "SELECT place, size, crc32c, link FROM names WHERE name = ?1"},
        {&names->set_bytes, "UPDATE names SET size = ?2, crc32c = ?3, link = ?4 WHERE name = ?1"},
        {&names->remove, "DELETE FROM names WHERE name = ?1"},
        {&names->clear, "DELETE FROM names"}));
    *out = TAKE(names);
    return SB_OK;
}

void sb_names_free(struct sb_names *names)
{
    if (!names)
        return;
    sb_database_finish(names->db);
    free(names);
}

void sb_names_shrink(struct sb_names *names)
{
    sb_database_shrink(names->db);
}

/* The empty name may have no address, which SQLite would take for NULL. */
static void bind(sqlite3_stmt *statement, const char *name, size_t size)
{
    sqlite3_bind_blob64(statement, 1, size ? name : "", size, SQLITE_STATIC);
}

static enum sb_code add(struct sb_names *names, const char *name, size_t size, int64_t place,
                        bool *before)
{
    enum sb_code code;

    bind(names->add, name, size);
    sqlite3_bind_int64(names->add, 2, place);
    code = sb_database_step(names->add);
    *before = sqlite3_changes(names->db) == 0;
    return code;
}

enum sb_code sb_names_add(struct sb_names *names, const char *name, size_t size, bool *before)
{
    return add(names, name, size, 0, before);
}

enum sb_code sb_names_add_from(struct sb_names *names, const char *name, size_t size, int64_t place,
                               int64_t *first)
{
    bool before;
    enum sb_code code = add(names, name, size, place, &before);

    *first = place;
    return code || !before ? code : sb_names_find(names, name, size, first);
}

enum sb_code sb_names_find(struct sb_names *names, const char *name, size_t size, int64_t *first)
{
    enum sb_code code = SB_OK;

    *first = -1;
    bind(names->find, name, size);
    if (sb_database_row(names->find, &code))
        *first = sqlite3_column_int64(names->find, 0);
    sqlite3_reset(names->find);
    return code;
}

enum sb_code sb_names_set_bytes(struct sb_names *names, const char *name, size_t size,
                                const struct sb_name_bytes *bytes)
{
    bind(names->set_bytes, name, size);
    sqlite3_bind_int64(names->set_bytes, 2, bytes->size);
    sqlite3_bind_int64(names->set_bytes, 3, bytes->crc32c);
    sqlite3_bind_int(names->set_bytes, 4, bytes->link);
    return sb_database_step(names->set_bytes);
}

enum sb_code sb_names_find_bytes(struct sb_names *names, const char *name, size_t size,
                                 struct sb_name_bytes *bytes)
{
    enum sb_code code = SB_OK;

    *bytes = (struct sb_name_bytes){0};
    bind(names->find, name, size);
    if (sb_database_row(names->find, &code))
        *bytes = (struct sb_name_bytes){
            .known = sqlite3_column_type(names->find, 1) == SQLITE_INTEGER,
            .size = sqlite3_column_int64(names->find, 1),
            .crc32c = (uint32_t)sqlite3_column_int64(names->find, 2),
            .link = sqlite3_column_int(names->find, 3) != 0,
        };
    sqlite3_reset(names->find);
    return code;
}

enum sb_code sb_names_put(struct sb_names **names, const char *beside, const char *name,
                          size_t size)
{
    bool before;

    if (!*names)
        TRY(sb_names_new(names, beside));
    return sb_names_add(*names, name, size, &before);
}

enum sb_code sb_names_remove(struct sb_names *names, const char *name, size_t size)
{
    if (!names)
        return SB_OK;
    bind(names->remove, name, size);
    return sb_database_step(names->remove);
}

enum sb_code sb_names_clear(struct sb_names *names)
{
    return names ? sb_database_step(names->clear) : SB_OK;
}

enum sb_code sb_names_has(struct sb_names *names, const char *name, size_t size, bool *has)
{
    int64_t place = -1;

    if (names)
        TRY(sb_names_find(names, name, size, &place));
    *has = place >= 0;
    return SB_OK;
}

enum sb_code sb_names_cover(struct sb_names *names, const char *name, size_t size, bool *covers)
{
    TRY(sb_names_has(names, name, size, covers));
    while (names && !*covers && size > 0) {
        size = sb_parent_size(name, size);
        TRY(sb_names_has(names, name, size, covers));
    }
    return SB_OK;
}

enum sb_code sb_names_add_archive(struct sb_names *names, const char *path)
{
    const struct sb_query files = {.order = SB_BY_PATH, .files = true};
    CLEANUP(sb_archive_freep) struct sb_archive *archive = NULL;
    CLEANUP(sb_cursor_freep) struct sb_cursor *cursor = NULL;
    struct sb_entry entry;
    bool before;
    enum sb_code code;

    TRY(sb_archive_open(&archive, path));
    TRY(sb_cursor_open(&cursor, archive, &files));
    while ((code = sb_cursor_next(cursor, &entry)) == SB_OK) {
        const struct sb_name_bytes bytes = {
            .size = entry.size, .crc32c = entry.crc32c, .link = entry.type == SB_LINK};

        TRY(sb_names_add(names, entry.path, entry.path_size, &before));
        if (entry.has & SB_HAS_CRC)
            TRY(sb_names_set_bytes(names, entry.path, entry.path_size, &bytes));
    }
    return code == SB_END ? SB_OK : code;
}
