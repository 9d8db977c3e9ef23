#include "store/tree/level.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

struct sb_tree_dir {
    atomic_uint references;
    int fd;
};

unsigned sb_tree_dirs_each(unsigned batches)
{
    struct rlimit limit;
    unsigned most = 16;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= 128)
        most = limit.rlim_cur < 2048 ? (unsigned)limit.rlim_cur / 8 : 256;
    return batches < most ? most / batches : 1;
}

struct sb_tree_dir *sb_tree_dir_ref(struct sb_tree_dir *dir)
{
    atomic_fetch_add_explicit(&dir->references, 1, memory_order_relaxed);
    return dir;
}

void sb_tree_dir_unref(struct sb_tree_dir *dir)
{
    if (!dir || atomic_fetch_sub_explicit(&dir->references, 1, memory_order_acq_rel) > 1)
        return;
    close(dir->fd);
    free(dir);
}

int sb_tree_dir_fd(const struct sb_tree_dir *dir)
{
    return dir->fd;
}

struct sb_tree_dir *sb_tree_dir_new(int fd)
{
    struct sb_tree_dir *dir = malloc(sizeof(*dir));

    if (!dir) {
        close(fd);
        return NULL;
    }
    atomic_init(&dir->references, 1);
    dir->fd = fd;
    return dir;
}

int sb_tree_open_directory(int at, const char *path, bool follow)
{
    return openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW));
}

struct sb_tree_level *sb_tree_level_new(struct sb_tree_level *parent, const char *name,
                                        size_t name_size)
{
    struct sb_tree_level *level = calloc(1, sizeof(*level));

    if (!level || sb_buf_set(&level->name, name, name_size)) {
        free(level);
        return NULL;
    }
    level->parent = parent;
    level->depth = parent ? parent->depth + 1 : 0;
    return level;
}

void sb_tree_level_free(struct sb_tree_level *level)
{
    if (!level)
        return;
    sb_tree_dir_unref(level->dir);
    sb_tree_dir_unref(level->at);
    sb_names_release(&level->names);
    sb_buf_release(&level->name);
    free(level);
}
