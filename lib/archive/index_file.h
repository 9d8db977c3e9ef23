/*
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

/* Before the first connection. */
void sb_index_file_prepare(void);

/* Can it be opened so? */
bool sb_index_file_can(const struct sb_index_found *found);

/* What this thread has SQLite open next by SB_INDEX_FILE_VFS; NULL: nothing. */
void sb_index_file_opens(const struct sb_index_found *found);

/* For SQLite's open: a descriptor, once, if this thread's SB_INDEX_FILE_VFS opens an index; or -1.
 */
int sb_index_file_take(int flags);

/*
 * SQLite's own file within one of SB_INDEX_FILE_VFS, which reads what is in the file now, from any
 * thread; else the file itself.
 */
struct sqlite3_file *sb_index_file_real(struct sqlite3_file *file);

#endif
