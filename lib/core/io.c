#include "core/io.h"

#include "core/context.h"
#include "core/interrupt.h"
#include "core/throttle.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_THREADS_MAX 4
#define COPY_BLOCK          ((int64_t)256 << 10)

/*
 * What to do after a failed transfer: SB_OK to continue. Waits for a descriptor in non-blocking
 * mode, which another program on the same terminal or pipe may have set.
 */
static enum sb_code after_failure(int fd, short events, const char *doing, const char *what,
                                  unsigned *tries)
{
    struct pollfd wait = {.fd = fd, .events = events};
    int error_number = errno;

    if (error_number == EAGAIN) {
        if (poll(&wait, 1, -1) < 0)
            error_number = errno;
    }
    if ((error_number != EINTR && error_number != EAGAIN) || !sb_may_try_again(tries))
        return sb_fail_errno(error_number, "%s: cannot %s", what, doing);
    return sb_heed_interrupt();
}

/* offset is NULL for a transfer at the descriptor's own position. */
static enum sb_code read_all(int fd, char *data, size_t size, const int64_t *offset, size_t *got,
                             const char *what)
{
    unsigned tries = 0;
    ssize_t count;
    size_t piece;

    *got = 0;
    while (*got < size) {
        piece = sb_throttle_piece(size - *got);
        if (offset)
            count = pread(fd, data + *got, piece, (off_t)(*offset + (int64_t)*got));
        else
            count = read(fd, data + *got, piece);
        if (count == 0)
            break;
        if (count > 0) {
            *got += (size_t)count;
            tries = 0;
            sb_throttle_read(count);
            /* A signal ends a transfer that has begun with a short count. */
            if (*got < size && sb_heed_interrupt())
                return sb_error()->code;
            continue;
        }
        TRY(after_failure(fd, POLLIN, "read", what, &tries));
    }
    return SB_OK;
}

static enum sb_code write_all(int fd, const char *data, size_t size, const int64_t *offset,
                              const char *what)
{
    size_t done = 0, piece;
    unsigned tries = 0;
    ssize_t count;

    while (done < size) {
        piece = sb_throttle_piece(size - done);
        if (offset)
            count = pwrite(fd, data + done, piece, (off_t)(*offset + (int64_t)done));
        else
            count = write(fd, data + done, piece);
        if (count == 0)
            return sb_fail_errno(EIO, "%s: cannot write", what);
        if (count > 0) {
            done += (size_t)count;
            tries = 0;
            sb_throttle_write(count);
            if (done < size && sb_heed_interrupt())
                return sb_error()->code;
            continue;
        }
        TRY(after_failure(fd, POLLOUT, "write", what, &tries));
    }
    return SB_OK;
}

/* An offset that the kernel would read as negative is an untrusted number of the caller's. */
static enum sb_code check_range(size_t size, int64_t offset, const char *what)
{
    int64_t end;

    if (offset < 0 || __builtin_add_overflow(offset, size, &end))
        return sb_fail(SB_INVALID, "%s: offset %lld is out of range", what, (long long)offset);
    return SB_OK;
}

enum sb_code sb_read_full(int fd, void *data, size_t size, size_t *got, const char *what)
{
    return read_all(fd, data, size, NULL, got, what);
}

enum sb_code sb_pread_full(int fd, void *data, size_t size, int64_t offset, size_t *got,
                           const char *what)
{
    enum sb_code code = check_range(size, offset, what);

    *got = 0;
    return code ? code : read_all(fd, data, size, &offset, got, what);
}

enum sb_code sb_write_full(int fd, const void *data, size_t size, const char *what)
{
    return write_all(fd, data, size, NULL, what);
}

enum sb_code sb_pwrite_full(int fd, const void *data, size_t size, int64_t offset, const char *what)
{
    TRY(check_range(size, offset, what));
    return write_all(fd, data, size, &offset, what);
}

/* The directory part of a path, allocated; NULL: no memory. */
static char *directory_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        return strdup(".");
    if (slash == path)
        return strdup("/");
    return strndup(path, (size_t)(slash - path));
}

char *sb_resolve_directory_of(const char *path)
{
    CLEANUP(sb_freep) char *dir_copy = strdup(path);
    CLEANUP(sb_freep) char *base_copy = strdup(path);
    CLEANUP(sb_freep) char *dir = dir_copy ? realpath(dirname(dir_copy), NULL) : NULL;
    char *out;

    if (dir_copy && !dir) {
        sb_fail_errno(errno, "%s", dir_copy);
        return NULL;
    }
    if (!dir || !base_copy ||
        asprintf(&out, "%s/%s", strcmp(dir, "/") == 0 ? "" : dir, basename(base_copy)) < 0) {
        sb_fail_memory();
        return NULL;
    }
    sb_context_resolves(path, out);
    return out;
}

enum sb_code sb_sync_directory_of(const char *path)
{
    CLEANUP(sb_freep) char *directory = directory_of(path);
    CLEANUP(sb_closep) int fd = -1;

    if (!directory)
        return sb_fail_memory();
    fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return sb_fail_errno(errno, "%s: cannot open the directory", directory);
    if (fsync(fd) && errno != EINVAL && errno != ENOTSUP)
        return sb_fail_errno(errno, "%s: cannot sync the directory", directory);
    return SB_OK;
}

enum sb_code sb_fsync(int fd, const char *what)
{
    unsigned tries = 0;

    /* Never retried after EIO: the kernel would then report success. */
    while (fsync(fd)) {
        if (errno != EINTR || !sb_may_try_again(&tries))
            return sb_fail_errno(errno, "%s: cannot sync", what);
        TRY(sb_heed_interrupt());
    }
    return SB_OK;
}

static enum sb_code fail_exists(const char *path)
{
    return sb_fail(SB_EXISTS, "%s: was made by another program meanwhile", path);
}

static enum sb_code fail_rename(const char *from, const char *to)
{
    return sb_fail_errno(errno, "%s: cannot rename to %s", from, to);
}

enum sb_code sb_rename(const char *from, const char *to)
{
    return rename(from, to) ? fail_rename(from, to) : SB_OK;
}

bool sb_is_same_file(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

bool sb_is_unchanged(const struct stat *a, const struct stat *b)
{
    return a->st_size == b->st_size && a->st_mtim.tv_sec == b->st_mtim.tv_sec &&
           a->st_mtim.tv_nsec == b->st_mtim.tv_nsec;
}

/* Two names of one file: left by a killed run, or a link that a server made twice. */
static bool is_linked(const char *from, const char *to)
{
    struct stat old, new;

    return strcmp(from, to) != 0 && lstat(from, &old) == 0 && lstat(to, &new) == 0 &&
           sb_is_same_file(&old, &new) && !S_ISDIR(old.st_mode) && old.st_nlink > 1;
}

static enum sb_code finish_link(const char *from, const char *to)
{
    if (unlink(from) == 0 || errno == ENOENT)
        return SB_OK;
    return fail_rename(from, to);
}

static enum sb_code taken(const char *from, const char *to)
{
    return is_linked(from, to) ? finish_link(from, to) : fail_exists(to);
}

/* A program that makes `to` just between the check and the renaming loses its file. */
static enum sb_code replace_empty(const char *from, const char *to)
{
    CLEANUP(sb_closep)
    int fd = open(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    enum sb_code code;
    bool ours;

    if (fd < 0)
        return errno == EEXIST ? fail_exists(to) : fail_rename(from, to);
    TRY(sb_is_named(fd, to, &ours));
    if (!ours)
        return fail_exists(to);
    code = sb_rename(from, to);
    if (code)
        unlink(to);
    return code;
}

static enum sb_code rename_by_link(const char *from, const char *to)
{
    enum sb_code code;
    struct stat st;

    if (lstat(from, &st))
        return fail_rename(from, to);
    if (S_ISDIR(st.st_mode)) {
        if (mkdir(to, 0700))
            return errno == EEXIST ? fail_exists(to) : fail_rename(from, to);
        code = sb_rename(from, to);
        if (code)
            rmdir(to);
        return code;
    }
    if (link(from, to)) {
        if (errno == EPERM || errno == EOPNOTSUPP || errno == EMLINK || errno == ENOSYS)
            return replace_empty(from, to);
        return errno == EEXIST ? taken(from, to) : fail_rename(from, to);
    }
    code = finish_link(from, to);
    if (code && is_linked(from, to))
        unlink(to);
    return code;
}

enum sb_code sb_rename_new(const char *from, const char *to)
{
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0)
        return SB_OK;
    if (errno == EEXIST)
        return taken(from, to);
    if (errno == EINVAL || errno == ENOSYS)
        return rename_by_link(from, to);
    return fail_rename(from, to);
}

enum sb_code sb_is_named(int fd, const char *path, bool *named)
{
    struct stat opened, found;

    *named = false;
    if (fstat(fd, &opened))
        return sb_fail_errno(errno, "%s: cannot be looked at", path);
    if (lstat(path, &found) == 0)
        *named = sb_is_same_file(&opened, &found);
    else if (errno != ENOENT && errno != ENOTDIR)
        return sb_fail_errno(errno, "%s: cannot be looked at", path);
    return SB_OK;
}

/* Copies where the kernel does not, for whatever reason, or reports why it cannot. */
static enum sb_code copy_through(int from, int64_t offset, int to, int64_t size,
                                 const char *from_name, const char *to_name)
{
    CLEANUP(sb_freep) char *block = NULL;
    size_t part, got;

    TRY(sb_alloc(&block, COPY_BLOCK));
    for (; size > 0; size -= (int64_t)part, offset += (int64_t)part) {
        part = (size_t)(size < COPY_BLOCK ? size : COPY_BLOCK);
        TRY(sb_pread_full(from, block, part, offset, &got, from_name));
        if (got < part)
            return sb_fail(SB_CHANGED, "%s: became shorter while it was read", from_name);
        TRY(sb_write_full(to, block, part, to_name));
    }
    return SB_OK;
}

enum sb_code sb_copy_range(int from, int64_t offset, int to, int64_t size, const char *from_name,
                           const char *to_name)
{
    off_t at = offset;
    ssize_t copied;

    while (size > 0) {
        copied = copy_file_range(from, &at, to, NULL, sb_throttle_piece((size_t)size), 0);
        if (copied <= 0)
            break;
        size -= copied;
        sb_throttle_read(copied);
        sb_throttle_write(copied);
        if (size > 0 && sb_heed_interrupt())
            return sb_error()->code;
    }
    return size > 0 ? copy_through(from, at, to, size, from_name, to_name) : SB_OK;
}

bool sb_may_have_holes(const struct stat *st)
{
    return st->st_size >= SB_HOLE_LEAST && st->st_blocks < st->st_size / 512;
}

int64_t sb_run_length(int fd, const struct stat *st, int64_t offset, bool *hole)
{
    int64_t end;

    *hole = false;
    if (!sb_may_have_holes(st))
        return INT64_MAX;
    end = lseek(fd, offset, SEEK_HOLE);
    if (end > offset)
        return end - offset;
    *hole = end == offset;
    end = lseek(fd, offset, SEEK_DATA);
    if (end < 0 && errno == ENXIO)
        end = lseek(fd, 0, SEEK_END);
    *hole = *hole && end > offset;
    return *hole ? end - offset : INT64_MAX;
}

enum sb_code sb_feed_file(int fd, const struct stat *st, int64_t most, sb_each_block *each,
                          void *context, int64_t *total, const char *what)
{
    size_t capacity = (size_t)(st->st_size < COPY_BLOCK ? st->st_size + 1 : COPY_BLOCK);
    CLEANUP(sb_freep) char *block = NULL;
    size_t size = 1, want;
    int64_t run;
    bool hole;

    *total = 0;
    TRY(sb_alloc(&block, capacity));
    for (want = 1; size == want && *total <= most; *total += (int64_t)size) {
        run = sb_run_length(fd, st, *total, &hole);
        want = hole || run < (int64_t)capacity ? (size_t)run : capacity;
        size = want;
        if (!hole)
            TRY(sb_pread_full(fd, block, want, *total, &size, what));
        if (size > 0)
            TRY(each(context, hole ? NULL : block, size));
    }
    return SB_OK;
}

enum sb_code sb_pwrite_hole(int fd, int64_t offset, int64_t size, const char *what)
{
    int64_t end = offset + size, part;
    CLEANUP(sb_freep) char *zeros = NULL;

    if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, size) == 0)
        return sb_pwrite_full(fd, "", 1, end - 1, what);
    TRY(SB_NEW_ARRAY(&zeros, COPY_BLOCK));
    for (; offset < end; offset += part) {
        part = end - offset < COPY_BLOCK ? end - offset : COPY_BLOCK;
        TRY(sb_pwrite_full(fd, zeros, (size_t)part, offset, what));
    }
    return SB_OK;
}

char *sb_temp_directory(const char *beside)
{
    const char *chosen = sb_context_now->temporary;

    return chosen ? strdup(chosen) : directory_of(beside);
}

enum sb_code sb_temp_file(int *fd, const char *beside)
{
    CLEANUP(sb_freep) char *directory = sb_temp_directory(beside);
    CLEANUP(sb_freep) char *path = NULL;

    *fd = -1;
    if (!directory)
        return sb_fail_memory();
    *fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    /* Not every file system has that. */
    if (*fd < 0 && asprintf(&path, "%s/shardbox-XXXXXX", directory) >= 0) {
        *fd = mkostemp(path, O_CLOEXEC);
        if (*fd >= 0)
            unlink(path);
    }
    if (*fd < 0)
        return sb_fail_errno(errno, "%s: cannot make a temporary file; set TMPDIR", directory);
    return SB_OK;
}

unsigned sb_default_threads(void)
{
    cpu_set_t set;
    long cores;

    /* On a machine with more cores than fit into cpu_set_t the first call fails. */
    if (sched_getaffinity(0, sizeof(set), &set) == 0)
        cores = CPU_COUNT(&set);
    else
        cores = sysconf(_SC_NPROCESSORS_ONLN);
    if (cores < 1)
        return 1;
    return cores > DEFAULT_THREADS_MAX ? DEFAULT_THREADS_MAX : (unsigned)cores;
}
