/*
 * Loaded with LD_PRELOAD, makes a fast file system behave as one that is reached over a network:
 * each call that looks up, lists, reads, locks, makes, renames, removes or changes the metadata of
 * what lies below SLOW_ROOT waits SLOW_MICROSECONDS (1000) first. Writing and closing do not wait:
 * such file systems take bytes and send them on later. Memory maps are not seen.
 *
 * With SLOW_CACHED a page of a file waits only once in a process, when it is read at an offset: the
 * system of such a machine keeps what it has read in memory, too.
 *
 * With SLOW_LOG each of these calls becomes a line there, "KIND PATH". KIND is open, stat, list,
 * read, lock (and unlock), make (directories and links), name (renames and removals) or meta. Works
 * on a program whose libc is shared, whatever else is linked into it.
 */
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's names are reserved */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static char root[PATH_MAX];
static size_t root_size;
int __openat64_2(int dir, const char *name, int flags);
int __open64_2(const char *name, int flags);

static long microseconds = 1000;
static int log_fd = -1;
static bool cached;

__attribute__((constructor)) static void begin(void)
{
    const char *given = getenv("SLOW_ROOT"), *wait = getenv("SLOW_MICROSECONDS");
    const char *log = getenv("SLOW_LOG");

    if (given && !realpath(given, root))
        abort();
    root_size = strcmp(root, "/") == 0 ? 0 : strlen(root);
    cached = getenv("SLOW_CACHED") != NULL;
    if (wait)
        microseconds = strtol(wait, NULL, 10);
    if (log)
        log_fd = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC,
                              0666);
}

/* The path of a descriptor, or of the working directory, with '/' before what is below it. */
static size_t path_of(int fd, char *path)
{
    char link[32] = "/proc/self/cwd";
    long size;

    if (fd != AT_FDCWD)
        snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
    size = syscall(SYS_readlinkat, AT_FDCWD, link, path, PATH_MAX - 2);
    return size > 0 ? (size_t)size : 0;
}

static void find(int dir, const char *name, char *path)
{
    size_t size = 0;

    if (!name || name[0] != '/')
        size = path_of(dir, path);
    if (name && name[0] && size > 0)
        path[size++] = '/';
    snprintf(path + size, PATH_MAX - size, "%s", name ? name : "");
}

static void slow(const char *kind, int dir, const char *name)
{
    struct timespec wait = {.tv_sec = microseconds / 1000000,
                            .tv_nsec = microseconds % 1000000 * 1000};
    int before = errno;
    char path[PATH_MAX];

    find(dir, name, path);
    if (strncmp(path, root, root_size) != 0 || (path[root_size] && path[root_size] != '/'))
        return;
    if (log_fd >= 0) {
        char line[PATH_MAX + 16];
        int size = snprintf(line, sizeof(line), "%s %s\n", kind, path);

        (void)!syscall(SYS_write, log_fd, line, (size_t)size);
    }
    if (microseconds > 0)
        clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, NULL);
    errno = before;
}

/* Opening. What O_PATH opens is looked up, too. */

static int open_at(int dir, const char *name, int flags, va_list arguments)
{
    bool makes = (flags & O_CREAT) || (flags & __O_TMPFILE) == __O_TMPFILE;
    mode_t mode = makes ? va_arg(arguments, mode_t) : 0;

    slow("open", dir, name);
    return (int)syscall(SYS_openat, dir, name, flags, mode);
}

int openat(int dir, const char *name, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int fd = open_at(dir, name, flags, arguments);
    va_end(arguments);
    return fd;
}

int open(const char *name, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int fd = open_at(AT_FDCWD, name, flags, arguments);
    va_end(arguments);
    return fd;
}

int openat64(int, const char *, int, ...) __attribute__((alias("openat")));
int open64(const char *, int, ...) __attribute__((alias("open")));

/* What _FORTIFY_SOURCE makes of those without a mode. */

int __openat64_2(int dir, const char *name, int flags)
{
    return openat(dir, name, flags);
}

int __open64_2(const char *name, int flags)
{
    return open(name, flags);
}

/* Looking up, listing */

int fstatat(int dir, const char *name, struct stat *st, int flags)
{
    slow("stat", dir, name);
    return (int)syscall(SYS_newfstatat, dir, name, st, flags);
}

int stat(const char *name, struct stat *st)
{
    return fstatat(AT_FDCWD, name, st, 0);
}

int lstat(const char *name, struct stat *st)
{
    return fstatat(AT_FDCWD, name, st, AT_SYMLINK_NOFOLLOW);
}

int fstat(int fd, struct stat *st)
{
    return fstatat(fd, "", st, AT_EMPTY_PATH);
}

int fstatat64(int, const char *, struct stat64 *, int) __attribute__((alias("fstatat")));
int stat64(const char *, struct stat64 *) __attribute__((alias("stat")));
int lstat64(const char *, struct stat64 *) __attribute__((alias("lstat")));
int fstat64(int, struct stat64 *) __attribute__((alias("fstat")));

int statx(int dir, const char *name, int flags, unsigned mask, struct statx *st)
{
    slow("stat", dir, name);
    return (int)syscall(SYS_statx, dir, name, flags, mask, st);
}

int faccessat(int dir, const char *name, int mode, int flags)
{
    slow("stat", dir, name);
    return (int)syscall(SYS_faccessat2, dir, name, mode, flags);
}

int access(const char *name, int mode)
{
    return faccessat(AT_FDCWD, name, mode, 0);
}

ssize_t readlinkat(int dir, const char *name, char *target, size_t size)
{
    slow("stat", dir, name);
    return syscall(SYS_readlinkat, dir, name, target, size);
}

ssize_t readlink(const char *name, char *target, size_t size)
{
    return readlinkat(AT_FDCWD, name, target, size);
}

ssize_t getdents64(int fd, void *block, size_t size)
{
    slow("list", fd, NULL);
    return syscall(SYS_getdents64, fd, block, size);
}

/* Reading */

#define PAGE       4096
#define PAGES_MOST ((size_t)1 << 20) /* a power of two; further ones are not kept */

/* Was the page read before? Notes it. Numbers of files and pages are small, and make up a key. */
static bool was_read(uint64_t file, uint64_t page)
{
    static _Atomic uint64_t pages[PAGES_MOST];
    uint64_t key = (file << 32 ^ page) + 1, at = key * UINT64_C(0x9e3779b97f4a7c15) >> 44;

    for (size_t i = 0; i < 64; i++, at++) {
        uint64_t there = 0;

        if (atomic_compare_exchange_strong(&pages[at % PAGES_MOST], &there, key))
            return false;
        if (there == key)
            return true;
    }
    return false;
}

static bool is_cached(int fd, size_t size, off64_t offset)
{
    struct stat st;
    bool all = true;

    if (!cached || size == 0 || offset < 0 ||
        syscall(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH) != 0)
        return false;
    for (off64_t at = offset / PAGE; at <= (offset + (off64_t)size - 1) / PAGE; at++)
        all = was_read(st.st_ino, (uint64_t)at) && all;
    return all;
}

static ssize_t read_at(long call, int fd, void *data, size_t size, off64_t offset)
{
    if (call != SYS_pread64 || !is_cached(fd, size, offset))
        slow("read", fd, NULL);
    return syscall(call, fd, data, size, offset, 0);
}

ssize_t read(int fd, void *data, size_t size)
{
    return read_at(SYS_read, fd, data, size, 0);
}

ssize_t pread64(int fd, void *data, size_t size, off64_t offset)
{
    return read_at(SYS_pread64, fd, data, size, offset);
}

ssize_t readv(int fd, const struct iovec *vectors, int count)
{
    return read_at(SYS_readv, fd, (void *)vectors, (size_t)count, 0);
}

ssize_t preadv64(int fd, const struct iovec *vectors, int count, off64_t offset)
{
    return read_at(SYS_preadv, fd, (void *)vectors, (size_t)count, offset);
}

ssize_t pread(int, void *, size_t, off_t) __attribute__((alias("pread64")));
ssize_t preadv(int, const struct iovec *, int, off_t) __attribute__((alias("preadv64")));

/* Locking */

int fcntl(int fd, int command, ...)
{
    va_list arguments;
    void *argument;

    va_start(arguments, command);
    argument = va_arg(arguments, void *);
    va_end(arguments);
    if (command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK ||
        command == F_OFD_SETLKW)
        slow("lock", fd, NULL);
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

int fcntl64(int, int, ...) __attribute__((alias("fcntl")));

/* Making, renaming, removing */

int mkdirat(int dir, const char *name, mode_t mode)
{
    slow("make", dir, name);
    return (int)syscall(SYS_mkdirat, dir, name, mode);
}

int mkdir(const char *name, mode_t mode)
{
    return mkdirat(AT_FDCWD, name, mode);
}

int symlinkat(const char *target, int dir, const char *name)
{
    slow("make", dir, name);
    return (int)syscall(SYS_symlinkat, target, dir, name);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    slow("make", to_dir, to);
    return (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    slow("name", to_dir, to);
    return (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    return renameat2(from_dir, from, to_dir, to, 0);
}

int rename(const char *from, const char *to)
{
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int unlinkat(int dir, const char *name, int flags)
{
    slow("name", dir, name);
    return (int)syscall(SYS_unlinkat, dir, name, flags);
}

int unlink(const char *name)
{
    return unlinkat(AT_FDCWD, name, 0);
}

/* Metadata */

int fchmod(int fd, mode_t mode)
{
    slow("meta", fd, NULL);
    return (int)syscall(SYS_fchmod, fd, mode);
}

int fchown(int fd, uid_t uid, gid_t gid)
{
    slow("meta", fd, NULL);
    return (int)syscall(SYS_fchown, fd, uid, gid);
}

int fchownat(int dir, const char *name, uid_t uid, gid_t gid, int flags)
{
    slow("meta", dir, name);
    return (int)syscall(SYS_fchownat, dir, name, uid, gid, flags);
}

int utimensat(int dir, const char *name, const struct timespec times[2], int flags)
{
    slow("meta", dir, name);
    return (int)syscall(SYS_utimensat, dir, name, times, flags);
}

int futimens(int fd, const struct timespec times[2])
{
    slow("meta", fd, NULL);
    return (int)syscall(SYS_utimensat, fd, NULL, times, 0);
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
