#include "archive/own/state.h"

#include "archive/config.h"
#include "archive/database.h"
#include "archive/own/own_names.h"
#include "core/array.h"
#include "core/name.h"

#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

enum sb_code sb_shard_count_stated(struct sqlite3 *db, const char *name, int64_t *count)
{
    CLEANUP(sb_config_release) struct sb_config_row row = {0};
    int64_t has_config;

    *count = -1;
    TRY(sb_database_integer(
        db, "SELECT 1 FROM main.sqlite_schema WHERE type = 'table' AND name = 'config'", 0,
        &has_config));
    if (has_config)
        TRY(sb_config_get(db, SB_CONFIG_SHARD_COUNT, &row));
    if (!row.there)
        return SB_OK;
    *count = row.number;
    if (!row.is_number || row.number < 0 || row.number > SB_SHARD_MAX + 1)
        return sb_fail(SB_DAMAGED, "%s: the config row %s makes no sense; run 'shardbox upgrade'",
                       name, SB_CONFIG_SHARD_COUNT);
    return SB_OK;
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

enum sb_code sb_shard_count_existing(struct sqlite3 *db, const char *path, uint32_t *count)
{
    uint32_t filled;

    TRY(sb_shard_count_in_use(db, path, count));
    TRY(sb_shard_count_filled(db, path, &filled));
    for (; *count > filled; --*count) {
        CLEANUP(sb_freep) char *file = sb_shard_name(path, *count - 1);
        struct stat st;

        if (!file)
            return sb_error()->code;
        if (lstat(file, &st) == 0)
            break;
    }
    return SB_OK;
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

enum sb_code sb_pending_refuse_shards(const char *archive, uint32_t from)
{
    bool there = true;

    for (uint32_t i = from; (there || i < from + 2) && i <= SB_SHARD_MAX; i++) {
        CLEANUP(sb_named_release) struct sb_named shard = {0};

        TRY(sb_look_at_shard(&shard, archive, "", i));
        there = shard.look.there;
        if (from == 0 && there)
            return sb_fail(SB_EXISTS,
                           "%s: no index says what is in %s, and it may be data; move it away, or "
                           "choose another name for the archive",
                           archive, sb_base_name(shard.path));
        /* An empty file is not in the way. */
        if (there && !sb_is_empty_file(&shard.look))
            return sb_fail(SB_EXISTS,
                           "%s: no index says what is in %s, and it may be data; move it away, or, "
                           "if it was this archive's, run 'shardbox defrag --force %s'",
                           archive, sb_base_name(shard.path), archive);
    }
    return SB_OK;
}

const char *sb_pending_suffix(const char *prefix, const char *base, size_t base_size)
{
    static const char *const suffixes[] = {SB_NEW_SUFFIX, SB_PART, ""};

    if (!prefix || strncmp(prefix, base, base_size) != 0)
        return NULL;
    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
        if (strcmp(prefix + base_size, suffixes[i]) == 0)
            return suffixes[i];
    }
    return NULL;
}

enum sb_code sb_pending_record(struct sqlite3 *db, const char *prefix, uint32_t count)
{
    int64_t wide = count;

    return sb_config_put(db, SB_CONFIG_SHARD_PREFIX, strrchr(prefix, '/') + 1, &wide);
}

enum sb_code sb_pending_read(struct sqlite3 *db, const char *archive, struct sb_pending *pending)
{
    CLEANUP(sb_config_release) struct sb_config_row row = {0};
    const char *base = sb_base_name(archive), *suffix;

    *pending = (struct sb_pending){0};
    TRY(sb_config_get(db, SB_CONFIG_SHARD_PREFIX, &row));
    if (!row.there)
        return SB_OK;
    suffix = sb_pending_suffix(row.text, base, strlen(base));
    if (!suffix || row.number < 1 || row.number > SB_SHARD_MAX + 1)
        return sb_fail(SB_DAMAGED, "%s: the config row %s makes no sense", archive,
                       SB_CONFIG_SHARD_PREFIX);
    if (*suffix)
        *pending = (struct sb_pending){.count = (uint32_t)row.number, .suffix = suffix};
    return SB_OK;
}

enum sb_code sb_remade_record(const char *index, int64_t time)
{
    CLEANUP(sb_database_closep) sqlite3 *db = NULL;

    TRY(sb_database_open(&db, index, SB_DB_WRITE));
    TRY(sb_database_run(db, "PRAGMA journal_mode=MEMORY; BEGIN IMMEDIATE"));
    TRY(sb_config_put(db, SB_CONFIG_REMADE, NULL, &time));
    return sb_database_run(db, "COMMIT");
}

enum sb_code sb_remade_read(struct sqlite3 *db, int64_t *time)
{
    return sb_config_number(db, SB_CONFIG_REMADE, 0, time);
}

enum sb_code sb_remade_refuse(struct sqlite3 *db, const char *path)
{
    int64_t time;

    TRY(sb_remade_read(db, &time));
    if (time == 0)
        return SB_OK;
    return sb_fail(SB_INVALID,
                   "%s: its index was lost, and made again as it was before: its shards may have "
                   "files that it does not know, which this could destroy; if it is right as it "
                   "is, 'shardbox upgrade --accept' says so",
                   path);
}
