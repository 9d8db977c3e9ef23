/*
 * Locks on files (fcntl), and file systems that have none: NFS without its lock service, Lustre
 * mounted without flock, some of FUSE. Thread-safe.
 */
#ifndef SB_CORE_FILE_LOCK_H
#define SB_CORE_FILE_LOCK_H

#include "core/error.h"

#include <stdbool.h>
#include <sys/types.h>

/*
 * Locks the first byte for writing, without waiting. The lock is of the open file, not of the
 * process, and is gone with its last descriptor. Returns 0 or an errno: EAGAIN or EACCES while
 * another process has it locked, one that sb_locks_are_missing knows, or another error.
 */
int sb_lock_first_byte(int fd);

/* Likewise any bytes. */
int sb_lock_bytes(int fd, off_t start, off_t size);

/* For reading: others may do so at the same time, and the file need not be open for writing. */
int sb_lock_shared(int fd, off_t start, off_t size);

/* Releases it where descriptors of the open file may remain. */
void sb_unlock_first_byte(int fd);

/*
 * How long to wait for a lock that another has, in milliseconds: `usual`, or what the environment
 * variable SHARDBOX_LOCK_WAIT says in seconds.
 */
int sb_lock_wait(int usual);

/*
 * Call this when the lock of a file was not granted because another process writes the file,
 * which the last failure says. True after a pause: try again, as the context's lock_wait allows.
 * False: the time is up, the work is cancelled (*code is SB_INTERRUPT then), or *code was not
 * SB_LOCKED. *tries counts the calls, from 0.
 */
bool sb_lock_await(enum sb_code *code, unsigned *tries);

/* Does this error mean a file system without locks? */
bool sb_locks_are_missing(int error_number);

/* SB_SYSTEM: the file cannot be written without locks, and what to do. */
enum sb_code sb_fail_without_locks(const char *path);

/* This error of a lock: the same where locks are missing, else what the system says. */
enum sb_code sb_fail_to_lock(int error_number, const char *path);

#endif
