#include "archive/config.h"
#include "archive/database.h"
#include "archive/own/state.h"
#include "archive/schema.h"
#include "archive/shards.h"
#include "core/interrupt.h"
#include "task/change/impl.h"
#include "task/verify/treestat.h"

#include <string.h>

static enum sb_code has_object(sqlite3 *db, const char *type, const char *name, bool *has)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    enum sb_code code = SB_OK;

    TRY(sb_database_prepare(db, &statement,
                            "SELECT 1 FROM main.sqlite_schema WHERE type = ?1 AND name = ?2"));
    sqlite3_bind_text(statement, 1, type, -1, SQLITE_STATIC);
    sqlite3_bind_text(statement, 2, name, -1, SQLITE_STATIC);
    *has = sb_database_row(statement, &code);
    return code;
}

static enum sb_code make_objects(struct upgrade *upgrade, sqlite3 *db, const char *type,
                                 const struct sb_ddl_object *object)
{
    bool has;

    for (; object->name; object++) {
        TRY(has_object(db, type, object->name, &has));
        if (has)
            continue;
        upgrade->result->objects++;
        if (!upgrade->options->dry_run)
            TRY(sb_database_run(db, object->sql));
    }
    return SB_OK;
}

enum sb_code sb_upgrade_objects(struct upgrade *upgrade, sqlite3 *db)
{
    TRY(make_objects(upgrade, db, "index", sb_ddl_indexes));
    return make_objects(upgrade, db, "trigger", sb_ddl_triggers);
}

/* Rows of files and dirs, merged in order of path, for the tree statistics. */
struct merge {
    struct upgrade *upgrade;
    sqlite3_stmt *files;
    sqlite3_stmt *dirs;
    sqlite3_stmt *change; /* NULL if changes are only counted */
    struct sb_treestat *tree;
};

static enum sb_code closed(void *context, const struct sb_treestat_dir *dir)
{
    struct merge *merge = context;
    struct sb_upgrade_result *result = merge->upgrade->result;
    const struct sb_tree_sums *sums = &dir->computed;

    if (dir->has_row && memcmp(&dir->stored, sums, sizeof(*sums)) == 0)
        return SB_OK;
    if (dir->has_row)
        result->statistics++;
    else
        result->parents++;
    if (!merge->change)
        return SB_OK;
    sb_database_bind_known(merge->change, 1, dir->has_row, dir->id);
    sqlite3_bind_text(merge->change, 2, dir->path, (int)dir->path_size, SQLITE_STATIC);
    sqlite3_bind_int64(merge->change, 3, sums->num_subdirs);
    sqlite3_bind_int64(merge->change, 4, sums->num_files);
    sqlite3_bind_int64(merge->change, 5, sums->num_files_tree);
    sqlite3_bind_int64(merge->change, 6, sums->size_tree);
    return sb_database_step(merge->change);
}

/* -1, which is not a valid sum, for a value that is not a number. */
static int64_t stored_sum(sqlite3_stmt *row, int column)
{
    if (sqlite3_column_type(row, column) != SQLITE_INTEGER)
        return -1;
    return sqlite3_column_int64(row, column);
}

static const char *path_of(sqlite3_stmt *row, int column, size_t *size)
{
    const char *path = (const char *)sqlite3_column_text(row, column);

    *size = (size_t)sqlite3_column_bytes(row, column);
    return path ? path : "";
}

static enum sb_code take_dir(struct merge *merge)
{
    sqlite3_stmt *row = merge->dirs;
    struct sb_tree_sums stored = {stored_sum(row, 2), stored_sum(row, 3), stored_sum(row, 4),
                                  stored_sum(row, 5)};
    size_t size;
    const char *path = path_of(row, 0, &size);

    return sb_treestat_dir(merge->tree, path, size, &stored, sqlite3_column_int64(row, 1));
}

static enum sb_code take_file(struct merge *merge)
{
    sqlite3_stmt *row = merge->files;
    size_t size;
    const char *path = path_of(row, 0, &size);
    int64_t bytes = stored_sum(row, 1);

    if (bytes < 0) {
        sb_report(merge->upgrade->notify, SB_PROBLEM, "row", path,
                  "its size is not a number of bytes, and counts as 0");
        bytes = 0;
    }
    return sb_treestat_file(merge->tree, path, size, bytes);
}

static enum sb_code step(sqlite3_stmt *row, bool *more)
{
    enum sb_code code = SB_OK;

    *more = sb_database_row(row, &code);
    return code;
}

static bool dir_is_first(const struct merge *merge)
{
    size_t file_size, dir_size;
    const char *file = path_of(merge->files, 0, &file_size);
    const char *dir = path_of(merge->dirs, 0, &dir_size);
    int order = memcmp(dir, file, dir_size < file_size ? dir_size : file_size);

    return order < 0 || (order == 0 && dir_size <= file_size);
}

static enum sb_code merge_rows(struct merge *merge)
{
    bool more_files, more_dirs;

    TRY(step(merge->files, &more_files));
    TRY(step(merge->dirs, &more_dirs));
    while (more_files || more_dirs) {
        if (more_dirs && (!more_files || dir_is_first(merge))) {
            TRY(take_dir(merge));
            TRY(step(merge->dirs, &more_dirs));
        } else {
            TRY(take_file(merge));
            TRY(step(merge->files, &more_files));
        }
        TRY(sb_heed_interrupt());
    }
    return sb_treestat_end(merge->tree);
}

/*
 * Changes are kept in a temporary table: the rows being read are not touched, and readers of the
 * archive are locked out only while the changes are applied.
 */
static const char make_changes[] =
    "CREATE TEMP TABLE changes (id INTEGER, path TEXT, num_subdirs INTEGER, num_files INTEGER,"
    " num_files_tree INTEGER, size_tree INTEGER)";

static const char apply_changes[] =
    "UPDATE main.dirs SET num_subdirs = c.num_subdirs, num_files = c.num_files,"
    " num_files_tree = c.num_files_tree, size_tree = c.size_tree"
    " FROM temp.changes AS c WHERE dirs.rowid = c.id AND c.id IS NOT NULL;"
    "INSERT INTO main.dirs (path, num_subdirs, num_files, num_files_tree, size_tree)"
    " SELECT path, num_subdirs, num_files, num_files_tree, size_tree FROM temp.changes"
    " WHERE id IS NULL;"
    "DROP TABLE temp.changes";

static void release_merge(struct merge *merge)
{
    sb_treestat_free(merge->tree);
    sqlite3_finalize(merge->files);
    sqlite3_finalize(merge->dirs);
    sqlite3_finalize(merge->change);
}

/*
 * Rows whose path is not text are omitted: nothing can be below them, and they sort after all text.
 */
static enum sb_code find_changes(struct upgrade *upgrade, sqlite3 *db, bool count_only)
{
    CLEANUP(release_merge) struct merge merge = {.upgrade = upgrade};

    TRY(SB_PREPARE(
        db, {&merge.files, "SELECT path, size FROM main.files WHERE path < x'' ORDER BY path"},
        {&merge.dirs, "SELECT path, rowid, num_subdirs, num_files, num_files_tree,"
                      " size_tree FROM main.dirs WHERE path < x'' ORDER BY path"}));
    merge.tree = sb_treestat_new(closed, &merge);
    if (!merge.tree)
        return sb_fail_memory();
    if (!count_only) {
        TRY(sb_database_run(db, make_changes));
        TRY(sb_database_prepare(db, &merge.change,
                                "INSERT INTO temp.changes VALUES (?1, ?2, ?3, ?4, ?5, ?6)"));
    }
    return merge_rows(&merge);
}

enum sb_code sb_upgrade_statistics(struct upgrade *upgrade, sqlite3 *db, bool count_only)
{
    TRY(find_changes(upgrade, db, count_only));
    return count_only ? SB_OK : sb_database_run(db, apply_changes);
}

/* The row is to have a number from lowest to highest: where it has not it gets `right`, or, should
 * that be NULL, it goes. */
static enum sb_code repair_number(struct upgrade *upgrade, const char *key, int64_t lowest,
                                  int64_t highest, const int64_t *right, bool *changed)
{
    bool there, is_right;
    enum sb_code code = sb_config_check(upgrade->db, key, lowest, highest, &there, &is_right);

    if (code != SB_OK || is_right || (!there && !right))
        return code;
    *changed = true;
    if (upgrade->options->dry_run)
        return SB_OK;
    return right ? sb_config_put(upgrade->db, key, NULL, right) : sb_config_drop(upgrade->db, key);
}

/* Its row is all that says of an index that it is an older one. */
static enum sb_code accept_index(struct upgrade *upgrade)
{
    int64_t time;

    TRY(sb_remade_read(upgrade->db, &time));
    upgrade->result->accepted = time != 0;
    if (time == 0 || upgrade->options->dry_run)
        return SB_OK;
    return sb_config_drop(upgrade->db, SB_CONFIG_REMADE);
}

enum sb_code sb_upgrade_config(struct upgrade *upgrade)
{
    static const int64_t enabled = 1, no_limit = INT64_MAX;
    struct sb_upgrade_result *result = upgrade->result;

    TRY(repair_number(upgrade, SB_CONFIG_TRIGGERS, 1, 1, &enabled, &result->triggers));
    TRY(repair_number(upgrade, SB_CONFIG_SHARD_SIZE, 1, INT64_MAX, &no_limit, &result->limit));
    if (upgrade->options->accept)
        TRY(accept_index(upgrade));
    return repair_number(upgrade, SB_CONFIG_SHARD_COUNT, 0, SB_SHARD_MAX + 1, NULL,
                         &result->shard_count);
}
