/*
 * SQLite files, opened so that the worst a hostile one can do is be refused.
 *
 * Every connection: no URI names, only a regular file (checked before SQLite sees it), no triggers,
 * views or extensions, untrusted schema, defensive mode, limits on lengths and expression depth, no
 * memory mapping, a bounded page cache, temporary files in sb_temp_directory. A connection belongs
 * to one thread.
 */
#ifndef SB_ARCHIVE_DATABASE_H
#define SB_ARCHIVE_DATABASE_H

#include "core/error.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sqlite3;
struct sqlite3_file;
struct sqlite3_stmt;
struct sb_entry;
struct sb_file;
struct sb_index_found;

/* The bytes of an index that SQLite locks: writers the first two, readers others. */
#define SB_SQLITE_PENDING  0x40000000
#define SB_SQLITE_RESERVED 0x40000001
#define SB_SQLITE_LOCKS    512

enum sb_database_mode {
    SB_DB_READ,   /* rolls back a hot journal if it can be written; reads a WAL-mode file in a
                     read-only directory in place, unless a WAL exists. Reads without locks where they
                     do not work (index_file.h), unless a journal exists. */
    SB_DB_WRITE,  /* an existing file */
    SB_DB_CREATE, /* an empty file that the caller has just made and locked; no defensive mode */
};

/*
 * file is the SQLite file itself. Errors: SB_NOENT, SB_EXISTS, SB_FORMAT (not a regular file, not a
 * database), SB_LOCKED, SB_SYSTEM, SB_DAMAGED. SB_OK means that reading has succeeded once.
 */
enum sb_code sb_database_open(struct sqlite3 **out, const char *file,
                              enum sb_database_mode mode) SB_CHECKED;

/* Opens it as it is, without locks, which the caller may hold; not if a journal is pending. */
enum sb_code sb_database_open_as_it_is(struct sqlite3 **out, const char *file) SB_CHECKED;

/* For reading, of one without a name, and so without a journal. The file may be closed then. */
enum sb_code sb_database_open_unnamed(struct sqlite3 **out, const struct sb_file *file) SB_CHECKED;

/* Is it a database in which SQLite finds damage? `whole`: also where its indexes do not have what
 * its tables have, which takes longer. Opens it as it is. */
bool sb_database_is_damaged(const char *file, bool whole);

/*
 * The same, for reading, of a file that is open already, in fewer calls (index_file.h): `file` is
 * its path, absolute and without links. SB_OK: the connection is in a read transaction, under whose
 * lock that path was verified. SB_CHANGED: it must be opened by its path. SB_LOCKED, SB_NOMEM.
 */
enum sb_code sb_database_open_found(struct sqlite3 **out, const char *file,
                                    const struct sb_index_found *found) SB_CHECKED;

/*
 * A private database in a temporary file, which is made only once the data outgrows the cache; for
 * rows to be kept. beside: see sb_temp_directory.
 */
enum sb_code sb_database_open_private(struct sqlite3 **out, const char *beside) SB_CHECKED;

/*
 * Releases the memory of the page cache, after writing changes to the file. For a time of few
 * queries, while other connections need memory.
 */
void sb_database_shrink(struct sqlite3 *db);

/* NULL is allowed. The second finalizes all its statements first. */
void sb_database_close(struct sqlite3 *db);
void sb_database_finish(struct sqlite3 *db);
FREEP(sb_database_close, struct sqlite3)

/* The error of the last failed call on db, as a code and text: "FILE: SQLite's message". */
enum sb_code sb_database_fail(struct sqlite3 *db);

/* SB_SYSTEM: "FILE: the system's own words", and what to do about EIO. */
enum sb_code sb_database_fail_errno(struct sqlite3 *db, int error_number);

/*
 * How often the file was changed, as its header says: each commit makes it one more, unless it is
 * in WAL mode. 0 if it cannot be read.
 */
uint32_t sb_database_change_counter(struct sqlite3 *db);
uint32_t sb_database_counter_in(struct sqlite3_file *file); /* its file, or NULL */

/* Does its path lead to another file by now, or to none? */
bool sb_database_has_moved(struct sqlite3 *db);

/* Its file, which any thread may read. */
struct sqlite3_file *sb_database_file(struct sqlite3 *db);

FREEP(sqlite3_finalize, struct sqlite3_stmt) /* defines sqlite3_finalizep */

/* Runs statements that return no rows. */
enum sb_code sb_database_run(struct sqlite3 *db, const char *sql) SB_CHECKED;

enum sb_code sb_database_prepare(struct sqlite3 *db, struct sqlite3_stmt **out,
                                 const char *sql) SB_CHECKED;

/* The same of a text by the rules of sqlite3_mprintf: %w is a name within an identifier's quotes.
 */
enum sb_code sb_database_prepare_format(struct sqlite3 *db, struct sqlite3_stmt **out,
                                        const char *format, ...) SB_CHECKED;

/* Several, in this order: SB_PREPARE(db, {&find, "SELECT ..."}, {&add, "INSERT ..."}). */
#define SB_PREPARE(db, ...)                                                                        \
    sb_database_prepare_all(db, (const struct sb_to_prepare[]){__VA_ARGS__, {NULL, NULL}})

struct sb_to_prepare {
    struct sqlite3_stmt **out; /* NULL ends the list */
    const char *sql;
};
enum sb_code sb_database_prepare_all(struct sqlite3 *db,
                                     const struct sb_to_prepare *statements) SB_CHECKED;

/*
 * The same for a new private database (sb_database_open_private), which begins with these tables:
 * SB_TABLES(&db, beside, "CREATE TABLE ...; BEGIN", {&add, "INSERT ..."}).
 */
#define SB_TABLES(db, beside, tables, ...)                                                         \
    sb_database_open_tables(db, beside, tables,                                                    \
                            (const struct sb_to_prepare[]){__VA_ARGS__, {NULL, NULL}})
enum sb_code sb_database_open_tables(struct sqlite3 **out, const char *beside, const char *tables,
                                     const struct sb_to_prepare *statements) SB_CHECKED;

/*
 * For loops: while (sb_database_row(...)) code = ...; Steps to the next row, unless *code is an
 * error already; false at the end, and if the step fails, which sets *code.
 */
bool sb_database_row(struct sqlite3_stmt *statement, enum sb_code *code);

/* Binds a value, or NULL if it is not known. */
void sb_database_bind_known(struct sqlite3_stmt *statement, int column, bool known, int64_t value);

/*
 * Binds `count` values of a row, from `column` on, to parameters from `first` on. Texts are copied;
 * SB_NOMEM if that fails.
 */
enum sb_code sb_database_bind_row(struct sqlite3_stmt *statement, int first,
                                  struct sqlite3_stmt *row, int column, int count) SB_CHECKED;

/*
 * sb_database_bind_metadata binds mode, uid, gid and mtime_ns of an entry to four parameters from
 * `column` on, NULL where they are not known. sb_database_bind_file binds all of a file, in the
 * order of the columns of `files`: path, shard, offset, size and crc32c, then these four. The path
 * must live until the statement was run.
 */
void sb_database_bind_metadata(struct sqlite3_stmt *statement, int column,
                               const struct sb_entry *entry);
void sb_database_bind_file(struct sqlite3_stmt *statement, int column,
                           const struct sb_entry *entry);

/*
 * The reverse, from a row that was bound so. The path is SQLite's, and lives until the next step;
 * SB_NOMEM is the only failure.
 */
void sb_database_take_metadata(struct sqlite3_stmt *row, int column, struct sb_entry *entry);
enum sb_code sb_database_take_file(struct sqlite3_stmt *row, int column,
                                   struct sb_entry *entry) SB_CHECKED;

/* Runs a statement that returns no rows, and resets it. */
enum sb_code sb_database_step(struct sqlite3_stmt *statement) SB_CHECKED;

/*
 * SB_BIND binds numbers to the parameters from 1 on: SB_BIND(find, shard, offset). SB_RUN runs the
 * statement with them as sb_database_step does.
 */
#define SB_BIND(statement, ...)                                                                    \
    sb_database_bind(statement, (const int64_t[]){__VA_ARGS__},                                    \
                     sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))
#define SB_RUN(statement, ...) (SB_BIND(statement, __VA_ARGS__), sb_database_step(statement))
void sb_database_bind(struct sqlite3_stmt *statement, const int64_t *values, size_t count);

/* First column of the first row; `absent` if there is no row or it is NULL. */
enum sb_code sb_database_integer(struct sqlite3 *db, const char *sql, int64_t absent,
                                 int64_t *out) SB_CHECKED;

/*
 * The index file of an archive: PATH, or PATH-sqlite-index if only that exists; the caller frees
 * it. Links are resolved (the result is absolute). NULL: it failed.
 */
char *sb_index_file(const char *archive);

/* Length of an index file's name without "-sqlite-index", the suffix of old releases. */
size_t sb_index_base_size(const char *name);

#endif
