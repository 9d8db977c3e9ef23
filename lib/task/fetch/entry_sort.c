#include "task/fetch/entry_sort.h"

#include "archive/database.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

struct sb_entry_sort {
    sqlite3 *db;
    sqlite3_stmt *insert, *select;
};

void sb_entry_sort_free(struct sb_entry_sort *sort)
{
    if (!sort)
        return;
    sqlite3_finalize(sort->insert);
    sqlite3_finalize(sort->select);
    sqlite3_close(sort->db);
    free(sort);
}

enum sb_code sb_entry_sort_new(struct sb_entry_sort **out, bool reversed)
{
    CLEANUP(sb_entry_sort_freep) struct sb_entry_sort *sort = NULL;
    int rc;

    *out = NULL;
    TRY(SB_NEW(&sort));
    /* The empty name is a temporary file that SQLite makes once its cache is full. */
    rc = sqlite3_open_v2("", &sort->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL);
    if (rc == SQLITE_NOMEM)
        return sb_fail_memory();
    if (rc != SQLITE_OK)
        return sb_fail(SB_SYSTEM, "temporary file: %s", sqlite3_errstr(rc));
    TRY(sb_database_run(sort->db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
                                  "CREATE TABLE entries (key, second_key, path BLOB, entry BLOB)"));
    TRY(SB_PREPARE(
        sort->db, {&sort->insert, "INSERT INTO entries VALUES (?1, ?2, ?3, ?4)"},
        {&sort->select,
         reversed ? "SELECT path, entry FROM entries ORDER BY key DESC, second_key DESC, path DESC"
                  : "SELECT path, entry FROM entries ORDER BY key, second_key, path"}));
    *out = TAKE(sort);
    return SB_OK;
}

enum sb_code sb_entry_sort_begin(struct sb_entry_sort *sort)
{
    sqlite3_reset(sort->select);
    if (!sqlite3_get_autocommit(sort->db) && sqlite3_exec(sort->db, "COMMIT", NULL, NULL, NULL))
        return sb_database_fail(sort->db);
    return sb_database_run(sort->db, "DELETE FROM entries; BEGIN");
}

enum sb_code sb_entry_sort_add(struct sb_entry_sort *sort, int64_t key, int64_t second_key,
                               const struct sb_entry *entry)
{
    SB_BIND(sort->insert, key, second_key);
    sqlite3_bind_blob(sort->insert, 3, entry->path, (int)entry->path_size, SQLITE_STATIC);
    sqlite3_bind_blob(sort->insert, 4, entry, sizeof(*entry), SQLITE_STATIC);
    return sb_database_step(sort->insert);
}

enum sb_code sb_entry_sort_next(struct sb_entry_sort *sort, struct sb_entry *entry)
{
    enum sb_code code = SB_OK;

    if (!sb_database_row(sort->select, &code)) {
        sqlite3_reset(sort->select);
        return code ? code : SB_END;
    }
    memcpy(entry, sqlite3_column_blob(sort->select, 1), sizeof(*entry));
    entry->path_size = (size_t)sqlite3_column_bytes(sort->select, 0);
    /* As text it is followed by a NUL. */
    entry->path = (const char *)sqlite3_column_text(sort->select, 0);
    return entry->path ? SB_OK : sb_fail_memory();
}
