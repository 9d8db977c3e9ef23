#include "store/name_set.h"

#include "archive/database.h"
#include "core/name.h"

#include <sqlite3.h>
#include <stdlib.h>

struct sb_name_set {
    sqlite3 *db;
    sqlite3_stmt *add;
    sqlite3_stmt *remove;
    sqlite3_stmt *find;
};

static enum sb_code new_set(struct sb_name_set **out, const char *beside)
{
    CLEANUP(sb_name_set_freep) struct sb_name_set *set = calloc(1, sizeof(*set));

    if (!set)
        return sb_fail_memory();
    TRY(SB_TABLES(&set->db, beside,
                  "BEGIN; CREATE TABLE names (name BLOB PRIMARY KEY) WITHOUT ROWID",
                  {&set->add, "INSERT OR IGNORE INTO names VALUES (?1)"},
                  {&set->remove, "DELETE FROM names WHERE name = ?1"},
                  {&set->find, "SELECT 1 FROM names WHERE name = ?1"}));
    *out = TAKE(set);
    return SB_OK;
}

void sb_name_set_free(struct sb_name_set *set)
{
    if (!set)
        return;
    sqlite3_finalize(set->add);
    sqlite3_finalize(set->remove);
    sqlite3_finalize(set->find);
    sb_database_close(set->db);
    free(set);
}

/* The empty name may have no address, which SQLite would take for NULL. */
static void bind(sqlite3_stmt *statement, const char *name, size_t size)
{
    sqlite3_bind_blob64(statement, 1, size ? name : "", size, SQLITE_STATIC);
}

enum sb_code sb_name_set_add(struct sb_name_set **set, const char *beside, const char *name,
                             size_t size)
{
    if (!*set)
        TRY(new_set(set, beside));
    bind((*set)->add, name, size);
    return sb_database_step((*set)->add);
}

enum sb_code sb_name_set_remove(struct sb_name_set *set, const char *name, size_t size)
{
    if (!set)
        return SB_OK;
    bind(set->remove, name, size);
    return sb_database_step(set->remove);
}

enum sb_code sb_name_set_has(struct sb_name_set *set, const char *name, size_t size, bool *has)
{
    enum sb_code code = SB_OK;

    *has = false;
    if (!set)
        return SB_OK;
    bind(set->find, name, size);
    *has = sb_database_row(set->find, &code);
    sqlite3_reset(set->find);
    return code;
}

enum sb_code sb_name_set_covers(struct sb_name_set *set, const char *name, size_t size,
                                bool *covers)
{
    TRY(sb_name_set_has(set, name, size, covers));
    while (set && !*covers && size > 0) {
        size = sb_parent_size(name, size);
        TRY(sb_name_set_has(set, name, size, covers));
    }
    return SB_OK;
}
