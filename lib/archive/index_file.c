#include "archive/index_file.h"

#include "core/array.h"
#include "core/file_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* To SQLite, EIO and some others of a read mean a damaged file; this does not. */
#define FAILED_READ EREMOTEIO

static _Thread_local int failure;

int sb_index_file_failure(void)
{
    int noted = failure;

    failure = 0;
    return noted;
}

static ssize_t read_at(int fd, void *data, size_t size, off_t offset)
{
    ssize_t got = pread(fd, data, size, offset);

    if (got < 0 && errno == EIO)
        got = pread(fd, data, size, offset);
    if (got < 0 && errno != EINTR) {
        failure = errno;
        errno = FAILED_READ;
    }
    return got;
}

static ssize_t write_at(int fd, const void *data, size_t size, off_t offset)
{
    ssize_t done = pwrite(fd, data, size, offset);

    if (done < 0 && errno != EINTR)
        failure = errno;
    return done;
}

void sb_index_file_failed(int error_number)
{
    failure = error_number;
}

/* Of syncs, lengths and files beside an index, SQLite logs errno: "os_unix.c:LINE: (ERRNO) ...". */
static void hear(void *context, int code, const char *text)
{
    static const char file[] = "os_unix.c:";
    const char *number = strncmp(text, file, strlen(file)) == 0 ? strstr(text, ": (") : NULL;

    (void)context;
    (void)code;
    if (number && failure == 0)
        failure = (int)strtol(number + strlen(": ("), NULL, 10);
}

void sb_index_file_replace(const char *call, void (*by)(void))
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

    /* All of SQLite's file systems for Unix share their system calls. */
    if (vfs && vfs->iVersion >= 3 && vfs->xSetSystemCall)
        vfs->xSetSystemCall(vfs, call, by);
}

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

bool sb_locks_are_cause(struct sqlite3 *db)
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

/* The pages of the schema, and the roots of the tables, are the first ones of an index. */
#define BLOCK_BYTES (64 << 10)

/* In the header of an SQLite file: the versions to write and to read it; 1 is not in WAL mode. */
#define VERSIONS 18

/* Descriptors of standard streams are not for SQLite. */
#define FD_LEAST (STDERR_FILENO + 1)

/* After SQLite's own file, some of whose methods are replaced. */
struct index_file {
    sqlite3_io_methods methods;
    const sqlite3_io_methods *real;
    struct stat st; /* as of the opening */
    int fd;         /* SQLite's */
    unsigned char start[SB_INDEX_START_BYTES];
    bool started; /* a lock was held: `start` is no longer used */
    bool locked;
    bool through;  /* everything goes to SQLite's own methods */
    char *block;   /* valid while locked, if filled */
    size_t filled; /* bytes; 0: not yet read */
};

/* Of this thread, while SQLite opens an index. */
static _Thread_local const struct sb_index_found *to_open;
static _Thread_local int taken;

/* Of this thread: what fstat and stat say of the file that SQLite opens or closes. */
static _Thread_local const struct stat *known;

static sqlite3_vfs *unix_vfs;

static struct index_file *of(sqlite3_file *file)
{
    return (struct index_file *)((char *)file + unix_vfs->szOsFile);
}

static bool is_rollback_mode(const char *start)
{
    return start[VERSIONS] == 1 && start[VERSIONS + 1] == 1;
}

/* Only under the lock. */
static bool fill(struct index_file *file)
{
    ssize_t got;

    if (!file->locked || file->through || file->filled)
        return file->locked && !file->through;
    if (!file->block)
        file->block = malloc(BLOCK_BYTES);
    got = file->block ? pread(file->fd, file->block, BLOCK_BYTES, 0) : -1;
    if (got < SB_INDEX_START_BYTES || !is_rollback_mode(file->block))
        file->through = true;
    else
        file->filled = (size_t)got;
    return !file->through;
}

static int close_file(sqlite3_file *base)
{
    struct index_file *file = of(base);
    int rc;

    free(file->block);
    /* SQLite only writes to its log what it finds. */
    known = &file->st;
    rc = file->real->xClose(base);
    known = NULL;
    return rc;
}

static int read_file(sqlite3_file *base, void *data, int size, sqlite3_int64 offset)
{
    struct index_file *file = of(base);
    sqlite3_int64 end = offset + size;

    if (!file->started && end <= SB_INDEX_START_BYTES) {
        memcpy(data, file->start + offset, (size_t)size);
        return SQLITE_OK;
    }
    if (end <= BLOCK_BYTES && fill(file) && end <= (sqlite3_int64)file->filled) {
        memcpy(data, file->block + offset, (size_t)size);
        return SQLITE_OK;
    }
    return file->real->xRead(base, data, size, offset);
}

/* A read that ends early, where the file ended when it was opened, has shown its size. */
static int file_size(sqlite3_file *base, sqlite3_int64 *size)
{
    struct index_file *file = of(base);

    if (!fill(file) || file->filled == BLOCK_BYTES || (off_t)file->filled != file->st.st_size)
        return file->real->xFileSize(base, size);
    *size = (sqlite3_int64)file->filled;
    return SQLITE_OK;
}

static int lock(sqlite3_file *base, int level)
{
    struct index_file *file = of(base);
    int rc = file->real->xLock(base, level);

    file->started = true;
    if (rc == SQLITE_OK && level == SQLITE_LOCK_SHARED)
        file->locked = true;
    return rc;
}

static int unlock(sqlite3_file *base, int level)
{
    struct index_file *file = of(base);

    /* SQLite has kept the pages, and in later transactions only reads whether they have changed. */
    if (level == SQLITE_LOCK_NONE) {
        file->locked = false;
        file->through |= file->filled > 0;
        file->filled = 0;
        free(file->block);
        file->block = NULL;
    }
    return file->real->xUnlock(base, level);
}

static int write_file(sqlite3_file *base, const void *data, int size, sqlite3_int64 offset)
{
    struct index_file *file = of(base);

    file->through = true;
    return file->real->xWrite(base, data, size, offset);
}

static int truncate_file(sqlite3_file *base, sqlite3_int64 size)
{
    struct index_file *file = of(base);

    file->through = true;
    return file->real->xTruncate(base, size);
}

/* WAL mode */
static int shm_map(sqlite3_file *base, int page, int size, int extend, void volatile **out)
{
    struct index_file *file = of(base);

    file->through = true;
    return file->real->xShmMap(base, page, size, extend, out);
}

/* Replaces the methods; SQLite does not close a file whose opening has failed. */
static int finish_opening(sqlite3_file *base)
{
    struct index_file *file = of(base);

    file->fd = taken;
    file->real = base->pMethods;
    /* SQLite may have had a descriptor of its own, which is not known here. */
    if (taken < 0 || file->real->iVersion < 2) {
        file->real->xClose(base);
        base->pMethods = NULL;
        return SQLITE_CANTOPEN;
    }
    file->methods = *file->real;
    file->methods.iVersion = 2; /* no memory mapping */
    file->methods.xClose = close_file;
    file->methods.xRead = read_file;
    file->methods.xWrite = write_file;
    file->methods.xTruncate = truncate_file;
    file->methods.xFileSize = file_size;
    file->methods.xLock = lock;
    file->methods.xUnlock = unlock;
    file->methods.xShmMap = shm_map;
    base->pMethods = &file->methods;
    return SQLITE_OK;
}

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *base, int flags, int *given)
{
    const struct sb_index_found *found = to_open;
    struct index_file *file = of(base);
    int rc;

    (void)vfs;
    if (!(flags & SQLITE_OPEN_MAIN_DB))
        return unix_vfs->xOpen(unix_vfs, name, base, flags, given);
    base->pMethods = NULL;
    if (!found)
        return SQLITE_CANTOPEN;
    *file = (struct index_file){.fd = -1};
    file->st = found->file->st;
    memcpy(file->start, found->start, sizeof(file->start));
    taken = -1;
    known = &file->st;
    rc = unix_vfs->xOpen(unix_vfs, name, base, flags, given);
    known = NULL;
    to_open = NULL;
    return rc ? rc : finish_opening(base);
}

/* The caller has resolved the path, and verifies under the lock that it leads to the descriptor. */
static int full_path(sqlite3_vfs *vfs, const char *name, int capacity, char *out)
{
    size_t size = strlen(name) + 1;

    (void)vfs;
    if (*name != '/' || size > (size_t)capacity)
        return SQLITE_CANTOPEN;
    memcpy(out, name, size);
    return SQLITE_OK;
}

static int stat_known(const char *path, struct stat *out)
{
    if (!known)
        return stat(path, out);
    *out = *known;
    return 0;
}

static int fstat_known(int fd, struct stat *out)
{
    if (!known)
        return fstat(fd, out);
    *out = *known;
    return 0;
}

static void add_vfs(void)
{
    static sqlite3_vfs vfs;

    unix_vfs = sqlite3_vfs_find(NULL);
    if (!unix_vfs || unix_vfs->iVersion < 3 || !unix_vfs->xSetSystemCall)
        return;
    vfs = *unix_vfs;
    vfs.pNext = NULL;
    vfs.zName = SB_INDEX_FILE_VFS;
    vfs.szOsFile += (int)sizeof(struct index_file);
    vfs.xOpen = open_file;
    vfs.xFullPathname = full_path;
    sqlite3_vfs_register(&vfs, 0);
}

void sb_index_file_prepare(void)
{
    static const struct {
        const char *call;
        sqlite3_syscall_ptr by;
    } calls[] = {
        {"pread", (sqlite3_syscall_ptr)read_at},       {"pread64", (sqlite3_syscall_ptr)read_at},
        {"pwrite", (sqlite3_syscall_ptr)write_at},     {"pwrite64", (sqlite3_syscall_ptr)write_at},
        {"fcntl", (sqlite3_syscall_ptr)fcntl_at_once}, {"stat", (sqlite3_syscall_ptr)stat_known},
        {"fstat", (sqlite3_syscall_ptr)fstat_known},
    };

    /* Before SQLite is initialised. Has no effect in a program that uses SQLite already. */
    (void)sqlite3_config(SQLITE_CONFIG_LOG, hear, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
        sb_index_file_replace(calls[i].call, calls[i].by);
    add_vfs();
}

bool sb_index_file_can(const struct sb_index_found *found)
{
    return found->start_size >= SB_INDEX_START_BYTES &&
           is_rollback_mode((const char *)found->start) && S_ISREG(found->file->st.st_mode);
}

void sb_index_file_opens(const struct sb_index_found *found)
{
    to_open = found;
}

int sb_index_file_take(int flags)
{
    if (!known || !to_open || taken >= 0 || (flags & O_ACCMODE) != O_RDONLY)
        return -1;
    taken = fcntl(to_open->file->fd, F_DUPFD_CLOEXEC, FD_LEAST);
    return taken;
}

int sb_index_file_read(struct sqlite3_file *file, void *data, int size, int64_t offset)
{
    return file->pMethods->xRead == read_file ? of(file)->real->xRead(file, data, size, offset)
                                              : file->pMethods->xRead(file, data, size, offset);
}
