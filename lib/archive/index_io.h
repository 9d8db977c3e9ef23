/*
 * What the system says of SQLite's reads and writes: SQLite keeps it for some of them only, and
 * takes a read that fails for damage.
 *
 * A read that fails with EIO is tried once more. One that fails again is SQLITE_IOERR, never
 * SQLITE_CORRUPT.
 */
#ifndef SB_ARCHIVE_INDEX_IO_H
#define SB_ARCHIVE_INDEX_IO_H

/* Once, before the first connection, and the first of those that prepare SQLite. */
void sb_index_io_prepare(void);

/* Replaces a system call of SQLite's, by its name there, if that can be done. */
void sb_index_io_replace(const char *call, void (*by)(void));

/* errno of this thread's last call for SQLite that failed, which is forgotten then; 0: none has. */
int sb_index_io_failure(void);

/* Such a call has failed. */
void sb_index_io_failed(int error_number);

#endif
