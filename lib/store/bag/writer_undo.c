/*
 * Undoing what an append left that did not come to its end, or finishing it, by its journal.
 *
 * A limits.NAME without a journal was left by another program, whose records are not ours to cut.
 */
#include "core/io.h"
#include "store/bag/writer_private.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIMIT_BYTES ((int64_t)sizeof(uint64_t))

enum sb_code sb_bag_read_last_limit(int fd, int64_t end, uint64_t *last, const char *path)
{
    size_t got;
    enum sb_code code = sb_pread_full(fd, last, sizeof(*last), end - LIMIT_BYTES, &got, path);

    if (code == SB_OK && got < sizeof(*last))
        code = sb_fail(SB_CHANGED, "%s: became shorter while it was read", path);
    *last = le64toh(*last);
    return code;
}

enum sb_code sb_bag_find_old_limits(struct sb_bag_writer *writer, struct sb_bag_append *append)
{
    struct sb_buf name = {0};
    enum sb_code code = sb_bag_final_name(writer, 0, 1, true, &name);

    append->limits = name.data;
    if (code)
        sb_buf_release(&name);
    return code;
}

static enum sb_code fail_undo(const struct sb_bag_writer *writer)
{
    return sb_fail(SB_DAMAGED,
                   "%s: records were being added to it, and it is no longer what it was then; "
                   "save it by verify --repair-to, and remove %s",
                   writer->pattern.path, writer->lock.path);
}

/*
 * Are there so many bytes of limits in the file after so many others, and do they say that records
 * end there? *fd: of the caller; -1 where the file is not there.
 */
static enum sb_code open_limits(const char *path, int64_t others, int64_t limits_size, int64_t end,
                                int *fd, bool *same)
{
    enum sb_code code = SB_OK;
    struct stat st;
    uint64_t last = 0;

    *same = false;
    *fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (*fd < 0)
        return errno == ENOENT ? SB_OK : sb_fail_errno(errno, "%s", path);
    if (fstat(*fd, &st))
        return sb_fail_errno(errno, "%s", path);
    if (st.st_size - limits_size != others)
        return SB_OK;
    if (limits_size >= LIMIT_BYTES)
        code = sb_bag_read_last_limit(*fd, st.st_size, &last, path);
    *same = code == SB_OK && last <= INT64_MAX && (int64_t)last == end;
    return code;
}

static enum sb_code are_limits(const char *path, int64_t others, int64_t limits_size, int64_t end,
                               bool *there, bool *same)
{
    int fd;
    enum sb_code code = open_limits(path, others, limits_size, end, &fd, same);

    *there = fd >= 0;
    if (fd >= 0)
        close(fd);
    return code;
}

/* limits.NAME goes back to the tail. */
static enum sb_code restore_tail(const struct sb_bag_writer *writer,
                                 const struct sb_bag_append *append, int limits)
{
    const char *path = writer->pattern.path;

    if (lseek(append->fd, append->records_end, SEEK_SET) < 0)
        return sb_fail_errno(errno, "%s", path);
    TRY(sb_copy_range(limits, 0, append->fd, append->limits_size, append->limits, path));
    if (ftruncate(append->fd, append->records_end + append->limits_size))
        return sb_fail_errno(errno, "%s: cannot be cut", path);
    TRY(sb_fsync(append->fd, path));
    if (unlink(append->limits))
        return sb_fail_errno(errno, "%s: cannot be removed", append->limits);
    return sb_sync_directory_of(path);
}

/* limits.NAME is replaced last: while it is the old one, the new records do not count. */
static enum sb_code restore_separate(const struct sb_bag_writer *writer,
                                     const struct sb_bag_append *append)
{
    if (ftruncate(append->fd, append->records_end))
        return sb_fail_errno(errno, "%s: cannot be cut", writer->pattern.path);
    return sb_fsync(append->fd, writer->pattern.path);
}

/* At the tail no limits.NAME is there before the append changes anything, nor once it is whole. */
enum sb_code sb_bag_restore(const struct sb_bag_writer *writer, const struct sb_bag_append *append)
{
    struct stat st;
    int limits;
    bool same;
    enum sb_code code =
        open_limits(append->limits, 0, append->limits_size, append->records_end, &limits, &same);

    if (code == SB_OK && fstat(append->fd, &st))
        code = sb_fail_errno(errno, "%s", writer->pattern.path);
    if (code == SB_OK && same && st.st_size < append->records_end)
        same = false;
    if (code == SB_OK && !same && limits >= 0 && !append->separate)
        code = fail_undo(writer);
    if (code == SB_OK && same)
        code = append->separate ? restore_separate(writer, append)
                                : restore_tail(writer, append, limits);
    if (limits >= 0)
        close(limits);
    return code;
}

enum sb_code sb_bag_has_grown(const char *path, int64_t end, int64_t limits_size, bool *grown)
{
    CLEANUP(sb_buf_release) struct sb_buf limits = {0};
    bool there = false;

    TRY(sb_limits_name(path, &limits)
            ? sb_fail_memory()
            : are_limits(limits.data, 0, limits_size, end, &there, grown));
    if (!there) {
        TRY(are_limits(path, end, limits_size, end, &there, grown));
        if (!there)
            return sb_fail_errno(ENOENT, "%s", path);
    }
    return SB_OK;
}

enum sb_code sb_bag_append_finish(const struct sb_bag_writer *writer,
                                  const struct sb_bag_append *append)
{
    if (append->separate)
        TRY(sb_bag_give_name(writer, 0, true, true));
    else if (unlink(append->limits) && errno != ENOENT)
        return sb_fail_errno(errno, "%s: cannot be removed", append->limits);
    return sb_sync_directory_of(append->limits);
}

/* All of it was written before the records got their commit. */
static enum sb_code finish_keys(const struct sb_bag_writer *writer,
                                const struct sb_bag_append *append)
{
    int64_t size = append->new_limits_size;
    struct sb_buf name = {0};
    struct stat st;
    bool there, whole = false;
    enum sb_code code = SB_OK;

    if (fstat(append->fd, &st))
        return sb_fail_errno(errno, "%s", writer->pattern.path);
    if (append->separate) {
        code = sb_bag_temporary_name(writer, 0, true, &name);
        if (code == SB_OK)
            code = are_limits(name.data, 0, size, st.st_size, &there, &whole);
        sb_buf_release(&name);
    } else {
        code = are_limits(writer->pattern.path, st.st_size - size, size, st.st_size - size, &there,
                          &whole);
    }
    if (code == SB_OK && !whole)
        code = fail_undo(writer);
    return code ? code : sb_bag_append_finish(writer, append);
}

/* Keys count when their records do. */
static enum sb_code undo_keys(const struct sb_bag_writer *writer,
                              const struct sb_bag_append *append,
                              const struct sb_bag_partner *records)
{
    bool there, pending, grown;
    enum sb_code code =
        are_limits(append->limits, 0, append->limits_size, append->records_end, &there, &pending);

    if (code || !pending)
        return code ? code : sb_bag_restore(writer, append);
    code = sb_bag_has_grown(records->path, records->end, records->limits_size, &grown);
    if (code == SB_NOENT)
        return sb_fail(SB_NOENT,
                       "%s: keys were being added to it, and their records to %s, which is "
                       "missing, so that it is unknown whether they were added; bring it back",
                       writer->pattern.path, records->path);
    if (code)
        return code;
    return grown ? finish_keys(writer, append) : sb_bag_restore(writer, append);
}

/* Keys that were being added with these records, by their own journal. */
static enum sb_code put_keys_right(const struct sb_bag_partner *keys)
{
    struct sb_bag_writer writer = {
        .name = (char *)keys->path,
        .path = (char *)keys->path,
        .pattern = {.path = keys->path,
                    .prefix_size = strlen(keys->path),
                    .suffix = keys->path + strlen(keys->path)},
        .lock = {.fd = -1},
    };
    struct stat st;
    enum sb_code code;

    if (lstat(keys->path, &st))
        return errno == ENOENT ? SB_OK : sb_fail_errno(errno, "%s", keys->path);
    code = sb_bag_take_lock(&writer, &writer.lock);
    if (code == SB_OK)
        code = sb_bag_undo_append(&writer);
    sb_out_lock_drop(&writer.lock);
    return code;
}

static enum sb_code undo(struct sb_bag_writer *writer, struct sb_bag_append *append,
                         const struct sb_bag_partner *partner)
{
    enum sb_code code = sb_bag_find_old_limits(writer, append);

    if (code == SB_OK && partner->what == SB_PARTNER_KEYS)
        code = put_keys_right(partner);
    if (code)
        goto out;
    append->fd = open(writer->pattern.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (append->fd >= 0 && partner->what == SB_PARTNER_RECORDS)
        code = undo_keys(writer, append, partner);
    else if (append->fd >= 0)
        code = sb_bag_restore(writer, append);
    else if (errno != ENOENT)
        code = sb_fail_errno(errno, "%s", writer->pattern.path);
    if (code == SB_OK)
        code = sb_bag_clear_journal(writer);
    if (append->fd >= 0)
        close(append->fd);
out:
    free(append->limits);
    return code;
}

enum sb_code sb_bag_undo_append(struct sb_bag_writer *writer)
{
    struct sb_bag_append append = {.fd = -1};
    struct sb_bag_partner partner = {.what = SB_PARTNER_NONE};
    bool there = false;
    enum sb_code code = SB_OK;

    if (!writer->pattern.is_set)
        code = sb_bag_read_journal(writer, &append, &partner, &there);
    if (code == SB_OK && there)
        code = undo(writer, &append, &partner);
    /* What was not undone needs its journal, whatever went wrong. */
    if (code)
        sb_out_lock_leave(&writer->lock);
    return code;
}
