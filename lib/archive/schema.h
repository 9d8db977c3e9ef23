/*
 * Is an SQLite file an archive that may be read, or written?
 *
 * sqlite_schema is held against an allow-list before any other query runs: the tables, indexes and
 * triggers of the known layouts, SQLite's own statistics, and plain indexes that a user added.
 */
#ifndef SB_ARCHIVE_SCHEMA_H
#define SB_ARCHIVE_SCHEMA_H

#include "archive/archive.h"
#include "core/error.h"

#include <stdbool.h>
#include <stdint.h>

struct sqlite3;

/*
 * SB_FORMAT names the object that is foreign, missing or not to be trusted, and the version that is
 * too new. With for_writing every trigger body and every generated column must also be one that is
 * known to be harmless, since SQLite runs them at each insert. *major and *minor are 0, 0 for the
 * layout from before versions. Without locks afterwards.
 */
enum sb_code sb_schema_vet(struct sqlite3 *db, enum sb_schema *schema, int *major, int *minor,
                           bool for_writing, struct sb_error *err) SB_CHECKED;

/*
 * CRC32C over the tokens of a piece of SQL: comments and white space do not count, nor does the
 * case of words. Pure function, thread-safe.
 */
uint32_t sb_sql_fingerprint(const char *sql);

#endif
