/*
 * Writes down every call that changes files, so that `replay` can tell what a disk may hold after a
 * power failure. The environment says:
 *
 *   RECORD   the log, a file that is added to
 *
 * A call that succeeded is one entry: a line of its name, three numbers and the lengths of two runs
 * of bytes, which follow the line. FILE and DIR are inode numbers: all is on one file system.
 *
 *   write FILE OFFSET 0      the bytes
 *   truncate FILE SIZE 0
 *   create DIR FILE 0        name; a regular file that was not there, empty
 *   mkdir DIR FILE 0         name
 *   symlink DIR FILE 0       name, target
 *   link DIR FILE 0          name
 *   rename DIR DIR 0         old name, new name
 *   exchange DIR DIR 0       two names, each of which then has what the other had
 *   unlink DIR 0 0           name; also of a directory
 *   sync FILE 0 0            fsync or fdatasync, of a directory too
 *   syncfs 0 0 0
 *
 * The calls of all threads are made one at a time, in the order of the log.
 */
#ifndef TESTS_FAULTS_RECORD_H
#define TESTS_FAULTS_RECORD_H

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int record_log = -1;
static pthread_mutex_t record_mutex = PTHREAD_MUTEX_INITIALIZER;

static inline void record_open(void)
{
    const char *path = getenv("RECORD");

    if (path)
        record_log = (int)syscall(SYS_openat, AT_FDCWD, path,
                                  O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
}

/* Around each call, and what is recorded of it. errno is that of the call afterwards. */
static inline void record_begin(void)
{
    if (record_log >= 0)
        pthread_mutex_lock(&record_mutex);
}

static inline void record_end(void)
{
    if (record_log >= 0)
        pthread_mutex_unlock(&record_mutex);
}

/* A log that is not whole would make the replay prove nothing. */
static inline void record_append(const void *data, size_t size)
{
    if (syscall(SYS_write, record_log, data, size) != (ssize_t)size)
        abort();
}

static inline void record_entry(const char *name, unsigned long long first,
                                unsigned long long second, const void *one, size_t one_size,
                                const void *other, size_t other_size)
{
    char line[160];
    int length = snprintf(line, sizeof(line), "%s %llu %llu 0 %zu %zu\n", name, first, second,
                          one_size, other_size);

    record_append(line, (size_t)length);
    if (one_size)
        record_append(one, one_size);
    if (other_size)
        record_append(other, other_size);
}

static inline unsigned long long record_inode(int fd)
{
    struct stat st;

    return fstat(fd, &st) ? 0 : st.st_ino;
}

static inline const char *record_base(const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash ? slash + 1 : name;
}

/* The inode of the directory that `name` is in. */
static inline unsigned long long record_directory(int dir, const char *name)
{
    char directory[PATH_MAX] = ".";
    const char *slash = strrchr(name, '/');
    struct stat st;

    if (slash == name)
        strcpy(directory, "/");
    else if (slash && (size_t)(slash - name) < sizeof(directory))
        memcpy(directory, name, (size_t)(slash - name)), directory[slash - name] = '\0';
    return fstatat(dir, directory, &st, 0) ? 0 : st.st_ino;
}

static inline bool record_stands(int dir, const char *name)
{
    struct stat st;

    return record_log >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* After a call that moved `size` bytes to where the descriptor stands now, or to *offset. */
static inline void record_write(int fd, const off64_t *offset, const void *data, ssize_t size)
{
    int error_number = errno;
    off64_t end;

    if (record_log < 0 || size <= 0)
        return;
    end = offset ? *offset + size : (off64_t)syscall(SYS_lseek, fd, 0, SEEK_CUR);
    if (end >= size)
        record_entry("write", record_inode(fd), (unsigned long long)(end - size), data,
                     (size_t)size, NULL, 0);
    errno = error_number;
}

static inline void record_vectors(int fd, off64_t *offset, const struct iovec *vectors,
                                  ssize_t size)
{
    char *all = record_log >= 0 && size > 0 ? malloc((size_t)size) : NULL;
    size_t taken = 0, part;

    for (; all && taken < (size_t)size; vectors++) {
        part = vectors->iov_len;
        if (part > (size_t)size - taken)
            part = (size_t)size - taken;
        memcpy(all + taken, vectors->iov_base, part);
        taken += part;
    }
    if (all)
        record_write(fd, offset, all, size);
    free(all);
}

/* The kernel has moved both offsets on. */
static inline void record_copied(int from, const off64_t *from_at, int to, const off64_t *to_at,
                                 ssize_t size)
{
    off64_t end;
    char *data = record_log >= 0 && size > 0 ? malloc((size_t)size) : NULL;

    if (!data)
        return;
    end = from_at ? *from_at : (off64_t)syscall(SYS_lseek, from, 0, SEEK_CUR);
    if (syscall(SYS_pread64, from, data, (size_t)size, end - size) != size)
        abort();
    end = to_at ? *to_at - size : 0;
    record_write(to, to_at ? &end : NULL, data, size);
    free(data);
}

static inline void record_length(int fd, int result, off64_t size)
{
    if (record_log >= 0 && result == 0)
        record_entry("truncate", record_inode(fd), (unsigned long long)size, NULL, 0, NULL, 0);
}

static inline void record_length_at(const char *name, int result, off64_t size)
{
    struct stat st;

    if (record_log >= 0 && result == 0 && stat(name, &st) == 0)
        record_entry("truncate", st.st_ino, (unsigned long long)size, NULL, 0, NULL, 0);
}

/* Room that was allocated: the file may have become longer, its bytes are the same. */
static inline void record_allocated(int fd, int mode, int result)
{
    struct stat st;

    if (record_log < 0 || result)
        return;
    if (mode & ~FALLOC_FL_KEEP_SIZE)
        abort();
    if (fstat(fd, &st) == 0)
        record_entry("truncate", st.st_ino, (unsigned long long)st.st_size, NULL, 0, NULL, 0);
}

static inline void record_sync(const char *kind, int fd, int result)
{
    if (record_log >= 0 && result == 0)
        record_entry(kind, record_inode(fd), 0, NULL, 0, NULL, 0);
}

/* A name that came to stand: create, mkdir, symlink or link. */
static inline void record_name(const char *kind, int dir, const char *name, const char *target)
{
    int error_number = errno;
    const char *base = record_base(name);
    struct stat st;

    if (record_log >= 0 && fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
        record_entry(kind, record_directory(dir, name), st.st_ino, base, strlen(base), target,
                     target ? strlen(target) : 0);
    errno = error_number;
}

static inline void record_rename(const char *kind, int from_dir, const char *from, int to_dir,
                                 const char *to)
{
    const char *old = record_base(from), *new = record_base(to);

    if (record_log >= 0)
        record_entry(kind, record_directory(from_dir, from), record_directory(to_dir, to), old,
                     strlen(old), new, strlen(new));
}

static inline void record_unlink(int dir, const char *name)
{
    const char *base = record_base(name);

    if (record_log >= 0)
        record_entry("unlink", record_directory(dir, name), 0, base, strlen(base), NULL, 0);
}

/* After an open with O_CREAT or O_TRUNC; stood: there was a file of that name. */
static inline void record_opened(int dir, const char *name, int flags, int fd, bool stood)
{
    if (record_log < 0 || fd < 0 || (flags & __O_TMPFILE) == __O_TMPFILE)
        return;
    if ((flags & O_CREAT) && !stood)
        record_name("create", dir, name, NULL);
    else if (flags & O_TRUNC)
        record_length(fd, 0, 0);
}

#endif
