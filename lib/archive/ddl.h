/*
 * The tables, indexes and triggers of schema 0.3, as SQL.
 *
 * Their names, columns and effects are the contract with Barecat (shardbox-archive(5)); any SQLite
 * client must see exactly these.
 */
#ifndef SB_ARCHIVE_DDL_H
#define SB_ARCHIVE_DDL_H

#include <stddef.h>

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

#endif
