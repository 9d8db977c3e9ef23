#include "archive/config.h"

#include "archive/database.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

void sb_config_release(struct sb_config_row *row)
{
    free(row->text);
    *row = (struct sb_config_row){0};
}

/* With the key bound as ?1; *out is NULL after an error. */
static enum sb_code prepare(struct sqlite3 *db, sqlite3_stmt **out, const char *sql,
                            const char *key)
{
    TRY(sb_database_prepare(db, out, sql));
    sqlite3_bind_text(*out, 1, key, -1, SQLITE_STATIC);
    return SB_OK;
}

static enum sb_code take_row(sqlite3_stmt *get, struct sb_config_row *row)
{
    const char *text = (const char *)sqlite3_column_text(get, 0);

    row->there = true;
    row->is_number = sqlite3_column_type(get, 1) == SQLITE_INTEGER;
    row->number = sqlite3_column_int64(get, 1);
    if (text)
        return sb_copy_text(&row->text, text);
    return sqlite3_column_type(get, 0) == SQLITE_NULL ? SB_OK : sb_fail_memory();
}

enum sb_code sb_config_get(struct sqlite3 *db, const char *key, struct sb_config_row *row)
{
    sqlite3_stmt *get;
    enum sb_code code =
        prepare(db, &get, "SELECT value_text, value_int FROM main.config WHERE key = ?1", key);

    *row = (struct sb_config_row){0};
    if (sb_database_row(get, &code))
        code = take_row(get, row);
    sqlite3_finalize(get);
    return code;
}

enum sb_code sb_config_number(struct sqlite3 *db, const char *key, int64_t absent, int64_t *out)
{
    struct sb_config_row row;
    enum sb_code code = sb_config_get(db, key, &row);

    *out = row.is_number ? row.number : absent;
    sb_config_release(&row);
    return code;
}

enum sb_code sb_config_check(struct sqlite3 *db, const char *key, int64_t lowest, int64_t highest,
                             bool *there, bool *right)
{
    struct sb_config_row row;
    enum sb_code code = sb_config_get(db, key, &row);

    *there = row.there;
    *right = row.is_number && row.number >= lowest && row.number <= highest;
    sb_config_release(&row);
    return code;
}

enum sb_code sb_config_put(struct sqlite3 *db, const char *key, const char *text,
                           const int64_t *number)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *put = NULL;

    TRY(prepare(db, &put,
                "INSERT OR REPLACE INTO main.config (key, value_text, value_int)"
                " VALUES (?1, ?2, ?3)",
                key));
    sqlite3_bind_text(put, 2, text, -1, SQLITE_STATIC);
    sb_database_bind_known(put, 3, number != NULL, number ? *number : 0);
    return sb_database_step(put);
}

enum sb_code sb_config_drop(struct sqlite3 *db, const char *key)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *drop = NULL;

    TRY(prepare(db, &drop, "DELETE FROM main.config WHERE key = ?1", key));
    return sb_database_step(drop);
}
