/*
 * How SQLite reads and writes an index.
 *
 * Its calls to the system: SQLite takes a read that fails for damage, so one that fails with EIO is
 * tried once more, and one that fails again is SQLITE_IOERR, never SQLITE_CORRUPT. It reads ENOLCK
 * as a lock of another process, and waits in vain: it gets the error of other file systems without
 * locks, on which indexes are read without them (row.c, shardbox-archive(5)), and never written.
 *
 * An index whose descriptor is open already, as SQLite's file: SQLite takes a duplicate instead of
 * opening the path, is given again what fstat said of it, and in its first read transaction gets
 * the first 64 KiB by one read. For file systems where each call takes its time.
 *
 * Locks, journals and WALs are SQLite's own, call for call. Bytes are kept only while SQLite holds
 * its shared lock, under which no other process writes to an index that is not in WAL mode; one
 * that is in WAL mode is read without any of this.
 */
#ifndef SB_ARCHIVE_INDEX_FILE_H
#define SB_ARCHIVE_INDEX_FILE_H

#include "core/file.h"

#include <stdbool.h>
#include <stdint.h>

struct sqlite3;
struct sqlite3_file;

#define SB_INDEX_FILE_VFS "shardbox"

/* What SQLite reads before it has a lock: the page size, which it verifies under the lock. */
#define SB_INDEX_START_BYTES 100

struct sb_index_found {
    const char *path;           /* led to it */
    const struct sb_file *file; /* a regular file, open for reading */
    const unsigned char *start; /* its first bytes, read from it after the opening */
    size_t start_size;
};

/* Once, before the first connection, and before anything else that prepares SQLite. */
void sb_index_file_prepare(void);

/* Can it be opened so? */
bool sb_index_file_can(const struct sb_index_found *found);

/* What this thread has SQLite open next by SB_INDEX_FILE_VFS; NULL: nothing. */
void sb_index_file_opens(const struct sb_index_found *found);

/* For SQLite's open: a descriptor, once, if this thread's SB_INDEX_FILE_VFS opens an index; or -1.
 */
int sb_index_file_take(int flags);

/* Reads what is in SQLite's file now, from any thread. Returns SQLite's code. */
int sb_index_file_read(struct sqlite3_file *file, void *data, int size, int64_t offset);

/*
 * errno of this thread's last call for SQLite that failed, which is forgotten then; 0: none has.
 * SQLite keeps it for some of them only. The second: such a call has failed.
 */
int sb_index_file_failure(void);
void sb_index_file_failed(int error_number);

/* Replaces a system call of SQLite's, by its name there, if that can be done. */
void sb_index_file_replace(const char *call, void (*by)(void));

/* SQLite's own file system without locks, by which indexes are read where those do not work. */
#define SB_UNLOCKED_VFS "unix-none"

/* Did the last call on db fail because locks do not work? NULL is allowed. */
bool sb_locks_are_cause(struct sqlite3 *db);

/* Is db read without locks? NULL is allowed. */
bool sb_database_is_unlocked(struct sqlite3 *db);

#endif
