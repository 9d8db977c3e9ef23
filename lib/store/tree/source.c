/*
 * A directory tree as a source.
 */
#include "core/buf.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/kept_open.h"
#include "core/throttle.h"
#include "core/time.h"
#include "store/hierarchy.h"
#include "store/kind.h"
#include "store/member.h"
#include "store/own_files.h"
#include "store/tree/impl.h"
#include "store/tree/target.h"

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

/* Members in the order of the walk */

struct tree_source {
    struct sb_source source;
    struct sb_tree *tree;
    struct sb_tree_options options;
    struct sb_tree_read read;
};

static void free_tree(struct sb_source *source)
{
    struct tree_source *self = (struct tree_source *)source;

    sb_tree_free(self->tree);
    free(self);
}

static enum sb_code next(struct sb_source *source, struct sb_member *member)
{
    struct sb_tree_item item;
    bool is_dir;

    TRY(sb_tree_next(((struct tree_source *)source)->tree, &item));
    is_dir = item.node == SB_NODE_DIR;
    *member = (struct sb_member){
        .entry = {.type = is_dir                      ? SB_DIR
                          : item.node == SB_NODE_LINK ? SB_LINK
                                                      : SB_FILE,
                  .size = is_dir ? 0 : -1,
                  .path = item.name,
                  .path_size = item.name_size},
        .has = SB_KEEPS_OWNER,
        .dir = item.dir,
        .dir_fd = sb_tree_dir_fd(item.dir),
        .component = item.component,
        .disk_path = item.disk_path,
    };
    if (is_dir)
        sb_tree_metadata(member, &item.stat);
    if (item.node == SB_NODE_OTHER) {
        member->special = sb_special_word(item.mode);
        member->special_mode = item.mode & S_IFMT;
    }
    return SB_OK;
}

static enum sb_code load(struct sb_loader *loader, struct sb_member *member, void *data,
                         size_t capacity, struct sb_events *events)
{
    return sb_tree_load(&((struct tree_source *)loader->source)->read, member, data, capacity,
                        loader->sparse, events);
}

static enum sb_code stream(struct sb_loader *loader, struct sb_member *member, sb_each_block *each,
                           void *context, struct sb_events *events)
{
    return sb_tree_stream(&((struct tree_source *)loader->source)->read, member, each, context,
                          events);
}

/* The tree below a directory, in the order of its walk; no link is followed. */
static enum sb_code open_tree(struct sb_source **out, struct sb_input *input,
                              const struct sb_source_options *options,
                              const struct sb_notify *notify)
{
    static const struct sb_source_ops ops = {
        .free = free_tree, .next = next, .load = load, .stream = stream};
    CLEANUP(sb_source_freep) struct sb_source *source = NULL;
    CLEANUP(sb_freep) char *start = NULL;
    struct tree_source *self;

    *out = NULL;
    TRY(SB_NEW(&self));
    source = &self->source;
    *source = (struct sb_source){.ops = &ops, .name = input->path, .loads = true, .unique = true};
    self->options.own = self->read.own = options->own;
    self->options.threads = options->threads;
    self->options.ahead_from = SB_TREE_SLOW;
    self->options.notify = notify;
    /* With a slash after it, a link to a directory is followed. */
    if (asprintf(&start, "%s/", input->path) < 0)
        return sb_fail_memory();
    TRY(sb_tree_new(&self->tree, &self->options));
    TRY(sb_tree_start(self->tree, AT_FDCWD, start, "", 0, NULL));
    *out = TAKE(source);
    return SB_OK;
}

static enum sb_sure is_directory(const struct sb_input *input)
{
    return input->there && S_ISDIR(input->st.st_mode) ? SB_BY_PLACE : SB_NO;
}

const struct sb_kind sb_directory_kind = {
    .word = "directory",
    .words = (const struct sb_kind_word[]){{"dir", 0, false}, {0}},
    .can = SB_CAN_WALK | SB_CAN_RESUME,
    .never_piped = "a directory",
    .is_directory = true,
    .by_path = true,
    .by_name = is_directory,
    .takes = SB_TO_TREE,
    .source = open_tree,
};

/* A tree that is listed and read to compare it */

struct tree_hierarchy {
    struct sb_hierarchy hierarchy;
    int root;
    struct sb_walk walk; /* of the listings */
    const struct sb_own_files *own;
};

struct sb_listing {
    struct sb_buf path; /* of the directory; while a child is given, of the child */
    size_t dir_size;
    struct sb_names names;
    size_t next;
};

struct sb_reader {
    struct sb_walk walk;
};

static void free_hierarchy(struct sb_hierarchy *hierarchy)
{
    struct tree_hierarchy *own = (struct tree_hierarchy *)hierarchy;

    sb_walk_release(&own->walk);
    close(own->root);
    free(own);
}

static void close_listing(struct sb_listing *listing)
{
    sb_buf_release(&listing->path);
    sb_names_release(&listing->names);
    free(listing);
}

FREEP(close_listing, struct sb_listing)

static enum sb_code list(struct sb_hierarchy *hierarchy, const char *dir, size_t size,
                         struct sb_listing **out)
{
    struct tree_hierarchy *own = (struct tree_hierarchy *)hierarchy;
    CLEANUP(close_listingp) struct sb_listing *listing = NULL;
    CLEANUP(sb_closep) int fd = -1;
    int dir_fd;

    TRY(SB_NEW(&listing));
    listing->dir_size = size;
    TRY(sb_buf_set(&listing->path, dir, size));
    TRY(sb_walk_to(&own->walk, dir, size, SB_WALK_NO_MAKING, &dir_fd));
    fd = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return sb_fail_errno(errno, "cannot be opened");
    TRY(sb_names_read(&listing->names, fd, SB_NAMES_PLAIN, false));
    *out = TAKE(listing);
    return SB_OK;
}

static enum sb_code next_child(struct sb_hierarchy *hierarchy, struct sb_listing *listing,
                               struct sb_child *child)
{
    struct tree_hierarchy *own = (struct tree_hierarchy *)hierarchy;
    struct stat st;
    unsigned type;
    int fd;

    while (listing->next < listing->names.count) {
        const char *name = sb_names_at(&listing->names, listing->next++, &type);

        sb_buf_cut(&listing->path, listing->dir_size);
        TRY(sb_walk_to(&own->walk, listing->path.data, listing->dir_size, SB_WALK_NO_MAKING, &fd));
        if (fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW)) {
            if (errno == ENOENT)
                continue;
            return sb_fail_errno(errno, "%s cannot be looked up", name);
        }
        if (!S_ISDIR(st.st_mode) && sb_own_files_is_one(own->own, fd, name, &st, false))
            continue;
        if (listing->dir_size > 0)
            TRY(sb_buf_add_char(&listing->path, '/'));
        TRY(sb_buf_add_text(&listing->path, name));
        *child = (struct sb_child){
            .entry = sb_tree_entry_of(&st),
            .special = sb_special_word(st.st_mode),
            .device = st.st_dev,
            .inode = st.st_ino,
        };
        child->entry.path = listing->path.data;
        child->entry.path_size = listing->path.size;
        return SB_OK;
    }
    return SB_END;
}

static enum sb_code open_reader(struct sb_hierarchy *hierarchy, struct sb_reader **out)
{
    TRY(SB_NEW(out));
    sb_walk_init(&(*out)->walk, ((struct tree_hierarchy *)hierarchy)->root, NULL);
    return SB_OK;
}

static void close_reader(struct sb_reader *reader)
{
    sb_walk_release(&reader->walk);
    free(reader);
}

static enum sb_code read_entry(struct sb_reader *reader, const struct sb_entry *entry,
                               sb_each_block *each, void *context)
{
    CLEANUP(sb_closep) int fd = -1;
    char target[PATH_MAX];
    const char *component;
    int64_t total;
    ssize_t size;
    struct stat st;
    int dir_fd;

    TRY(sb_walk_to_parent(&reader->walk, entry->path, entry->path_size, SB_WALK_NO_MAKING, &dir_fd,
                          &component));
    if (entry->type == SB_LINK) {
        size = readlinkat(dir_fd, component, target, sizeof(target));
        if (size < 0)
            return sb_fail(SB_CHANGED, "changed while it was compared");
        return each(context, target, (size_t)size);
    }
    /* What was a file a moment ago may be a FIFO by now. */
    fd = openat(dir_fd, component, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0 && errno != ELOOP && errno != ENOENT)
        return sb_fail_errno(errno, "cannot be opened");
    if (fd < 0 || fstat(fd, &st) || !S_ISREG(st.st_mode))
        return sb_fail(SB_CHANGED, "changed while it was compared");
    TRY(sb_feed_file(fd, &st, entry->size, each, context, &total, "read"));
    if (total != entry->size)
        return sb_fail(SB_CHANGED, "changed its size while it was compared");
    return SB_OK;
}

static const struct sb_hierarchy_ops tree_ops = {
    .free = free_hierarchy,
    .list = list,
    .next = next_child,
    .close_listing = close_listing,
    .open_reader = open_reader,
    .close_reader = close_reader,
    .read = read_entry,
};

enum sb_code sb_hierarchy_open_tree(struct sb_hierarchy **out, const char *dir,
                                    const struct sb_own_files *own_files)
{
    CLEANUP(sb_closep) int root = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
    struct tree_hierarchy *own;

    *out = NULL;
    if (root < 0)
        return sb_fail_errno(errno, "%s", dir);
    TRY(sb_alloc(&own, sizeof(*own)));
    *own = (struct tree_hierarchy){.hierarchy.ops = &tree_ops, .root = root, .own = own_files};
    sb_walk_init(&own->walk, TAKE_FD(root), NULL);
    *out = &own->hierarchy;
    return SB_OK;
}
