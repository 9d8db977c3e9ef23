/*
 * SQLite files, opened so that a hostile one cannot do more than be refused.
 *
 * Every connection: no URI names, only a regular file (checked before SQLite sees it), no
 * triggers, views or extensions, untrusted schema, defensive mode, limits on lengths and
 * expression depth, no memory mapping, a bounded page cache, temporary files where
 * sb_temp_directory says. A connection belongs to one thread.
 */
#ifndef SB_ARCHIVE_DATABASE_H
#define SB_ARCHIVE_DATABASE_H

#include "core/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3;
struct sqlite3_stmt;
struct sb_entry;

enum sb_database_mode {
    SB_DB_READ, /* a hot journal is rolled back where that can be written; a WAL file in a read-only
                   place is read in place unless a WAL stands beside it. Where locks do not work it
                   is read without (unlocked.h), unless a journal stands beside it. */
    SB_DB_WRITE,  /* an existing file */
    SB_DB_CREATE, /* an empty file that the caller just made and locked; no defensive mode */
};

/*
 * file is the SQLite file itself. Errors: SB_NOENT, SB_EXISTS, SB_FORMAT (not a regular file, not a
 * database), SB_LOCKED, SB_SYSTEM, SB_DAMAGED. The database was read from once at SB_OK.
 */
enum sb_code sb_database_open(struct sqlite3 **out, const char *file, enum sb_database_mode mode,
                              struct sb_error *err) SB_CHECKED;

/*
 * A database of this connection's own in a temporary file, made only once it outgrows its cache;
 * for rows that wait. beside: see sb_temp_directory.
 */
enum sb_code sb_database_open_private(struct sqlite3 **out, const char *beside,
                                      struct sb_error *err) SB_CHECKED;

/* Gives back the memory of the page cache; what was changed goes to the file first. To be called
 * when little will be asked for while others need theirs. */
void sb_database_shrink(struct sqlite3 *db);

/* NULL is allowed. */
void sb_database_close(struct sqlite3 *db);

/* The error of the last failed call on db, as a code and text: "FILE: what SQLite says". */
enum sb_code sb_database_fail(struct sqlite3 *db, struct sb_error *err);

/* Runs statements that yield no rows. */
enum sb_code sb_database_run(struct sqlite3 *db, const char *sql, struct sb_error *err) SB_CHECKED;

enum sb_code sb_database_prepare(struct sqlite3 *db, struct sqlite3_stmt **out, const char *sql,
                                 struct sb_error *err) SB_CHECKED;

/* Several, in this order: SB_PREPARE(db, err, {&find, "SELECT ..."}, {&add, "INSERT ..."}). */
#define SB_PREPARE(db, err, ...)                                                                   \
    sb_database_prepare_all(db, (const struct sb_to_prepare[]){__VA_ARGS__, {NULL, NULL}}, err)

struct sb_to_prepare {
    struct sqlite3_stmt **out; /* NULL ends the list */
    const char *sql;
};
enum sb_code sb_database_prepare_all(struct sqlite3 *db, const struct sb_to_prepare *statements,
                                     struct sb_error *err) SB_CHECKED;

/* The same of a private database (sb_database_open_private) that begins with these tables:
 * SB_TABLES(&db, beside, err, "CREATE TABLE ...; BEGIN", {&add, "INSERT ..."}). */
#define SB_TABLES(db, beside, err, tables, ...)                                                    \
    sb_database_open_tables(db, beside, tables,                                                    \
                            (const struct sb_to_prepare[]){__VA_ARGS__, {NULL, NULL}}, err)
enum sb_code sb_database_open_tables(struct sqlite3 **out, const char *beside, const char *tables,
                                     const struct sb_to_prepare *statements,
                                     struct sb_error *err) SB_CHECKED;

/* Steps to the next row, unless *code says that something went wrong: while (sb_database_row(...))
 * code = ...; false at the end, and where the step fails, which sets *code. */
bool sb_database_row(struct sqlite3_stmt *statement, enum sb_code *code, struct sb_error *err);

/* Binds a value, or NULL where it is not known. */
void sb_database_bind_known(struct sqlite3_stmt *statement, int column, bool known, int64_t value);

/*
 * Binds `count` values of a row, from `column` on, to parameters from `first` on. Texts are copied,
 * and what cannot be would be NULL: SB_NOMEM.
 */
enum sb_code sb_database_bind_row(struct sqlite3_stmt *statement, int first,
                                  struct sqlite3_stmt *row, int column, int count,
                                  struct sb_error *err) SB_CHECKED;

/*
 * Binds mode, uid, gid and mtime_ns of an entry to four columns from this one on, NULL where they
 * are not known; and all of a file, in the order of the columns of `files`: path, shard, offset,
 * size and crc32c, then these. The path must live until the statement was run.
 */
void sb_database_bind_metadata(struct sqlite3_stmt *statement, int column,
                               const struct sb_entry *entry);
void sb_database_bind_file(struct sqlite3_stmt *statement, int column,
                           const struct sb_entry *entry);

/*
 * The same from a row of our own making: what was bound so. The path is SQLite's, and lives until
 * the next step; SB_NOMEM is the only failure.
 */
void sb_database_take_metadata(struct sqlite3_stmt *row, int column, struct sb_entry *entry);
enum sb_code sb_database_take_file(struct sqlite3_stmt *row, int column, struct sb_entry *entry,
                                   struct sb_error *err) SB_CHECKED;

/* Runs a statement that yields no rows, and resets it. */
enum sb_code sb_database_step(struct sqlite3_stmt *statement, struct sb_error *err) SB_CHECKED;

/* First column of the first row; `absent` when there is no row or it is NULL. */
enum sb_code sb_database_integer(struct sqlite3 *db, const char *sql, int64_t absent, int64_t *out,
                                 struct sb_error *err) SB_CHECKED;

/* The index file of an archive: PATH, or PATH-sqlite-index where only that stands; caller frees.
 * Links are resolved (the result is absolute). NULL with err set otherwise. */
char *sb_index_file(const char *archive, struct sb_error *err);

/* Length of an index file's name without "-sqlite-index", which old releases put behind the
 * archive's name. */
size_t sb_index_base_size(const char *name);

#endif
