#include "archive/tally.h"

#include "archive/database.h"
#include "core/buf.h"
#include "core/name.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

struct counts {
    int64_t subdirs;
    int64_t files;
    int64_t files_tree;
    int64_t size_tree; /* while counting: of the files in the directory itself */
};

struct metadata {
    unsigned has; /* SB_HAS_... bits, 0 where none was given */
    int64_t mode, uid, gid, mtime_ns;
};

/* What was said of a directory. */
enum {
    HELD = 1, /* that it is there, or that a file in it is */
    GONE = 2, /* that it was dropped */
};

struct frame {
    size_t key_size; /* of the directory's key, its '/' included */
    struct counts counts;
    unsigned said;
    struct metadata metadata;
    bool exists; /* in `dirs`, while applying */
};

/*
 * A directory's key is its path with a '/' behind it (the root's is empty), so that in the order of
 * keys all that is below a directory follows it at once: of "a", "a-b", "a/c" it would not.
 */
struct sb_tally {
    sqlite3 *db;
    sqlite3_stmt *save;
    struct sb_buf key; /* of the innermost directory on the stack */
    struct frame *frames;
    size_t depth;
    size_t room;
    int64_t removed; /* directories, while applying */
};

/*
 * What was counted of a directory itself; its parents get their sums when all is applied. A
 * directory that is entered again has another row, for looking for the one it has would read and
 * write a page at random for each file, where files come in no order.
 */
static const char make_table[] =
    "CREATE TEMP TABLE tally (key TEXT, files INTEGER, bytes INTEGER, has INTEGER, mode INTEGER,"
    " uid INTEGER, gid INTEGER, mtime_ns INTEGER, said INTEGER)";

static const char save_frame[] =
    "INSERT INTO temp.tally VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";

enum sb_code sb_tally_new(struct sb_tally **out, struct sqlite3 *db, struct sb_error *err)
{
    struct sb_tally *tally = calloc(1, sizeof(*tally));
    enum sb_code code;

    *out = NULL;
    if (!tally)
        return sb_fail_memory(err);
    tally->db = db;
    code = sb_database_run(db, make_table, err);
    if (code == SB_OK)
        code = sb_database_prepare(db, &tally->save, save_frame, err);
    if (code) {
        sb_tally_free(tally);
        return code;
    }
    *out = tally;
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

static void bind_metadata(sqlite3_stmt *statement, int column, const struct metadata *metadata)
{
    sb_database_bind_known(statement, column, metadata->has & SB_HAS_MODE, metadata->mode);
    sb_database_bind_known(statement, column + 1, metadata->has & SB_HAS_UID, metadata->uid);
    sb_database_bind_known(statement, column + 2, metadata->has & SB_HAS_GID, metadata->gid);
    sb_database_bind_known(statement, column + 3, metadata->has & SB_HAS_MTIME, metadata->mtime_ns);
}

static enum sb_code add_checked(int64_t *sum, int64_t more, struct sb_error *err)
{
    if (__builtin_add_overflow(*sum, more, sum))
        return sb_fail(err, SB_LIMIT, "the sizes add up to more than 2^63 - 1 bytes");
    return SB_OK;
}

/* Nothing is saved of a directory that only leads to others. */
static enum sb_code save_innermost(struct sb_tally *tally, struct sb_error *err)
{
    const struct frame *frame = &tally->frames[tally->depth - 1];
    sqlite3_stmt *save = tally->save;

    if (!frame->said && !frame->counts.files && !frame->counts.size_tree && tally->depth > 1)
        return SB_OK;
    sqlite3_bind_text(save, 1, tally->key.data ? tally->key.data : "", (int)tally->key.size,
                      SQLITE_STATIC);
    sqlite3_bind_int64(save, 2, frame->counts.files);
    sqlite3_bind_int64(save, 3, frame->counts.size_tree);
    sqlite3_bind_int64(save, 4, frame->metadata.has);
    bind_metadata(save, 5, &frame->metadata);
    sqlite3_bind_int64(save, 9, frame->said);
    return sb_database_step(save, err);
}

/* Takes the innermost directory off the stack. */
static void pop(struct sb_tally *tally)
{
    tally->depth--;
    sb_buf_cut(&tally->key, tally->depth ? tally->frames[tally->depth - 1].key_size : 0);
}

static enum sb_code push(struct sb_tally *tally, size_t key_size, struct sb_error *err)
{
    struct frame *grown;
    size_t room;

    if (tally->depth > SB_DEPTH_MAX + 1)
        return sb_fail(err, SB_LIMIT, "%s: more than %d directories deep", tally->key.data,
                       SB_DEPTH_MAX);
    if (tally->depth == tally->room) {
        room = tally->room ? 2 * tally->room : 16;
        grown = realloc(tally->frames, room * sizeof(*grown));
        if (!grown)
            return sb_fail_memory(err);
        tally->frames = grown;
        tally->room = room;
    }
    tally->frames[tally->depth++] = (struct frame){.key_size = key_size};
    return SB_OK;
}

static bool innermost_holds(const struct sb_tally *tally, const char *key, size_t key_size)
{
    size_t size = tally->frames[tally->depth - 1].key_size;

    return size <= key_size && (size == 0 || memcmp(tally->key.data, key, size) == 0);
}

typedef enum sb_code each_dir(void *context, const char *path, size_t size, struct sb_error *err);

/* From the innermost directory, or from nowhere, down to the one with this key. each: NULL, or told
 * of those on the way. */
static enum sb_code descend(struct sb_tally *tally, const char *key, size_t key_size,
                            each_dir *each, void *context, struct sb_error *err)
{
    enum sb_code code = SB_OK;
    const char *slash;
    size_t end = 0;

    while (code == SB_OK &&
           (tally->depth == 0 || tally->frames[tally->depth - 1].key_size < key_size)) {
        if (tally->depth > 0) {
            end = tally->frames[tally->depth - 1].key_size;
            slash = memchr(key + end, '/', key_size - end);
            end = (size_t)(slash - key) + 1;
        }
        if (end > 0 && sb_buf_set(&tally->key, key, end))
            return sb_fail_memory(err);
        code = push(tally, end, err);
        if (code == SB_OK && each)
            code = each(context, key, end ? end - 1 : 0, err);
    }
    return code;
}

/* Makes the directory with this key the innermost one. */
static enum sb_code enter(struct sb_tally *tally, const char *key, size_t key_size,
                          struct sb_error *err)
{
    enum sb_code code;

    while (tally->depth > 0 && !innermost_holds(tally, key, key_size)) {
        code = save_innermost(tally, err);
        if (code)
            return code;
        pop(tally);
    }
    return descend(tally, key, key_size, NULL, NULL, err);
}

enum sb_code sb_tally_file(struct sb_tally *tally, const char *path, size_t path_size, int files,
                           int64_t bytes, struct sb_error *err)
{
    size_t parent_size = sb_parent_size(path, path_size);
    struct frame *frame;
    enum sb_code code;

    code = enter(tally, path, parent_size ? parent_size + 1 : 0, err);
    if (code)
        return code;
    frame = &tally->frames[tally->depth - 1];
    frame->counts.files += files;
    if (files >= 0)
        frame->said |= HELD;
    return add_checked(&frame->counts.size_tree, bytes, err);
}

static enum sb_code enter_directory(struct sb_tally *tally, const char *path, size_t size,
                                    struct sb_error *err)
{
    struct sb_buf key = {0};
    enum sb_code code;

    if (sb_buf_add(&key, path, size) || (size && sb_buf_add_char(&key, '/')))
        code = sb_fail_memory(err);
    else
        code = enter(tally, key.data, key.size, err);
    sb_buf_release(&key);
    return code;
}

enum sb_code sb_tally_dir(struct sb_tally *tally, const struct sb_entry *entry,
                          struct sb_error *err)
{
    enum sb_code code = enter_directory(tally, entry->path, entry->path_size, err);
    struct frame *frame;

    if (code)
        return code;
    frame = &tally->frames[tally->depth - 1];
    frame->said |= HELD;
    if (!entry->has)
        return SB_OK;
    frame->metadata = (struct metadata){
        .has = entry->has,
        .mode = entry->mode,
        .uid = entry->uid,
        .gid = entry->gid,
        .mtime_ns = entry->mtime_ns,
    };
    return SB_OK;
}

enum sb_code sb_tally_drop_dir(struct sb_tally *tally, const char *path, size_t size,
                               struct sb_error *err)
{
    enum sb_code code = enter_directory(tally, path, size, err);

    if (code == SB_OK)
        tally->frames[tally->depth - 1].said |= GONE;
    return code;
}

/* Afterwards the table has all that was counted. */
static enum sb_code save_all(struct sb_tally *tally, struct sb_error *err)
{
    enum sb_code code = enter(tally, "", 0, err);

    while (code == SB_OK && tally->depth > 0) {
        code = save_innermost(tally, err);
        if (code == SB_OK)
            pop(tally);
    }
    return code;
}

enum sb_code sb_tally_each_dir(struct sb_tally *tally,
                               enum sb_code (*each)(void *context, const char *path, size_t size,
                                                    struct sb_error *err),
                               void *context, struct sb_error *err)
{
    sqlite3_stmt *rows = NULL;
    enum sb_code code = save_all(tally, err);
    int rc = SQLITE_DONE;

    if (code == SB_OK)
        code = sb_database_prepare(tally->db, &rows,
                                   "SELECT DISTINCT key FROM temp.tally ORDER BY key", err);
    while (code == SB_OK && (rc = sqlite3_step(rows)) == SQLITE_ROW) {
        const char *key = (const char *)sqlite3_column_text(rows, 0);
        size_t size = (size_t)sqlite3_column_bytes(rows, 0);

        while (tally->depth > 0 && !innermost_holds(tally, key, size))
            pop(tally);
        code = descend(tally, key, size, each, context, err);
    }
    if (code == SB_OK && rc != SQLITE_DONE)
        code = sb_database_fail(tally->db, err);
    while (tally->depth > 0)
        pop(tally);
    sqlite3_finalize(rows);
    return code;
}

/* The statements of sb_tally_apply; a fresh archive needs only `insert`. */
struct target {
    sqlite3 *db;
    bool fresh;
    sqlite3_stmt *find;
    sqlite3_stmt *update;
    sqlite3_stmt *insert;
    sqlite3_stmt *remove; /* where nothing is below */
};

static enum sb_code prepare_target(struct target *target, struct sb_error *err)
{
    enum sb_code code;

    code = sb_database_prepare(target->db, &target->find,
                               "SELECT num_subdirs, num_files, num_files_tree, size_tree"
                               " FROM main.dirs WHERE path = ?1",
                               err);
    if (code)
        return code;
    code = sb_database_prepare(target->db, &target->update,
                               "UPDATE main.dirs SET num_subdirs = ?2, num_files = ?3,"
                               " num_files_tree = ?4, size_tree = ?5,"
                               " mode = iif(?10, ?6, mode), uid = iif(?10, ?7, uid),"
                               " gid = iif(?10, ?8, gid), mtime_ns = iif(?10, ?9, mtime_ns)"
                               " WHERE path = ?1",
                               err);
    if (code)
        return code;
    code = sb_database_prepare(target->db, &target->insert,
                               "INSERT INTO main.dirs (path, num_subdirs, num_files,"
                               " num_files_tree, size_tree, mode, uid, gid, mtime_ns)"
                               " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                               err);
    if (code)
        return code;
    return sb_database_prepare(target->db, &target->remove,
                               "DELETE FROM main.dirs WHERE path = ?1 AND path != ''"
                               " AND NOT EXISTS (SELECT 1 FROM main.files AS f"
                               " WHERE f.path > ?1 || '/' AND f.path < ?1 || '0')"
                               " AND NOT EXISTS (SELECT 1 FROM main.dirs AS d"
                               " WHERE d.path > ?1 || '/' AND d.path < ?1 || '0')",
                               err);
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

/* No archive comes near; what does would make sums overflow. */
static bool is_absurd(int64_t count)
{
    return count > INT64_MAX / 2 || count < -(INT64_MAX / 2);
}

/* Adds what the directory's row has already. */
static enum sb_code add_row(struct sb_tally *tally, sqlite3_stmt *row, struct counts *counts,
                            struct sb_error *err)
{
    enum sb_code code;

    for (int i = 0; i < 3; i++) {
        if (is_absurd(sqlite3_column_int64(row, i)))
            return sb_fail(err, SB_DAMAGED,
                           "%s: its tree statistics make no sense; run 'shardbox upgrade'",
                           tally->key.size ? tally->key.data : "the root directory");
    }
    counts->subdirs += sqlite3_column_int64(row, 0);
    counts->files += sqlite3_column_int64(row, 1);
    code = add_checked(&counts->files_tree, sqlite3_column_int64(row, 2), err);
    return code ? code : add_checked(&counts->size_tree, sqlite3_column_int64(row, 3), err);
}

static enum sb_code look_up(struct sb_tally *tally, struct target *target, struct frame *frame,
                            struct sb_error *err)
{
    enum sb_code code = SB_OK;
    int rc;

    bind_path(tally, target->find);
    rc = sqlite3_step(target->find);
    frame->exists = rc == SQLITE_ROW;
    if (rc == SQLITE_ROW)
        code = add_row(tally, target->find, &frame->counts, err);
    else if (rc != SQLITE_DONE)
        code = sb_database_fail(target->db, err);
    sqlite3_reset(target->find);
    return code;
}

/* *removed: it was dropped, and nothing is below it. */
static enum sb_code remove_innermost(struct sb_tally *tally, struct target *target, bool *removed,
                                     struct sb_error *err)
{
    enum sb_code code;

    bind_path(tally, target->remove);
    code = sb_database_step(target->remove, err);
    *removed = code == SB_OK && sqlite3_changes(target->db) > 0;
    tally->removed += *removed;
    return code;
}

static enum sb_code put_innermost(struct sb_tally *tally, struct target *target,
                                  struct sb_error *err)
{
    const struct frame *frame = &tally->frames[tally->depth - 1];
    sqlite3_stmt *statement = frame->exists ? target->update : target->insert;

    bind_path(tally, statement);
    sqlite3_bind_int64(statement, 2, frame->counts.subdirs);
    sqlite3_bind_int64(statement, 3, frame->counts.files);
    sqlite3_bind_int64(statement, 4, frame->counts.files_tree);
    sqlite3_bind_int64(statement, 5, frame->counts.size_tree);
    bind_metadata(statement, 6, &frame->metadata);
    if (frame->exists)
        sqlite3_bind_int(statement, 10, frame->metadata.has != 0);
    return sb_database_step(statement, err);
}

static enum sb_code add_to_parent(struct frame *frame, struct sb_error *err)
{
    struct counts *sums = &frame[-1].counts;
    enum sb_code code = add_checked(&sums->files_tree, frame->counts.files_tree, err);

    return code ? code : add_checked(&sums->size_tree, frame->counts.size_tree, err);
}

/*
 * The innermost directory is complete: all below it was seen. One without a row, from which files
 * were only dropped, gets none.
 */
static enum sb_code write_innermost(struct sb_tally *tally, struct target *target,
                                    struct sb_error *err)
{
    struct frame *frame = &tally->frames[tally->depth - 1];
    bool has_parent = tally->depth > 1, added, removed = false;
    enum sb_code code = has_parent ? add_to_parent(frame, err) : SB_OK;

    if (code == SB_OK && !target->fresh)
        code = look_up(tally, target, frame, err);
    added = !frame->exists && (target->fresh || frame->said & HELD);
    if (code == SB_OK && frame->exists && frame->said & GONE)
        code = remove_innermost(tally, target, &removed, err);
    if (code == SB_OK && !removed && (added || frame->exists))
        code = put_innermost(tally, target, err);
    if (has_parent) {
        frame[-1].said |= added ? HELD : 0;
        frame[-1].counts.subdirs += added - removed;
    }
    pop(tally);
    return code;
}

/* One more row of the innermost directory. */
static enum sb_code take_row(struct sb_tally *tally, sqlite3_stmt *row, struct sb_error *err)
{
    struct frame *frame = &tally->frames[tally->depth - 1];
    unsigned has = (unsigned)sqlite3_column_int(row, 3);

    frame->counts.files += sqlite3_column_int64(row, 1);
    frame->counts.files_tree += sqlite3_column_int64(row, 1);
    frame->said |= (unsigned)sqlite3_column_int(row, 8);
    if (has) {
        frame->metadata = (struct metadata){
            .has = has,
            .mode = sqlite3_column_int64(row, 4),
            .uid = sqlite3_column_int64(row, 5),
            .gid = sqlite3_column_int64(row, 6),
            .mtime_ns = sqlite3_column_int64(row, 7),
        };
    }
    return add_checked(&frame->counts.size_tree, sqlite3_column_int64(row, 2), err);
}

static enum sb_code apply_row(struct sb_tally *tally, struct target *target, sqlite3_stmt *row,
                              struct sb_error *err)
{
    const char *key = (const char *)sqlite3_column_text(row, 0);
    size_t key_size = (size_t)sqlite3_column_bytes(row, 0);
    enum sb_code code = SB_OK;

    while (code == SB_OK && tally->depth > 0 && !innermost_holds(tally, key, key_size))
        code = write_innermost(tally, target, err);
    if (code == SB_OK)
        code = descend(tally, key, key_size, NULL, NULL, err);
    return code ? code : take_row(tally, row, err);
}

enum sb_code sb_tally_apply(struct sb_tally *tally, struct sqlite3 *index, bool fresh,
                            struct sb_error *err)
{
    struct target target = {.db = index, .fresh = fresh};
    sqlite3_stmt *rows = NULL;
    enum sb_code code;
    int rc = SQLITE_DONE;

    code = save_all(tally, err);
    if (code == SB_OK)
        code = prepare_target(&target, err);
    if (code == SB_OK)
        code = sb_database_prepare(tally->db, &rows, "SELECT * FROM temp.tally ORDER BY key, rowid",
                                   err);
    while (code == SB_OK && (rc = sqlite3_step(rows)) == SQLITE_ROW)
        code = apply_row(tally, &target, rows, err);
    if (code == SB_OK && rc != SQLITE_DONE)
        code = sb_database_fail(tally->db, err);
    while (code == SB_OK && tally->depth > 0)
        code = write_innermost(tally, &target, err);
    sqlite3_finalize(rows);
    release_target(&target);
    return code;
}

int64_t sb_tally_removed(const struct sb_tally *tally)
{
    return tally->removed;
}
