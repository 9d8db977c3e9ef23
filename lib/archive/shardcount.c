#include "archive/shardcount.h"

#include "archive/database.h"
#include "archive/shards.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static enum sb_code has_config(struct sqlite3 *db, int64_t *has, struct sb_error *err)
{
    return sb_database_integer(
        db, "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = 'config'", 0, has,
        err);
}

enum sb_code sb_shard_count_stated(struct sqlite3 *db, const char *name, int64_t *count,
                                   struct sb_error *err)
{
    sqlite3_stmt *row;
    int64_t has;
    enum sb_code code = has_config(db, &has, err);
    int rc;

    *count = -1;
    if (code || !has)
        return code;
    code = sb_database_prepare(
        db, &row, "SELECT value_int FROM main.config WHERE key = '" SB_SHARD_COUNT_KEY "'", err);
    if (code)
        return code;
    rc = sqlite3_step(row);
    if (rc == SQLITE_ROW) {
        *count = sqlite3_column_int64(row, 0);
        if (sqlite3_column_type(row, 0) != SQLITE_INTEGER || *count < 0 ||
            *count > SB_SHARD_MAX + 1)
            code = sb_fail(err, SB_DAMAGED,
                           "%s: the config row %s makes no sense; run 'shardbox upgrade'", name,
                           SB_SHARD_COUNT_KEY);
    } else if (rc != SQLITE_DONE) {
        code = sb_database_fail(db, err);
    }
    sqlite3_finalize(row);
    return code;
}

/* One more than the highest shard that a file is in. */
static enum sb_code count_filled(struct sqlite3 *db, const char *name, uint32_t *count,
                                 struct sb_error *err)
{
    int64_t last;
    enum sb_code code =
        sb_database_integer(db, "SELECT max(shard) FROM main.files", -1, &last, err);

    if (code)
        return code;
    if (last < -1 || last > SB_SHARD_MAX)
        return sb_fail(err, SB_DAMAGED, "%s: a file is in shard %lld, which cannot be", name,
                       (long long)last);
    *count = (uint32_t)(last + 1);
    return SB_OK;
}

enum sb_code sb_shard_count_in_use(struct sqlite3 *db, const char *name, uint32_t *count,
                                   struct sb_error *err)
{
    int64_t stated;
    enum sb_code code = sb_shard_count_stated(db, name, &stated, err);

    if (code == SB_OK)
        code = count_filled(db, name, count, err);
    if (code == SB_OK && stated > *count)
        *count = (uint32_t)stated;
    return code;
}

static enum sb_code is_there(const char *path, uint32_t shard, bool *there, struct sb_error *err)
{
    struct stat st;
    char *file;

    if (asprintf(&file, "%s-shard-%05u", path, shard) < 0)
        return sb_fail_memory(err);
    *there = lstat(file, &st) == 0;
    free(file);
    return SB_OK;
}

enum sb_code sb_shard_count_standing(struct sqlite3 *db, const char *path, uint32_t *count,
                                     struct sb_error *err)
{
    uint32_t filled;
    bool there = false;
    enum sb_code code = sb_shard_count_in_use(db, path, count, err);

    if (code == SB_OK)
        code = count_filled(db, path, &filled, err);
    while (code == SB_OK && !there && *count > filled) {
        code = is_there(path, *count - 1, &there, err);
        *count -= !there;
    }
    return code;
}

enum sb_code sb_shard_count_record(struct sqlite3 *db, uint32_t count, struct sb_error *err)
{
    sqlite3_stmt *put;
    int64_t last;
    enum sb_code code =
        sb_database_integer(db, "SELECT max(shard) FROM main.files", -1, &last, err);

    if (code)
        return code;
    /* An archive without files has a shard all the same. */
    if (count <= 1 || count <= last + 1)
        return sb_database_run(db, "DELETE FROM main.config WHERE key = '" SB_SHARD_COUNT_KEY "'",
                               err);
    code = sb_database_prepare(db, &put,
                               "INSERT OR REPLACE INTO main.config (key, value_int)"
                               " VALUES ('" SB_SHARD_COUNT_KEY "', ?1)",
                               err);
    if (code)
        return code;
    sqlite3_bind_int64(put, 1, count);
    code = sb_database_step(put, err);
    sqlite3_finalize(put);
    return code;
}
