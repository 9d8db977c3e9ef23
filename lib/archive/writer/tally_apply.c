#include "archive/writer/tally_private.h"

#include "archive/database.h"

/* The statements of sb_tally_apply; a fresh archive needs only `insert`. */
struct target {
    sqlite3 *db;
    bool fresh;
    sqlite3_stmt *find;
    sqlite3_stmt *update;
    sqlite3_stmt *insert;
    sqlite3_stmt *remove; /* if nothing is below it */
};

static enum sb_code prepare_target(struct target *target)
{
    return SB_PREPARE(target->db,
                      {&target->find, "SELECT num_subdirs, num_files, num_files_tree, size_tree"
                                      " FROM main.dirs WHERE path = ?1"},
                      {&target->update,
                       "UPDATE main.dirs SET num_subdirs = ?2, num_files = ?3,"
                       " num_files_tree = ?4, size_tree = ?5,"
                       " mode = iif(?10, ?6, mode), uid = iif(?10, ?7, uid),"
                       " gid = iif(?10, ?8, gid), mtime_ns = iif(?10, ?9, mtime_ns)"
                       " WHERE path = ?1"},
                      {&target->insert, "INSERT INTO main.dirs (path, num_subdirs, num_files,"
                                        " num_files_tree, size_tree, mode, uid, gid, mtime_ns)"
                                        " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)"},
                      {&target->remove, "DELETE FROM main.dirs WHERE path = ?1 AND path != ''"
                                        " AND NOT EXISTS (SELECT 1 FROM main.files AS f"
                                        " WHERE f.path > ?1 || '/' AND f.path < ?1 || '0')"
                                        " AND NOT EXISTS (SELECT 1 FROM main.dirs AS d"
                                        " WHERE d.path > ?1 || '/' AND d.path < ?1 || '0')"});
}

static void release_target(struct target *target)
{
    sqlite3_finalize(target->find);
    sqlite3_finalize(target->update);
    sqlite3_finalize(target->insert);
    sqlite3_finalize(target->remove);
}

static void bind_path(struct sb_tally *tally, sqlite3_stmt *statement)
{
    size_t size = tally->key.size ? tally->key.size - 1 : 0;

    sqlite3_bind_text(statement, 1, tally->key.data ? tally->key.data : "", (int)size,
                      SQLITE_STATIC);
}

/* Above any real count; with more the sums would overflow. */
static bool is_absurd(int64_t count)
{
    return count > INT64_MAX / 2 || count < -(INT64_MAX / 2);
}

/* Adds the counts in the directory's row. */
static enum sb_code add_row(struct sb_tally *tally, sqlite3_stmt *row, struct counts *counts)
{
    for (int i = 0; i < 3; i++) {
        if (is_absurd(sqlite3_column_int64(row, i)))
            return sb_fail(SB_DAMAGED,
                           "%s: its tree statistics make no sense; run 'shardbox upgrade'",
                           tally->key.size ? tally->key.data : "the root directory");
    }
    counts->subdirs += sqlite3_column_int64(row, 0);
    counts->files += sqlite3_column_int64(row, 1);
    TRY(sb_tally_add(&counts->files_tree, sqlite3_column_int64(row, 2)));
    return sb_tally_add(&counts->size_tree, sqlite3_column_int64(row, 3));
}

static enum sb_code look_up(struct sb_tally *tally, struct target *target, struct frame *frame)
{
    enum sb_code code = SB_OK;

    bind_path(tally, target->find);
    frame->exists = sb_database_row(target->find, &code);
    if (frame->exists)
        code = add_row(tally, target->find, &frame->counts);
    sqlite3_reset(target->find);
    return code;
}

/* *removed: it was dropped, and nothing is below it. */
static enum sb_code remove_innermost(struct sb_tally *tally, struct target *target, bool *removed)
{
    enum sb_code code;

    bind_path(tally, target->remove);
    code = sb_database_step(target->remove);
    *removed = code == SB_OK && sqlite3_changes(target->db) > 0;
    tally->removed += *removed;
    return code;
}

static enum sb_code put_innermost(struct sb_tally *tally, struct target *target)
{
    const struct frame *frame = &tally->frames[tally->depth - 1];
    sqlite3_stmt *statement = frame->exists ? target->update : target->insert;

    bind_path(tally, statement);
    sqlite3_bind_int64(statement, 2, frame->counts.subdirs);
    sqlite3_bind_int64(statement, 3, frame->counts.files);
    sqlite3_bind_int64(statement, 4, frame->counts.files_tree);
    sqlite3_bind_int64(statement, 5, frame->counts.size_tree);
    sb_tally_bind_metadata(statement, 6, &frame->metadata);
    if (frame->exists)
        sqlite3_bind_int(statement, 10, frame->metadata.has != 0);
    return sb_database_step(statement);
}

static enum sb_code add_to_parent(struct frame *frame)
{
    struct counts *sums = &frame[-1].counts;

    TRY(sb_tally_add(&sums->files_tree, frame->counts.files_tree));
    return sb_tally_add(&sums->size_tree, frame->counts.size_tree);
}

/*
 * The innermost directory is complete: all below it was processed. If it has no row, and files were
 * only dropped from it, none is made.
 */
static enum sb_code write_innermost(struct sb_tally *tally, struct target *target)
{
    struct frame *frame = &tally->frames[tally->depth - 1];
    bool has_parent = tally->depth > 1, added, removed = false;
    enum sb_code code = has_parent ? add_to_parent(frame) : SB_OK;

    if (code == SB_OK && !target->fresh)
        code = look_up(tally, target, frame);
    added = !frame->exists && (target->fresh || frame->flags & HELD);
    if (code == SB_OK && frame->exists && frame->flags & GONE)
        code = remove_innermost(tally, target, &removed);
    if (code == SB_OK && !removed && (added || frame->exists))
        code = put_innermost(tally, target);
    if (has_parent) {
        frame[-1].flags |= added ? HELD : 0;
        frame[-1].counts.subdirs += added - removed;
    }
    sb_tally_pop(tally);
    return code;
}

/* Adds one more row of the innermost directory. */
static enum sb_code take_row(struct sb_tally *tally, sqlite3_stmt *row)
{
    struct frame *frame = &tally->frames[tally->depth - 1];
    unsigned has = (unsigned)sqlite3_column_int(row, 3);

    frame->counts.files += sqlite3_column_int64(row, 1);
    frame->counts.files_tree += sqlite3_column_int64(row, 1);
    frame->flags |= (unsigned)sqlite3_column_int(row, 8);
    if (has) {
        frame->metadata = (struct metadata){
            .has = has,
            .mode = sqlite3_column_int64(row, 4),
            .uid = sqlite3_column_int64(row, 5),
            .gid = sqlite3_column_int64(row, 6),
            .mtime_ns = sqlite3_column_int64(row, 7),
        };
    }
    return sb_tally_add(&frame->counts.size_tree, sqlite3_column_int64(row, 2));
}

static enum sb_code apply_row(struct sb_tally *tally, struct target *target, sqlite3_stmt *row)
{
    const char *key = (const char *)sqlite3_column_text(row, 0);
    size_t key_size = (size_t)sqlite3_column_bytes(row, 0);

    while (tally->depth > 0 && !sb_tally_is_within(tally, key, key_size))
        TRY(write_innermost(tally, target));
    TRY(sb_tally_descend(tally, key, key_size, NULL, NULL));
    return take_row(tally, row);
}

enum sb_code sb_tally_apply(struct sb_tally *tally, struct sqlite3 *index, bool fresh)
{
    struct target target = {.db = index, .fresh = fresh};
    sqlite3_stmt *rows = NULL;
    enum sb_code code;

    code = sb_tally_save_all(tally);
    if (code == SB_OK)
        code = prepare_target(&target);
    if (code == SB_OK)
        code =
            sb_database_prepare(tally->db, &rows, "SELECT * FROM temp.tally ORDER BY key, rowid");
    while (sb_database_row(rows, &code))
        code = apply_row(tally, &target, rows);
    while (code == SB_OK && tally->depth > 0)
        code = write_innermost(tally, &target);
    sqlite3_finalize(rows);
    release_target(&target);
    return code;
}

int64_t sb_tally_removed(const struct sb_tally *tally)
{
    return tally->removed;
}
