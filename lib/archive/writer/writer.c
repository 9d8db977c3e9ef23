#include "archive/writer/private.h"

#include "archive/archive.h"
#include "archive/config.h"
#include "archive/database.h"
#include "archive/own/part.h"
#include "archive/own/settle.h"
#include "archive/own/state.h"
#include "archive/shards.h"
#include "core/number.h"

#include <stdlib.h>
#include <sys/stat.h>

enum sb_code sb_writer_open(struct sb_writer **out, const char *path,
                            const struct sb_writer_options *options)
{
    CLEANUP(sb_writer_freep) struct sb_writer *writer = NULL;

    *out = NULL;
    TRY(SB_NEW(&writer));
    writer->hold = SB_HOLD_NONE;
    writer->made = SB_NEW_INDEX_NONE;
    writer->options = *options;
    writer->limit = options->shard_size;
    if (writer->options.kept && writer->options.kept->fd >= 0)
        sb_hold_move(&writer->hold, writer->options.kept);
    else
        TRY(sb_hold_find(&writer->hold, path, false));
    TRY(writer->options.mode == SB_APPEND ? sb_writer_open_append(writer)
                                          : sb_writer_open_new(writer));
    *out = TAKE(writer);
    return SB_OK;
}

static bool is_locked(const struct sb_writer *writer)
{
    return writer->options.mode != SB_APPEND || !writer->db || !sqlite3_get_autocommit(writer->db);
}

/*
 * After some failures SQLite rolls back by itself and releases its lock; then Barecat may be
 * writing. The next writer cuts the end of a shard; a shard that the run made may by now hold bytes
 * of Barecat's, and be counted.
 */
static bool undo_unlocked(struct sb_writer *writer, uint32_t most)
{
    uint32_t counted;

    return IGNORED(sb_hold_begin(&writer->hold, writer->db)) == SB_OK &&
           IGNORED(sb_shard_count_in_use(writer->db, writer->hold.path, &counted)) == SB_OK &&
           counted <= most && sb_settle_undo(&writer->hold, counted);
}

/* While the locks are still held: so only this run's files are undone. */
static bool undo(struct sb_writer *writer)
{
    if (writer->finished)
        return true;
    /*
     * A commit has failed. Where SQLite could roll it back, as with a full disk, none of the new
     * shards is counted; else what is on the disk is not known, and all is kept for the next
     * writer.
     */
    if (writer->committed)
        return writer->options.mode == SB_APPEND && writer->shards &&
               undo_unlocked(writer, sb_shard_out_count(writer->shards) -
                                         sb_shard_out_made(writer->shards));
    if (writer->settled && !is_locked(writer))
        return undo_unlocked(writer, SB_SHARD_MAX + 1);
    if (writer->shards && is_locked(writer))
        sb_shard_out_undo(writer->shards);
    return writer->settled && sb_settle_undo(&writer->hold, 0);
}

void sb_writer_free(struct sb_writer *writer)
{
    bool done;

    if (!writer)
        return;
    done = undo(writer);
    sb_shard_out_free(writer->shards);
    sb_tally_free(writer->tally);
    sqlite3_finalize(writer->add_file);
    sqlite3_finalize(writer->add_copy);
    sqlite3_finalize(writer->drop_file);
    sb_lookups_release(&writer->lookups);
    sb_database_close(writer->staging);
    sb_owner_names_release(&writer->owners);
    if (writer->db != writer->made.db)
        sb_database_close(writer->db);
    sb_new_index_release(&writer->made);
    sb_database_close(writer->replaced);
    /* The next writer removes what is left, which the note records. */
    if (done && writer->committed && writer->options.kept &&
        IGNORED(sb_note_clear(&writer->hold.note)) == SB_OK)
        sb_hold_move(writer->options.kept, &writer->hold);
    else
        sb_hold_drop(&writer->hold, !done);
    free(writer);
}

enum sb_code sb_writer_refuse_foreign(struct sb_writer *writer, sqlite3 *db)
{
    uint32_t in_use;

    TRY(sb_shard_count_existing(db, writer->hold.path, &in_use));
    writer->shards_in_use = in_use;
    /* An archive without files has a shard too. */
    return sb_pending_refuse_shards(writer->hold.path, in_use ? in_use : 1);
}

enum sb_code sb_writer_put_config(struct sb_writer *writer, uint32_t shard_count)
{
    if (writer->sets_progress)
        TRY(sb_progress_save(writer->db, writer->progress));
    TRY(sb_shard_count_record(writer->db, shard_count));
    TRY(sb_config_put(writer->db, SB_CONFIG_SHARD_SIZE, NULL, &writer->limit));
    TRY(sb_owner_names_save(&writer->owners, writer->db));
    if (writer->has_row)
        TRY(sb_pending_record(writer->db, writer->hold.note.path, shard_count));
    return SB_OK;
}

enum sb_code sb_writer_refuse_bytes(const struct sb_writer *writer)
{
    if (writer->shards)
        return SB_OK;
    return sb_fail(SB_INVALID, "%s: was opened to change its index alone", writer->hold.path);
}

enum sb_code sb_writer_prepare_rows(struct sb_writer *writer, sqlite3 *rows)
{
    TRY(sb_tally_new(&writer->tally, rows));
    writer->rows = rows;
    return sb_database_prepare(rows, &writer->add_file,
                               "INSERT INTO main.files (path, shard, offset, size, crc32c, mode,"
                               " uid, gid, mtime_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
}

enum sb_code sb_writer_add_file(struct sb_writer *writer, const struct sb_entry *entry)
{
    sb_database_bind_file(writer->add_file, 1, entry);
    TRY(sb_database_step(writer->add_file));
    writer->counts.files++;
    sb_count_up(&writer->counts.bytes, entry->size);
    return sb_tally_file(writer->tally, entry->path, entry->path_size, 1, entry->size);
}

enum sb_code sb_writer_uncount(struct sb_writer *writer, const char *path, size_t path_size,
                               int64_t size)
{
    writer->counts.files--;
    writer->counts.bytes -= size;
    return sb_tally_file(writer->tally, path, path_size, -1, -size);
}

enum sb_code sb_writer_heed_strict(const struct sb_writer *writer)
{
    if (!writer->options.strict || !writer->left_out)
        return SB_OK;
    return sb_fail(SB_INVALID, "%s: not everything can be held; stopped because of --strict",
                   writer->hold.path);
}

uint32_t sb_writer_shards_before(const struct sb_writer *writer)
{
    return writer ? writer->shards_in_use : 0;
}

struct sb_writer_counts sb_writer_counts(const struct sb_writer *writer)
{
    return writer->counts;
}

/* Names that the archive already has win. */
static enum sb_code load_owners(struct sb_writer *writer)
{
    if (writer->owners_loaded || writer->options.mode != SB_APPEND)
        return SB_OK;
    writer->owners_loaded = true;
    return sb_owner_names_load(&writer->owners, writer->db, NULL);
}

enum sb_code sb_writer_name_owner(struct sb_writer *writer, enum sb_owner which, int64_t id,
                                  const char *name, bool *kept)
{
    TRY(load_owners(writer));
    return sb_owner_names_add(&writer->owners, which, id, name, kept);
}

enum sb_code sb_writer_name_owners(struct sb_writer *writer, const struct sb_owner_names *names,
                                   const struct sb_notify *notify)
{
    if (names->count > 0)
        TRY(load_owners(writer));
    for (size_t i = 0; i < names->count; i++)
        TRY(sb_owner_names_add_or_warn(&writer->owners, names->list[i].which, names->list[i].id,
                                       names->list[i].name, notify));
    return SB_OK;
}

void sb_writer_set_progress(struct sb_writer *writer, const struct sb_progress *progress)
{
    writer->progress = progress;
    writer->sets_progress = true;
}

uint32_t sb_writer_change_counter(const struct sb_writer *writer)
{
    return writer->counter;
}

enum sb_code sb_writer_add_dir(struct sb_writer *writer, const struct sb_entry *entry)
{
    return sb_tally_dir(writer->tally, entry);
}

enum sb_code sb_writer_drop_file(struct sb_writer *writer, const struct sb_entry *old)
{
    sqlite3_bind_text(writer->drop_file, 1, old->path, (int)old->path_size, SQLITE_STATIC);
    TRY(sb_database_step(writer->drop_file));
    if (sqlite3_changes(writer->staging) == 0)
        return SB_OK;
    writer->counts.dropped++;
    sb_count_up(&writer->counts.dropped_bytes, old->size);
    return sb_tally_file(writer->tally, old->path, old->path_size, -1, -old->size);
}

enum sb_code sb_writer_drop_dir(struct sb_writer *writer, const char *path, size_t size)
{
    return sb_tally_drop_dir(writer->tally, path, size);
}

enum sb_code sb_writer_commit(struct sb_writer *writer)
{
    return writer->options.mode == SB_APPEND ? sb_writer_commit_append(writer)
                                             : sb_writer_commit_new(writer);
}
