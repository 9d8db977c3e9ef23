/*
 * An archive that stands, opened to be changed: the first steps of every writer.
 */
#ifndef SB_ARCHIVE_STANDING_H
#define SB_ARCHIVE_STANDING_H

#include "core/error.h"

#include <stdbool.h>

struct sqlite3;

/*
 * The archive's path with the links of its directory resolved: SQLite refuses them, and a rename
 * must meet the same directory. Caller frees; NULL with err set for what is no archive's name.
 */
char *sb_standing_path(const char *archive, struct sb_error *err);

/*
 * The index file of the archive at this path (of sb_standing_path), for the caller to free; NULL at
 * SB_OK where there is none. SB_INVALID for a symbolic link.
 */
enum sb_code sb_standing_index(char **file, const char *path, struct sb_error *err) SB_CHECKED;

/*
 * SB_INVALID for an index that has several hard links, as after cp -al: what is written into it
 * would show under the other names too, and SQLite finds a journal by one name only.
 */
enum sb_code sb_standing_refuse_links(const char *file, struct sb_error *err) SB_CHECKED;

/*
 * Opens it for writing, in DELETE mode, with nothing pending (pending.h), and starts the write
 * transaction that locks it. to_change: only a schema that we write; else any that we read, to be
 * replaced. *db is the caller's to close, also after an error.
 */
enum sb_code sb_standing_open(struct sqlite3 **db, const char *path, const char *file,
                              bool to_change, struct sb_error *err) SB_CHECKED;

/* Is it of the schema that we write? Else SB_FORMAT, and what to do. Of sb_standing_open. */
enum sb_code sb_standing_vet(struct sqlite3 *db, const char *path, const char *file,
                             struct sb_error *err) SB_CHECKED;

#endif
