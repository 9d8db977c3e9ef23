/*
 * An archive that was stored stretch by stretch as ARCHIVE.part becomes ARCHIVE. The writer of
 * ARCHIVE has been its lock all the while; the index that it began itself stays empty, and goes.
 */
#include "archive/writer_private.h"

#include "archive/database.h"
#include "archive/part.h"
#include "archive/shardcount.h"
#include "archive/standing.h"
#include "core/io.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* The row that leads to the shards under the part's name. */
static enum sb_code put_prefix(struct sqlite3 *db, const char *part, struct sb_error *err)
{
    uint32_t count;
    enum sb_code code = sb_shard_count_in_use(db, part, &count, err);

    /* An archive without files has a shard all the same. */
    return code ? code : sb_pending_record(db, part, count > 0 ? count : 1, err);
}

static enum sb_code call_whole(struct sqlite3 *db, const char *part, struct sb_error *err)
{
    struct sb_progress progress = {0};
    enum sb_code code = sb_progress_load(db, &progress, err);

    progress.state = SB_PROGRESS_WHOLE;
    if (code == SB_OK)
        code = sb_progress_save(db, &progress, err);
    sb_progress_release(&progress);
    if (code == SB_OK)
        code = put_prefix(db, part, err);
    return code == SB_OK ? sb_database_run(db, "COMMIT", err) : code;
}

/* The renames of its shards are for sb_pending_finish: the row leads to them meanwhile. */
static enum sb_code rename_index(struct sb_writer *writer, const char *part, struct sb_error *err)
{
    enum sb_code code = sb_pending_refuse_journal(writer->path, err);

    if (code == SB_OK)
        code = sb_pending_refuse_journal(part, err);
    if (code == SB_OK && !writer->file)
        code = sb_pending_refuse_shards(writer->path, 0, err);
    return code ? code : sb_writer_rename_index(writer, part, err);
}

/* The index that this writer began, and its lock. */
static enum sb_code let_go(struct sb_writer *writer, struct sb_error *err)
{
    enum sb_code code = SB_OK;

    sb_writer_close_index(writer);
    if (unlink(writer->new_path))
        code = sb_fail_errno(err, errno, "%s", writer->new_path);
    sb_new_lock_drop(&writer->lock);
    return code;
}

enum sb_code sb_writer_commit_part(struct sb_writer *writer, const char *part, struct sb_error *err)
{
    struct sb_new_lock lock = {.fd = -1};
    char *new_path;
    sqlite3 *db = NULL;
    enum sb_code code;

    if (asprintf(&new_path, "%s.new", part) < 0)
        return sb_fail_memory(err);
    code = sb_standing_open(&db, part, part, true, err);
    /* As a lock, it keeps writers of the part out between the transactions. */
    if (code == SB_OK)
        code = sb_new_lock_take(&lock, new_path, err);
    if (code == SB_OK)
        code = call_whole(db, part, err);
    if (code == SB_OK)
        code = sb_lock_index(db, part, err);
    /* Before the rename, or a kill could leave it beside an archive that has no part. */
    if (lock.fd >= 0 && unlink(new_path) && code == SB_OK)
        code = sb_fail_errno(err, errno, "%s", new_path);
    if (code == SB_OK)
        code = rename_index(writer, part, err);
    sb_database_close(db);
    sb_new_lock_drop(&lock);
    free(new_path);
    if (code)
        return code;
    code = let_go(writer, err);
    return code ? code : sb_pending_tidy_up(writer->path, err);
}
