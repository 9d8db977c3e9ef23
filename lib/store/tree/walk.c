#include "store/tree/walk.h"

#include "core/name.h"
#include "store/tree/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void sb_walk_init(struct sb_walk *walk, int root)
{
    *walk = (struct sb_walk){.root = root};
}

static void leave(struct sb_walk *walk)
{
    close(walk->levels[--walk->count].fd);
}

void sb_walk_release(struct sb_walk *walk)
{
    while (walk->count > 0)
        leave(walk);
    sb_buf_release(&walk->path);
}

static int innermost(const struct sb_walk *walk)
{
    return walk->count > 0 ? walk->levels[walk->count - 1].fd : walk->root;
}

/* Goes up to the nearest remembered directory that dir is, or is below. */
static void go_up(struct sb_walk *walk, const char *dir, size_t size)
{
    while (walk->count > 0) {
        size_t level_size = walk->levels[walk->count - 1].size;

        if (sb_name_within(dir, size, walk->path.data, level_size))
            break;
        leave(walk);
    }
    sb_buf_cut(&walk->path, walk->count > 0 ? walk->levels[walk->count - 1].size : 0);
}

static enum sb_code open_component(const struct sb_walk *walk, const char *component, mode_t make,
                                   int *fd)
{
    int at = innermost(walk);
    int flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

    *fd = openat(at, component, flags);
    if (*fd < 0 && errno == ENOENT && make != SB_WALK_NO_MAKING) {
        TRY(sb_target_spare(walk->own, at, component, NULL));
        if (mkdirat(at, component, make) && errno != EEXIST)
            return sb_fail_errno(errno, "cannot make the directory %s", component);
        *fd = openat(at, component, flags);
    }
    if (*fd >= 0)
        return SB_OK;
    if (errno == ENOTDIR || errno == ELOOP)
        return sb_fail(SB_INVALID,
                       "%s, in the way to it, is not a directory (links are not followed)",
                       component);
    return sb_fail_errno(errno, "cannot open the directory %s", component);
}

static enum sb_code go_down(struct sb_walk *walk, const char *name, size_t size, mode_t make)
{
    char component[NAME_MAX + 1];
    int fd;

    if (size > NAME_MAX)
        return sb_fail_errno(ENAMETOOLONG, "cannot make a directory above it");
    memcpy(component, name, size);
    component[size] = '\0';
    TRY(open_component(walk, component, make, &fd));
    if ((walk->path.size > 0 && sb_buf_add_char(&walk->path, '/')) ||
        sb_buf_add(&walk->path, name, size)) {
        close(fd);
        return sb_fail_memory();
    }
    if (walk->count == SB_WALK_KEPT) {
        close(walk->levels[0].fd);
        memmove(walk->levels, walk->levels + 1, sizeof(walk->levels) - sizeof(walk->levels[0]));
        walk->count--;
    }
    walk->levels[walk->count++] = (struct sb_walk_level){.size = walk->path.size, .fd = fd};
    return SB_OK;
}

enum sb_code sb_walk_to(struct sb_walk *walk, const char *dir, size_t size, mode_t make, int *fd)
{
    *fd = -1;
    go_up(walk, dir, size);
    while (walk->path.size < size) {
        const char *next = dir + walk->path.size + (walk->path.size > 0);
        size_t left = size - (size_t)(next - dir);
        const char *slash = memchr(next, '/', left);

        if (go_down(walk, next, slash ? (size_t)(slash - next) : left, make)) {
            go_up(walk, "", 0);
            return sb_error()->code;
        }
    }
    *fd = innermost(walk);
    return SB_OK;
}

enum sb_code sb_walk_to_parent(struct sb_walk *walk, const char *name, size_t size, mode_t make,
                               int *fd, const char **component)
{
    size_t parent = sb_parent_size(name, size);

    *component = name + parent + (parent > 0);
    return sb_walk_to(walk, name, parent, make, fd);
}

mode_t *sb_walk_note(struct sb_walk *walk)
{
    return walk->count > 0 ? &walk->levels[walk->count - 1].note : &walk->root_note;
}
