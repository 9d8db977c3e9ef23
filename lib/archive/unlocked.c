#include "archive/unlocked.h"

#include "archive/index_io.h"
#include "core/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <string.h>

static int fcntl_at_once(int fd, int command, ...)
{
    unsigned long argument;
    va_list arguments;
    int result;

    va_start(arguments, command);
    argument = va_arg(arguments, unsigned long);
    va_end(arguments);
    result = fcntl(fd, command, argument);
    if (result < 0 && errno == ENOLCK)
        errno = EOPNOTSUPP;
    return result;
}

void sb_unlocked_prepare(void)
{
    sb_index_io_replace("fcntl", (sqlite3_syscall_ptr)fcntl_at_once);
}

bool sb_unlocked_is_cause(struct sqlite3 *db)
{
    if (!db || !sb_locks_are_missing(sqlite3_system_errno(db)))
        return false;
    switch (sqlite3_extended_errcode(db)) {
    case SQLITE_IOERR_LOCK:
    case SQLITE_IOERR_RDLOCK:
    case SQLITE_IOERR_UNLOCK:
    case SQLITE_IOERR_CHECKRESERVEDLOCK:
    case SQLITE_IOERR_SHMLOCK:
        return true;
    default:
        return false;
    }
}

bool sb_database_is_unlocked(struct sqlite3 *db)
{
    char *name = NULL;
    bool is;

    if (!db)
        return false;
    sqlite3_file_control(db, "main", SQLITE_FCNTL_VFSNAME, &name);
    is = (name && strcmp(name, SB_UNLOCKED_VFS) == 0) ||
         sqlite3_uri_boolean(sqlite3_db_filename(db, "main"), "immutable", 0);
    sqlite3_free(name);
    return is;
}
