/*
 * The journal of an append, in the lock's file: what the bag was. It is synced before anything is
 * changed. By it, what an append left that did not come to its end is undone, or finished.
 *
 * A limits.NAME without a journal was left by another program, whose records are not ours to cut.
 */
#include "core/io.h"
#include "core/name.h"
#include "store/bag/writer_private.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The journal, between the numbers. */
#define TO_TAIL     SB_OUT_JOURNAL "tail: records end at "
#define TO_LIMITS   SB_OUT_JOURNAL "limits: records end at "
#define LIMITS_TAKE ", limits take "
#define END         "\n"
#define LINE_BYTES  128
/*
 * Its second line, once all is written: of records, where their keys are; of keys, what becomes of
 * their bag, and what the records' bag is when they count. A name has its length before it, for it
 * may have any byte; without a slash it is beside the journal's own bag.
 */
#define HAS_KEYS    "its keys are in "
#define IS_KEYS     "limits are to take "
#define WHEN_END    ", when records end at "
#define WHEN_LIMITS ", and limits take "
#define IN          ", in "
#define COLON       ":"
#define JOURNAL_MAX (PATH_MAX + 3 * LINE_BYTES)

/* The other bag of two that are added to at once. */
struct partner {
    enum { PARTNER_NONE, PARTNER_KEYS, PARTNER_RECORDS } what;
    int64_t end;         /* of the records in it, when it has grown; */
    int64_t limits_size; /* likewise */
    char path[PATH_MAX];
};

enum sb_code sb_bag_write_journal(struct sb_bag_writer *writer)
{
    const struct sb_bag_append *append = writer->append;
    char text[LINE_BYTES];
    int size =
        snprintf(text, sizeof(text), "%s%" PRId64 LIMITS_TAKE "%" PRId64 END,
                 append->separate ? TO_LIMITS : TO_TAIL, append->records_end, append->limits_size);

    TRY(sb_pwrite_full(writer->lock.fd, text, (size_t)size, 0, writer->lock.path));
    TRY(sb_fsync(writer->lock.fd, writer->lock.path));
    return sb_sync_directory_of(writer->lock.path);
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

static bool skip_path(const char **at, const char *text_end, const char *own, char *path)
{
    int directory = (int)(sb_base_name(own) - own);
    int64_t size;

    if (!skip_number(at, &size) || !skip(at, COLON) || size > text_end - *at)
        return false;
    if (memchr(*at, '/', (size_t)size))
        directory = 0;
    if (directory + size >= PATH_MAX)
        return false;
    snprintf(path, PATH_MAX, "%.*s%.*s", directory, own, (int)size, *at);
    *at += size;
    return skip(at, END);
}

/* A line that is not whole was never acted upon either. */
static void read_partner(const char *at, const char *text_end, const char *own,
                         struct sb_bag_append *append, struct partner *partner)
{
    partner->what = PARTNER_NONE;
    if (skip(&at, HAS_KEYS)) {
        if (skip_path(&at, text_end, own, partner->path))
            partner->what = PARTNER_KEYS;
    } else if (skip(&at, IS_KEYS) && skip_number(&at, &append->new_limits_size) &&
               skip(&at, WHEN_END) && skip_number(&at, &partner->end) && skip(&at, WHEN_LIMITS) &&
               skip_number(&at, &partner->limits_size) && skip(&at, IN) &&
               skip_path(&at, text_end, own, partner->path)) {
        partner->what = PARTNER_RECORDS;
    }
}

/* *there: is there one? One that is not whole was never acted upon. */
static enum sb_code read_journal(struct sb_bag_writer *writer, struct sb_bag_append *append,
                                 struct partner *partner, bool *there)
{
    char text[JOURNAL_MAX];
    const char *at = text;
    size_t got;

    *there = false;
    TRY(sb_pread_full(writer->lock.fd, text, sizeof(text) - 1, 0, &got, writer->lock.path));
    text[got] = '\0';
    append->separate = skip(&at, TO_LIMITS);
    *there = (append->separate || skip(&at, TO_TAIL)) && skip_number(&at, &append->records_end) &&
             skip(&at, LIMITS_TAKE) && skip_number(&at, &append->limits_size) && skip(&at, END);
    if (*there)
        read_partner(at, text + got, writer->pattern.path, append, partner);
    return SB_OK;
}

/* After the first line, which stays as it is whatever happens to this one. */
static enum sb_code add_line(struct sb_bag_writer *writer, const struct sb_buf *line)
{
    struct stat st;

    if (fstat(writer->lock.fd, &st))
        return sb_fail_errno(errno, "%s", writer->lock.path);
    TRY(sb_pwrite_full(writer->lock.fd, line->data, line->size, st.st_size, writer->lock.path));
    return sb_fsync(writer->lock.fd, writer->lock.path);
}

/* `there` without its directory, where that is the one of `here`. */
static const char *seen_from(const char *here, const char *there)
{
    size_t size = (size_t)(sb_base_name(there) - there);

    return strncmp(here, there, size) == 0 && !strchr(here + size, '/') ? there + size : there;
}

/* How the journal beside `own` calls the other. */
static enum sb_code add_path(struct sb_buf *line, const char *own, const char *other)
{
    CLEANUP(sb_freep) char *here = sb_resolve_directory_of(own);
    CLEANUP(sb_freep) char *there = here ? sb_resolve_directory_of(other) : NULL;
    const char *name;

    if (!there)
        return sb_error()->code;
    name = seen_from(here, there);
    TRY(sb_buf_add_format(line, "%zu" COLON "%s" END, strlen(name), name));
    return SB_OK;
}

/* The records name their keys first: who finds them unfinished puts the keys right before. */
enum sb_code sb_bag_tie(struct sb_bag_writer *records, struct sb_bag_writer *keys)
{
    const char *names = keys->pattern.path, *path = records->pattern.path;
    CLEANUP(sb_buf_release) struct sb_buf line = {0};

    TRY(sb_buf_add_text(&line, HAS_KEYS));
    TRY(add_path(&line, path, names));
    TRY(add_line(records, &line));
    sb_buf_clear(&line);
    TRY(sb_buf_add_format(&line, IS_KEYS "%" PRId64 WHEN_END "%" PRId64 WHEN_LIMITS "%" PRId64 IN,
                          keys->append->new_limits_size, records->append->new_end,
                          records->append->new_limits_size));
    TRY(add_path(&line, names, path));
    return add_line(keys, &line);
}

/* Undoing */

enum sb_code sb_bag_read_last_limit(int fd, int64_t end, uint64_t *last, const char *path)
{
    size_t got;

    TRY(sb_pread_full(fd, last, sizeof(*last), end - LIMIT_BYTES, &got, path));
    if (got < sizeof(*last))
        return sb_fail(SB_CHANGED, "%s: became shorter while it was read", path);
    *last = le64toh(*last);
    return SB_OK;
}

enum sb_code sb_bag_find_old_limits(struct sb_bag_writer *writer, struct sb_bag_append *append)
{
    CLEANUP(sb_buf_release) struct sb_buf name = {0};

    TRY(sb_bag_final_name(writer, 0, 1, true, &name));
    append->limits = TAKE(name.data);
    return SB_OK;
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
        TRY(sb_bag_read_last_limit(*fd, st.st_size, &last, path));
    *same = last <= INT64_MAX && (int64_t)last == end;
    return SB_OK;
}

static enum sb_code are_limits(const char *path, int64_t others, int64_t limits_size, int64_t end,
                               bool *there, bool *same)
{
    CLEANUP(sb_closep) int fd = -1;
    enum sb_code code = open_limits(path, others, limits_size, end, &fd, same);

    *there = fd >= 0;
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

/* At the tail no limits.NAME is there before the append changes anything, nor once it is whole. */
enum sb_code sb_bag_restore(const struct sb_bag_writer *writer, const struct sb_bag_append *append)
{
    const char *path = writer->pattern.path;
    CLEANUP(sb_closep) int limits = -1;
    struct stat st;
    bool same;

    TRY(open_limits(append->limits, 0, append->limits_size, append->records_end, &limits, &same));
    if (fstat(append->fd, &st))
        return sb_fail_errno(errno, "%s", path);
    if (!same || st.st_size < append->records_end)
        return limits >= 0 && !append->separate ? fail_undo(writer) : SB_OK;
    if (!append->separate)
        return restore_tail(writer, append, limits);
    /* limits.NAME is replaced last: while it is the old one, the new records do not count. */
    if (ftruncate(append->fd, append->records_end))
        return sb_fail_errno(errno, "%s: cannot be cut", path);
    return sb_fsync(append->fd, path);
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
    const char *path = writer->pattern.path;
    int64_t size = append->new_limits_size;
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    struct stat st;
    bool there, whole = false;

    if (fstat(append->fd, &st))
        return sb_fail_errno(errno, "%s", path);
    if (append->separate) {
        TRY(sb_bag_temporary_name(writer, 0, true, &name));
        TRY(are_limits(name.data, 0, size, st.st_size, &there, &whole));
    } else {
        TRY(are_limits(path, st.st_size - size, size, st.st_size - size, &there, &whole));
    }
    return whole ? sb_bag_append_finish(writer, append) : fail_undo(writer);
}

/* Keys count when their records do. */
static enum sb_code undo_keys(const struct sb_bag_writer *writer,
                              const struct sb_bag_append *append, const struct partner *records)
{
    bool there, pending, grown;
    enum sb_code code;

    TRY(are_limits(append->limits, 0, append->limits_size, append->records_end, &there, &pending));
    if (!pending)
        return sb_bag_restore(writer, append);
    code = sb_bag_has_grown(records->path, records->end, records->limits_size, &grown);
    if (code == SB_NOENT)
        return sb_fail(SB_NOENT,
                       "%s: keys were being added to it, and their records to %s, which is "
                       "missing, so that it is unknown whether they were added; bring it back",
                       writer->pattern.path, records->path);
    TRY(code);
    return grown ? finish_keys(writer, append) : sb_bag_restore(writer, append);
}

/* Keys that were being added with these records, by their own journal. */
static enum sb_code put_keys_right(const struct partner *keys)
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
                         const struct partner *partner)
{
    TRY(sb_bag_find_old_limits(writer, append));
    if (partner->what == PARTNER_KEYS)
        TRY(put_keys_right(partner));
    append->fd = open(writer->pattern.path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (append->fd < 0 && errno != ENOENT)
        return sb_fail_errno(errno, "%s", writer->pattern.path);
    if (append->fd >= 0)
        TRY(partner->what == PARTNER_RECORDS ? undo_keys(writer, append, partner)
                                             : sb_bag_restore(writer, append));
    if (ftruncate(writer->lock.fd, 0))
        return sb_fail_errno(errno, "%s: cannot be cut", writer->lock.path);
    return sb_fsync(writer->lock.fd, writer->lock.path);
}

enum sb_code sb_bag_undo_append(struct sb_bag_writer *writer)
{
    struct sb_bag_append append = {.fd = -1};
    struct partner partner = {.what = PARTNER_NONE};
    bool there = false;
    enum sb_code code = SB_OK;

    if (!writer->pattern.is_set)
        code = read_journal(writer, &append, &partner, &there);
    if (code == SB_OK && there)
        code = undo(writer, &append, &partner);
    sb_closep(&append.fd);
    free(append.limits);
    /* What was not undone needs its journal, whatever went wrong. */
    if (code)
        sb_out_lock_leave(&writer->lock);
    return code;
}
