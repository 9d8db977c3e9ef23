#include "core/kept_open.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

/* A holder of locks on a file, or a descriptor of it that is to be closed later. */
struct kept {
    const void *holder; /* NULL: a descriptor */
    int fd;
    dev_t device;
    ino_t inode;
    struct kept *next;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct kept *list;

/* With the mutex. */
static bool has_holder(dev_t device, ino_t inode)
{
    for (const struct kept *kept = list; kept; kept = kept->next) {
        if (kept->holder && kept->device == device && kept->inode == inode)
            return true;
    }
    return false;
}

/* With the mutex; false without memory. */
static bool add(const void *holder, int fd, const struct stat *file)
{
    struct kept *kept = malloc(sizeof(*kept));

    if (!kept)
        return false;
    *kept = (struct kept){
        .holder = holder, .fd = fd, .device = file->st_dev, .inode = file->st_ino, .next = list};
    list = kept;
    return true;
}

enum sb_code sb_keep_open(const void *holder, const struct stat *file)
{
    bool added;

    pthread_mutex_lock(&mutex);
    added = add(holder, -1, file);
    pthread_mutex_unlock(&mutex);
    return added ? SB_OK : sb_fail_memory();
}

/* With the mutex: removes the entries that `which` selects, closing descriptors. */
static void remove_where(bool (*which)(const struct kept *kept, const void *what), const void *what)
{
    struct kept **link = &list;

    while (*link) {
        struct kept *kept = *link;

        if (!which(kept, what)) {
            link = &kept->next;
            continue;
        }
        *link = kept->next;
        if (kept->fd >= 0)
            close(kept->fd);
        free(kept);
    }
}

static bool is_holder(const struct kept *kept, const void *what)
{
    return kept->holder && kept->holder == what;
}

static bool may_be_closed(const struct kept *kept, const void *what)
{
    (void)what;
    return !kept->holder && !has_holder(kept->device, kept->inode);
}

void sb_keep_no_longer(const void *holder)
{
    pthread_mutex_lock(&mutex);
    remove_where(is_holder, holder);
    remove_where(may_be_closed, NULL);
    pthread_mutex_unlock(&mutex);
}

bool sb_is_kept_open(const struct stat *file)
{
    bool kept;

    pthread_mutex_lock(&mutex);
    kept = has_holder(file->st_dev, file->st_ino);
    pthread_mutex_unlock(&mutex);
    return kept;
}

void sb_close_kept(int fd, const struct stat *st)
{
    struct stat own;
    bool keep = false;

    pthread_mutex_lock(&mutex);
    if (list) {
        if (!st && fstat(fd, &own) == 0)
            st = &own;
        /*
         * Without memory for the entry the process never closes the descriptor, which is harmless.
         */
        keep = !st || has_holder(st->st_dev, st->st_ino);
        if (keep && st)
            (void)add(NULL, fd, st);
    }
    pthread_mutex_unlock(&mutex);
    if (!keep)
        close(fd);
}
