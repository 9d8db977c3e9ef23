/*
 * A new archive, or one that replaces another: built as ARCHIVE.new-index beside it.
 */
#include "archive/writer/private.h"

#include "archive/database.h"
#include "archive/ddl.h"
#include "archive/journal.h"
#include "archive/own/own_names.h"
#include "archive/own/settle.h"
#include "core/io.h"
#include "core/thread.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Settles what a killed run left, and refuses what is in the way of this one. */
static enum sb_code clear_the_way(struct sb_writer *writer)
{
    static const struct sb_hold_options to_be_replaced = {.to_change = false};
    struct sb_hold *hold = &writer->hold;
    enum sb_code code;

    /* Only an archive is replaced: --force must not cost another program's database. */
    if (hold->file) {
        code = sb_hold_open(hold, &writer->replaced, &to_be_replaced);
        return code || writer->in_place ? code : sb_writer_refuse_foreign(writer, writer->replaced);
    }
    if (writer->in_place && hold->note.text.whole &&
        hold->note.text.claims[SB_CLAIM_MADE].count > 0)
        return sb_fail(SB_EXISTS,
                       "%s" SB_NEW_INDEX ": an interrupted run left this index, which may be that "
                       "of the shards; finish it with 'pack --append', or remove it",
                       hold->path);
    code = sb_journal_refuse(hold->path);
    if (code == SB_OK)
        code = sb_settle_missing(hold);
    return code || writer->in_place ? code : sb_pending_refuse_shards(hold->path, 0);
}

/*
 * The journal is in memory, for when the unique index cannot be made, because names repeat; it
 * holds the few pages that existed when the transaction began.
 */
static enum sb_code make_index(struct sb_writer *writer)
{
    struct sb_hold *hold = &writer->hold;
    enum sb_code code = sb_note_begin(&hold->note, hold->file ? SB_AIM_REPLACE : SB_AIM_MAKE,
                                      hold->file ? &hold->index : NULL);

    writer->settled = true;
    if (code == SB_OK)
        code = sb_new_index_make(&writer->made, hold, "MEMORY");
    writer->db = writer->made.db;
    return code ? code : sb_writer_prepare_rows(writer, writer->db);
}

enum sb_code sb_writer_open_new(struct sb_writer *writer)
{
    uint32_t existing = 0;

    if (writer->hold.file && writer->mode == SB_CREATE)
        return sb_fail(SB_EXISTS,
                       "%s: there is an archive already; use --append to add to it, or --force to "
                       "replace it",
                       writer->hold.path);
    if (writer->limit <= 0)
        writer->limit = INT64_MAX;
    TRY(sb_hold_take(&writer->hold));
    TRY(clear_the_way(writer));
    if (writer->in_place)
        TRY(sb_writer_count_shards(writer, &existing));
    TRY(make_index(writer));
    return sb_shard_out_new(&writer->shards, &writer->hold, existing, writer->limit);
}

struct sync_job {
    struct sb_shard_out *shards;
    enum sb_code code;
    struct sb_error error;
};

static void *sync_shards(void *argument)
{
    struct sync_job *job = argument;

    job->code = INTO(&job->error, sb_shard_out_finish(job->shards));
    return NULL;
}

static enum sb_code build_indexes(struct sb_writer *writer)
{
    TRY(sb_writer_index_names(writer));
    for (const struct sb_ddl_object *index = sb_ddl_indexes + 1; index->sql; index++)
        TRY(sb_database_run(writer->db, index->sql));
    TRY(sb_tally_apply(writer->tally, writer->db, true));
    for (const struct sb_ddl_object *t = sb_ddl_triggers; t->sql; t++)
        TRY(sb_database_run(writer->db, t->sql));
    return SB_OK;
}

/* The shards are synced while the index is being finished. */
static enum sb_code finish_files(struct sb_writer *writer)
{
    struct sync_job job = {.shards = writer->shards};
    pthread_t thread;
    bool threaded;
    enum sb_code code = SB_OK;

    TRY(sb_writer_make_copies(writer));
    threaded = sb_thread_start(&thread, sync_shards, &job);
    code = build_indexes(writer);
    if (threaded)
        pthread_join(thread, NULL);
    else
        sync_shards(&job);
    if (code == SB_OK)
        code = sb_writer_heed_strict(writer);
    if (code)
        return code;
    if (job.code) {
        *sb_error() = job.error;
        return job.code;
    }
    writer->has_row = writer->replaced && !writer->in_place;
    code = sb_writer_put_progress(writer);
    if (code == SB_OK)
        code = sb_writer_put_config(
            writer, writer->in_place ? 0 : sb_shard_out_count(writer->shards), writer->has_row);
    /* Synced after all that it refers to. */
    return code ? code : sb_new_index_complete(&writer->made, &writer->hold);
}

/* A file that is by now foreign is not claimed. */
static enum sb_code note_gone(struct sb_writer *writer, uint32_t number)
{
    char *path = sb_shard_name(writer->hold.path, number);
    struct sb_look look = {0};
    enum sb_code code = path ? sb_look_at(path, &look) : sb_error()->code;

    free(path);
    if (code || !look.there)
        return code;
    return sb_note_claim(&writer->hold.note, SB_CLAIM_GONE, number, &look.identity);
}

enum sb_code sb_writer_note_gone(struct sb_writer *writer, uint32_t made)
{
    uint32_t count = writer->shards_in_use;

    /* An archive without files has a shard too. */
    if (count == 0 && writer->replaced)
        count = 1;
    for (uint32_t i = 0; i < count; i++)
        TRY(note_gone(writer, i));
    for (uint32_t i = count; i < made; i++)
        TRY(sb_settle_claim_name(&writer->hold, i));
    return sb_note_sync(&writer->hold.note);
}

/*
 * The row leads readers to the shards until they have their names. If another program writes first,
 * our next writer renames them.
 */
static enum sb_code finish(struct sb_writer *writer)
{
    static const struct sb_hold_options options = {.to_change = true};
    struct sqlite3 *db = NULL;
    enum sb_code code = sb_hold_open(&writer->hold, &db, &options);

    sb_database_close(db);
    writer->finished = code == SB_OK;
    return code == SB_LOCKED ? SB_OK : code;
}

enum sb_code sb_writer_put_in_place(struct sb_writer *writer, const char *from, int *fd,
                                    const struct sb_identity *identity)
{
    if (writer->has_row)
        TRY(sb_hold_bridge(&writer->hold, from, *fd));
    TRY(sb_new_index_place(&writer->hold, from, fd, identity, &writer->committed));
    TRY(sb_settle_forget(&writer->hold));
    sb_database_close(writer->replaced);
    writer->replaced = NULL;
    if (writer->has_row)
        return finish(writer);
    writer->finished = true;
    return SB_OK;
}

/*
 * Shards of a new archive get their names before the index has its own; those of one that replaces
 * another get them afterwards, because until then the names are the other's.
 */
static enum sb_code name_shards(struct sb_writer *writer)
{
    if (writer->in_place)
        return SB_OK;
    return writer->replaced ? sb_writer_note_gone(writer, sb_shard_out_count(writer->shards))
                            : sb_settle_name_shards(&writer->hold);
}

void sb_writer_close_index(struct sb_writer *writer)
{
    sqlite3_finalize(writer->add_file);
    sqlite3_finalize(writer->add_copy);
    writer->add_file = NULL;
    writer->add_copy = NULL;
    sb_tally_free(writer->tally);
    writer->tally = NULL;
    sb_new_index_close(&writer->made);
    writer->db = NULL;
}

enum sb_code sb_writer_commit_new(struct sb_writer *writer)
{
    TRY(finish_files(writer));
    sb_writer_close_index(writer);
    TRY(name_shards(writer));
    return sb_writer_put_in_place(writer, writer->made.path, &writer->made.fd,
                                  &writer->made.identity);
}

enum sb_code sb_writer_roll_forward(struct sb_writer *writer)
{
    struct sb_hold *hold = &writer->hold;
    bool done;

    TRY(sb_settle_forward(hold, &done));
    if (!done && hold->note.text.aim == SB_AIM_NONE)
        return sb_fail(SB_NOENT, "%s: no such archive", hold->path);
    if (!done && hold->note.text.aim == SB_AIM_CHANGE)
        return sb_fail(SB_NOENT,
                       "%s: the index is missing, and an interrupted change left %s; bring the "
                       "index back from a copy, or with 'shardbox verify --repair' by its "
                       "parity file",
                       hold->path, hold->note.path);
    if (!done)
        return sb_fail(SB_NOENT, "%s: no such archive; an interrupted pack left %s, pack it again",
                       hold->path, hold->note.path);
    return sb_hold_take_index(hold, &hold->note.text.index);
}
