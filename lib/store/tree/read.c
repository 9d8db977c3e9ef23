#include "store/tree/read.h"

#include "core/interrupt.h"
#include "core/io.h"
#include "core/kept_open.h"
#include "core/throttle.h"
#include "core/time.h"
#include "store/tree/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BLOCK ((size_t)1 << 20)

/* Of smaller files it is not looked for whether they were written to: that costs a call. */
#define LOOKED_AT_AGAIN ((int64_t)64 << 10)

static const char grew[] = "grew while it was read; stored as it was before";
static const char shrank[] = "shrank while it was read; stored up to its new end";
static const char written[] = "was written to while it was read; stored as it was read";

struct sb_entry sb_tree_entry_of(const struct stat *st)
{
    return (struct sb_entry){
        .type = S_ISDIR(st->st_mode)   ? SB_DIR
                : S_ISLNK(st->st_mode) ? SB_LINK
                                       : SB_FILE,
        .has = SB_HAS_MODE | SB_HAS_UID | SB_HAS_GID | SB_HAS_MTIME,
        .mode = st->st_mode,
        .uid = st->st_uid,
        .gid = st->st_gid,
        .mtime_ns = sb_time_ns(st->st_mtim),
        .size = st->st_size,
    };
}

void sb_tree_metadata(struct sb_member *member, const struct stat *st)
{
    struct sb_entry *entry = &member->entry;

    entry->has |= SB_HAS_MODE | SB_HAS_UID | SB_HAS_GID | SB_HAS_MTIME;
    entry->mode = S_ISLNK(st->st_mode) ? S_IFLNK | 0777 : st->st_mode;
    entry->uid = st->st_uid;
    entry->gid = st->st_gid;
    if (!sb_time_join(st->st_mtim, &entry->mtime_ns))
        member->has |= SB_KEEPS_FAR_TIME;
    if (st->st_mtim.tv_nsec != 0)
        member->has |= SB_KEEPS_NANOSECONDS;
    if (S_ISREG(st->st_mode) && st->st_nlink > 1)
        member->has |= SB_KEEPS_HARD_LINKS;
}

void sb_tree_member(const struct sb_tree_item *item, struct sb_member *member)
{
    *member = (struct sb_member){
        .entry.type = item->node == SB_NODE_DIR    ? SB_DIR
                      : item->node == SB_NODE_LINK ? SB_LINK
                                                   : SB_FILE,
        .entry.size = item->node == SB_NODE_DIR ? 0 : -1,
        .has = SB_KEEPS_OWNER,
        .dir = item->dir,
        .dir_fd = sb_tree_dir_fd(item->dir),
        .component = item->component,
        .disk_path = item->disk_path,
    };
    if (item->node == SB_NODE_DIR)
        sb_tree_metadata(member, &item->stat);
    if (item->node == SB_NODE_OTHER) {
        member->special = sb_special_word(item->mode);
        member->special_mode = item->mode & S_IFMT;
    }
}

static enum sb_code report(const struct sb_member *member, enum sb_level level, const char *kind,
                           const char *text, struct sb_events *events)
{
    return sb_events_add(events, level, kind, member->disk_path, text);
}

/* SB_END once it was reported. */
static enum sb_code leave_out(const struct sb_member *member, const char *kind, const char *text,
                              struct sb_events *events)
{
    TRY(report(member, SB_PROBLEM, kind, text, events));
    return SB_END;
}

static enum sb_code leave_out_self(const struct sb_member *member, struct sb_events *events)
{
    TRY(report(member, SB_WARNING, "self", SB_SELF_TEXT, events));
    return SB_END;
}

static enum sb_code leave_out_errno(const struct sb_member *member, int error_number,
                                    struct sb_events *events)
{
    char reason[64];

    if (error_number == EINTR && sb_interrupted())
        return sb_fail_interrupt();
    if (error_number == ENOENT)
        return leave_out(member, "vanished", "vanished while packing; left out", events);
    if (error_number == ELOOP)
        return leave_out(member, "changed", "became a link while packing; left out", events);
    return leave_out(member, "unreadable", strerror_r(error_number, reason, sizeof(reason)),
                     events);
}

/* By links the index may be met any number of times; each time that it is opened costs a descriptor
 * until the end (core/kept_open.h). */
static bool leads_to_self(const struct sb_tree_read *how, const struct sb_member *member)
{
    struct stat st;

    return how->dereference && how->own &&
           fstatat(member->dir_fd, member->component, &st, 0) == 0 && sb_is_kept_open(&st);
}

static enum sb_code check_file(const struct sb_tree_read *how, struct sb_member *member,
                               const struct stat *st, struct sb_events *events)
{
    if (!S_ISREG(st->st_mode))
        return leave_out(member, "changed", "is no longer a regular file; left out", events);
    if (sb_own_files_is_one(how->own, member->dir_fd, member->component, st, how->dereference))
        return leave_out_self(member, events);
    sb_tree_metadata(member, st);
    member->entry.size = st->st_size;
    return SB_OK;
}

/* To be closed by sb_close_kept, for it may be an index. */
struct opened {
    int fd;
    struct stat st;
};

static enum sb_code open_file(const struct sb_tree_read *how, struct sb_member *member,
                              struct opened *out, struct sb_events *events)
{
    int flags = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY;
    enum sb_code code;

    if (leads_to_self(how, member))
        return leave_out_self(member, events);
    out->fd =
        openat(member->dir_fd, member->component, how->dereference ? flags : flags | O_NOFOLLOW);
    if (out->fd < 0) {
        int failed = errno;

        /* Another process may have renamed or removed it since the walk came by. */
        if (failed == ENOENT &&
            sb_own_files_is_one(how->own, member->dir_fd, member->component, NULL, false))
            return leave_out_self(member, events);
        return leave_out_errno(member, failed, events);
    }
    if (fstat(out->fd, &out->st)) {
        code = leave_out_errno(member, errno, events);
        sb_close_kept(out->fd, NULL);
        return code;
    }
    code = check_file(how, member, &out->st, events);
    if (code)
        sb_close_kept(out->fd, &out->st);
    return code;
}

/*
 * Reads up to size bytes, or until a read ends at `expected`: that is where the file ends, and
 * another read is not needed. An errno.
 */
static int read_up_to(int fd, char *data, size_t size, size_t expected, size_t *got)
{
    unsigned tries = 0;
    ssize_t n;

    *got = 0;
    while (*got < size) {
        n = read(fd, data + *got, sb_throttle_piece(size - *got));
        if (n == 0)
            break;
        if (n < 0 && errno == EINTR && !sb_interrupted() && sb_may_try_again(&tries))
            continue;
        if (n < 0)
            return errno;
        *got += (size_t)n;
        tries = 0;
        sb_throttle_read(n);
        if (*got == expected)
            break;
    }
    return 0;
}

/* Only a file that may have one is searched, and is then at its beginning again. */
static bool has_hole(const struct opened *file)
{
    bool hole;
    int64_t run;

    if (!sb_may_have_holes(&file->st))
        return false;
    run = sb_run_length(file->fd, &file->st, 0, &hole);
    return hole || run < file->st.st_size || lseek(file->fd, 0, SEEK_SET) != 0;
}

static bool was_written(const struct opened *file)
{
    const struct timespec *before = &file->st.st_mtim;
    struct stat st;

    return file->st.st_size >= LOOKED_AT_AGAIN && fstat(file->fd, &st) == 0 &&
           (st.st_mtim.tv_sec != before->tv_sec || st.st_mtim.tv_nsec != before->tv_nsec);
}

static enum sb_code load_file(struct sb_member *member, const struct opened *file, char *data,
                              size_t capacity, bool sparse, struct sb_events *events)
{
    size_t expected = (size_t)member->entry.size, got;
    enum sb_code code = SB_OK;
    int failed;

    if (sparse && has_hole(file))
        member->has |= SB_KEEPS_SPARSE;
    if (member->entry.size >= (int64_t)capacity || (member->has & SB_KEEPS_SPARSE))
        return SB_LIMIT;
    /* One byte more than expected, to notice growth. */
    failed = read_up_to(file->fd, data, expected + 1, expected, &got);
    if (failed)
        return leave_out_errno(member, failed, events);
    if (got != expected)
        code = report(member, SB_PROBLEM, "changed", got > expected ? grew : shrank, events);
    else if (was_written(file))
        code = report(member, SB_PROBLEM, "changed", written, events);
    if (got < expected)
        member->entry.size = (int64_t)got;
    return code;
}

static enum sb_code load_link(const struct sb_tree_read *how, struct sb_member *member, char *data,
                              size_t capacity, struct sb_events *events)
{
    char target[PATH_MAX];
    struct stat st;
    ssize_t size;

    if (fstatat(member->dir_fd, member->component, &st, AT_SYMLINK_NOFOLLOW))
        return leave_out_errno(member, errno, events);
    /* Shards may be links. */
    if (sb_own_files_is_one(how->own, member->dir_fd, member->component, &st, false))
        return leave_out_self(member, events);
    size = readlinkat(member->dir_fd, member->component, target, sizeof(target));
    if (size < 0)
        return leave_out_errno(member, errno, events);
    sb_tree_metadata(member, &st);
    member->entry.size = size;
    if ((size_t)size > capacity)
        return SB_LIMIT;
    memcpy(data, target, (size_t)size);
    return SB_OK;
}

enum sb_code sb_tree_load(const struct sb_tree_read *how, struct sb_member *member, char *data,
                          size_t capacity, bool sparse, struct sb_events *events)
{
    struct opened file;
    enum sb_code code;

    if (member->entry.type == SB_LINK)
        return load_link(how, member, data, capacity, events);
    TRY(open_file(how, member, &file, events));
    code = load_file(member, &file, data, capacity, sparse, events);
    sb_close_kept(file.fd, &file.st);
    return code;
}

/* How many bytes to read now, at most BLOCK, or to pass over as a hole. *failed: an errno. */
static int64_t find_run(const struct opened *file, int64_t at, int64_t left, bool *hole,
                        int *failed)
{
    int64_t run = left;

    *hole = false;
    if (sb_may_have_holes(&file->st)) {
        run = sb_run_length(file->fd, &file->st, at, hole);
        *failed = lseek(file->fd, *hole ? at + run : at, SEEK_SET) < 0 ? errno : 0;
    }
    run = run < left ? run : left;
    return *hole || run < (int64_t)BLOCK ? run : (int64_t)BLOCK;
}

static enum sb_code feed(struct sb_member *member, const struct opened *file, char *block,
                         sb_each_block *each, void *context, struct sb_events *events)
{
    int64_t size = member->entry.size, done;
    size_t got = 0;
    enum sb_code code = SB_OK;
    int failed = 0;
    char more;
    bool hole;

    for (done = 0; !code && done < size; done += (int64_t)got) {
        int64_t want = find_run(file, done, size - done, &hole, &failed);

        if (sb_interrupted())
            return sb_fail_interrupt();
        got = (size_t)want;
        if (!failed && !hole)
            failed = read_up_to(file->fd, block, (size_t)want, (size_t)want, &got);
        if (failed || got == 0)
            break;
        code = each(context, hole ? NULL : block, got);
    }
    if (failed)
        return leave_out_errno(member, failed, events);
    if (code)
        return code;
    if (done < size)
        return report(member, SB_PROBLEM, "changed", shrank, events);
    if (read(file->fd, &more, 1) > 0)
        return report(member, SB_PROBLEM, "changed", grew, events);
    return was_written(file) ? report(member, SB_PROBLEM, "changed", written, events) : SB_OK;
}

enum sb_code sb_tree_stream(const struct sb_tree_read *how, struct sb_member *member,
                            sb_each_block *each, void *context, struct sb_events *events)
{
    CLEANUP(sb_freep) char *block = NULL;
    int64_t promised = member->entry.size;
    struct opened file;
    enum sb_code code;

    TRY(sb_alloc(&block, BLOCK));
    /* A link that was left for later because it did not fit. */
    if (member->entry.type == SB_LINK) {
        TRY(load_link(how, member, block, BLOCK, events));
        return each(context, block, (size_t)member->entry.size);
    }
    TRY(open_file(how, member, &file, events));
    /* A place of this size was made for it. */
    if (promised >= 0)
        member->entry.size = promised;
    code = feed(member, &file, block, each, context, events);
    sb_close_kept(file.fd, &file.st);
    return code;
}
