#include "archive/lock.h"

#include "archive/database.h"
#include "archive/ddl.h"
#include "core/file_lock.h"
#include "core/interrupt.h"
#include "core/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How long a commit waits for readers to let go of the index. */
#define COMMIT_WAIT_SECONDS 60

/* SQLite's lock bytes: PENDING_BYTE and the RESERVED byte behind it. */
#define SQLITE_LOCK_START 0x40000000
#define SQLITE_LOCK_BYTES 2

/* In the header of an index that is being made, at this place, as a big-endian number. */
#define MARK       "1935830647" /* "sbnw" */
#define MARK_BYTES "sbnw"
#define MARK_PLACE 68
#define PAGE_BYTES 4096

/* Process that holds a lock on these bytes, 0 when none on this machine is known to. */
static pid_t lock_holder(int fd, off_t start, off_t size)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = start, .l_len = size};

    if (fcntl(fd, F_GETLK, &lock) || lock.l_type == F_UNLCK || lock.l_pid < 0)
        return 0;
    return lock.l_pid;
}

static enum sb_code fail_locked(struct sb_error *err, const char *path, pid_t holder)
{
    if (holder)
        return sb_fail(err, SB_LOCKED, "%s: process %ld is writing this archive; wait for it", path,
                       (long)holder);
    return sb_fail(err, SB_LOCKED,
                   "%s: another process, perhaps on another machine, is writing this archive; "
                   "wait for it",
                   path);
}

/*
 * A lock of the open file, not of the process: SQLite, which has the same file open, drops the
 * process's locks on all of it whenever it unlocks. Who holds it shows by SQLite's own lock.
 */
static enum sb_code lock_first_byte(int fd, const char *path, struct sb_error *err)
{
    int error_number = sb_lock_first_byte(fd);

    if (error_number == 0)
        return SB_OK;
    if (error_number == EACCES || error_number == EAGAIN)
        return fail_locked(err, path, lock_holder(fd, SQLITE_LOCK_START, SQLITE_LOCK_BYTES));
    if (sb_locks_are_missing(error_number))
        return sb_fail_without_locks(err, path);
    return sb_fail_errno(err, error_number, "%s: cannot be locked", path);
}

/*
 * Nothing is lost when an empty file is taken over, or one of zeros, which is what a power failure
 * may leave of a first page. Anything else must bear our mark.
 */
static enum sb_code refuse_foreign(int fd, const char *path, struct sb_error *err)
{
    static const char zeros[PAGE_BYTES];
    char head[PAGE_BYTES + 1];
    size_t got;
    enum sb_code code = sb_pread_full(fd, head, sizeof(head), 0, &got, path, err);

    if (code || (got <= PAGE_BYTES && memcmp(head, zeros, got) == 0))
        return code;
    if (got >= MARK_PLACE + 4 && memcmp(head, "SQLite format 3", 16) == 0 &&
        memcmp(head + MARK_PLACE, MARK_BYTES, 4) == 0)
        return SB_OK;
    return sb_fail(err, SB_EXISTS,
                   "%s: in the way, and nothing that an interrupted run left; move it, or choose "
                   "another name for the archive",
                   path);
}

enum sb_code sb_new_lock_take(struct sb_new_lock *lock, const char *path, struct sb_error *err)
{
    struct stat st;
    enum sb_code code;

    for (;;) {
        lock->was_there = lstat(path, &st) == 0;
        if (lock->was_there && !S_ISREG(st.st_mode))
            return sb_fail(err, SB_EXISTS, "%s: in the way, and not a file of ours; remove it",
                           path);
        lock->fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (lock->fd < 0)
            return sb_fail_errno(err, errno, "%s", path);
        code = lock_first_byte(lock->fd, path, err);
        if (code == SB_OK && sb_is_named(lock->fd, path)) {
            code = refuse_foreign(lock->fd, path, err);
            if (code)
                sb_new_lock_drop(lock);
            return code;
        }
        if (code == SB_SYSTEM && !lock->was_there)
            unlink(path);
        sb_new_lock_drop(lock);
        if (code)
            return code;
    }
}

enum sb_code sb_new_index_begin(struct sqlite3 *db, struct sb_error *err)
{
    /* Pages go to disk in any order: no other may be there before the one with the mark. */
    enum sb_code code = sb_database_run(db,
                                        "PRAGMA page_size=4096; PRAGMA synchronous=FULL;"
                                        "PRAGMA application_id = " MARK ";"
                                        "PRAGMA synchronous=OFF; BEGIN",
                                        err);

    if (code == SB_OK)
        code = sb_database_run(db, sb_ddl_tables, err);
    if (code == SB_OK)
        code = sb_database_run(db, "COMMIT; BEGIN EXCLUSIVE", err);
    return code;
}

enum sb_code sb_new_index_is_marked(struct sqlite3 *db, bool *marked, struct sb_error *err)
{
    int64_t id = 0;
    enum sb_code code = sb_database_integer(db, "PRAGMA application_id", 0, &id, err);

    *marked = id == strtoll(MARK, NULL, 10);
    return code;
}

void sb_new_lock_drop(struct sb_new_lock *lock)
{
    if (lock->fd >= 0)
        close(lock->fd);
    lock->fd = -1;
}

void sb_new_lock_clear(const char *path)
{
    struct sb_new_lock lock;
    struct sb_error ignored;

    if (access(path, F_OK) || sb_new_lock_take(&lock, path, &ignored))
        return;
    unlink(path);
    sb_new_lock_drop(&lock);
}

/*
 * Opening the file a second time is allowed only because this process holds no lock on it: closing
 * any descriptor of a file drops all POSIX locks that the process has on it.
 */
static enum sb_code name_index_holder(const char *file, struct sb_error *err)
{
    pid_t holder = 0;
    int fd = open(file, O_RDWR | O_CLOEXEC | O_NONBLOCK);

    if (fd >= 0) {
        holder = lock_holder(fd, SQLITE_LOCK_START, SQLITE_LOCK_BYTES);
        close(fd);
    }
    return fail_locked(err, file, holder);
}

enum sb_code sb_lock_index(struct sqlite3 *db, const char *file, struct sb_error *err)
{
    int moved = 0;
    enum sb_code code;

    sqlite3_busy_timeout(db, 0);
    code = sb_database_run(db, "BEGIN IMMEDIATE", err);
    sqlite3_busy_timeout(db, 10000);
    if (code == SB_LOCKED)
        return name_index_holder(file, err);
    if (code)
        return code;
    sqlite3_file_control(db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    if (!moved)
        return SB_OK;
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return sb_fail(err, SB_CHANGED, "%s: was replaced by another process just now; try again",
                   file);
}

static enum sb_code fail_to_exclude(struct sqlite3 *db, const char *file, int rc,
                                    struct sb_error *err)
{
    int error_number = 0;

    sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &error_number);
    if (sb_locks_are_missing(error_number))
        return sb_fail_without_locks(err, file);
    return sb_fail(err, SB_SYSTEM, "%s: %s", file, sqlite3_errstr(rc));
}

/*
 * Taken past the pager, which knows only of its own lock and lets go of both: through a page
 * written early, an error would leave a journal behind.
 */
enum sb_code sb_exclude_readers(struct sqlite3 *db, const char *file, struct sb_error *err)
{
    sqlite3_file *handle = NULL;
    int rc;

    sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &handle);
    for (int times = 0; times < COMMIT_WAIT_SECONDS * 20; times++) {
        rc = handle->pMethods->xLock(handle, SQLITE_LOCK_EXCLUSIVE);
        if (rc == SQLITE_OK)
            return SB_OK;
        if (rc != SQLITE_BUSY)
            return fail_to_exclude(db, file, rc, err);
        if (sb_interrupted())
            return sb_fail(err, SB_INTERRUPT, "interrupted");
        usleep(50000);
    }
    return sb_fail(err, SB_LOCKED,
                   "%s: readers kept it open for %d seconds, so it was not changed; try again",
                   file, COMMIT_WAIT_SECONDS);
}
