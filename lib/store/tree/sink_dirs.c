#include "store/tree/sink_dirs.h"

#include "archive/database.h"
#include "core/name.h"

#include <sqlite3.h>
#include <stdlib.h>

/* The rank of a directory that is not closed: before all others. Theirs is their depth. */
#define RANK_OPEN INT64_MAX

struct sb_tree_dirs {
    sqlite3 *db;
    sqlite3_stmt *add;
    sqlite3_stmt *rows; /* NULL: at the beginning */
};

enum { NAME = 1, RANK, HAS, MODE, UID, GID, MTIME, CHANGE };

enum sb_code sb_tree_dirs_new(struct sb_tree_dirs **out, struct sqlite3 *db)
{
    CLEANUP(sb_tree_dirs_freep) struct sb_tree_dirs *dirs = calloc(1, sizeof(*dirs));

    *out = NULL;
    if (!dirs)
        return sb_fail_memory();
    dirs->db = db;
    TRY(sb_database_run(db,
                        "CREATE TABLE dirs (name BLOB PRIMARY KEY, rank INTEGER, has INTEGER, "
                        "mode INTEGER, uid INTEGER, gid INTEGER, mtime_ns INTEGER, change INTEGER) "
                        "WITHOUT ROWID"));
    TRY(sb_database_prepare(db, &dirs->add,
                            "REPLACE INTO dirs VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"));
    *out = TAKE(dirs);
    return SB_OK;
}

void sb_tree_dirs_free(struct sb_tree_dirs *dirs)
{
    if (!dirs)
        return;
    sqlite3_finalize(dirs->add);
    sqlite3_finalize(dirs->rows);
    free(dirs);
}

static int64_t rank_of(const struct sb_entry *entry, bool closed)
{
    if (entry->path_size == 0)
        return -1;
    return closed ? (int64_t)sb_name_depth(entry->path, entry->path_size) : RANK_OPEN;
}

enum sb_code sb_tree_dirs_add(struct sb_tree_dirs *dirs, const struct sb_entry *entry, bool closed,
                              unsigned change)
{
    sqlite3_stmt *add = dirs->add;

    sqlite3_bind_blob64(add, NAME, entry->path, entry->path_size, SQLITE_STATIC);
    sqlite3_bind_int64(add, RANK, rank_of(entry, closed));
    sqlite3_bind_int64(add, HAS, entry->has);
    sqlite3_bind_int64(add, MODE, entry->mode);
    sqlite3_bind_int64(add, UID, entry->uid);
    sqlite3_bind_int64(add, GID, entry->gid);
    sqlite3_bind_int64(add, MTIME, entry->mtime_ns);
    sqlite3_bind_int64(add, CHANGE, change);
    return sb_database_step(add);
}

/* Read as text, a path has a NUL after it. */
static struct sb_entry entry_of(sqlite3_stmt *row)
{
    const char *path = (const char *)sqlite3_column_text(row, NAME - 1);

    return (struct sb_entry){
        .type = SB_DIR,
        .path = path ? path : "",
        .path_size = (size_t)sqlite3_column_bytes(row, NAME - 1),
        .has = (unsigned)sqlite3_column_int64(row, HAS - 1),
        .mode = (uint32_t)sqlite3_column_int64(row, MODE - 1),
        .uid = sqlite3_column_int64(row, UID - 1),
        .gid = sqlite3_column_int64(row, GID - 1),
        .mtime_ns = sqlite3_column_int64(row, MTIME - 1),
        .row = sqlite3_column_int64(row, CHANGE - 1),
    };
}

enum sb_code sb_tree_dirs_next(struct sb_tree_dirs *dirs, struct sb_entry *entry, bool *closed)
{
    enum sb_code code = SB_OK;

    if (!dirs->rows &&
        sb_database_prepare(dirs->db, &dirs->rows, "SELECT * FROM dirs ORDER BY rank DESC, name"))
        return sb_error()->code;
    if (sb_database_row(dirs->rows, &code)) {
        *entry = entry_of(dirs->rows);
        *closed = sqlite3_column_int64(dirs->rows, RANK - 1) != RANK_OPEN;
        return SB_OK;
    }
    if (code)
        return code;
    sqlite3_finalize(dirs->rows);
    dirs->rows = NULL;
    return SB_END;
}
