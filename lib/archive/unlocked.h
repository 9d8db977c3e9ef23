/*
 * Indexes on file systems without locks: they are read without locks, through SQLite's own
 * "unix-none". For the consequences see statement.c and shardbox-archive(5); writing is refused.
 */
#ifndef SB_ARCHIVE_UNLOCKED_H
#define SB_ARCHIVE_UNLOCKED_H

#include <stdbool.h>

struct sqlite3;

#define SB_UNLOCKED_VFS "unix-none"

/*
 * Once, before the first connection. SQLite reads ENOLCK as a lock of another process, and waits in
 * vain; from then on it gets the error that other file systems without locks return.
 */
void sb_unlocked_prepare(void);

/* Did the last call on db fail because locks do not work? NULL is allowed. */
bool sb_unlocked_is_cause(struct sqlite3 *db);

/* Is db read without locks? NULL is allowed. */
bool sb_database_is_unlocked(struct sqlite3 *db);

#endif
