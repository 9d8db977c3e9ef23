#include "task/split/view.h"

#include "archive/database.h"
#include "archive/writer/tally.h"

#include <sqlite3.h>

struct view {
    sqlite3 *db;
    sqlite3_stmt *add_file;
    struct sb_tally *tally;
};

/* As those of a catalog (store/catalog.c): reading does without `parent`. */
static const char tables[] =
    "CREATE TABLE files (path TEXT NOT NULL, shard INTEGER, offset INTEGER, size INTEGER,"
    " crc32c INTEGER, mode INTEGER, uid INTEGER, gid INTEGER, mtime_ns INTEGER);"
    "CREATE TABLE dirs (path TEXT NOT NULL, num_subdirs INTEGER, num_files INTEGER,"
    " num_files_tree INTEGER, size_tree INTEGER, mode INTEGER, uid INTEGER, gid INTEGER,"
    " mtime_ns INTEGER); BEGIN";

static const char indexes[] = "CREATE UNIQUE INDEX " SB_ADOPTED_FILES " ON files (path);"
                              "CREATE UNIQUE INDEX " SB_ADOPTED_DIRS " ON dirs (path); COMMIT";

static enum sb_code open_tables(struct view *view, const char *beside, struct sb_error *err)
{
    enum sb_code code = sb_database_open_private(&view->db, beside, err);

    if (!code)
        code = sb_database_run(view->db, tables, err);
    if (!code)
        code = sb_database_prepare(view->db, &view->add_file,
                                   "INSERT INTO files VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
                                   err);
    if (!code)
        code = sb_tally_new(&view->tally, view->db, err);
    return code;
}

static enum sb_code add(void *context, const struct sb_entry *entry, struct sb_error *err)
{
    struct view *view = context;
    enum sb_code code;

    if (entry->type == SB_DIR)
        return sb_tally_dir(view->tally, entry, err);
    sb_database_bind_file(view->add_file, 1, entry);
    code = sb_database_step(view->add_file, err);
    if (code)
        return code;
    return sb_tally_file(view->tally, entry->path, entry->path_size, 1, entry->size, err);
}

enum sb_code sb_split_view_open(struct sb_archive **out, struct sb_split_plan *plan, int64_t part,
                                const struct sb_archive *whole, const char *beside,
                                struct sb_error *err)
{
    struct view view = {0};
    enum sb_code code = open_tables(&view, beside, err);

    *out = NULL;
    if (!code)
        code = sb_split_plan_walk(plan, part, SB_BY_ADDRESS, add, &view, err);
    if (!code)
        code = sb_tally_apply(view.tally, view.db, true, err);
    if (!code)
        code = sb_database_run(view.db, indexes, err);
    sqlite3_finalize(view.add_file);
    sb_tally_free(view.tally);
    if (!code)
        return sb_archive_derive(out, view.db, whole, sb_split_plan_generation(plan), err);
    sb_database_close(view.db);
    return code;
}
