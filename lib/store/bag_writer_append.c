/*
 * More records for a bag that stands, and undoing what a killed append left.
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

#define LIMIT_BYTES  ((int64_t)sizeof(uint64_t))
#define JOURNAL      "shardbox append to %s: records end at %" PRId64 ", limits take %" PRId64 "\n"
#define JOURNAL_SCAN "shardbox append to %15s records end at %" SCNd64 ", limits take %" SCNd64
#define JOURNAL_MAX  128
#define TAIL_WORD    "tail"
#define LIMITS_WORD  "limits"

/* A bag as it was before. */
struct sb_bag_append {
    int fd;       /* of NAME */
    char *limits; /* DIR/limits.NAME */
    bool begun;
    bool separate;
    int64_t records_end;
    int64_t limits_size;
};

static enum sb_code read_last_limit(int fd, int64_t end, uint64_t *last, const char *path,
                                    struct sb_error *err)
{
    size_t got;
    enum sb_code code = sb_pread_full(fd, last, sizeof(*last), end - LIMIT_BYTES, &got, path, err);

    if (code == SB_OK && got < sizeof(*last))
        code = sb_fail(err, SB_CHANGED, "%s: became shorter while it was read", path);
    *last = le64toh(*last);
    return code;
}

/* The journal */

static enum sb_code write_journal(struct sb_bag_writer *writer, struct sb_error *err)
{
    const struct sb_bag_append *append = writer->append;
    char text[JOURNAL_MAX];
    int size = snprintf(text, sizeof(text), JOURNAL, append->separate ? LIMITS_WORD : TAIL_WORD,
                        append->records_end, append->limits_size);
    enum sb_code code =
        sb_pwrite_full(writer->lock.fd, text, (size_t)size, 0, writer->lock.path, err);

    if (code == SB_OK)
        code = sb_fsync(writer->lock.fd, writer->lock.path, err);
    return code ? code : sb_sync_directory_of(writer->lock.path, err);
}

/* Is there one? One that is not whole was never acted upon. */
static enum sb_code read_journal(struct sb_bag_writer *writer, struct sb_bag_append *append,
                                 bool *there, struct sb_error *err)
{
    char text[JOURNAL_MAX], word[16];
    size_t got;
    enum sb_code code =
        sb_pread_full(writer->lock.fd, text, sizeof(text) - 1, 0, &got, writer->lock.path, err);

    *there = false;
    if (code || got == 0 || text[got - 1] != '\n')
        return code;
    text[got] = '\0';
    if (sscanf(text, JOURNAL_SCAN, word, &append->records_end, &append->limits_size) != 3)
        return SB_OK;
    *there = append->records_end >= 0 && append->limits_size >= 0;
    append->separate = strncmp(word, LIMITS_WORD, strlen(LIMITS_WORD)) == 0;
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
        code = read_last_limit(*fd, st.st_size, &last, append->limits, err);
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
static enum sb_code undo(const struct sb_bag_writer *writer, const struct sb_bag_append *append,
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

static enum sb_code find_limits(struct sb_bag_writer *writer, struct sb_bag_append *append,
                                struct sb_error *err)
{
    struct sb_buf name = {0};
    enum sb_code code = sb_bag_final_name(writer, 0, 1, true, &name, err);

    append->limits = name.data;
    if (code)
        sb_buf_release(&name);
    return code;
}

/* Left-over limits under a temporary name are nobody's: who holds the lock removes them. */
static void remove_left_over(const struct sb_bag_writer *writer)
{
    struct sb_buf name = {0};
    struct sb_error ignored;

    if (sb_bag_temporary_name(writer, 0, true, &name, &ignored) == SB_OK)
        unlink(name.data);
    sb_buf_release(&name);
}

enum sb_code sb_bag_undo_append(struct sb_bag_writer *writer, struct sb_error *err)
{
    struct sb_bag_append append = {.fd = -1};
    bool there = false;
    enum sb_code code = SB_OK;

    if (!writer->pattern.is_set)
        code = read_journal(writer, &append, &there, err);
    if (code || !there)
        return code;
    code = find_limits(writer, &append, err);
    if (code)
        return code;
    append.fd = open(writer->pattern.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (append.fd >= 0)
        code = undo(writer, &append, err);
    else if (errno != ENOENT)
        code = sb_fail_errno(err, errno, "%s", writer->pattern.path);
    if (code == SB_OK)
        code = clear_journal(writer, err);
    if (code)
        sb_bag_lock_leave(&writer->lock);
    if (append.fd >= 0)
        close(append.fd);
    free(append.limits);
    return code;
}

/* Looking at what stands */

/* Of a set the last shard grows. */
static enum sb_code name_last_shard(struct sb_bag_writer *writer, struct sb_error *err)
{
    struct sb_spec spec;
    enum sb_code code;

    if (writer->options.layout == SB_LAYOUT_INTERLEAVED)
        return sb_fail(err, SB_INVALID, "%s: nothing can be appended to an interleaved set",
                       writer->name);
    code = sb_spec_expand(&spec, writer->path, err);
    if (code)
        return code;
    free(writer->path);
    writer->path = strdup(spec.paths[spec.count - 1]);
    sb_spec_release(&spec);
    if (!writer->path)
        return sb_fail_memory(err);
    writer->pattern = (struct sb_shard_pattern){.path = writer->path,
                                                .prefix_size = strlen(writer->path),
                                                .suffix = writer->path + strlen(writer->path)};
    writer->limits.beside = writer->path;
    return SB_OK;
}

static enum sb_code open_file(struct sb_bag_writer *writer, int64_t *size, struct sb_error *err)
{
    const char *path = writer->pattern.path;
    struct stat st;
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);

    if (fd < 0 && errno == ENOENT)
        return sb_fail(err, SB_NOENT, "%s: is not there, so nothing can be appended to it", path);
    if (fd < 0)
        return sb_fail_errno(err, errno, "%s", path);
    writer->append->fd = fd;
    if (fstat(fd, &st))
        return sb_fail_errno(err, errno, "%s", path);
    if (!S_ISREG(st.st_mode))
        return sb_fail(err, SB_INVALID, "%s: is not a regular file", path);
    *size = st.st_size;
    return SB_OK;
}

static enum sb_code look_at_tail(struct sb_bag_writer *writer, int64_t size, struct sb_error *err)
{
    struct sb_bag_append *append = writer->append;
    const char *path = writer->pattern.path;
    uint64_t last;
    enum sb_code code;

    if (size == 0)
        return SB_OK;
    if (size < LIMIT_BYTES)
        return sb_fail(err, SB_FORMAT, "%s: is no bag, for it has %lld bytes", path,
                       (long long)size);
    code = read_last_limit(append->fd, size, &last, path, err);
    if (code)
        return code;
    if (last > (uint64_t)(size - LIMIT_BYTES) || (size - (int64_t)last) % LIMIT_BYTES != 0)
        return sb_fail(err, SB_FORMAT, "%s: is no bag, for it does not end in limits", path);
    append->records_end = (int64_t)last;
    append->limits_size = size - (int64_t)last;
    return SB_OK;
}

static enum sb_code look_at_limits(struct sb_bag_writer *writer, int limits, int64_t size,
                                   struct sb_error *err)
{
    struct sb_bag_append *append = writer->append;
    uint64_t last = 0;
    struct stat st;
    enum sb_code code = SB_OK;

    append->separate = true;
    append->records_end = size;
    if (fstat(limits, &st))
        return sb_fail_errno(err, errno, "%s", append->limits);
    append->limits_size = st.st_size;
    if (st.st_size >= LIMIT_BYTES)
        code = read_last_limit(limits, st.st_size, &last, append->limits, err);
    if (code == SB_OK && (st.st_size % LIMIT_BYTES != 0 || last != (uint64_t)size))
        code = sb_fail(err, SB_DAMAGED,
                       "%s: does not end where %s does, as when the program that wrote them died; "
                       "save what is whole by verify --repair-to, and append to that",
                       append->limits, writer->pattern.path);
    return code;
}

/* Where its limits are, and what they say. */
static enum sb_code look(struct sb_bag_writer *writer, int64_t size, struct sb_error *err)
{
    struct sb_bag_append *append = writer->append;
    enum sb_limits_placement wanted = writer->options.limits;
    int limits = open(append->limits, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    enum sb_code code;

    if (limits < 0 && errno != ENOENT)
        return sb_fail_errno(err, errno, "%s", append->limits);
    code = limits < 0 ? look_at_tail(writer, size, err) : look_at_limits(writer, limits, size, err);
    if (limits >= 0)
        close(limits);
    if (code == SB_OK && wanted != SB_LIMITS_AUTO &&
        append->separate != (wanted == SB_LIMITS_SEPARATE))
        code = sb_fail(err, SB_INVALID,
                       "%s: has its limits %s; they cannot be elsewhere for what "
                       "is appended",
                       writer->pattern.path, append->separate ? "beside it" : "at its tail");
    return code;
}

enum sb_code sb_bag_append_open(struct sb_bag_writer *writer, struct sb_error *err)
{
    struct sb_bag_append *append = calloc(1, sizeof(*append));
    enum sb_code code = SB_OK;
    int64_t size = 0;

    if (!append)
        return sb_fail_memory(err);
    append->fd = -1;
    writer->append = append;
    if (writer->options.shard_records > 0 || writer->options.shard_bytes > 0)
        return sb_fail(err, SB_INVALID,
                       "%s: what is appended goes to the last shard, which takes "
                       "all of it",
                       writer->name);
    if (writer->pattern.is_set)
        code = name_last_shard(writer, err);
    if (code == SB_OK && access(writer->pattern.path, F_OK) && errno == ENOENT)
        code = sb_fail(err, SB_NOENT, "%s: is not there, so nothing can be appended to it",
                       writer->pattern.path);
    if (code == SB_OK)
        code = sb_bag_take_name(writer, err);
    if (code == SB_OK)
        code = sb_bag_undo_append(writer, err);
    if (code == SB_OK)
        code = find_limits(writer, append, err);
    if (code)
        return code;
    remove_left_over(writer);
    code = open_file(writer, &size, err);
    if (code == SB_OK)
        code = look(writer, size, err);
    writer->separate = append->separate;
    return code;
}

/* Writing */

/* A limits.NAME under its temporary name, with the old limits. */
static enum sb_code begin_limits(struct sb_bag_writer *writer, int *fd, struct sb_error *err)
{
    struct sb_bag_append *append = writer->append;
    const char *from = append->separate ? append->limits : writer->pattern.path;
    int old = append->fd;
    int64_t offset = append->separate ? 0 : append->records_end;
    enum sb_code code = sb_bag_create(writer, 0, true, fd, err);

    if (code == SB_OK && append->separate) {
        old = open(from, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (old < 0)
            code = sb_fail_errno(err, errno, "%s", from);
    }
    if (code == SB_OK)
        code = sb_copy_range(old, offset, *fd, append->limits_size, from, writer->name, err);
    if (append->separate && old >= 0)
        close(old);
    if (code && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    return code;
}

static enum sb_code name_limits(struct sb_bag_writer *writer, struct sb_error *err)
{
    struct sb_bag_append *append = writer->append;
    struct sb_buf name = {0};
    enum sb_code code = sb_bag_temporary_name(writer, 0, true, &name, err);

    if (code == SB_OK)
        code = append->separate ? sb_rename(name.data, append->limits, err)
                                : sb_rename_new(name.data, append->limits, err);
    sb_buf_release(&name);
    return code ? code : sb_sync_directory_of(append->limits, err);
}

static enum sb_code save_limits(struct sb_bag_writer *writer, struct sb_error *err)
{
    int fd;
    enum sb_code code = begin_limits(writer, &fd, err);

    if (code == SB_OK)
        code = sb_bag_close_synced(writer, fd, err);
    return code ? code : name_limits(writer, err);
}

enum sb_code sb_bag_append_begin(struct sb_bag_writer *writer, struct sb_error *err)
{
    struct sb_bag_append *append = writer->append;
    enum sb_code code;

    if (append->begun)
        return SB_OK;
    append->begun = true;
    code = write_journal(writer, err);
    if (code == SB_OK && !append->separate)
        code = save_limits(writer, err);
    if (code == SB_OK && lseek(append->fd, append->records_end, SEEK_SET) < 0)
        code = sb_fail_errno(err, errno, "%s", writer->name);
    writer->shard_bytes = append->records_end;
    return code ? code
                : sb_outbuf_begin(&writer->out, append->fd, writer->name, true, append->records_end,
                                  err);
}

static enum sb_code add_limits(struct sb_bag_writer *writer, struct sb_error *err)
{
    return sb_limit_spool_feed(&writer->limits, 0, writer->records, 0, sb_bag_put, writer, err);
}

static enum sb_code flush_synced(struct sb_bag_writer *writer, struct sb_error *err)
{
    enum sb_code code = sb_outbuf_flush(&writer->out, err);

    return code ? code : sb_fsync(writer->append->fd, writer->name, err);
}

/* The old limits come back out of limits.NAME, the new ones follow. */
static enum sb_code end_tail(struct sb_bag_writer *writer, struct sb_error *err)
{
    struct sb_bag_append *append = writer->append;
    int old = open(append->limits, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    enum sb_code code = old < 0 ? sb_fail_errno(err, errno, "%s", append->limits)
                                : sb_outbuf_flush(&writer->out, err);

    if (code == SB_OK)
        code = sb_copy_range(old, 0, append->fd, append->limits_size, append->limits, writer->name,
                             err);
    if (old >= 0)
        close(old);
    if (code == SB_OK)
        code = add_limits(writer, err);
    if (code == SB_OK)
        code = flush_synced(writer, err);
    if (code == SB_OK && unlink(append->limits))
        code = sb_fail_errno(err, errno, "%s: cannot be removed", append->limits);
    return code ? code : sb_sync_directory_of(append->limits, err);
}

static enum sb_code end_separate(struct sb_bag_writer *writer, struct sb_error *err)
{
    enum sb_code code = flush_synced(writer, err);

    if (code == SB_OK)
        code = begin_limits(writer, &writer->fd, err);
    if (code == SB_OK)
        code = sb_outbuf_begin(&writer->out, writer->fd, writer->name, true,
                               writer->append->limits_size, err);
    if (code == SB_OK)
        code = add_limits(writer, err);
    if (code == SB_OK)
        code = sb_outbuf_flush(&writer->out, err);
    if (code == SB_OK)
        code = sb_fsync(writer->fd, writer->name, err);
    return code ? code : name_limits(writer, err);
}

enum sb_code sb_bag_append_commit(struct sb_bag_writer *writer, struct sb_error *err)
{
    struct sb_bag_append *append = writer->append;
    enum sb_code code;

    if (!append->begun)
        return SB_OK;
    code = append->separate ? end_separate(writer, err) : end_tail(writer, err);
    if (code == SB_OK)
        append->begun = false;
    return code;
}

/* What cannot be undone now is left, with its journal, to the next writer. */
void sb_bag_append_free(struct sb_bag_writer *writer)
{
    struct sb_bag_append *append = writer->append;
    struct sb_error ignored;

    if (append->begun && undo(writer, append, &ignored))
        sb_bag_lock_leave(&writer->lock);
    if (append->fd >= 0)
        close(append->fd);
    free(append->limits);
    free(append);
}
