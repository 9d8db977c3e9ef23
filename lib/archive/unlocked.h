/*
 * Indexes on file systems without locks: they are read without, through SQLite's own "unix-none".
 * What that means for readers is in transaction.c and shardbox-archive(5); writers are refused.
 */
#ifndef SB_ARCHIVE_UNLOCKED_H
#define SB_ARCHIVE_UNLOCKED_H

#include <stdbool.h>

struct sqlite3;

#define SB_UNLOCKED_VFS "unix-none"

/*
 * Before the first connection. SQLite takes ENOLCK for a lock that another process holds, and waits
 * for it in vain; from here on it sees the error that other file systems without locks have.
 */
void sb_unlocked_prepare(void);

/* Did the last call on db fail because locks do not work? NULL is allowed. */
bool sb_unlocked_is_cause(struct sqlite3 *db);

/* Is db read without locks? NULL is allowed. */
bool sb_database_is_unlocked(struct sqlite3 *db);

#endif
