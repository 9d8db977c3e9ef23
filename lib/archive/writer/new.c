/*
 * A new archive, or one that replaces another: built as ARCHIVE.new-index beside it.
 */
#include "archive/writer/private.h"

#include "archive/database.h"
#include "archive/journal.h"
#include "archive/own/own_names.h"
#include "archive/own/part.h"
#include "archive/own/settle.h"
#include "archive/schema.h"
#include "core/io.h"
#include "core/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

/* Settles what a killed run left, and refuses what is in the way of this one. */
static enum sb_code clear_the_way(struct sb_writer *writer)
{
    struct sb_hold *hold = &writer->hold;

    /* Only an archive is replaced: --force must not cost another program's database. */
    if (hold->file) {
        TRY(sb_hold_open(hold, &writer->replaced, &(struct sb_hold_options){.to_change = false}));
        return writer->options.in_place ? SB_OK
                                        : sb_writer_refuse_foreign(writer, writer->replaced);
    }
    if (writer->options.in_place && hold->note.text.whole &&
        hold->note.text.claims[SB_CLAIM_MADE].count > 0)
        return sb_fail(SB_EXISTS,
                       "%s" SB_NEW_INDEX ": an interrupted run left this index, which may be that "
                       "of the shards; finish it with 'pack --append', or remove it",
                       hold->path);
    TRY(sb_journal_refuse(hold->path));
    TRY(sb_settle_note(hold, 0));
    return writer->options.in_place ? SB_OK : sb_pending_refuse_shards(hold->path, 0);
}

/*
 * The journal is in memory, for when the unique index cannot be made, because names repeat; it
 * holds the few pages that existed when the transaction began.
 */
static enum sb_code make_index(struct sb_writer *writer)
{
    struct sb_hold *hold = &writer->hold;
    enum sb_code code;

    writer->settled = true;
    TRY(sb_note_begin(&hold->note, hold->file ? SB_AIM_REPLACE : SB_AIM_MAKE,
                      hold->file ? &hold->index : NULL));
    code = sb_new_index_make(&writer->made, hold, "MEMORY");
    writer->db = writer->made.db;
    return code ? code : sb_writer_prepare_rows(writer, writer->db);
}

/* The number of existing shards; SB_NOENT for none. */
static enum sb_code count_shards(struct sb_writer *writer, uint32_t *count)
{
    struct stat st;

    for (*count = 0; *count <= SB_SHARD_MAX; (*count)++) {
        CLEANUP(sb_freep) char *path = sb_shard_name(writer->hold.path, *count);

        if (!path)
            return sb_error()->code;
        if (lstat(path, &st))
            break;
    }
    if (*count == 0)
        return sb_fail(SB_NOENT, "%s-shard-00000: not there; shards are numbered from 0",
                       writer->hold.path);
    return SB_OK;
}

enum sb_code sb_writer_open_new(struct sb_writer *writer)
{
    uint32_t existing = 0;

    if (writer->hold.file && writer->options.mode == SB_CREATE)
        return sb_fail(SB_EXISTS,
                       "%s: there is an archive already; use --append to add to it, or --force to "
                       "replace it",
                       writer->hold.path);
    if (writer->limit <= 0)
        writer->limit = INT64_MAX;
    TRY(sb_hold_take(&writer->hold));
    TRY(clear_the_way(writer));
    if (writer->options.in_place)
        TRY(count_shards(writer, &existing));
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
    TRY(sb_tally_apply(writer->tally, writer->db, true, NULL));
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
    enum sb_code code;

    TRY(sb_writer_make_copies(writer));
    threaded = sb_thread_start(&thread, sync_shards, &job);
    code = build_indexes(writer);
    if (threaded)
        pthread_join(thread, NULL);
    else
        sync_shards(&job);
    TRY(code);
    TRY(sb_writer_heed_strict(writer));
    if (job.code) {
        *sb_error() = job.error;
        return job.code;
    }
    writer->has_row = writer->replaced && !writer->options.in_place;
    TRY(sb_writer_put_config(writer,
                             writer->options.in_place ? 0 : sb_shard_out_count(writer->shards)));
    /* Synced after all that it refers to. */
    return sb_new_index_complete(&writer->made, &writer->hold);
}

/*
 * Records in the note the shards of the archive that is replaced: they are removed with it.
 * SB_EXISTS if another file has the name of one of the `made` shards of the new one. Synced.
 */
static enum sb_code note_gone(struct sb_writer *writer, uint32_t made)
{
    uint32_t count = writer->shards_in_use;

    /* An archive without files has a shard too. */
    if (count == 0 && writer->replaced)
        count = 1;
    for (uint32_t i = 0; i < count; i++)
        TRY(sb_settle_claim_gone(&writer->hold, i));
    for (uint32_t i = count; i < made; i++)
        TRY(sb_settle_claim_name(&writer->hold, i));
    return sb_note_sync(&writer->hold.note);
}

/* The commit, see sb_new_index_place; then shards get their final names. */
static enum sb_code put_in_place(struct sb_writer *writer, const char *from, int *fd,
                                 const struct sb_identity *identity)
{
    struct sqlite3 *db = NULL;
    enum sb_code code = SB_OK;

    if (writer->has_row)
        TRY(sb_hold_bridge(&writer->hold, from, *fd));
    TRY(sb_new_index_place(&writer->hold, from, fd, identity, &writer->committed));
    TRY(sb_settle_forget(&writer->hold));
    sb_database_close(writer->replaced);
    writer->replaced = NULL;
    /*
     * The row leads readers to the shards until they have their names. If another program writes
     * first, our next writer renames them.
     */
    if (writer->has_row)
        code = sb_hold_open(&writer->hold, &db, &(struct sb_hold_options){.to_change = true});
    sb_database_close(db);
    writer->finished = code == SB_OK;
    return code == SB_LOCKED ? SB_OK : code;
}

/* Closes the index that is being made, with its statements; its file stays. */
static void close_index(struct sb_writer *writer)
{
    sqlite3_finalize(TAKE(writer->add_file));
    sqlite3_finalize(TAKE(writer->add_copy));
    sb_tally_free(TAKE(writer->tally));
    sb_new_index_close(&writer->made);
    writer->db = NULL;
}

enum sb_code sb_writer_commit_new(struct sb_writer *writer)
{
    TRY(finish_files(writer));
    close_index(writer);
    /*
     * Shards of a new archive get their names before the index has its own; those of one that
     * replaces another get them afterwards, because until then the names are the other's.
     */
    if (!writer->options.in_place)
        TRY(writer->replaced ? note_gone(writer, sb_shard_out_count(writer->shards))
                             : sb_settle_name_shards(&writer->hold));
    return put_in_place(writer, writer->made.path, &writer->made.fd, &writer->made.identity);
}

/*
 * An archive that was stored with checkpoints as ARCHIVE.part becomes ARCHIVE. The writer of
 * ARCHIVE has been its lock meanwhile; the index that it began itself is empty, and is removed.
 */
struct becoming {
    struct sb_hold hold;
    sqlite3 *db;
    uint32_t count; /* of shards; one without files has a shard too */
};

/* Adds the row that leads to the shards under the part's name. */
static enum sb_code call_whole(struct becoming *part)
{
    CLEANUP(sb_progress_release) struct sb_progress progress = {0};
    uint32_t counter = sb_database_change_counter(part->db);

    TRY(sb_progress_load(part->db, &progress));
    progress.commit = (int64_t)counter + 1;
    progress.state = SB_PROGRESS_WHOLE;
    TRY(sb_progress_save(part->db, &progress));
    TRY(sb_shard_count_in_use(part->db, part->hold.path, &part->count));
    if (part->count == 0)
        part->count = 1;
    TRY(sb_pending_record(part->db, part->hold.path, part->count));
    return sb_database_run(part->db, "COMMIT");
}

/* Removes the index that this writer began; the note names the part's instead. */
static enum sb_code drop_index(struct sb_writer *writer, const struct becoming *part)
{
    struct sb_look look;

    TRY(sb_note_confirm(&writer->hold.note));
    TRY(sb_look_at(writer->made.path, &look));
    if (!sb_is_identical(&look.identity, &writer->made.identity))
        return sb_fail(SB_EXISTS, "%s: was replaced by another file meanwhile; move it away",
                       writer->made.path);
    close_index(writer);
    if (unlink(writer->made.path))
        return sb_fail_errno(errno, "%s", writer->made.path);
    TRY(sb_sync_directory_of(writer->hold.path));
    return sb_note_index(&writer->hold.note, &part->hold.index);
}

/* Under the locks of the run that wrote it, if that has them. */
static enum sb_code hold_part(struct becoming *part, const char *path, struct sb_hold *kept)
{
    if (kept->fd >= 0) {
        sb_hold_move(&part->hold, kept);
        return SB_OK;
    }
    TRY(sb_hold_find(&part->hold, path, false));
    if (!part->hold.file)
        return sb_fail(SB_NOENT, "%s: no such archive", part->hold.path);
    return sb_hold_take(&part->hold);
}

static enum sb_code put_part(struct sb_writer *writer, struct becoming *part, const char *path,
                             struct sb_hold *kept)
{
    TRY(hold_part(part, path, kept));
    TRY(sb_hold_open(&part->hold, &part->db, &(struct sb_hold_options){.to_change = true}));
    TRY(sb_note_begin(&part->hold.note, SB_AIM_CHANGE, &part->hold.index));
    TRY(call_whole(part));
    TRY(sb_hold_begin(&part->hold, part->db));
    /* Before the rename, or a kill could leave it beside an archive without a part. */
    sb_note_drop(&part->hold.note, false);
    TRY(sb_journal_refuse(part->hold.path));
    if (!writer->replaced)
        TRY(sb_pending_refuse_shards(writer->hold.path, 0));
    TRY(drop_index(writer, part));
    TRY(note_gone(writer, part->count));
    sb_database_close(TAKE(part->db));
    writer->has_row = true;
    return put_in_place(writer, part->hold.path, &part->hold.fd, &part->hold.index);
}

enum sb_code sb_writer_commit_part(struct sb_writer *writer, const char *part_path,
                                   struct sb_hold *kept)
{
    struct becoming part = {.hold = SB_HOLD_NONE};
    enum sb_code code = put_part(writer, &part, part_path, kept);

    sb_database_close(part.db);
    sb_hold_drop(&part.hold, code != SB_OK);
    return code;
}
