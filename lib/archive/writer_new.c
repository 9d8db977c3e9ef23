/*
 * A new archive, or one in place of an old one: built as ARCHIVE.new beside it.
 */
#include "archive/writer_private.h"

#include "archive/database.h"
#include "archive/ddl.h"
#include "archive/parent.h"
#include "archive/standing.h"
#include "core/io.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Under the lock of path.new: what a killed run left there goes. Shards that it had renamed already
 * are known to be its own by the complete index that it left.
 */
static enum sb_code clear_leftover(struct sb_writer *writer, struct sb_error *err)
{
    struct sb_error ignored;
    bool complete = false;
    sqlite3 *db = NULL;
    enum sb_code code;

    if (writer->lock.was_there && !writer->file &&
        sb_database_open(&db, writer->new_path, SB_DB_READ, &ignored) == SB_OK &&
        sb_pending_is_complete(db, writer->path, &complete, &ignored))
        complete = false;
    sb_database_close(db);
    if (complete && writer->in_place)
        return sb_fail(err, SB_EXISTS,
                       "%s: an interrupted run left this index, which may be that of the shards; "
                       "finish it with 'pack --append', or remove it",
                       writer->new_path);
    if (complete) {
        /* From here on path.new may only go when they are gone: it says whose they are. */
        writer->renaming = true;
        code = sb_pending_remove_from(writer->path, 0, err);
        if (code == SB_OK)
            code = sb_sync_directory_of(writer->path, err);
        if (code)
            return code;
    }
    writer->renaming = false;
    if (ftruncate(writer->lock.fd, 0))
        return sb_fail_errno(err, errno, "%s", writer->new_path);
    return sb_pending_remove_shards(writer->path, err);
}

/*
 * Nobody reads this index before it is whole, and a killed run starts over: no syncs until the end,
 * and a journal only in memory. That one is for an index that cannot be made, names being repeated;
 * it holds the few pages that were there when the transaction began.
 */
static enum sb_code make_index(struct sb_writer *writer, struct sb_error *err)
{
    enum sb_code code;

    code = sb_database_open(&writer->db, writer->new_path, SB_DB_CREATE, err);
    if (code == SB_OK)
        code = sb_register_parent_functions(writer->db, err);
    if (code == SB_OK)
        code = sb_database_run(writer->db,
                               "PRAGMA journal_mode=MEMORY; PRAGMA synchronous=OFF;"
                               "PRAGMA locking_mode=EXCLUSIVE; PRAGMA cache_size=-24576",
                               err);
    if (code == SB_OK)
        code = sb_new_index_begin(writer->db, err);
    if (code == SB_OK)
        code = sb_writer_prepare_rows(writer, writer->db, err);
    return code;
}

enum sb_code sb_writer_open_new(struct sb_writer *writer, struct sb_error *err)
{
    enum sb_code code = SB_OK;
    uint32_t standing = 0;

    if (writer->file && writer->mode == SB_CREATE)
        return sb_fail(err, SB_EXISTS,
                       "%s: there is an archive already; use --append to add to it, or --force to "
                       "replace it",
                       writer->path);
    if (writer->limit <= 0)
        writer->limit = INT64_MAX;
    /* Only what is an archive is replaced: --force must not cost a stranger's database. */
    if (writer->file)
        code = sb_standing_open(&writer->replaced, writer->path, writer->file, false, err);
    if (code == SB_OK && writer->file && !writer->in_place)
        code = sb_writer_refuse_strangers(writer, writer->replaced, err);
    if (code == SB_OK)
        code = sb_new_lock_take(&writer->lock, writer->new_path, err);
    if (code == SB_OK)
        code = clear_leftover(writer, err);
    if (code == SB_OK && writer->in_place)
        code = sb_writer_count_shards(writer, &standing, err);
    else if (code == SB_OK && !writer->file)
        code = sb_pending_refuse_shards(writer->path, 0, err);
    if (code == SB_OK)
        code = make_index(writer, err);
    if (code == SB_OK)
        code = sb_shard_out_new(&writer->shards, writer->new_path, standing, writer->limit, err);
    return code;
}

struct sync_job {
    struct sb_shard_out *shards;
    enum sb_code code;
    struct sb_error error;
};

static void *sync_shards(void *argument)
{
    struct sync_job *job = argument;

    job->code = sb_shard_out_finish(job->shards, &job->error);
    return NULL;
}

static enum sb_code build_indexes(struct sb_writer *writer, struct sb_error *err)
{
    enum sb_code code = sb_writer_index_names(writer, err);

    for (const struct sb_ddl_object *index = sb_ddl_indexes + 1; code == SB_OK && index->sql;
         index++)
        code = sb_database_run(writer->db, index->sql, err);
    if (code == SB_OK)
        code = sb_tally_apply(writer->tally, writer->db, true, err);
    for (const struct sb_ddl_object *t = sb_ddl_triggers; code == SB_OK && t->sql; t++)
        code = sb_database_run(writer->db, t->sql, err);
    return code;
}

/* The shards go to disk while the index is being finished. */
static enum sb_code finish_files(struct sb_writer *writer, struct sb_error *err)
{
    struct sync_job job = {.shards = writer->shards};
    pthread_t thread;
    bool threaded;
    enum sb_code code;

    code = sb_writer_make_copies(writer, err);
    if (code)
        return code;
    threaded = pthread_create(&thread, NULL, sync_shards, &job) == 0;
    code = build_indexes(writer, err);
    if (threaded)
        pthread_join(thread, NULL);
    else
        sync_shards(&job);
    if (code == SB_OK)
        code = sb_writer_heed_strict(writer, err);
    if (code)
        return code;
    if (job.code) {
        *err = job.error;
        return job.code;
    }
    code = sb_writer_put_progress(writer, err);
    /* The row that calls it complete goes to disk after all that it speaks of. */
    if (code == SB_OK)
        code = sb_database_run(writer->db, "COMMIT", err);
    if (code == SB_OK)
        code = sb_fsync(writer->lock.fd, writer->new_path, err);
    if (code == SB_OK)
        code =
            sb_writer_put_config(writer, writer->in_place ? 0 : sb_shard_out_count(writer->shards),
                                 !writer->in_place, err);
    if (code == SB_OK)
        code = sb_fsync(writer->lock.fd, writer->new_path, err);
    return code;
}

static enum sb_code rename_into_place(struct sb_writer *writer, struct sb_error *err)
{
    enum sb_code code;

    code = sb_pending_refuse_journal(writer->path, err);
    /* Over an old archive the index goes first: its config row leads to the shards meanwhile. */
    if (code == SB_OK && !writer->file && !writer->in_place) {
        writer->renaming = true;
        code = sb_pending_rename_shards(writer->path, err);
    }
    return code ? code : sb_writer_rename_index(writer, writer->new_path, err);
}

enum sb_code sb_writer_rename_index(struct sb_writer *writer, const char *from,
                                    struct sb_error *err)
{
    enum sb_code code = sb_sync_directory_of(writer->path, err);

    if (code == SB_OK)
        code = sb_rename(from, writer->path, err);
    if (code)
        return code;
    writer->committed = true;
    code = sb_sync_directory_of(writer->path, err);
    if (code == SB_OK && writer->file && strcmp(writer->file, writer->path) != 0 &&
        unlink(writer->file))
        code = sb_fail_errno(err, errno, "%s", writer->file);
    return code;
}

void sb_writer_close_index(struct sb_writer *writer)
{
    sqlite3_finalize(writer->add_file);
    sqlite3_finalize(writer->add_copy);
    writer->add_file = NULL;
    writer->add_copy = NULL;
    sb_tally_free(writer->tally);
    writer->tally = NULL;
    sb_database_close(writer->db);
    writer->db = NULL;
}

enum sb_code sb_writer_commit_new(struct sb_writer *writer, struct sb_error *err)
{
    enum sb_code code;

    code = finish_files(writer, err);
    if (code == SB_OK)
        code = rename_into_place(writer, err);
    if (code)
        return code;
    sb_writer_close_index(writer);
    sb_new_lock_drop(&writer->lock);
    return sb_pending_tidy_up(writer->path, err);
}

enum sb_code sb_writer_roll_forward(struct sb_writer *writer, struct sb_error *err)
{
    bool complete = false;
    sqlite3 *db = NULL;
    enum sb_code code;

    if (access(writer->new_path, F_OK))
        return sb_fail(err, SB_NOENT, "%s: no such archive", writer->path);
    code = sb_new_lock_take(&writer->lock, writer->new_path, err);
    if (code)
        return code;
    code = sb_database_open(&db, writer->new_path, SB_DB_READ, err);
    if (code == SB_OK)
        code = sb_pending_is_complete(db, writer->path, &complete, err);
    sb_database_close(db);
    if (code == SB_OK && complete)
        code = sb_pending_rename_shards(writer->path, err);
    if (code == SB_OK && complete)
        code = sb_rename(writer->new_path, writer->path, err);
    sb_new_lock_drop(&writer->lock);
    if (code)
        return code;
    if (!complete)
        return sb_fail(err, SB_NOENT,
                       "%s: no such archive; an interrupted pack left %s, pack it again",
                       writer->path, writer->new_path);
    writer->file = strdup(writer->path);
    return writer->file ? sb_sync_directory_of(writer->path, err) : sb_fail_memory(err);
}
