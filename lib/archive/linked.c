#include "archive/linked.h"

#include "archive/database.h"
#include "core/number.h"

#include <sqlite3.h>
#include <stdio.h>

#define KEY_ROOM 32

/* Binds it as ?1; `key` must stand until the statement was run. */
static void bind_key(sqlite3_stmt *statement, uint32_t shard, char key[KEY_ROOM])
{
    snprintf(key, KEY_ROOM, "shardbox_source_%05u", shard);
    sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
}

static int64_t mtime_of(const struct stat *st)
{
    int64_t seconds = st->st_mtim.tv_sec, result;

    if (__builtin_mul_overflow(seconds, 1000000000, &result) ||
        __builtin_add_overflow(result, st->st_mtim.tv_nsec, &result))
        return seconds < 0 ? INT64_MIN : INT64_MAX;
    return result;
}

bool sb_linked_same_time(const struct sb_linked *linked, const struct stat *st)
{
    return linked->mtime_ns == mtime_of(st);
}

static enum sb_code run_for(struct sqlite3 *db, const char *sql, uint32_t shard,
                            struct sb_error *err)
{
    sqlite3_stmt *statement;
    char key[KEY_ROOM];
    enum sb_code code = sb_database_prepare(db, &statement, sql, err);

    if (code)
        return code;
    bind_key(statement, shard, key);
    code = sb_database_step(statement, err);
    sqlite3_finalize(statement);
    return code;
}

enum sb_code sb_linked_record(struct sqlite3 *db, uint32_t shard, const struct stat *st,
                              struct sb_error *err)
{
    sqlite3_stmt *put;
    char key[KEY_ROOM], mtime[32];
    enum sb_code code = sb_database_prepare(
        db, &put,
        "INSERT OR REPLACE INTO main.config (key, value_text, value_int) VALUES (?1, ?2, ?3)", err);

    if (code)
        return code;
    bind_key(put, shard, key);
    if (st) {
        snprintf(mtime, sizeof(mtime), "%lld", (long long)mtime_of(st));
        sqlite3_bind_text(put, 2, mtime, -1, SQLITE_STATIC);
        sqlite3_bind_int64(put, 3, st->st_size);
    }
    code = sb_database_step(put, err);
    sqlite3_finalize(put);
    return code;
}

enum sb_code sb_linked_get(struct sqlite3 *db, uint32_t shard, struct sb_linked *out,
                           struct sb_error *err)
{
    sqlite3_stmt *get;
    char key[KEY_ROOM];
    const char *mtime;
    enum sb_code code = sb_database_prepare(
        db, &get, "SELECT value_text, value_int FROM main.config WHERE key = ?1", err);
    int rc;

    *out = (struct sb_linked){0};
    if (code)
        return code;
    bind_key(get, shard, key);
    rc = sqlite3_step(get);
    if (rc == SQLITE_ROW) {
        mtime = (const char *)sqlite3_column_text(get, 0);
        out->recorded = true;
        out->size = sqlite3_column_int64(get, 1);
        out->watched = sqlite3_column_type(get, 1) == SQLITE_INTEGER && out->size >= 0 && mtime &&
                       sb_parse_integer(mtime, INT64_MIN, INT64_MAX, &out->mtime_ns);
    } else if (rc != SQLITE_DONE) {
        code = sb_database_fail(db, err);
    }
    sqlite3_finalize(get);
    return code;
}

enum sb_code sb_linked_unwatch(struct sqlite3 *db, uint32_t shard, struct sb_error *err)
{
    return run_for(db,
                   "UPDATE main.config SET value_text = NULL, value_int = NULL WHERE key = ?1"
                   " AND value_int NOT NULL",
                   shard, err);
}

enum sb_code sb_linked_drop_from(struct sqlite3 *db, uint32_t shard, struct sb_error *err)
{
    return run_for(db,
                   "DELETE FROM main.config WHERE key >= ?1"
                   " AND key GLOB 'shardbox_source_[0-9][0-9][0-9][0-9][0-9]'",
                   shard, err);
}
