#include "store/tree/sink_impl.h"

#include "archive/database.h"
#include "core/buf.h"
#include "core/name.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

struct sb_tree_names {
    sqlite3 *db;
    sqlite3_stmt *add; /* unless it is there */
    sqlite3_stmt *get;
    sqlite3_stmt *set;
    struct sb_buf parent; /* of the last name */
    bool parent_known;
    bool parent_blocked; /* it, or a name above it, is no directory's */
};

enum sb_code sb_tree_names_new(struct sb_tree_names **out, struct sqlite3 *db)
{
    CLEANUP(sb_tree_names_freep) struct sb_tree_names *names = NULL;

    *out = NULL;
    TRY(SB_NEW(&names));
    names->db = db;
    TRY(sb_database_run(db,
                        "CREATE TABLE names (name BLOB PRIMARY KEY, state INTEGER) WITHOUT ROWID"));
    TRY(SB_PREPARE(db, {&names->add, "INSERT OR IGNORE INTO names VALUES (?1, ?2)"},
                   {&names->get, "SELECT state FROM names WHERE name = ?1"},
                   {&names->set, "REPLACE INTO names VALUES (?1, ?2)"}));
    *out = TAKE(names);
    return SB_OK;
}

void sb_tree_names_free(struct sb_tree_names *names)
{
    if (!names)
        return;
    sqlite3_finalize(names->add);
    sqlite3_finalize(names->get);
    sqlite3_finalize(names->set);
    sb_buf_release(&names->parent);
    free(names);
}

static enum sb_code run(sqlite3_stmt *statement, const char *name, size_t size,
                        enum sb_name_state state)
{
    sqlite3_bind_blob64(statement, 1, name, size, SQLITE_STATIC);
    sqlite3_bind_int(statement, 2, (int)state);
    return sb_database_step(statement);
}

enum sb_code sb_tree_names_get(struct sb_tree_names *names, const char *name, size_t size,
                               enum sb_name_state *state)
{
    enum sb_code code = SB_OK;

    *state = SB_NAME_FREE;
    sqlite3_bind_blob64(names->get, 1, name, size, SQLITE_STATIC);
    if (sb_database_row(names->get, &code))
        *state = (enum sb_name_state)sqlite3_column_int(names->get, 0);
    sqlite3_reset(names->get);
    return code;
}

enum sb_code sb_tree_names_set(struct sb_tree_names *names, const char *name, size_t size,
                               enum sb_name_state state)
{
    return run(names->set, name, size, state);
}

static enum sb_code add(struct sb_tree_names *names, const char *name, size_t size,
                        enum sb_name_state state, bool *added)
{
    enum sb_code code = run(names->add, name, size, state);

    *added = sqlite3_changes(names->db) > 0;
    return code;
}

/* Notes a directory, and those above it that are not known yet, unless one of them is none. */
static enum sb_code claim_directories(struct sb_tree_names *names, const char *dir, size_t size,
                                      bool *blocked)
{
    enum sb_name_state state = SB_NAME_DIR;
    bool added = true;
    size_t known;

    for (known = size; known > 0; known = sb_parent_size(dir, known)) {
        TRY(sb_tree_names_get(names, dir, known, &state));
        if (state != SB_NAME_FREE)
            break;
    }
    *blocked = known > 0 && state != SB_NAME_DIR;
    for (size_t at = size; !*blocked && at > known; at = sb_parent_size(dir, at))
        TRY(add(names, dir, at, SB_NAME_DIR, &added));
    return SB_OK;
}

/* What was found for a directory holds for good: no name changes between directory and file. */
static enum sb_code claim_parent(struct sb_tree_names *names, const char *name, size_t size)
{
    size_t parent = sb_parent_size(name, size);

    if (names->parent_known && parent == names->parent.size &&
        (parent == 0 || memcmp(names->parent.data, name, parent) == 0))
        return SB_OK;
    names->parent_known = false;
    TRY(sb_buf_set(&names->parent, name, parent));
    TRY(claim_directories(names, name, parent, &names->parent_blocked));
    names->parent_known = true;
    return SB_OK;
}

enum sb_code sb_tree_names_claim(struct sb_tree_names *names, const char *name, size_t size,
                                 bool is_dir, bool *again, bool *late)
{
    bool added;

    *again = *late = false;
    if (is_dir)
        return claim_directories(names, name, size, late);
    TRY(claim_parent(names, name, size));
    TRY(add(names, name, size, SB_NAME_WRITTEN, &added));
    *again = !added;
    *late = *again || names->parent_blocked;
    return SB_OK;
}
