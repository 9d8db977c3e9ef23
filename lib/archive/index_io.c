#include "archive/index_io.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* To SQLite, EIO and some others of a read mean a damaged file; this does not. */
#define FAILED_READ EREMOTEIO

static _Thread_local int failure;

int sb_index_io_failure(void)
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

void sb_index_io_failed(int error_number)
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

void sb_index_io_replace(const char *call, void (*by)(void))
{
    sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);

    /* All of SQLite's file systems for Unix share their system calls. */
    if (vfs && vfs->iVersion >= 3 && vfs->xSetSystemCall)
        vfs->xSetSystemCall(vfs, call, by);
}

void sb_index_io_prepare(void)
{
    /* Has no effect in a program that uses SQLite already. */
    (void)sqlite3_config(SQLITE_CONFIG_LOG, hear, NULL);
    sb_index_io_replace("pread", (sqlite3_syscall_ptr)read_at);
    sb_index_io_replace("pread64", (sqlite3_syscall_ptr)read_at);
    sb_index_io_replace("pwrite", (sqlite3_syscall_ptr)write_at);
    sb_index_io_replace("pwrite64", (sqlite3_syscall_ptr)write_at);
}
