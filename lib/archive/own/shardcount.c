#include "archive/own/shardcount.h"

#include "archive/config.h"
#include "archive/database.h"
#include "archive/shards.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static enum sb_code has_config(struct sqlite3 *db, int64_t *has)
{
    return sb_database_integer(
        db, "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = 'config'", 0, has);
}

enum sb_code sb_shard_count_stated(struct sqlite3 *db, const char *name, int64_t *count)
{
    struct sb_config_row row = {0};
    int64_t has;
    enum sb_code code = has_config(db, &has);

    *count = -1;
    if (code == SB_OK && has)
        code = sb_config_get(db, SB_CONFIG_SHARD_COUNT, &row);
    if (code == SB_OK && row.there) {
        *count = row.number;
        if (!row.is_number || row.number < 0 || row.number > SB_SHARD_MAX + 1)
            code =
                sb_fail(SB_DAMAGED, "%s: the config row %s makes no sense; run 'shardbox upgrade'",
                        name, SB_CONFIG_SHARD_COUNT);
    }
    sb_config_release(&row);
    return code;
}

enum sb_code sb_shard_count_filled(struct sqlite3 *db, const char *name, uint32_t *count)
{
    int64_t last;

    TRY(sb_database_integer(db, "SELECT max(shard) FROM main.files", -1, &last));
    if (last < -1 || last > SB_SHARD_MAX)
        return sb_fail(SB_DAMAGED, "%s: a file is in shard %lld, which cannot be", name,
                       (long long)last);
    *count = (uint32_t)(last + 1);
    return SB_OK;
}

enum sb_code sb_shard_count_in_use(struct sqlite3 *db, const char *name, uint32_t *count)
{
    int64_t stated;

    TRY(sb_shard_count_stated(db, name, &stated));
    TRY(sb_shard_count_filled(db, name, count));
    if (stated > *count)
        *count = (uint32_t)stated;
    return SB_OK;
}

static enum sb_code is_there(const char *path, uint32_t shard, bool *there)
{
    char *file = sb_shard_name(path, shard);
    struct stat st;

    if (!file)
        return sb_error()->code;
    *there = lstat(file, &st) == 0;
    free(file);
    return SB_OK;
}

enum sb_code sb_shard_count_existing(struct sqlite3 *db, const char *path, uint32_t *count)
{
    uint32_t filled;
    bool there = false;
    enum sb_code code = sb_shard_count_in_use(db, path, count);

    if (code == SB_OK)
        code = sb_shard_count_filled(db, path, &filled);
    while (code == SB_OK && !there && *count > filled) {
        code = is_there(path, *count - 1, &there);
        *count -= !there;
    }
    return code;
}

enum sb_code sb_shard_count_record(struct sqlite3 *db, uint32_t count)
{
    int64_t wide = count;
    uint32_t filled;

    TRY(sb_shard_count_filled(db, sqlite3_db_filename(db, "main"), &filled));
    /* An archive without files has a shard too. */
    if (count <= 1 || count <= filled)
        return sb_config_drop(db, SB_CONFIG_SHARD_COUNT);
    return sb_config_put(db, SB_CONFIG_SHARD_COUNT, NULL, &wide);
}
