#include "store/hierarchy.h"
#include "store/member.h"

#include "core/buf.h"
#include "core/io.h"
#include "store/own_files.h"
#include "store/tree/names.h"
#include "store/tree/read.h"
#include "store/tree/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
    char target[PATH_MAX];
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

static enum sb_code next(struct sb_hierarchy *hierarchy, struct sb_listing *listing,
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
        if (listing->dir_size > 0 && sb_buf_add_char(&listing->path, '/'))
            return sb_fail_memory();
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
    sb_walk_init(&(*out)->walk, ((struct tree_hierarchy *)hierarchy)->root);
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
    const char *component;
    int64_t total;
    ssize_t size;
    struct stat st;
    int dir_fd;

    TRY(sb_walk_to_parent(&reader->walk, entry->path, entry->path_size, SB_WALK_NO_MAKING, &dir_fd,
                          &component));
    if (entry->type == SB_LINK) {
        size = readlinkat(dir_fd, component, reader->target, sizeof(reader->target));
        if (size < 0)
            return sb_fail(SB_CHANGED, "changed while it was compared");
        return each(context, reader->target, (size_t)size);
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
    .next = next,
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
    sb_walk_init(&own->walk, TAKE_FD(root));
    *out = &own->hierarchy;
    return SB_OK;
}
