/*
 * The schema of an archive, and whether an SQLite file is an archive that may be read, or written.
 *
 * sqlite_schema is checked against an allow-list before any table is queried: the tables, indexes
 * and triggers of the known layouts, SQLite's own statistics, and plain indexes that a user added.
 */
#ifndef SB_ARCHIVE_SCHEMA_H
#define SB_ARCHIVE_SCHEMA_H

#include "archive/archive.h"
#include "core/buf.h"
#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3;

struct sb_layout {
    enum sb_schema schema;
    int major; /* 0, 0 for the layout from before versions */
    int minor;

    /* Names of indexes; the first two always exist, the last is empty if there is none. */
    struct sb_buf files_by_path;    /* unique, on path */
    struct sb_buf dirs_by_path;     /* unique, on path, of dirs or directories */
    struct sb_buf files_by_address; /* on shard, offset and perhaps more */
};

/*
 * SB_FORMAT names the object that is foreign, missing or not to be trusted, or the version that is
 * too new. With for_writing every trigger and every generated column must also be known, because
 * other programs run them at each insert, and we compute the columns too. Holds no lock afterwards.
 * The caller releases the layout, also after a failure.
 */
enum sb_code sb_schema_inspect(struct sqlite3 *db, struct sb_layout *out,
                               bool for_writing) SB_CHECKED;
void sb_layout_release(struct sb_layout *layout);

/* The same for callers that need only the version. */
enum sb_code sb_schema_vet(struct sqlite3 *db, enum sb_schema *schema, int *major, int *minor,
                           bool for_writing) SB_CHECKED;

/*
 * SQL text, in just enough detail to recognise known text: comments and white space are dropped;
 * words are compared without regard to case; each other character is a token of its own. Pure
 * functions, thread-safe.
 *
 * Does the SQL contain this as a bare word, outside strings, quoted names and comments?
 */
bool sb_sql_has_word(const char *sql, const char *word);

/* Does it begin with these words, given in one string with single spaces? */
bool sb_sql_begins(const char *sql, const char *words);

/*
 * Whether the SQL of two tables computes `parent` by the same expression: the tokens within the
 * parentheses after the first AS that follows the word parent. False where one of them has none.
 */
bool sb_sql_same_parent(const char *a, const char *b);

/*
 * CRC32C over the tokens. It distinguishes texts that differ by accident, but does not resist
 * somebody who constructs two texts to match.
 */
uint32_t sb_sql_fingerprint(const char *sql);

/*
 * ddl.c: the tables, indexes and triggers of schema 0.3, as SQL. Their names, columns and effects
 * are the contract with Barecat (shardbox-archive(5)); any SQLite client must see exactly these.
 */
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
