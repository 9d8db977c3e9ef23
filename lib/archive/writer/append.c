/*
 * Additions to an archive. The index remains unchanged, and readable, until one final transaction;
 * rows are kept in temporary tables until then.
 */
#include "archive/writer/private.h"

#include "archive/config.h"
#include "archive/database.h"
#include "archive/journal.h"
#include "archive/own/settle.h"
#include "archive/own/state.h"
#include "archive/parent.h"
#include "archive/shards.h"
#include "archive/writer/linked.h"
#include "core/io.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static enum sb_code prepare(struct sb_writer *writer)
{
    static const char tables[] =
        "PRAGMA journal_mode=MEMORY;"
        "CREATE TABLE files (path TEXT, shard INTEGER, offset INTEGER, size INTEGER,"
        " crc32c INTEGER, mode INTEGER, uid INTEGER, gid INTEGER, mtime_ns INTEGER);"
        "CREATE TABLE config (key TEXT PRIMARY KEY, value_text TEXT, value_int INTEGER)"
        " WITHOUT ROWID;"
        "CREATE TABLE dropped (path TEXT PRIMARY KEY) WITHOUT ROWID; BEGIN";

    TRY(sb_register_parent_functions(writer->db));
    TRY(sb_database_run(writer->db, "PRAGMA cache_size=-24576"));
    TRY(SB_TABLES(&writer->staging, writer->hold.path, tables,
                  {&writer->drop_file, "INSERT OR IGNORE INTO dropped VALUES (?1)"}));
    TRY(sb_writer_prepare_rows(writer, writer->staging));
    return sb_lookups_prepare(&writer->lookups, writer->db, writer->index_only);
}

/* The furthest end among the extents of a shard, or among its last ones by offset. */
static enum sb_code furthest_end(struct sb_writer *writer, uint32_t shard, bool of_last,
                                 int64_t *end)
{
    char query[160];

    snprintf(query, sizeof(query),
             "SELECT max(offset + size) FROM (SELECT offset, size FROM main.files"
             " WHERE shard = %u%s)",
             shard, of_last ? " ORDER BY offset DESC LIMIT 1000" : "");
    return sb_database_integer(writer->db, query, 0, end);
}

/*
 * Where bytes are added to a shard: at its end, or where those begin that a killed run has added to
 * it. What else is after the last extent may be files that this index, being an older one, does not
 * know. Normally there is nothing; else every extent is checked, because all after the result is
 * cut off.
 */
static enum sb_code used_end(struct sb_writer *writer, uint32_t shard, int64_t file_size,
                             int64_t *end)
{
    TRY(furthest_end(writer, shard, true, end));
    if (*end < file_size)
        TRY(furthest_end(writer, shard, false, end));
    if (*end < file_size) {
        const struct sb_growth *left = &writer->hold.left;
        bool own = left->there && left->shard == shard && left->from < file_size;

        if (!own)
            *end = file_size;
        else if (left->from > *end)
            *end = left->from;
    }
    if (*end < 0 || *end > file_size)
        return sb_fail(SB_DAMAGED,
                       "%s: shard %05u is shorter than the index says; run 'shardbox verify'",
                       writer->hold.path, shard);
    return SB_OK;
}

/* May bytes be added to this shard? Not through links: it may be another archive's. */
static bool may_continue(const struct sb_writer *writer, const struct sb_named *last)
{
    return !writer->seal && S_ISREG(last->look.mode) && last->look.links == 1 &&
           access(last->path, W_OK) == 0;
}

/*
 * Counts the existing shards, and continues the last one if possible. Empty ones after the last
 * that the index counts are replaced: what a killed run wrote into one would look like a foreign
 * file's bytes.
 */
static enum sb_code open_shards(struct sb_writer *writer)
{
    uint32_t in_use = writer->shards_in_use;
    uint32_t count = in_use ? in_use - 1 : 0, own = in_use ? in_use : 1;
    CLEANUP(sb_named_release) struct sb_named last = {0};
    CLEANUP(sb_named_release) struct sb_named next = {0};
    int64_t end;

    for (;; count++) {
        TRY(sb_look_at_shard(&next, writer->hold.path, "", count));
        if (!next.look.there)
            break;
        sb_named_release(&last);
        last = next;
        next = (struct sb_named){0};
    }
    if (count < in_use)
        return sb_fail_errno(ENOENT, "%s", next.path);
    TRY(sb_shard_out_new(&writer->shards, &writer->hold, count < own ? count : own, writer->limit));
    if (!last.path || count > own || !may_continue(writer, &last))
        return SB_OK;
    TRY(used_end(writer, count - 1, last.look.size, &end));
    /* A commit that freed the bytes after `end` must be on disk before they are cut off. */
    if (end < last.look.size)
        TRY(sb_sync_directory_of(writer->hold.file));
    TRY(sb_note_grows(&writer->hold.note, count - 1, end));
    TRY(sb_shard_out_continue(writer->shards, last.path, &last.look.identity, end));
    writer->continues = true;
    return SB_OK;
}

/* Settles earlier runs; from here on the note is this run's. */
static enum sb_code look_at_archive(struct sb_writer *writer)
{
    struct sb_hold *hold = &writer->hold;
    int64_t limit;

    TRY(sb_config_number(writer->db, SB_CONFIG_SHARD_SIZE, INT64_MAX, &limit));
    TRY(writer->index_only ? sb_shard_count_in_use(writer->db, hold->file, &writer->shards_in_use)
                           : sb_writer_refuse_foreign(writer, writer->db));
    if (writer->limit <= 0)
        writer->limit = limit > 0 ? limit : INT64_MAX;
    writer->settled = true;
    if (writer->removes)
        TRY(sb_remade_refuse(writer->db, hold->path));
    return sb_note_begin(&hold->note, SB_AIM_CHANGE, &hold->index);
}

enum sb_code sb_writer_open_append(struct sb_writer *writer)
{

    if (writer->hold.fd < 0)
        TRY(sb_hold_take(&writer->hold));
    if (!writer->hold.file)
        TRY(sb_writer_roll_forward(writer));
    TRY(sb_hold_open(&writer->hold, &writer->db, &(struct sb_hold_options){.to_change = true}));
    writer->counter = sb_database_change_counter(writer->db);
    TRY(look_at_archive(writer));
    TRY(prepare(writer));
    return writer->index_only ? SB_OK : open_shards(writer);
}

/* Copies the rows that `from` returns, all their columns as parameters, one by one. */
static enum sb_code move_rows(struct sb_writer *writer, const char *from, const char *to)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *rows = NULL;
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *write = NULL;
    enum sb_code code = SB_OK;

    TRY(sb_database_prepare(writer->staging, &rows, from));
    TRY(sb_database_prepare(writer->db, &write, to));
    while (sb_database_row(rows, &code)) {
        TRY(sb_database_bind_row(write, 1, rows, 0, sqlite3_column_count(rows)));
        TRY(sb_database_step(write));
    }
    return code;
}

/* Records of linked shards, which replace any of the same numbers. */
static enum sb_code move_records(struct sb_writer *writer)
{
    uint32_t first = sb_shard_out_count(writer->shards) - sb_shard_out_made(writer->shards);

    TRY(sb_linked_drop_from(writer->db, first));
    if (writer->continues)
        TRY(sb_linked_unwatch(writer->db, first - 1));
    return move_rows(writer, "SELECT key, value_text, value_int FROM config",
                     "INSERT INTO config (key, value_text, value_int) VALUES (?1, ?2, ?3)");
}

/* Gives files their bytes and final names, and syncs the shards. */
static enum sb_code finish_files(struct sb_writer *writer)
{
    TRY(sb_writer_make_copies(writer));
    if (writer->names_repeat)
        TRY(sb_writer_index_names(writer));
    TRY(sb_writer_heed_strict(writer));
    if (writer->index_only)
        return SB_OK;
    TRY(sb_shard_out_finish(writer->shards));
    return sb_sync_directory_of(writer->hold.path);
}

/* Within the transaction. */
static enum sb_code change_index(struct sb_writer *writer)
{
    uint32_t count = writer->shards ? sb_shard_out_count(writer->shards) : writer->shards_in_use;

    TRY(move_rows(writer, "SELECT path FROM dropped ORDER BY path",
                  "DELETE FROM files WHERE path = ?1"));
    TRY(move_rows(writer, "SELECT * FROM files ORDER BY path",
                  "INSERT INTO files (path, shard, offset, size, crc32c, mode, uid, gid,"
                  " mtime_ns) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"));
    TRY(sb_tally_apply(writer->tally, writer->db, false));
    writer->counts.dropped_dirs = sb_tally_removed(writer->tally);
    TRY(sb_writer_put_progress(writer));
    if (writer->shards)
        TRY(move_records(writer));
    return sb_writer_put_config(writer, count, false);
}

enum sb_code sb_writer_commit_append(struct sb_writer *writer)
{
    bool note_ended;
    enum sb_code code;

    TRY(finish_files(writer));
    /* New shards have their names before any row refers to them. */
    if (writer->shards && sb_shard_out_made(writer->shards) > 0) {
        TRY(sb_note_sync(&writer->hold.note));
        TRY(sb_settle_name_shards(&writer->hold));
    }
    TRY(sb_exclude_readers(writer->db, writer->hold.file));
    TRY(change_index(writer));
    /*
     * A commit that fails may be on disk all the same: then the bytes that it refers to must be
     * kept. Where it was not rolled back, the next writer finds out, and cuts off what is not in
     * use.
     */
    writer->committed = true;
    code = sb_journal_commit(writer->db, writer->hold.note.path, &note_ended);
    writer->finished = code == SB_OK;
    return code || !note_ended ? code : sb_note_renew(&writer->hold.note);
}
