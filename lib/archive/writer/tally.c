#include "archive/writer/tally.h"

#include "archive/database.h"
#include "core/buf.h"
#include "core/name.h"

#include <stdlib.h>
#include <string.h>

struct counts {
    int64_t subdirs;
    int64_t files;
    int64_t files_tree;
    int64_t size_tree; /* while counting: of the files in the directory itself */
};

/* What was reported of a directory. */
enum {
    HELD = 1, /* it exists, or a file in it does */
    GONE = 2, /* it was dropped */
};

struct frame {
    size_t key_size; /* of the directory's key, its '/' included */
    struct counts counts;
    unsigned flags;
    struct sb_entry metadata; /* `has` is 0 where none was given */
    bool exists;              /* in `dirs`, while applying */
};

/*
 * A directory's key is its path with a '/' appended (the root's is empty), so that in the order of
 * keys all that is below a directory follows it at once: with "a", "a-b", "a/c" it would not.
 */
struct sb_tally {
    sqlite3 *db;
    sqlite3_stmt *save;
    struct sb_buf key; /* of the innermost directory on the stack */
    struct frame *frames;
    size_t depth;
    size_t capacity;
};

/*
 * The counts of a directory itself; its parents get their sums when all is applied. A directory
 * that is entered again gets another row: searching for its first row would read and write a random
 * page for each file, if files come in no order.
 */
static const char make_table[] =
    "CREATE TEMP TABLE tally (key TEXT, files INTEGER, bytes INTEGER, mode INTEGER, uid INTEGER,"
    " gid INTEGER, mtime_ns INTEGER, said INTEGER)";

enum sb_code sb_tally_new(struct sb_tally **out, struct sqlite3 *db)
{
    CLEANUP(sb_tally_freep) struct sb_tally *tally = NULL;

    *out = NULL;
    TRY(SB_NEW(&tally));
    tally->db = db;
    TRY(sb_database_run(db, make_table));
    TRY(sb_database_prepare(db, &tally->save,
                            "INSERT INTO temp.tally VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"));
    *out = TAKE(tally);
    return SB_OK;
}

void sb_tally_free(struct sb_tally *tally)
{
    if (!tally)
        return;
    sqlite3_finalize(tally->save);
    sb_buf_release(&tally->key);
    free(tally->frames);
    free(tally);
}

/* SB_LIMIT if the sum is too large. */
static enum sb_code add(int64_t *sum, int64_t more)
{
    if (__builtin_add_overflow(*sum, more, sum))
        return sb_fail(SB_LIMIT, "the sizes add up to more than 2^63 - 1 bytes");
    return SB_OK;
}

/* Nothing is saved for a directory that only leads to others. */
static enum sb_code save_innermost(struct sb_tally *tally)
{
    const struct frame *frame = &tally->frames[tally->depth - 1];
    sqlite3_int64 last_row = sqlite3_last_insert_rowid(tally->db);
    sqlite3_stmt *save = tally->save;
    enum sb_code code;

    if (!frame->flags && !frame->counts.files && !frame->counts.size_tree && tally->depth > 1)
        return SB_OK;
    sqlite3_bind_text(save, 1, tally->key.data ? tally->key.data : "", (int)tally->key.size,
                      SQLITE_STATIC);
    sqlite3_bind_int64(save, 2, frame->counts.files);
    sqlite3_bind_int64(save, 3, frame->counts.size_tree);
    sb_database_bind_metadata(save, 4, &frame->metadata);
    sqlite3_bind_int64(save, 8, frame->flags);
    code = sb_database_step(save);
    sqlite3_set_last_insert_rowid(tally->db, last_row);
    return code;
}

/* Removes the innermost directory from the stack. */
static void pop(struct sb_tally *tally)
{
    tally->depth--;
    sb_buf_cut(&tally->key, tally->depth ? tally->frames[tally->depth - 1].key_size : 0);
}

/* Is the directory with this key the innermost one, or below it? */
static bool is_within(const struct sb_tally *tally, const char *key, size_t key_size)
{
    size_t size = tally->frames[tally->depth - 1].key_size;

    return size <= key_size && (size == 0 || memcmp(tally->key.data, key, size) == 0);
}

/*
 * Moves from the innermost directory, or from nowhere, down to the one with this key. each: NULL,
 * or called for those on the way.
 */
static enum sb_code descend(struct sb_tally *tally, const char *key, size_t key_size,
                            sb_tally_each *each, void *context)
{
    const char *slash;
    size_t end = 0;

    while (tally->depth == 0 || tally->frames[tally->depth - 1].key_size < key_size) {
        if (tally->depth > 0) {
            end = tally->frames[tally->depth - 1].key_size;
            slash = memchr(key + end, '/', key_size - end);
            end = (size_t)(slash - key) + 1;
        }
        if (end > 0)
            TRY(sb_buf_set(&tally->key, key, end));
        if (tally->depth > SB_DEPTH_MAX + 1)
            return sb_fail(SB_LIMIT, "%s: more than %d directories deep", tally->key.data,
                           SB_DEPTH_MAX);
        TRY(sb_grow(&tally->frames, &tally->capacity, tally->depth, sizeof(*tally->frames)));
        tally->frames[tally->depth++] = (struct frame){.key_size = end};
        if (each)
            TRY(each(context, key, end ? end - 1 : 0));
    }
    return SB_OK;
}

/* Makes the directory with this key the innermost one. */
static enum sb_code enter(struct sb_tally *tally, const char *key, size_t key_size)
{
    while (tally->depth > 0 && !is_within(tally, key, key_size)) {
        TRY(save_innermost(tally));
        pop(tally);
    }
    return descend(tally, key, key_size, NULL, NULL);
}

enum sb_code sb_tally_file(struct sb_tally *tally, const char *path, size_t path_size, int files,
                           int64_t bytes)
{
    size_t parent_size = sb_parent_size(path, path_size);
    struct frame *frame;

    TRY(enter(tally, path, parent_size ? parent_size + 1 : 0));
    frame = &tally->frames[tally->depth - 1];
    frame->counts.files += files;
    if (files >= 0)
        frame->flags |= HELD;
    return add(&frame->counts.size_tree, bytes);
}

static enum sb_code enter_directory(struct sb_tally *tally, const char *path, size_t size)
{
    CLEANUP(sb_buf_release) struct sb_buf key = {0};

    TRY(sb_buf_add(&key, path, size));
    if (size)
        TRY(sb_buf_add_char(&key, '/'));
    return enter(tally, key.data, key.size);
}

enum sb_code sb_tally_dir(struct sb_tally *tally, const struct sb_entry *entry)
{
    struct frame *frame;

    TRY(enter_directory(tally, entry->path, entry->path_size));
    frame = &tally->frames[tally->depth - 1];
    frame->flags |= HELD;
    if (entry->has)
        frame->metadata = *entry;
    return SB_OK;
}

enum sb_code sb_tally_drop_dir(struct sb_tally *tally, const char *path, size_t size)
{
    TRY(enter_directory(tally, path, size));
    tally->frames[tally->depth - 1].flags |= GONE;
    return SB_OK;
}

/* Afterwards the table has all counts, and the stack is empty. */
static enum sb_code save_all(struct sb_tally *tally)
{
    TRY(enter(tally, "", 0));
    while (tally->depth > 0) {
        TRY(save_innermost(tally));
        pop(tally);
    }
    return SB_OK;
}

enum sb_code sb_tally_each_dir(struct sb_tally *tally, sb_tally_each *each, void *context)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *rows = NULL;
    enum sb_code code = SB_OK;

    TRY(save_all(tally));
    TRY(sb_database_prepare(tally->db, &rows,
                            "SELECT DISTINCT key FROM temp.tally WHERE said & ?1 ORDER BY key"));
    SB_BIND(rows, HELD);
    while (sb_database_row(rows, &code)) {
        const char *key = (const char *)sqlite3_column_text(rows, 0);
        size_t size = (size_t)sqlite3_column_bytes(rows, 0);

        while (tally->depth > 0 && !is_within(tally, key, size))
            pop(tally);
        code = descend(tally, key, size, each, context);
    }
    while (tally->depth > 0)
        pop(tally);
    return code;
}

/* The statements of sb_tally_apply; a fresh archive needs only `insert`. */
struct target {
    sqlite3 *db;
    bool fresh;
    sqlite3_stmt *find;
    sqlite3_stmt *update;
    sqlite3_stmt *insert;
    sqlite3_stmt *remove; /* if nothing is below it */
    int64_t removed;      /* directories */
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

/* Adds the counts in the directory's row. */
static enum sb_code add_row(struct sb_tally *tally, sqlite3_stmt *row, struct counts *counts)
{
    for (int i = 0; i < 3; i++) {
        int64_t count = sqlite3_column_int64(row, i);

        /* Above any real count; with more the sums would overflow. */
        if (count > INT64_MAX / 2 || count < -(INT64_MAX / 2))
            return sb_fail(SB_DAMAGED,
                           "%s: its tree statistics make no sense; run 'shardbox upgrade'",
                           tally->key.size ? tally->key.data : "the root directory");
    }
    counts->subdirs += sqlite3_column_int64(row, 0);
    counts->files += sqlite3_column_int64(row, 1);
    TRY(add(&counts->files_tree, sqlite3_column_int64(row, 2)));
    return add(&counts->size_tree, sqlite3_column_int64(row, 3));
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
    bind_path(tally, target->remove);
    TRY(sb_database_step(target->remove));
    *removed = sqlite3_changes(target->db) > 0;
    target->removed += *removed;
    return SB_OK;
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
    sb_database_bind_metadata(statement, 6, &frame->metadata);
    if (frame->exists)
        sqlite3_bind_int(statement, 10, frame->metadata.has != 0);
    return sb_database_step(statement);
}

/*
 * The innermost directory is complete: all below it was processed. If it has no row, and files were
 * only dropped from it, none is made.
 */
static enum sb_code write_innermost(struct sb_tally *tally, struct target *target)
{
    struct frame *frame = &tally->frames[tally->depth - 1];
    bool has_parent = tally->depth > 1, added, removed = false;

    if (has_parent) {
        TRY(add(&frame[-1].counts.files_tree, frame->counts.files_tree));
        TRY(add(&frame[-1].counts.size_tree, frame->counts.size_tree));
    }
    if (!target->fresh)
        TRY(look_up(tally, target, frame));
    added = !frame->exists && (target->fresh || frame->flags & HELD);
    if (frame->exists && frame->flags & GONE)
        TRY(remove_innermost(tally, target, &removed));
    if (!removed && (added || frame->exists))
        TRY(put_innermost(tally, target));
    if (has_parent) {
        frame[-1].flags |= added ? HELD : 0;
        frame[-1].counts.subdirs += added - removed;
    }
    pop(tally);
    return SB_OK;
}

/* Adds one more row of a directory. */
static enum sb_code apply_row(struct sb_tally *tally, struct target *target, sqlite3_stmt *row)
{
    const char *key = (const char *)sqlite3_column_text(row, 0);
    size_t key_size = (size_t)sqlite3_column_bytes(row, 0);
    struct sb_entry metadata = {0};
    struct frame *frame;

    while (tally->depth > 0 && !is_within(tally, key, key_size))
        TRY(write_innermost(tally, target));
    TRY(descend(tally, key, key_size, NULL, NULL));
    frame = &tally->frames[tally->depth - 1];
    frame->counts.files += sqlite3_column_int64(row, 1);
    frame->counts.files_tree += sqlite3_column_int64(row, 1);
    frame->flags |= (unsigned)sqlite3_column_int(row, 7);
    sb_database_take_metadata(row, 3, &metadata);
    if (metadata.has)
        frame->metadata = metadata;
    return add(&frame->counts.size_tree, sqlite3_column_int64(row, 2));
}

enum sb_code sb_tally_apply(struct sb_tally *tally, struct sqlite3 *index, bool fresh,
                            int64_t *removed)
{
    CLEANUP(release_target) struct target target = {.db = index, .fresh = fresh};
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *rows = NULL;
    enum sb_code code = SB_OK;

    TRY(save_all(tally));
    TRY(prepare_target(&target));
    TRY(sb_database_prepare(tally->db, &rows, "SELECT * FROM temp.tally ORDER BY key, rowid"));
    while (sb_database_row(rows, &code))
        code = apply_row(tally, &target, rows);
    while (code == SB_OK && tally->depth > 0)
        code = write_innermost(tally, &target);
    if (removed)
        *removed = target.removed;
    return code;
}
