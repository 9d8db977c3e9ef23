/*
 * The tables, indexes and triggers of schema 0.3, as SQL.
 *
 * Their names, columns and effects are the contract with Barecat (shardbox-archive(5)); any SQLite
 * client must see exactly these.
 */
#ifndef SB_ARCHIVE_DDL_H
#define SB_ARCHIVE_DDL_H

#include "core/error.h"

#include <stddef.h>

struct sqlite3;

#define SB_SCHEMA_MAJOR 0
#define SB_SCHEMA_MINOR 3

/* Tables files, dirs and config, with the rows of config; no root row in dirs. */
extern const char sb_ddl_tables[];

struct sb_ddl_object {
    const char *name;
    const char *sql; /* one CREATE statement */
};

/* Each ends with a row of NULLs. */
extern const struct sb_ddl_object sb_ddl_indexes[];
extern const struct sb_ddl_object sb_ddl_triggers[];

/*
 * Registers SQLite's rtrim() and replace(), fast for the set of bytes in a path, on this
 * connection, for its lifetime.
 *
 * The schema computes `parent` with them at every insert and again for the parent's index, and the
 * built-in ones take more than half of the time of a bulk load. These return the same results for
 * every input, including broken UTF-8; a unit test compares them with the built-in ones.
 */
enum sb_code sb_register_parent_functions(struct sqlite3 *db) SB_CHECKED;

#endif
