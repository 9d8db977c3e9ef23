/*
 * Names of an index that is about to be changed, looked up on the connection of its writer. Where
 * the names come in order, the rows of files that come next are read ahead: one step in the index
 * for each, no search.
 */
#ifndef SB_ARCHIVE_WRITER_LOOKUP_H
#define SB_ARCHIVE_WRITER_LOOKUP_H

#include "archive/reader.h"

/* {0}: there is no index. */
struct sb_lookups {
    sqlite3_stmt *dir, *file;
    sqlite3_stmt *files;   /* from a name on; NULL: none are read ahead */
    struct sb_rows ahead;  /* all before `at` are of lesser names than the last one */
    size_t found;          /* of these */
    bool ahead_to_the_end; /* there are some, and no file of the index comes after them */
};

/*
 * renames: rows get other names between look-ups, and a directory without a row is found, too, if
 * something is below it.
 */
enum sb_code sb_lookups_prepare(struct sb_lookups *lookups, sqlite3 *db, bool renames) SB_CHECKED;
void sb_lookups_release(struct sb_lookups *lookups);

/* A file, or else a directory. SB_NOENT without text. The entry has the path that is given. */
enum sb_code sb_lookups_find(struct sb_lookups *lookups, const char *path, size_t size,
                             struct sb_entry *entry) SB_CHECKED;

#endif
