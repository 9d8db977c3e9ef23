#include "store/same_files.h"

#include "archive/database.h"

#include <sqlite3.h>
#include <stdlib.h>

struct sb_same_files {
    sqlite3 *db;
    sqlite3_stmt *add;
    sqlite3_stmt *drop;
    sqlite3_stmt *find;
};

enum sb_code sb_same_files_new(struct sb_same_files **out, const char *beside, struct sb_error *err)
{
    struct sb_same_files *files = calloc(1, sizeof(*files));
    enum sb_code code;

    *out = NULL;
    if (!files)
        return sb_fail_memory(err);
    code = SB_TABLES(&files->db, beside, err,
                     "BEGIN; CREATE TABLE files (name BLOB PRIMARY KEY) WITHOUT ROWID",
                     {&files->add, "INSERT OR IGNORE INTO files VALUES (?1)"},
                     {&files->drop, "DELETE FROM files WHERE name = ?1"},
                     {&files->find, "SELECT 1 FROM files WHERE name = ?1"});
    if (code)
        sb_same_files_free(files);
    else
        *out = files;
    return code;
}

void sb_same_files_free(struct sb_same_files *files)
{
    if (!files)
        return;
    sqlite3_finalize(files->add);
    sqlite3_finalize(files->drop);
    sqlite3_finalize(files->find);
    sb_database_close(files->db);
    free(files);
}

enum sb_code sb_same_files_set(struct sb_same_files *files, const char *name, size_t size,
                               bool same, struct sb_error *err)
{
    sqlite3_stmt *set = same ? files->add : files->drop;

    sqlite3_bind_blob64(set, 1, name, size, SQLITE_STATIC);
    return sb_database_step(set, err);
}

enum sb_code sb_same_files_has(struct sb_same_files *files, const char *name, size_t size,
                               bool *same, struct sb_error *err)
{
    enum sb_code code = SB_OK;

    sqlite3_bind_blob64(files->find, 1, name, size, SQLITE_STATIC);
    *same = sb_database_row(files->find, &code, err);
    sqlite3_reset(files->find);
    return code;
}
