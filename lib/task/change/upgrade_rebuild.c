#include "task/change/impl.h"

#include "archive/config.h"
#include "archive/database.h"
#include "archive/own/new_index.h"
#include "archive/own/own_names.h"
#include "archive/own/settle.h"
#include "archive/own/state.h"
#include "archive/schema.h"
#include "archive/shards.h"
#include "core/interrupt.h"
#include "task/verify/treestat.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static enum sb_code make_all_objects(struct upgrade *upgrade, sqlite3 *db)
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

static enum sb_code repair_statistics(struct upgrade *upgrade, sqlite3 *db, bool count_only)
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

enum sb_code sb_upgrade_repair(struct upgrade *upgrade)
{
    static const int64_t enabled = 1, no_limit = INT64_MAX;
    struct sb_upgrade_result *result = upgrade->result;

    TRY(make_all_objects(upgrade, upgrade->db));
    TRY(repair_statistics(upgrade, upgrade->db, upgrade->options->dry_run));
    TRY(repair_number(upgrade, SB_CONFIG_TRIGGERS, 1, 1, &enabled, &result->triggers));
    TRY(repair_number(upgrade, SB_CONFIG_SHARD_SIZE, 1, INT64_MAX, &no_limit, &result->limit));
    if (upgrade->options->accept)
        TRY(accept_index(upgrade));
    return repair_number(upgrade, SB_CONFIG_SHARD_COUNT, 0, SB_SHARD_MAX + 1, NULL,
                         &result->shard_count);
}

#define COLUMNS  9
#define KEPT_END ".old" /* as Barecat's upgrade calls it */

/* How the tables of an older schema are read as those of 0.3. */
static const struct tables {
    const char *files;
    const char *dirs;
    const char *config; /* NULL: there was none */
    const char *nameless;
} versions_01_and_02 =
    {
        "SELECT path, shard, offset, size, crc32c, mode, uid, gid, mtime_ns FROM files"
        " WHERE path IS NOT NULL ORDER BY path",
        "SELECT path, num_subdirs, num_files, num_files_tree, size_tree, mode, uid, gid, mtime_ns"
        " FROM dirs WHERE path IS NOT NULL ORDER BY path",
        "SELECT key, value_text, value_int FROM config WHERE key IS NOT NULL"
        " AND key NOT IN ('" SB_CONFIG_SCHEMA_MAJOR "', '" SB_CONFIG_SCHEMA_MINOR
        "', '" SB_CONFIG_TRIGGERS "')",
        "SELECT (SELECT count(*) FROM files WHERE path IS NULL)"
        " + (SELECT count(*) FROM dirs WHERE path IS NULL)",
},
  before_versions = {
      "SELECT path, shard, offset, size, NULL, NULL, NULL, NULL, NULL FROM files"
      " WHERE path IS NOT NULL ORDER BY path",
      "SELECT path, 0, 0, total_file_count, total_size, NULL, NULL, NULL, NULL FROM directories"
      " WHERE path IS NOT NULL ORDER BY path",
      NULL,
      "SELECT (SELECT count(*) FROM files WHERE path IS NULL)"
      " + (SELECT count(*) FROM directories WHERE path IS NULL)",
};

struct copy {
    struct upgrade *upgrade;
    const struct tables *tables;
    struct sb_new_index made;
    char *kept; /* the second name of the old index, made by this run; NULL: none */
    bool committed;
};

static enum sb_code fail_row(struct copy *copy, sqlite3_stmt *from)
{
    const char *name = (const char *)sqlite3_column_text(from, 0);

    if ((sqlite3_errcode(copy->made.db) & 0xff) != SQLITE_CONSTRAINT)
        return sb_database_fail(copy->made.db);
    return sb_fail(SB_DAMAGED, "%s: the row of %.300s cannot be taken over (%s)",
                   copy->upgrade->hold.file, name ? name : "?", sqlite3_errmsg(copy->made.db));
}

/* Copies every value unchanged, of whatever type. */
static enum sb_code copy_rows(struct copy *copy, const char *read, const char *write, int columns)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *from = NULL, *to = NULL;
    enum sb_code code = SB_OK;

    TRY(sb_database_prepare(copy->upgrade->db, &from, read));
    TRY(sb_database_prepare(copy->made.db, &to, write));
    while (sb_database_row(from, &code)) {
        TRY(sb_database_bind_row(to, 1, from, 0, columns));
        if (sqlite3_step(to) != SQLITE_DONE)
            return fail_row(copy, from);
        sqlite3_reset(to);
        code = sb_heed_interrupt();
    }
    return code;
}

static enum sb_code copy_tables(struct copy *copy)
{
    const struct tables *tables = copy->tables;
    int64_t nameless;

    TRY(copy_rows(copy, tables->files,
                  "INSERT INTO files (path, shard, offset, size, crc32c, mode, uid, gid, mtime_ns)"
                  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                  COLUMNS));
    TRY(copy_rows(copy, tables->dirs,
                  "INSERT INTO dirs (path, num_subdirs, num_files, num_files_tree,"
                  " size_tree, mode, uid, gid, mtime_ns)"
                  " VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                  COLUMNS));
    if (tables->config)
        TRY(copy_rows(copy, tables->config, "INSERT OR REPLACE INTO config VALUES (?1, ?2, ?3)",
                      3));
    TRY(sb_database_integer(copy->upgrade->db, tables->nameless, 0, &nameless));
    if (nameless > 0)
        sb_report(copy->upgrade->notify, SB_PROBLEM, "row", copy->upgrade->hold.file,
                  "%lld rows without a name were left out", (long long)nameless);
    return SB_OK;
}

static bool is_standard(const char *name)
{
    for (const struct sb_ddl_object *index = sb_ddl_indexes; index->name; index++) {
        if (strcmp(index->name, name) == 0)
            return true;
    }
    return false;
}

/* Runs only the first statement of the text in the old schema. */
static enum sb_code make_index(struct copy *copy, const char *sql)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *statement = NULL;

    TRY(sb_database_prepare(copy->made.db, &statement, sql));
    if (sqlite3_step(statement) != SQLITE_DONE)
        return sb_database_fail(copy->made.db);
    return SB_OK;
}

/* Indexes that a user added; those of dropped tables cannot be kept. */
static enum sb_code copy_user_indexes(struct copy *copy)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *row = NULL;
    enum sb_code code = SB_OK;

    TRY(sb_database_prepare(
        copy->upgrade->db, &row,
        "SELECT name, tbl_name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL"));
    while (sb_database_row(row, &code)) {
        const char *name = (const char *)sqlite3_column_text(row, 0);
        const char *table = (const char *)sqlite3_column_text(row, 1);
        const char *sql = (const char *)sqlite3_column_text(row, 2);

        if (!name || !table || !sql || is_standard(name))
            continue;
        if (strcmp(table, "directories") == 0)
            sb_report(copy->upgrade->notify, SB_WARNING, "index", name,
                      "an index on 'directories', which is no more, was not taken over");
        else
            code = make_index(copy, sql);
    }
    return code;
}

/* A run that fails starts over: no journal. */
static enum sb_code build(struct copy *copy)
{
    struct upgrade *upgrade = copy->upgrade;
    sqlite3 *db;
    int64_t analysed;
    enum sb_code code;

    TRY(sb_new_index_make(&copy->made, &upgrade->hold, "OFF"));
    db = copy->made.db;
    TRY(copy_tables(copy));
    code = make_all_objects(upgrade, db);
    /* These were made with the new index, and are not repairs. */
    upgrade->result->objects = 0;
    if (code)
        return code;
    TRY(repair_statistics(upgrade, db, false));
    TRY(copy_user_indexes(copy));
    TRY(sb_database_integer(upgrade->db,
                            "SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_stat1'", 0,
                            &analysed));
    if (analysed)
        TRY(sb_database_run(db, "ANALYZE"));
    return sb_database_run(
        db, "INSERT INTO config (key, value_int) SELECT '" SB_CONFIG_CHECKSUMS_DUE "', 1"
            " WHERE EXISTS (SELECT 1 FROM files WHERE crc32c IS NULL)");
}

/* The new index gets the permissions of the old one. */
static enum sb_code copy_permissions(const struct copy *copy)
{
    const struct sb_new_index *made = &copy->made;
    struct stat status;

    if (fstat(copy->upgrade->hold.fd, &status) != 0)
        return sb_fail_errno(errno, "%s", copy->upgrade->hold.file);
    if (fchown(made->fd, status.st_uid, status.st_gid) != 0 && geteuid() == 0)
        return sb_fail_errno(errno, "%s: cannot give it the old index's owner", made->path);
    if (fchmod(made->fd, status.st_mode & 0777) != 0)
        return sb_fail_errno(errno, "%s", made->path);
    return SB_OK;
}

/* *there: a killed run has given the old index this name. */
static enum sb_code look_for_kept(const struct upgrade *upgrade, const char *name, bool *there)
{
    struct sb_look kept, old;

    TRY(sb_look_at(name, &kept));
    TRY(sb_look_at(upgrade->hold.file, &old));
    *there = kept.there && old.there && sb_is_identical(&kept.identity, &old.identity);
    if (kept.there && !*there)
        return sb_fail(SB_EXISTS,
                       "%s: exists, so the old index cannot be kept as that; move it away, or "
                       "leave out --keep-old",
                       name);
    return SB_OK;
}

enum sb_code sb_upgrade_check_kept(struct upgrade *upgrade)
{
    CLEANUP(sb_freep) char *name = NULL;
    bool there;

    if (!upgrade->options->keep_old)
        return SB_OK;
    name = sb_own_name(upgrade->hold.file, KEPT_END);
    if (!name)
        return sb_error()->code;
    TRY(look_for_kept(upgrade, name, &there));
    upgrade->result->kept = true;
    return SB_OK;
}

/* The old index gets a second name, which is on disk before it loses the first. */
static enum sb_code keep_old(struct copy *copy)
{
    const struct upgrade *upgrade = copy->upgrade;
    CLEANUP(sb_freep) char *name = sb_own_name(upgrade->hold.file, KEPT_END);
    bool there;

    if (!name)
        return sb_error()->code;
    TRY(look_for_kept(upgrade, name, &there));
    if (there)
        return SB_OK;
    if (link(upgrade->hold.file, name))
        return sb_fail_errno(errno, "%s: the old index cannot be kept as that", name);
    copy->kept = TAKE(name);
    return SB_OK;
}

/* The old one is locked until the new one has its place. */
static enum sb_code put_in_place(struct copy *copy)
{
    struct sb_new_index *made = &copy->made;
    struct upgrade *upgrade = copy->upgrade;

    TRY(sb_new_index_complete(made, &upgrade->hold));
    sb_new_index_close(made);
    if (upgrade->options->keep_old)
        TRY(keep_old(copy));
    return sb_new_index_place(&upgrade->hold, made->path, &made->fd, &made->identity,
                              &copy->committed);
}

enum sb_code sb_upgrade_rebuild(struct upgrade *upgrade, enum sb_schema schema)
{
    struct copy copy = {
        .upgrade = upgrade,
        .tables = schema == SB_SCHEMA_OLD ? &before_versions : &versions_01_and_02,
        .made = SB_NEW_INDEX_NONE,
    };
    struct sb_hold *hold = &upgrade->hold;
    bool there;
    enum sb_code code = sb_note_begin(&hold->note, SB_AIM_REPLACE, &hold->index);

    if (code == SB_OK)
        code = build(&copy);
    if (code == SB_OK)
        code = copy_permissions(&copy);
    if (code == SB_OK)
        code = put_in_place(&copy);
    upgrade->kept = copy.committed ? code != SB_OK : !sb_settle_undo(hold, 0);
    if (copy.kept && !copy.committed &&
        IGNORED(look_for_kept(upgrade, copy.kept, &there)) == SB_OK && there)
        unlink(copy.kept);
    upgrade->result->rebuilt = copy.committed;
    upgrade->result->kept &= copy.committed;
    free(copy.kept);
    sb_new_index_release(&copy.made);
    return code;
}
