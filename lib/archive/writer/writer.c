/*
 * What all writers do, and additions to an archive: the index remains unchanged, and readable,
 * until one final transaction; rows are kept in temporary tables until then.
 */
#include "archive/archive.h"
#include "archive/config.h"
#include "archive/database.h"
#include "archive/journal.h"
#include "archive/own/part.h"
#include "archive/own/settle.h"
#include "archive/own/state.h"
#include "archive/schema.h"
#include "archive/shards.h"
#include "archive/writer/linked.h"
#include "archive/writer/private.h"
#include "core/io.h"
#include "core/number.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define AHEAD_MOST 512

#define FILE_COLUMNS                                                                               \
    "SELECT path, shard, offset, size, crc32c, mode, uid, gid, mtime_ns, rowid FROM main.files "
#define DIR_COLUMNS "SELECT mode, uid, gid, mtime_ns, rowid FROM main.dirs "

static const char one_file[] = FILE_COLUMNS "WHERE path = ?1";

/* Every text comes before every blob. */
static const char files_from[] = FILE_COLUMNS "WHERE path >= ?1 AND path < x''"
                                              " ORDER BY path";

static const char one_dir[] = DIR_COLUMNS "WHERE path = ?1";

/* Also a directory without a row of its own, but with something below it. */
static const char any_dir[] = DIR_COLUMNS "WHERE path = ?1"
                                          " UNION ALL SELECT NULL, NULL, NULL, NULL, 0"
                                          " FROM main.files"
                                          " WHERE path > ?1 || '/' AND path < ?1 || '0'"
                                          " UNION ALL SELECT NULL, NULL, NULL, NULL, 0"
                                          " FROM main.dirs"
                                          " WHERE path > ?1 || '/' AND path < ?1 || '0' LIMIT 1";

/*
 * renames: rows get other names between look-ups, and a directory without a row is found, too, if
 * something is below it.
 */
static enum sb_code prepare_lookups(struct sb_lookups *lookups, sqlite3 *db, bool renames)
{
    TRY(SB_PREPARE(db, {&lookups->file, one_file}, {&lookups->dir, renames ? any_dir : one_dir}));
    return renames ? SB_OK : sb_database_prepare(db, &lookups->files, files_from);
}

static enum sb_code take_file(sqlite3_stmt *row, struct sb_entry *entry)
{
    TRY(sb_database_take_file(row, 0, entry));
    entry->row = sqlite3_column_int64(row, 9);
    return SB_OK;
}

static enum sb_code take_dir(sqlite3_stmt *row, struct sb_entry *entry)
{
    *entry = (struct sb_entry){.type = SB_DIR, .row = sqlite3_column_int64(row, 4)};
    sb_database_take_metadata(row, 0, entry);
    return SB_OK;
}

static enum sb_code find_one(sqlite3_stmt *find,
                             enum sb_code (*take)(sqlite3_stmt *, struct sb_entry *),
                             const char *path, size_t size, struct sb_entry *entry)
{
    enum sb_code code = SB_OK;

    sqlite3_bind_text(find, 1, path, (int)size, SQLITE_STATIC);
    if (sb_database_row(find, &code))
        code = take(find, entry);
    else if (!code)
        code = SB_NOENT;
    sqlite3_reset(find);
    return code;
}

/* The files from this name on: twice as many as were found among the last ones. */
static enum sb_code read_ahead(struct sb_lookups *lookups, const char *path, size_t size)
{
    struct sb_rows *ahead = &lookups->ahead;
    size_t wanted = 2 * lookups->found + 1;
    enum sb_code code = SB_OK;

    sb_rows_begin(ahead);
    ahead->limit = wanted < AHEAD_MOST ? wanted : AHEAD_MOST;
    lookups->found = 0;
    sqlite3_bind_text(lookups->files, 1, path, (int)size, SQLITE_STATIC);
    while (!sb_rows_is_full(ahead) && sb_database_row(lookups->files, &code)) {
        struct sb_entry entry;

        code = take_file(lookups->files, &entry);
        if (!code)
            code = sb_rows_add(ahead, &entry, false);
    }
    lookups->ahead_to_the_end = !code && ahead->count > 0 && !sb_rows_is_full(ahead);
    sqlite3_reset(lookups->files);
    if (code)
        sb_rows_begin(ahead);
    return code;
}

/* The order of the row at this place, and of a name. */
static int compare(const struct sb_rows *rows, size_t at, const char *path, size_t size)
{
    return sb_compare_bytes(sb_row_path(rows, &rows->rows[at]), rows->rows[at].entry.path_size,
                            path, size);
}

static enum sb_code find_ahead(struct sb_lookups *lookups, const char *path, size_t size,
                               struct sb_entry *entry)
{
    struct sb_rows *ahead = &lookups->ahead;

    while (ahead->at < ahead->count && compare(ahead, ahead->at, path, size) < 0)
        ahead->at++;
    if (ahead->at == ahead->count && !lookups->ahead_to_the_end)
        TRY(read_ahead(lookups, path, size));
    if (ahead->at == ahead->count || compare(ahead, ahead->at, path, size) != 0)
        return SB_NOENT;
    *entry = ahead->rows[ahead->at].entry;
    lookups->found++;
    return SB_OK;
}

enum sb_code sb_writer_lookup(struct sb_writer *writer, const char *path, size_t size,
                              struct sb_entry *entry)
{
    struct sb_lookups *lookups = &writer->lookups;
    const struct sb_rows *ahead = &lookups->ahead;
    enum sb_code code;

    if (writer->options.mode != SB_APPEND)
        return SB_NOENT;
    *entry = (struct sb_entry){0};
    /* Names that were passed, as of directories above, do not move what is read ahead. */
    if (!lookups->files ||
        (ahead->count > 0 && compare(ahead, ahead->at > 0 ? ahead->at - 1 : 0, path, size) >= 0))
        code = find_one(lookups->file, take_file, path, size, entry);
    else
        code = find_ahead(lookups, path, size, entry);
    if (code == SB_NOENT)
        code = find_one(lookups->dir, take_dir, path, size, entry);
    entry->path = path;
    entry->path_size = size;
    return code;
}

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
    return prepare_lookups(&writer->lookups, writer->db, writer->options.index_only);
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
    return !writer->options.seal && S_ISREG(last->look.mode) && last->look.links == 1 &&
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
    TRY(writer->options.index_only
            ? sb_shard_count_in_use(writer->db, hold->file, &writer->shards_in_use)
            : sb_writer_refuse_foreign(writer, writer->db));
    if (writer->limit <= 0)
        writer->limit = limit > 0 ? limit : INT64_MAX;
    writer->settled = true;
    if (writer->options.removes)
        TRY(sb_remade_refuse(writer->db, hold->path));
    return sb_note_begin(&hold->note, SB_AIM_CHANGE, &hold->index);
}

/* Completes an interrupted run that had only its renames left. */
static enum sb_code roll_forward(struct sb_writer *writer)
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

static enum sb_code open_append(struct sb_writer *writer)
{
    if (writer->hold.fd < 0)
        TRY(sb_hold_take(&writer->hold));
    if (!writer->hold.file)
        TRY(roll_forward(writer));
    TRY(sb_hold_open(&writer->hold, &writer->db, &(struct sb_hold_options){.to_change = true}));
    writer->counter = sb_database_change_counter(writer->db);
    TRY(look_at_archive(writer));
    TRY(prepare(writer));
    return writer->options.index_only ? SB_OK : open_shards(writer);
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
    if (writer->options.names_repeat)
        TRY(sb_writer_index_names(writer));
    TRY(sb_writer_heed_strict(writer));
    if (writer->options.index_only)
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
    TRY(sb_tally_apply(writer->tally, writer->db, false, &writer->counts.dropped_dirs));
    if (writer->shards)
        TRY(move_records(writer));
    return sb_writer_put_config(writer, count);
}

static enum sb_code commit_append(struct sb_writer *writer)
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
    code = sb_journal_commit(writer->db, &writer->hold.note, &note_ended);
    writer->finished = code == SB_OK;
    return code || !note_ended ? code : sb_note_renew(&writer->hold.note);
}

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
    TRY(writer->options.mode == SB_APPEND ? open_append(writer) : sb_writer_open_new(writer));
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
    sqlite3_finalize(writer->lookups.dir);
    sqlite3_finalize(writer->lookups.file);
    sqlite3_finalize(writer->lookups.files);
    sb_rows_release(&writer->lookups.ahead);
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
    return writer->options.mode == SB_APPEND ? commit_append(writer) : sb_writer_commit_new(writer);
}
