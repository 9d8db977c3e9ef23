#include "archive/writer/linked.h"

#include "archive/config.h"
#include "archive/database.h"
#include "core/number.h"
#include "core/time.h"

#include <sqlite3.h>
#include <stdio.h>

#define KEY_SIZE 32

static void make_key(char key[KEY_SIZE], uint32_t shard)
{
    snprintf(key, KEY_SIZE, SB_CONFIG_SOURCE "%05u", shard);
}

bool sb_linked_same_time(const struct sb_linked *linked, const struct stat *st)
{
    return linked->mtime_ns == sb_time_ns(st->st_mtim);
}

static enum sb_code run_for(struct sqlite3 *db, const char *sql, uint32_t shard)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    char key[KEY_SIZE];

    TRY(sb_database_prepare(db, &statement, sql));
    make_key(key, shard);
    sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
    return sb_database_step(statement);
}

enum sb_code sb_linked_record(struct sqlite3 *db, uint32_t shard, const struct stat *st)
{
    char key[KEY_SIZE], mtime[32];
    int64_t size;

    make_key(key, shard);
    if (!st)
        return sb_config_put(db, key, NULL, NULL);
    size = st->st_size;
    snprintf(mtime, sizeof(mtime), "%lld", (long long)sb_time_ns(st->st_mtim));
    return sb_config_put(db, key, mtime, &size);
}

enum sb_code sb_linked_get(struct sqlite3 *db, uint32_t shard, struct sb_linked *out)
{
    struct sb_config_row row;
    char key[KEY_SIZE];
    enum sb_code code;

    make_key(key, shard);
    code = sb_config_get(db, key, &row);
    *out = (struct sb_linked){.recorded = row.there, .size = row.number};
    out->watched = row.is_number && row.number >= 0 && row.text &&
                   sb_parse_integer(row.text, INT64_MIN, INT64_MAX, &out->mtime_ns);
    sb_config_release(&row);
    return code;
}

enum sb_code sb_linked_unwatch(struct sqlite3 *db, uint32_t shard)
{
    return run_for(db,
                   "UPDATE main.config SET value_text = NULL, value_int = NULL WHERE key = ?1"
                   " AND value_int NOT NULL",
                   shard);
}

enum sb_code sb_linked_drop_from(struct sqlite3 *db, uint32_t shard)
{
    return run_for(db,
                   "DELETE FROM main.config WHERE key >= ?1"
                   " AND key GLOB '" SB_CONFIG_SOURCE "[0-9][0-9][0-9][0-9][0-9]'",
                   shard);
}
