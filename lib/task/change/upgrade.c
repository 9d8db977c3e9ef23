#include "task/change/change.h"

#include "archive/checksum.h"
#include "archive/config.h"
#include "archive/database.h"
#include "archive/journal.h"
#include "archive/own/own_names.h"
#include "archive/schema.h"
#include "archive/shards.h"
#include "core/file_lock.h"
#include "core/io.h"
#include "core/number.h"
#include "task/change/impl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* What is lost at most when a run is killed. */
#define BATCH_FILES 50000
#define BATCH_BYTES ((int64_t)8 << 30)

struct batch {
    struct upgrade *upgrade;
    sqlite3 *db;
    sqlite3_stmt *rows;
    sqlite3_stmt *put;
    int64_t last; /* row number that the next batch begins after */
    int64_t files;
    int64_t bytes; /* of this batch, and */
    int64_t all_bytes;
    int64_t all_files;
    bool more; /* it ended because it was full */
};

static enum sb_code put_sum(struct batch *batch, int64_t id, uint32_t crc)
{
    TRY(SB_RUN(batch->put, id, crc));
    batch->upgrade->result->checksums++;
    return SB_OK;
}

/* Fills extent from the row; false if its values cannot be those of an extent. */
static bool take_row(sqlite3_stmt *row, struct sb_checksum_extent *extent)
{
    int64_t shard = sqlite3_column_int64(row, 2);

    extent->id = sqlite3_column_int64(row, 0);
    extent->name = (const char *)sqlite3_column_text(row, 1);
    extent->name_size = (size_t)sqlite3_column_bytes(row, 1);
    extent->offset = sqlite3_column_int64(row, 3);
    extent->size = sqlite3_column_int64(row, 4);
    extent->shard = (uint32_t)shard;
    if (!extent->name)
        extent->name = "";
    for (int i = 2; i <= 4; i++) {
        if (sqlite3_column_type(row, i) != SQLITE_INTEGER)
            return false;
    }
    return shard >= 0 && shard <= SB_SHARD_MAX && extent->offset >= 0 && extent->size >= 0 &&
           extent->size <= INT64_MAX - extent->offset;
}

static enum sb_code next(void *context, struct sb_checksum_extent *extent)
{
    struct batch *batch = context;
    enum sb_code code = SB_OK;

    while (batch->files < BATCH_FILES && batch->bytes < BATCH_BYTES) {
        bool usable;

        if (!sb_database_row(batch->rows, &code))
            return code ? code : SB_END;
        usable = take_row(batch->rows, extent);
        batch->last = extent->id;
        if (!usable) {
            sb_report(batch->upgrade->notify, SB_PROBLEM, "row", extent->name,
                      "its row cannot be used, so it gets no checksum; run 'shardbox verify'");
            continue;
        }
        batch->files++;
        sb_count_up(&batch->bytes, extent->size);
        if (extent->size > 0)
            return SB_OK;
        TRY(put_sum(batch, extent->id, 0));
    }
    batch->more = true;
    return SB_END;
}

static enum sb_code done(void *context, const struct sb_checksum_extent *extent, uint32_t crc,
                         const struct sb_error *failure)
{
    struct batch *batch = context;

    batch->all_files++;
    if (!failure)
        return put_sum(batch, extent->id, crc);
    sb_report(batch->upgrade->notify, SB_PROBLEM, "unreadable", extent->name,
              "gets no checksum, for it cannot be read: %s", failure->text);
    return SB_OK;
}

static void passed(void *context, int64_t size)
{
    struct batch *batch = context;
    const struct sb_upgrade_options *options = batch->upgrade->options;

    sb_count_up(&batch->all_bytes, size);
    if (options->progress)
        options->progress(options->progress_context, batch->all_bytes, batch->all_files);
}

static enum sb_code prepare(struct batch *batch)
{
    TRY(sb_database_run(batch->db,
                        "PRAGMA synchronous=EXTRA;"
                        "CREATE TEMP TABLE sums (id INTEGER PRIMARY KEY, crc32c INTEGER)"));
    return SB_PREPARE(batch->db,
                      {&batch->rows, "SELECT rowid, path, shard, offset, size FROM main.files"
                                     " WHERE rowid > ?1 AND crc32c IS NULL ORDER BY rowid"},
                      {&batch->put, "INSERT INTO temp.sums VALUES (?1, ?2)"});
}

/*
 * Under the archive's lock. Sums are kept in a temporary table, so that only the commit locks out
 * readers. Shards are reopened for each batch: between two of them another writer may have moved
 * bytes.
 */
static enum sb_code run_batch(struct batch *batch)
{
    static const struct sb_checksum_ops ops = {.next = next, .done = done, .passed = passed};
    const struct upgrade *upgrade = batch->upgrade;
    CLEANUP(sb_archive_freep) struct sb_archive *archive = NULL;
    CLEANUP(sb_shards_freep) struct sb_shards *shards = NULL;
    enum sb_code code;

    batch->more = false;
    batch->files = 0;
    batch->bytes = 0;
    TRY(sb_archive_open(&archive, upgrade->hold.path));
    TRY(sb_shards_open(&shards, archive));
    sqlite3_bind_int64(batch->rows, 1, batch->last);
    code = sb_checksum(shards, &ops, batch, upgrade->options->threads);
    sqlite3_reset(batch->rows);
    if (code)
        return code;
    TRY(sb_database_run(batch->db, "UPDATE main.files SET crc32c = s.crc32c FROM temp.sums AS s"
                                   " WHERE files.rowid = s.id; DELETE FROM temp.sums"));
    if (!batch->more)
        TRY(sb_config_drop(batch->db, SB_CONFIG_CHECKSUMS_DUE));
    return sb_database_run(batch->db, "COMMIT");
}

static void release_batch(struct batch *batch)
{
    sqlite3_finalize(batch->rows);
    sqlite3_finalize(batch->put);
    sb_database_close(batch->db);
}

/* Opens the archive at upgrade->hold.path again. */
static enum sb_code compute_sums(struct upgrade *upgrade)
{
    CLEANUP(release_batch)
    struct batch batch = {.upgrade = upgrade, .last = INT64_MIN, .more = true};
    enum sb_schema schema;
    int major, minor;
    enum sb_code code = SB_OK;

    TRY(sb_database_open(&batch.db, upgrade->hold.path, SB_DB_WRITE));
    TRY(sb_schema_vet(batch.db, &schema, &major, &minor, true));
    if (schema != SB_SCHEMA_03)
        return sb_fail(SB_CHANGED, "%s: was replaced by another process just now; try again",
                       upgrade->hold.path);
    TRY(prepare(&batch));
    while (!code && batch.more) {
        TRY(sb_hold_begin(&upgrade->hold, batch.db));
        code = run_batch(&batch);
        if (code)
            sqlite3_exec(batch.db, "ROLLBACK", NULL, NULL, NULL);
    }
    return code;
}

/* How long a commit waits for readers to release the index. */
#define COMMIT_WAIT_MILLISECONDS 60000

static enum sb_code vet(struct upgrade *upgrade, enum sb_schema *schema)
{
    struct sb_upgrade_result *result = upgrade->result;

    TRY(sb_schema_vet(upgrade->db, schema, &result->major, &result->minor, false));
    if (*schema == SB_SCHEMA_NEWER)
        return sb_fail(SB_FORMAT,
                       "%s: schema %d.%d is newer than this program, which can only read it",
                       upgrade->hold.file, result->major, result->minor);
    if (*schema != SB_SCHEMA_03 || upgrade->options->dry_run)
        return SB_OK;
    return sb_schema_vet(upgrade->db, schema, &result->major, &result->minor, true);
}

/* An index of an older schema is replaced, and its other names keep the old one. */
static enum sb_code open_to_write(struct upgrade *upgrade, enum sb_schema *schema)
{
    static const struct sb_hold_options options = {.to_change = false};
    struct sb_hold *hold = &upgrade->hold;

    upgrade->kept = true;
    TRY(sb_hold_take(hold));
    TRY(sb_hold_open(hold, &upgrade->db, &options));
    TRY(vet(upgrade, schema));
    if (*schema == SB_SCHEMA_03)
        TRY(sb_hold_refuse_links(hold));
    TRY(sb_note_begin(&hold->note, SB_AIM_CHANGE, &hold->index));
    upgrade->kept = false;
    return SB_OK;
}

static enum sb_code open_index(struct upgrade *upgrade, const char *path, enum sb_schema *schema)
{
    TRY(sb_hold_find(&upgrade->hold, path, true));
    if (!upgrade->hold.file)
        return sb_fail_errno(ENOENT, "%s", path);
    if (!upgrade->options->dry_run) {
        TRY(open_to_write(upgrade, schema));
    } else {
        TRY(sb_database_open(&upgrade->db, upgrade->hold.file, SB_DB_READ));
        TRY(vet(upgrade, schema));
    }
    return sb_register_parent_functions(upgrade->db);
}

/* For schema 0.3: repairs what the index alone determines, in one transaction. */
static enum sb_code repair(struct upgrade *upgrade)
{
    bool dry_run = upgrade->options->dry_run;
    int64_t due;

    TRY(sb_upgrade_repair(upgrade));
    TRY(sb_config_number(upgrade->db, SB_CONFIG_CHECKSUMS_DUE, 0, &due));
    if (due)
        upgrade->checksums = true;
    if (dry_run)
        return SB_OK;
    sqlite3_busy_timeout(upgrade->db, sb_lock_wait(COMMIT_WAIT_MILLISECONDS));
    return sb_database_run(upgrade->db, "COMMIT");
}

/* Renames an index of schema 0.3 from the old name to the new one, which must be free. */
static enum sb_code rename_index(struct upgrade *upgrade)
{
    struct sb_hold *hold = &upgrade->hold;

    upgrade->result->renamed = true;
    if (upgrade->options->dry_run)
        return SB_OK;
    TRY(sb_hold_begin(hold, upgrade->db));
    TRY(sb_journal_refuse(hold->file));
    TRY(sb_journal_refuse(hold->path));
    TRY(sb_rename_new(hold->file, hold->path));
    /* The old name is the longer one. */
    memcpy(hold->file, hold->path, strlen(hold->path) + 1);
    return sb_sync_directory_of(hold->path);
}

/* Is it an index of an older schema? */
static bool is_outdated(const char *file)
{
    CLEANUP(sb_database_closep) sqlite3 *db = NULL;
    enum sb_schema schema;
    int major, minor;

    return IGNORED(sb_database_open(&db, file, SB_DB_READ)) == SB_OK &&
           IGNORED(sb_schema_vet(db, &schema, &major, &minor, false)) == SB_OK &&
           (schema == SB_SCHEMA_OLD || schema == SB_SCHEMA_02);
}

/* One that our own killed run left after its rename was settled with the note. */
static enum sb_code warn_of_old_name(const struct upgrade *upgrade)
{
    CLEANUP(sb_freep) char *old = sb_own_name(upgrade->hold.path, SB_OLD_INDEX);
    struct sb_look look = {0};

    if (!old)
        return sb_error()->code;
    TRY(sb_look_at(old, &look));
    if (look.there)
        sb_report(upgrade->notify, SB_WARNING, "index", old,
                  "%sdoes not count beside the archive's index; remove it if nobody needs it",
                  S_ISREG(look.mode) && is_outdated(old) ? "an older index, " : "");
    return SB_OK;
}

static enum sb_code bring_up(struct upgrade *upgrade, enum sb_schema schema)
{
    bool renames = strcmp(upgrade->hold.file, upgrade->hold.path) != 0;

    if (schema != SB_SCHEMA_03) {
        upgrade->checksums = true;
        upgrade->result->rebuilt = true;
        upgrade->result->renamed = renames;
        TRY(sb_upgrade_check_kept(upgrade));
        if (!upgrade->options->dry_run)
            TRY(sb_upgrade_rebuild(upgrade, schema));
    } else {
        TRY(repair(upgrade));
        if (renames)
            TRY(rename_index(upgrade));
    }
    return renames ? SB_OK : warn_of_old_name(upgrade);
}

/* Under dry_run they are only counted; the oldest layout has no column for them. */
static enum sb_code sums(struct upgrade *upgrade, enum sb_schema schema)
{
    if (!upgrade->checksums)
        return SB_OK;
    if (upgrade->options->dry_run)
        return sb_database_integer(upgrade->db,
                                   schema == SB_SCHEMA_OLD
                                       ? "SELECT count(*) FROM files"
                                       : "SELECT count(*) FROM files WHERE crc32c IS NULL",
                                   0, &upgrade->result->checksums);
    sb_database_close(upgrade->db);
    upgrade->db = NULL;
    return compute_sums(upgrade);
}

static void release(struct upgrade *upgrade)
{
    sb_database_close(upgrade->db);
    sb_hold_drop(&upgrade->hold, upgrade->kept);
}

enum sb_code sb_upgrade(const char *path, const struct sb_upgrade_options *options,
                        const struct sb_notify *notify, struct sb_upgrade_result *result)
{
    CLEANUP(release)
    struct upgrade upgrade = {
        .options = options, .notify = notify, .result = result, .checksums = options->checksums};
    enum sb_schema schema;

    *result = (struct sb_upgrade_result){0};
    TRY(open_index(&upgrade, path, &schema));
    TRY(bring_up(&upgrade, schema));
    return sums(&upgrade, schema);
}
