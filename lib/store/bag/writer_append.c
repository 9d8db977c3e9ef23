/*
 * More records for an existing bag.
 */
#include "core/io.h"
#include "store/bag/writer_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Of a set the last shard grows. */
static enum sb_code name_last_shard(struct sb_bag_writer *writer)
{
    struct sb_spec spec;

    if (writer->options.layout == SB_LAYOUT_INTERLEAVED)
        return sb_fail(SB_INVALID, "%s: nothing can be appended to an interleaved set",
                       writer->name);
    TRY(sb_bag_take_lock(writer, &writer->set_lock));
    TRY(sb_spec_expand(&spec, writer->path));
    free(writer->path);
    writer->path = strdup(spec.paths[spec.count - 1]);
    sb_spec_release(&spec);
    if (!writer->path)
        return sb_fail_memory();
    writer->pattern = (struct sb_shard_pattern){.path = writer->path,
                                                .prefix_size = strlen(writer->path),
                                                .suffix = writer->path + strlen(writer->path)};
    writer->limits.bytes.beside = writer->path;
    return SB_OK;
}

static enum sb_code open_file(struct sb_bag_writer *writer, int64_t *size)
{
    const char *path = writer->pattern.path;
    struct stat st;
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0 && errno == ENOENT)
        return sb_fail(SB_NOENT, "%s: is not there, so nothing can be appended to it", path);
    if (fd < 0)
        return sb_fail_errno(errno, "%s", path);
    writer->append->fd = fd;
    if (fstat(fd, &st))
        return sb_fail_errno(errno, "%s", path);
    if (!S_ISREG(st.st_mode))
        return sb_fail(SB_INVALID, "%s: is not a regular file", path);
    if (st.st_nlink > 1)
        return sb_fail(SB_INVALID,
                       "%s: has several names (hard links), and would change under all of them; "
                       "copy it first",
                       path);
    *size = st.st_size;
    return SB_OK;
}

static enum sb_code look_at_tail(struct sb_bag_writer *writer, int64_t size)
{
    struct sb_bag_append *append = writer->append;
    const char *path = writer->pattern.path;
    uint64_t last;

    if (size == 0)
        return SB_OK;
    if (size < LIMIT_BYTES)
        return sb_fail(SB_FORMAT, "%s: is no bag, for it has %lld bytes", path, (long long)size);
    TRY(sb_bag_read_last_limit(append->fd, size, &last, path));
    if (last > (uint64_t)(size - LIMIT_BYTES) || (size - (int64_t)last) % LIMIT_BYTES != 0)
        return sb_fail(SB_FORMAT, "%s: is no bag, for it does not end in limits", path);
    append->records_end = (int64_t)last;
    append->limits_size = size - (int64_t)last;
    return SB_OK;
}

static enum sb_code look_at_limits(struct sb_bag_writer *writer, int limits, int64_t size)
{
    struct sb_bag_append *append = writer->append;
    uint64_t last = 0;
    struct stat st;

    append->separate = true;
    append->records_end = size;
    if (fstat(limits, &st))
        return sb_fail_errno(errno, "%s", append->limits);
    append->limits_size = st.st_size;
    if (st.st_size >= LIMIT_BYTES)
        TRY(sb_bag_read_last_limit(limits, st.st_size, &last, append->limits));
    if (st.st_size % LIMIT_BYTES != 0 || last != (uint64_t)size)
        return sb_fail(SB_DAMAGED,
                       "%s: does not end where %s does, as when the program that wrote them died; "
                       "save what is whole by verify --repair-to, and append to that",
                       append->limits, writer->pattern.path);
    return SB_OK;
}

/* Where its limits are, and what they say. */
static enum sb_code look(struct sb_bag_writer *writer, int64_t size)
{
    struct sb_bag_append *append = writer->append;
    enum sb_limits_placement wanted = writer->options.limits;
    CLEANUP(sb_closep) int limits = open(append->limits, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    if (limits < 0 && errno != ENOENT)
        return sb_fail_errno(errno, "%s", append->limits);
    TRY(limits < 0 ? look_at_tail(writer, size) : look_at_limits(writer, limits, size));
    if (wanted != SB_LIMITS_AUTO && append->separate != (wanted == SB_LIMITS_SEPARATE))
        return sb_fail(SB_INVALID,
                       "%s: has its limits %s; they cannot be elsewhere for what is appended",
                       writer->pattern.path, append->separate ? "beside it" : "at its tail");
    return SB_OK;
}

enum sb_code sb_bag_append_open(struct sb_bag_writer *writer)
{
    struct sb_bag_append *append;
    int64_t size = 0;

    TRY(SB_NEW(&append));
    append->fd = -1;
    writer->append = append;
    if (writer->options.shard_records > 0 || writer->options.shard_bytes > 0)
        return sb_fail(SB_INVALID,
                       "%s: what is appended goes to the last shard, which takes all of it",
                       writer->name);
    if (writer->pattern.is_set)
        TRY(name_last_shard(writer));
    if (access(writer->pattern.path, F_OK) && errno == ENOENT)
        return sb_fail(SB_NOENT, "%s: is not there, so nothing can be appended to it",
                       writer->pattern.path);
    TRY(sb_bag_take_name(writer));
    TRY(sb_bag_undo_append(writer));
    TRY(sb_bag_find_old_limits(writer, append));
    /* Left-over limits under a temporary name are nobody's. */
    TRY(sb_bag_remove_one(writer, 0, true));
    TRY(open_file(writer, &size));
    TRY(look(writer, size));
    writer->separate = append->separate;
    return SB_OK;
}

/* Writing */

/* A limits.NAME under its temporary name, with the old limits. */
static enum sb_code begin_limits(struct sb_bag_writer *writer, int *fd)
{
    struct sb_bag_append *append = writer->append;
    bool separate = append->separate;
    const char *from = separate ? append->limits : writer->pattern.path;
    CLEANUP(sb_closep) int new = -1, old = -1;

    *fd = -1;
    if (separate)
        old = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (separate && old < 0)
        return sb_fail_errno(errno, "%s", from);
    TRY(sb_bag_create(writer, 0, true, &new));
    TRY(sb_copy_range(separate ? old : append->fd, separate ? 0 : append->records_end, new,
                      append->limits_size, from, writer->name));
    *fd = new;
    new = -1;
    return SB_OK;
}

static enum sb_code save_limits(struct sb_bag_writer *writer)
{
    int fd;

    TRY(begin_limits(writer, &fd));
    TRY(sb_bag_close_synced(writer, fd));
    TRY(sb_bag_give_name(writer, 0, true, false));
    return sb_sync_directory_of(writer->append->limits);
}

enum sb_code sb_bag_append_begin(struct sb_bag_writer *writer)
{
    struct sb_bag_append *append = writer->append;

    if (append->begun)
        return SB_OK;
    append->begun = true;
    TRY(sb_bag_write_journal(writer));
    if (!append->separate)
        TRY(save_limits(writer));
    if (lseek(append->fd, append->records_end, SEEK_SET) < 0)
        return sb_fail_errno(errno, "%s", writer->name);
    writer->shard_bytes = append->records_end;
    return sb_outbuf_begin(&writer->out, append->fd, writer->name, true, append->records_end);
}

static enum sb_code add_limits(struct sb_bag_writer *writer)
{
    return sb_limit_spool_feed(&writer->limits, 0, writer->records, 0, sb_bag_put, writer);
}

static enum sb_code flush_synced(struct sb_bag_writer *writer)
{
    TRY(sb_outbuf_flush(&writer->out));
    return sb_fsync(writer->append->fd, writer->name);
}

/* The old limits come back out of limits.NAME, the new ones follow. */
static enum sb_code prepare_tail(struct sb_bag_writer *writer)
{
    struct sb_bag_append *append = writer->append;
    CLEANUP(sb_closep) int old = open(append->limits, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

    if (old < 0)
        return sb_fail_errno(errno, "%s", append->limits);
    TRY(sb_outbuf_flush(&writer->out));
    TRY(sb_copy_range(old, 0, append->fd, append->limits_size, append->limits, writer->name));
    TRY(add_limits(writer));
    return flush_synced(writer);
}

static enum sb_code prepare_separate(struct sb_bag_writer *writer)
{
    TRY(flush_synced(writer));
    TRY(begin_limits(writer, &writer->fd));
    TRY(sb_outbuf_begin(&writer->out, writer->fd, writer->name, true, writer->append->limits_size));
    TRY(add_limits(writer));
    TRY(sb_outbuf_flush(&writer->out));
    return sb_fsync(writer->fd, writer->name);
}

enum sb_code sb_bag_append_prepare(struct sb_bag_writer *writer)
{
    struct sb_bag_append *append = writer->append;

    if (!append->begun || append->prepared)
        return SB_OK;
    append->new_end = writer->shard_bytes;
    append->new_limits_size = append->limits_size + writer->records * LIMIT_BYTES;
    TRY(append->separate ? prepare_separate(writer) : prepare_tail(writer));
    append->prepared = true;
    return SB_OK;
}

enum sb_code sb_bag_append_commit(struct sb_bag_writer *writer)
{
    struct sb_bag_append *append = writer->append;

    if (!append->begun)
        return SB_OK;
    TRY(sb_bag_append_finish(writer, append));
    append->begun = false;
    return SB_OK;
}

/* What cannot be undone now is left, with its journal, to the next writer. */
void sb_bag_append_free(struct sb_bag_writer *writer)
{
    struct sb_bag_append *append = writer->append;

    if (append->left || (append->begun && IGNORED(sb_bag_restore(writer, append))))
        sb_out_lock_leave(&writer->lock);
    if (append->fd >= 0)
        close(append->fd);
    free(append->limits);
    free(append);
}
