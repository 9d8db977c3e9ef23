#include "archive/checksum.h"
#include "archive/config.h"
#include "archive/database.h"
#include "archive/schema.h"
#include "archive/shards.h"
#include "core/number.h"
#include "task/change/impl.h"

#include <inttypes.h>

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
    struct upgrade *upgrade = batch->upgrade;
    struct sb_archive *archive = NULL;
    struct sb_shards *shards = NULL;
    enum sb_code code = sb_hold_begin(&upgrade->hold, batch->db);

    if (code != SB_OK)
        return code;
    batch->more = false;
    batch->files = 0;
    batch->bytes = 0;
    code = sb_archive_open(&archive, upgrade->hold.path);
    if (code == SB_OK)
        code = sb_shards_open(&shards, archive);
    sqlite3_bind_int64(batch->rows, 1, batch->last);
    if (code == SB_OK)
        code = sb_checksum(shards, &ops, batch, upgrade->options->threads);
    sqlite3_reset(batch->rows);
    if (code == SB_OK)
        code =
            sb_database_run(batch->db, "UPDATE main.files SET crc32c = s.crc32c FROM temp.sums AS s"
                                       " WHERE files.rowid = s.id; DELETE FROM temp.sums");
    if (code == SB_OK && !batch->more)
        code = sb_config_drop(batch->db, SB_CONFIG_CHECKSUMS_DUE);
    if (code == SB_OK)
        code = sb_database_run(batch->db, "COMMIT");
    if (code != SB_OK)
        sqlite3_exec(batch->db, "ROLLBACK", NULL, NULL, NULL);
    sb_shards_free(shards);
    sb_archive_free(archive);
    return code;
}

static void release(struct batch *batch)
{
    sqlite3_finalize(batch->rows);
    sqlite3_finalize(batch->put);
    sb_database_close(batch->db);
}

enum sb_code sb_upgrade_sums(struct upgrade *upgrade)
{
    CLEANUP(release) struct batch batch = {.upgrade = upgrade, .last = INT64_MIN, .more = true};
    enum sb_schema schema;
    int major, minor;

    TRY(sb_database_open(&batch.db, upgrade->hold.path, SB_DB_WRITE));
    TRY(sb_schema_vet(batch.db, &schema, &major, &minor, true));
    if (schema != SB_SCHEMA_03)
        return sb_fail(SB_CHANGED, "%s: was replaced by another process just now; try again",
                       upgrade->hold.path);
    TRY(prepare(&batch));
    while (batch.more)
        TRY(run_batch(&batch));
    return SB_OK;
}
