/*
 * Undoing what an append left that did not come to its end.
 *
 * The journal in the lock's file says what the bag was. It is synced before anything is changed:
 * a limits.NAME without a journal was left by another program, whose records are not ours to cut.
 */
#include "core/io.h"
#include "store/bag_writer_private.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT_BYTES ((int64_t)sizeof(uint64_t))
/* The journal, between the numbers. */
#define TO_TAIL     SB_BAG_JOURNAL "tail: records end at "
#define TO_LIMITS   SB_BAG_JOURNAL "limits: records end at "
#define LIMITS_TAKE ", limits take "
#define END         "\n"
#define JOURNAL_MAX 128

enum sb_code sb_bag_read_last_limit(int fd, int64_t end, uint64_t *last, const char *path,
                                    struct sb_error *err)
{
    size_t got;
    enum sb_code code = sb_pread_full(fd, last, sizeof(*last), end - LIMIT_BYTES, &got, path, err);

    if (code == SB_OK && got < sizeof(*last))
        code = sb_fail(err, SB_CHANGED, "%s: became shorter while it was read", path);
    *last = le64toh(*last);
    return code;
}

enum sb_code sb_bag_find_old_limits(struct sb_bag_writer *writer, struct sb_bag_append *append,
                                    struct sb_error *err)
{
    struct sb_buf name = {0};
    enum sb_code code = sb_bag_final_name(writer, 0, 1, true, &name, err);

    append->limits = name.data;
    if (code)
        sb_buf_release(&name);
    return code;
}

enum sb_code sb_bag_write_journal(struct sb_bag_writer *writer, struct sb_error *err)
{
    const struct sb_bag_append *append = writer->append;
    char text[JOURNAL_MAX];
    int size =
        snprintf(text, sizeof(text), "%s%" PRId64 LIMITS_TAKE "%" PRId64 END,
                 append->separate ? TO_LIMITS : TO_TAIL, append->records_end, append->limits_size);
    enum sb_code code =
        sb_pwrite_full(writer->lock.fd, text, (size_t)size, 0, writer->lock.path, err);

    if (code == SB_OK)
        code = sb_fsync(writer->lock.fd, writer->lock.path, err);
    return code ? code : sb_sync_directory_of(writer->lock.path, err);
}

static bool skip(const char **at, const char *text)
{
    if (strncmp(*at, text, strlen(text)) != 0)
        return false;
    *at += strlen(text);
    return true;
}

static bool skip_number(const char **at, int64_t *number)
{
    char *end;

    if (**at < '0' || **at > '9')
        return false;
    errno = 0;
    *number = strtoll(*at, &end, 10);
    *at = end;
    return errno == 0;
}

/* Is there one? One that is not whole was never acted upon. */
static enum sb_code read_journal(struct sb_bag_writer *writer, struct sb_bag_append *append,
                                 bool *there, struct sb_error *err)
{
    char text[JOURNAL_MAX];
    const char *at = text;
    size_t got;
    enum sb_code code =
        sb_pread_full(writer->lock.fd, text, sizeof(text) - 1, 0, &got, writer->lock.path, err);

    *there = false;
    if (code)
        return code;
    text[got] = '\0';
    append->separate = skip(&at, TO_LIMITS);
    *there = (append->separate || skip(&at, TO_TAIL)) && skip_number(&at, &append->records_end) &&
             skip(&at, LIMITS_TAKE) && skip_number(&at, &append->limits_size) && skip(&at, END);
    return SB_OK;
}

static enum sb_code fail_undo(const struct sb_bag_writer *writer, struct sb_error *err)
{
    return sb_fail(err, SB_DAMAGED,
                   "%s: records were being added to it, and it is no longer what it was then; "
                   "save it by verify --repair-to, and remove %s",
                   writer->pattern.path, writer->lock.path);
}

/* limits.NAME, if it is there: does it hold the limits of then? */
static enum sb_code open_old_limits(const struct sb_bag_append *append, int *fd, bool *same,
                                    struct sb_error *err)
{
    enum sb_code code = SB_OK;
    struct stat st;
    uint64_t last = 0;

    *same = false;
    *fd = open(append->limits, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (*fd < 0)
        return errno == ENOENT ? SB_OK : sb_fail_errno(err, errno, "%s", append->limits);
    if (fstat(*fd, &st))
        return sb_fail_errno(err, errno, "%s", append->limits);
    if (st.st_size != append->limits_size)
        return SB_OK;
    if (st.st_size > 0)
        code = sb_bag_read_last_limit(*fd, st.st_size, &last, append->limits, err);
    *same = last == (uint64_t)append->records_end;
    return code;
}

/* limits.NAME goes back to the tail. */
static enum sb_code restore_tail(const struct sb_bag_writer *writer,
                                 const struct sb_bag_append *append, int limits,
                                 struct sb_error *err)
{
    const char *path = writer->pattern.path;
    enum sb_code code;

    if (lseek(append->fd, append->records_end, SEEK_SET) < 0)
        return sb_fail_errno(err, errno, "%s", path);
    code = sb_copy_range(limits, 0, append->fd, append->limits_size, append->limits, path, err);
    if (code == SB_OK && ftruncate(append->fd, append->records_end + append->limits_size))
        code = sb_fail_errno(err, errno, "%s: cannot be cut", path);
    if (code == SB_OK)
        code = sb_fsync(append->fd, path, err);
    if (code == SB_OK && unlink(append->limits))
        code = sb_fail_errno(err, errno, "%s: cannot be removed", append->limits);
    return code ? code : sb_sync_directory_of(path, err);
}

/* limits.NAME is replaced last: while it is the old one, the new records do not count. */
static enum sb_code restore_separate(const struct sb_bag_writer *writer,
                                     const struct sb_bag_append *append, struct sb_error *err)
{
    if (ftruncate(append->fd, append->records_end))
        return sb_fail_errno(err, errno, "%s: cannot be cut", writer->pattern.path);
    return sb_fsync(append->fd, writer->pattern.path, err);
}

/* At the tail no limits.NAME is there before the append changes anything, nor once it is whole. */
enum sb_code sb_bag_restore(const struct sb_bag_writer *writer, const struct sb_bag_append *append,
                            struct sb_error *err)
{
    struct stat st;
    int limits;
    bool same;
    enum sb_code code = open_old_limits(append, &limits, &same, err);

    if (code == SB_OK && fstat(append->fd, &st))
        code = sb_fail_errno(err, errno, "%s", writer->pattern.path);
    if (code == SB_OK && same && st.st_size < append->records_end)
        same = false;
    if (code == SB_OK && !same && limits >= 0 && !append->separate)
        code = fail_undo(writer, err);
    if (code == SB_OK && same)
        code = append->separate ? restore_separate(writer, append, err)
                                : restore_tail(writer, append, limits, err);
    if (limits >= 0)
        close(limits);
    return code;
}

static enum sb_code clear_journal(struct sb_bag_writer *writer, struct sb_error *err)
{
    if (ftruncate(writer->lock.fd, 0))
        return sb_fail_errno(err, errno, "%s: cannot be cut", writer->lock.path);
    return sb_fsync(writer->lock.fd, writer->lock.path, err);
}

static enum sb_code undo(struct sb_bag_writer *writer, struct sb_bag_append *append,
                         struct sb_error *err)
{
    enum sb_code code = sb_bag_find_old_limits(writer, append, err);

    if (code)
        return code;
    append->fd = open(writer->pattern.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (append->fd >= 0)
        code = sb_bag_restore(writer, append, err);
    else if (errno != ENOENT)
        code = sb_fail_errno(err, errno, "%s", writer->pattern.path);
    if (code == SB_OK)
        code = clear_journal(writer, err);
    if (append->fd >= 0)
        close(append->fd);
    free(append->limits);
    return code;
}

enum sb_code sb_bag_undo_append(struct sb_bag_writer *writer, struct sb_error *err)
{
    struct sb_bag_append append = {.fd = -1};
    bool there = false;
    enum sb_code code = SB_OK;

    if (!writer->pattern.is_set)
        code = read_journal(writer, &append, &there, err);
    if (code == SB_OK && there)
        code = undo(writer, &append, err);
    /* What was not undone needs its journal, whatever went wrong. */
    if (code)
        sb_bag_lock_leave(&writer->lock);
    return code;
}
