/*
 * Loaded with LD_PRELOAD, makes the calls fail that fault.h chooses, and writes down those that
 * change files for record.h. Works on a program whose libc is shared, whatever else is linked into
 * it.
 */
/* NOLINTBEGIN(readability-inconsistent-declaration-parameter-name): libc's names are reserved */
#include "fault.h"
#include "record.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>

static int (*start_thread)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

__attribute__((constructor)) static void begin(void)
{
    *(void **)&start_thread = dlsym(RTLD_NEXT, "pthread_create");
    fault_begin();
    record_open();
}

static int failed(void)
{
    errno = fault_errno;
    return -1;
}

/* Calls that move bytes */

static ssize_t move(enum fault_kind kind, long call, int fd, void *data, size_t size,
                    off64_t offset)
{
    enum fault_action action = fault_counts(fd) ? fault_due(kind, size > 1) : FAULT_NONE;
    if (action == FAULT_FAIL)
        return failed();
    if (action == FAULT_HALF)
        size /= 2;
    if (kind != FAULT_WRITE)
        return syscall(call, fd, data, size, offset);
    record_begin();
    ssize_t moved = syscall(call, fd, data, size, offset);
    record_write(fd, call == SYS_write ? NULL : &offset, data, moved);
    record_end();
    if (action == FAULT_HALF)
        fault_after_half();
    return moved;
}

ssize_t write(int fd, const void *data, size_t size)
{
    return move(FAULT_WRITE, SYS_write, fd, (void *)data, size, 0);
}

ssize_t pwrite(int fd, const void *data, size_t size, off_t offset)
{
    return move(FAULT_WRITE, SYS_pwrite64, fd, (void *)data, size, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t offset)
{
    return move(FAULT_WRITE, SYS_pwrite64, fd, (void *)data, size, offset);
}

ssize_t read(int fd, void *data, size_t size)
{
    return move(FAULT_READ, SYS_read, fd, data, size, 0);
}

ssize_t pread(int fd, void *data, size_t size, off_t offset)
{
    return move(FAULT_READ, SYS_pread64, fd, data, size, offset);
}

ssize_t pread64(int fd, void *data, size_t size, off64_t offset)
{
    return move(FAULT_READ, SYS_pread64, fd, data, size, offset);
}

/* The first vector alone is a short count that callers must be ready for. */
static ssize_t move_vectors(long call, int fd, const struct iovec *vectors, int count,
                            off64_t offset)
{
    enum fault_action action = fault_counts(fd) ? fault_due(FAULT_WRITE, count > 1) : FAULT_NONE;
    if (action == FAULT_FAIL)
        return failed();
    record_begin();
    ssize_t moved = syscall(call, fd, vectors, action == FAULT_HALF ? 1 : count, offset, 0);
    record_vectors(fd, call == SYS_writev ? NULL : &offset, vectors, moved);
    record_end();
    if (action == FAULT_HALF)
        fault_after_half();
    return moved;
}

ssize_t writev(int fd, const struct iovec *vectors, int count)
{
    return move_vectors(SYS_writev, fd, vectors, count, 0);
}

ssize_t pwritev(int fd, const struct iovec *vectors, int count, off_t offset)
{
    return move_vectors(SYS_pwritev, fd, vectors, count, offset);
}

ssize_t pwritev64(int fd, const struct iovec *vectors, int count, off64_t offset)
{
    return move_vectors(SYS_pwritev, fd, vectors, count, offset);
}

ssize_t copy_file_range(int from, off64_t *from_at, int to, off64_t *to_at, size_t size,
                        unsigned flags)
{
    enum fault_action action = fault_due(FAULT_WRITE, size > 1);
    if (action == FAULT_FAIL)
        return failed();
    if (action == FAULT_HALF)
        size /= 2;
    record_begin();
    ssize_t moved = syscall(SYS_copy_file_range, from, from_at, to, to_at, size, flags);
    record_copied(from, from_at, to, to_at, moved);
    record_end();
    if (action == FAULT_HALF)
        fault_after_half();
    return moved;
}

/* Syncs, lengths, close */

static int sync_as(const char *kind, long call, int fd)
{
    if (fault_due(FAULT_SYNC, false))
        return failed();
    record_begin();
    int result = (int)syscall(call, fd);
    record_sync(kind, fd, result);
    record_end();
    return result;
}

int fsync(int fd)
{
    return sync_as("sync", SYS_fsync, fd);
}

int fdatasync(int fd)
{
    return sync_as("sync", SYS_fdatasync, fd);
}

int syncfs(int fd)
{
    return sync_as("syncfs", SYS_syncfs, fd);
}

int ftruncate64(int fd, off64_t size)
{
    if (fault_due(FAULT_TRUNCATE, false))
        return failed();
    record_begin();
    int result = (int)syscall(SYS_ftruncate, fd, size);
    record_length(fd, result, size);
    record_end();
    return result;
}

int ftruncate(int fd, off_t size)
{
    return ftruncate64(fd, size);
}

int truncate64(const char *name, off64_t size)
{
    if (fault_due(FAULT_TRUNCATE, false))
        return failed();
    record_begin();
    int result = (int)syscall(SYS_truncate, name, size);
    record_length_at(name, result, size);
    record_end();
    return result;
}

int truncate(const char *name, off_t size)
{
    return truncate64(name, size);
}

int fallocate64(int fd, int mode, off64_t offset, off64_t size)
{
    if (fault_due(FAULT_TRUNCATE, false))
        return failed();
    record_begin();
    int result = (int)syscall(SYS_fallocate, fd, mode, offset, size);
    record_allocated(fd, mode, result);
    record_end();
    return result;
}

int fallocate(int fd, int mode, off_t offset, off_t size)
{
    return fallocate64(fd, mode, offset, size);
}

int posix_fallocate64(int fd, off64_t offset, off64_t size)
{
    return fallocate64(fd, 0, offset, size) == 0 ? 0 : errno;
}

int posix_fallocate(int fd, off_t offset, off_t size)
{
    return posix_fallocate64(fd, offset, size);
}

/* Linux closes the descriptor also when it reports an error. */
int close(int fd)
{
    enum fault_action action = fd > STDERR_FILENO ? fault_due(FAULT_CLOSE, false) : FAULT_NONE;
    int result = (int)syscall(SYS_close, fd);
    return action == FAULT_FAIL ? failed() : result;
}

/* Locks: those of the process and of the open file, tried, waited for or asked after. */

static bool is_lock(int command)
{
    return command == F_SETLK || command == F_SETLKW || command == F_GETLK ||
           command == F_OFD_SETLK || command == F_OFD_SETLKW || command == F_OFD_GETLK;
}

int fcntl64(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    unsigned long argument = va_arg(arguments, unsigned long);
    va_end(arguments);
    if (is_lock(command) && fault_due(FAULT_LOCK, false))
        return failed();
    return (int)syscall(SYS_fcntl, fd, command, argument);
}

int fcntl(int fd, int command, ...)
{
    va_list arguments;
    va_start(arguments, command);
    unsigned long argument = va_arg(arguments, unsigned long);
    va_end(arguments);
    return fcntl64(fd, command, argument);
}

int flock(int fd, int operation)
{
    if (fault_due(FAULT_LOCK, false))
        return failed();
    return (int)syscall(SYS_flock, fd, operation);
}

/* Names */

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags)
{
    if (fault_due(FAULT_RENAME, false))
        return failed();
    record_begin();
    int result = (int)syscall(SYS_renameat2, from_dir, from, to_dir, to, flags);
    if (result == 0)
        record_rename(flags & RENAME_EXCHANGE ? "exchange" : "rename", from_dir, from, to_dir, to);
    record_end();
    return result;
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
    if (fault_due(FAULT_UNLINK, false))
        return failed();
    record_begin();
    int result = (int)syscall(SYS_unlinkat, dir, name, flags);
    if (result == 0)
        record_unlink(dir, name);
    record_end();
    return result;
}

int unlink(const char *name)
{
    return unlinkat(AT_FDCWD, name, 0);
}

int rmdir(const char *name)
{
    return unlinkat(AT_FDCWD, name, AT_REMOVEDIR);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    if (fault_due(FAULT_CREATE, false))
        return failed();
    record_begin();
    int result = (int)syscall(SYS_linkat, from_dir, from, to_dir, to, flags);
    if (result == 0)
        record_name("link", to_dir, to, NULL);
    record_end();
    return result;
}

int link(const char *from, const char *to)
{
    return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int symlinkat(const char *target, int dir, const char *name)
{
    if (fault_due(FAULT_CREATE, false))
        return failed();
    record_begin();
    int result = (int)syscall(SYS_symlinkat, target, dir, name);
    if (result == 0)
        record_name("symlink", dir, name, target);
    record_end();
    return result;
}

int symlink(const char *target, const char *name)
{
    return symlinkat(target, AT_FDCWD, name);
}

int mkdirat(int dir, const char *name, mode_t mode)
{
    if (fault_due(FAULT_CREATE, false))
        return failed();
    record_begin();
    int result = (int)syscall(SYS_mkdirat, dir, name, mode);
    if (result == 0)
        record_name("mkdir", dir, name, NULL);
    record_end();
    return result;
}

int mkdir(const char *name, mode_t mode)
{
    return mkdirat(AT_FDCWD, name, mode);
}

static bool makes_file(int flags)
{
    return (flags & O_CREAT) || (flags & __O_TMPFILE) == __O_TMPFILE;
}

static int open_at(int dir, const char *name, int flags, mode_t mode)
{
    fault_name(name);
    if (fault_due(makes_file(flags) ? FAULT_CREATE : FAULT_OPEN, false))
        return failed();
    if (!(flags & (O_CREAT | O_TRUNC)))
        return (int)syscall(SYS_openat, dir, name, flags, mode);
    record_begin();
    bool stood = record_stands(dir, name);
    int fd = (int)syscall(SYS_openat, dir, name, flags, mode);
    record_opened(dir, name, flags, fd, stood);
    record_end();
    return fd;
}

static int open_any(int dir, const char *name, int flags, va_list arguments)
{
    return open_at(dir, name, flags, makes_file(flags) ? va_arg(arguments, mode_t) : 0);
}

int openat(int dir, const char *name, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int fd = open_any(dir, name, flags, arguments);
    va_end(arguments);
    return fd;
}

int open(const char *name, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int fd = open_any(AT_FDCWD, name, flags, arguments);
    va_end(arguments);
    return fd;
}

int openat64(int, const char *, int, ...) __attribute__((alias("openat")));
int open64(const char *, int, ...) __attribute__((alias("open")));

/* What a file is, by its descriptor or its name. */

static int stat_at(int dir, const char *name, struct stat *out, int flags)
{
    if (fault_due(FAULT_STAT, false))
        return failed();
    return (int)syscall(SYS_newfstatat, dir, name, out, flags);
}

int fstatat(int dir, const char *name, struct stat *out, int flags)
{
    return stat_at(dir, name, out, flags);
}

int stat(const char *name, struct stat *out)
{
    return stat_at(AT_FDCWD, name, out, 0);
}

int lstat(const char *name, struct stat *out)
{
    return stat_at(AT_FDCWD, name, out, AT_SYMLINK_NOFOLLOW);
}

int fstat(int fd, struct stat *out)
{
    return stat_at(fd, "", out, AT_EMPTY_PATH);
}

int fstatat64(int, const char *, struct stat64 *, int) __attribute__((alias("fstatat")));
int stat64(const char *, struct stat64 *) __attribute__((alias("stat")));
int lstat64(const char *, struct stat64 *) __attribute__((alias("lstat")));
int fstat64(int, struct stat64 *) __attribute__((alias("fstat")));

int statx(int dir, const char *name, int flags, unsigned mask, struct statx *out)
{
    if (fault_due(FAULT_STAT, false))
        return failed();
    return (int)syscall(SYS_statx, dir, name, flags, mask, out);
}

/* What is mounted, mapped and started */

int mount(const char *from, const char *at, const char *type, unsigned long flags,
          const void *options)
{
    if (fault_due(FAULT_MOUNT, false))
        return failed();
    return (int)syscall(SYS_mount, from, at, type, flags, options);
}

int umount2(const char *at, int flags)
{
    if (fault_due(FAULT_DETACH, false))
        return failed();
    return (int)syscall(SYS_umount2, at, flags);
}

void *mmap(void *data, size_t size, int access, int flags, int fd, off_t offset)
{
    if (fault_due(FAULT_MAP, false)) {
        failed();
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, data, size, access, flags, fd, offset);
}

void *mmap64(void *, size_t, int, int, int, off64_t) __attribute__((alias("mmap")));

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *argument)
{
    if (fault_due(FAULT_START, false))
        return fault_errno;
    return start_thread(thread, attributes, run, argument);
}

/* Time, with FAULT_SLEEPLESS: sleep ends at once, and the clock goes on as if it had been slept. */

static long slept_ns;

static bool is_sleepless(void)
{
    return getenv("FAULT_SLEEPLESS") != NULL;
}

int nanosleep(const struct timespec *wanted, struct timespec *rest)
{
    if (!is_sleepless())
        return (int)syscall(SYS_nanosleep, wanted, rest);
    slept_ns += wanted->tv_sec * 1000000000L + wanted->tv_nsec;
    return 0;
}

int clock_gettime(clockid_t clock, struct timespec *out)
{
    int result = (int)syscall(SYS_clock_gettime, clock, out);

    if (result == 0 && clock == CLOCK_REALTIME && is_sleepless()) {
        out->tv_nsec += slept_ns % 1000000000L;
        out->tv_sec += slept_ns / 1000000000L + out->tv_nsec / 1000000000L;
        out->tv_nsec %= 1000000000L;
    }
    return result;
}

/* Memory. glibc keeps its own functions under these names. */

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *data, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t size)
{
    return fault_due(FAULT_MALLOC, false) ? no_memory() : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fault_due(FAULT_MALLOC, false) ? no_memory() : __libc_calloc(count, size);
}

void *realloc(void *data, size_t size)
{
    return fault_due(FAULT_MALLOC, false) ? no_memory() : __libc_realloc(data, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fault_due(FAULT_MALLOC, false) ? no_memory() : __libc_memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
    *out = aligned_alloc(alignment, size);
    return *out ? 0 : ENOMEM;
}
/* NOLINTEND(readability-inconsistent-declaration-parameter-name) */
