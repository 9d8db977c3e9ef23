#include "store/tree/impl.h"

#include "core/glob.h"
#include "core/io.h"
#include "core/name.h"
#include "core/thread.h"
#include "core/time.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX      16
#define LEVELS_LOOKED_AT 4                 /* the innermost ones of the walk */
#define BELOW_MAX        8                 /* directories that are known below one */
#define KNOWN_MAX        (2 * THREADS_MAX) /* unless they are in one of those levels */
#define PLACES           (KNOWN_MAX + LEVELS_LOOKED_AT * BELOW_MAX)
#define NAMES_MAX        ((size_t)1 << 20) /* bytes of names in a directory */
#define DESCRIPTORS_MIN  256               /* fewer are left to others */
#define OUTLIER          2                 /* times ahead_from: more says nothing of the next */
#define LATEST           4                 /* directories that make the pace, about */

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
    struct sb_tree_dir *dir;

    if (SB_NEW(&dir)) {
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
    CLEANUP(sb_tree_level_freep) struct sb_tree_level *level = NULL;

    if (SB_NEW(&level) || sb_buf_set(&level->name, name, name_size))
        return NULL;
    level->parent = parent;
    level->depth = parent ? parent->depth + 1 : 0;
    return TAKE(level);
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

struct sb_tree_ahead {
    const struct sb_tree_options *options;
    unsigned wanted; /* threads */
    unsigned started;
    unsigned known_max;
    pthread_t threads[THREADS_MAX];
    atomic_bool news;     /* since the last look, something was listed */
    _Atomic int64_t pace; /* nanoseconds for a directory, the latest ones weighing most */

    pthread_mutex_t mutex; /* of all below, and of what levels say of their listing */
    pthread_cond_t work;
    pthread_cond_t done;
    bool closed;
    struct sb_tree_level *known[PLACES]; /* in the order of the walk */
    size_t count;
};

unsigned sb_tree_ahead_threads(unsigned threads)
{
    struct rlimit limit;

    if (threads < 2 || getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < DESCRIPTORS_MIN)
        return 0;
    return threads / 2 < THREADS_MAX ? threads / 2 : THREADS_MAX;
}

enum sb_code sb_tree_ahead_new(struct sb_tree_ahead **out, const struct sb_tree_options *options,
                               unsigned threads)
{
    struct sb_tree_ahead *ahead;

    TRY(SB_NEW(out));
    ahead = *out;
    ahead->options = options;
    ahead->wanted = threads < THREADS_MAX ? threads : THREADS_MAX;
    ahead->known_max = 4 * ahead->wanted < KNOWN_MAX ? 4 * ahead->wanted : KNOWN_MAX;
    pthread_mutex_init(&ahead->mutex, NULL);
    pthread_cond_init(&ahead->work, NULL);
    pthread_cond_init(&ahead->done, NULL);
    return SB_OK;
}

void sb_tree_ahead_took(struct sb_tree_ahead *ahead, int64_t began)
{
    int64_t took = sb_clock_ns() - began;
    int64_t most = OUTLIER * (int64_t)ahead->options->ahead_from;
    int64_t pace = atomic_load_explicit(&ahead->pace, memory_order_relaxed);

    /* Of two threads at once one may be forgotten. */
    pace += ((took < most ? took : most) - pace) / LATEST;
    atomic_store_explicit(&ahead->pace, pace, memory_order_relaxed);
}

bool sb_tree_is_within(const struct sb_tree_level *level, const struct stat *st)
{
    while (level && !sb_is_same_file(&level->stat, st))
        level = level->parent;
    return level;
}

/* A link may lead to a directory above itself; what is not to be entered need not be listed. */
static bool is_to_be_entered(const struct sb_tree_options *options,
                             const struct sb_tree_level *level)
{
    if (options->one_file_system && level->stat.st_dev != level->parent->stat.st_dev)
        return false;
    return !options->dereference || !sb_tree_is_within(level->parent, &level->stat);
}

static bool list(const struct sb_tree_options *options, struct sb_tree_level *level)
{
    unsigned type;
    const char *component = sb_names_at(&level->parent->names, level->place, &type);
    struct sb_error error;
    int fd = sb_tree_open_directory(sb_tree_dir_fd(level->at), component, options->dereference);

    if (fd < 0)
        return false;
    level->dir = sb_tree_dir_new(fd);
    if (!level->dir || fstat(fd, &level->stat) || !is_to_be_entered(options, level))
        return false;
    level->names.most = NAMES_MAX;
    return INTO(&error, sb_names_read(&level->names, fd, SB_NAMES_AS_PATH, options->dereference)) ==
           SB_OK;
}

/* With the mutex. */
static struct sb_tree_level *first_waiting(const struct sb_tree_ahead *ahead)
{
    for (size_t i = 0; i < ahead->count; i++) {
        if (ahead->known[i]->listing == SB_TREE_WAITS)
            return ahead->known[i];
    }
    return NULL;
}

static void *run(void *argument)
{
    struct sb_tree_ahead *ahead = argument;

    pthread_mutex_lock(&ahead->mutex);
    while (!ahead->closed) {
        struct sb_tree_level *level = first_waiting(ahead);
        int64_t began;
        bool listed;

        if (!level) {
            pthread_cond_wait(&ahead->work, &ahead->mutex);
            continue;
        }
        level->listing = SB_TREE_BEING_LISTED;
        pthread_mutex_unlock(&ahead->mutex);
        began = sb_clock_ns();
        listed = list(ahead->options, level);
        sb_tree_ahead_took(ahead, began);
        pthread_mutex_lock(&ahead->mutex);
        level->listing = listed ? SB_TREE_LISTED : SB_TREE_NOT_LISTED;
        atomic_store_explicit(&ahead->news, true, memory_order_relaxed);
        pthread_cond_signal(&ahead->done);
    }
    pthread_mutex_unlock(&ahead->mutex);
    return NULL;
}

static bool is_below(const struct sb_tree_level *level, const struct sb_tree_level *other)
{
    while (level->depth > other->depth)
        level = level->parent;
    return level == other;
}

/* With the mutex. Takes out what is known at a place, when no thread is at it. */
static struct sb_tree_level *take_out(struct sb_tree_ahead *ahead, size_t place)
{
    struct sb_tree_level *level = ahead->known[place];

    while (level->listing == SB_TREE_BEING_LISTED)
        pthread_cond_wait(&ahead->done, &ahead->mutex);
    ahead->count--;
    for (size_t i = place; i < ahead->count; i++)
        ahead->known[i] = ahead->known[i + 1];
    level->parent->below--;
    return level;
}

/* With the mutex. Where the next directory in `parent` belongs. */
static size_t place_for(const struct sb_tree_ahead *ahead, const struct sb_tree_level *parent)
{
    size_t place = ahead->count;

    while (place > 0 && !is_below(ahead->known[place - 1], parent))
        place--;
    return place;
}

/* With the mutex. False: no memory. */
static bool add(struct sb_tree_ahead *ahead, struct sb_tree_level *parent, size_t place,
                const char *component)
{
    const struct sb_filter *filter = ahead->options->filter;
    CLEANUP(sb_tree_level_freep) struct sb_tree_level *level = sb_tree_level_new(parent, "", 0);
    size_t at;

    if (!level || sb_name_join(&level->name, parent->name.data, parent->name.size, component,
                               strlen(component)))
        return false;
    if (sb_filter_prunes(filter, level->name.data, level->name.size))
        return true;
    level->place = place;
    level->at = sb_tree_dir_ref(parent->dir);
    at = place_for(ahead, parent);
    for (size_t i = ahead->count; i > at; i--)
        ahead->known[i] = ahead->known[i - 1];
    ahead->known[at] = TAKE(level);
    ahead->count++;
    parent->below++;
    return true;
}

/* With the mutex. Until so many are known in all. */
static void look_in(struct sb_tree_ahead *ahead, struct sb_tree_level *parent, size_t known_max)
{
    const struct sb_names *names = &parent->names;

    if (parent->looked < parent->next)
        parent->looked = parent->next;
    while (parent->looked < names->count && parent->below < BELOW_MAX && ahead->count < known_max) {
        size_t place = parent->looked;
        unsigned type;
        const char *component = sb_names_at(names, place, &type);

        if (type == S_IFDIR && !add(ahead, parent, place, component))
            return;
        parent->looked++;
    }
}

/* With the mutex. */
static void look(struct sb_tree_ahead *ahead, struct sb_tree_level *innermost)
{
    struct sb_tree_level *level = innermost;
    size_t before = ahead->count;

    atomic_store_explicit(&ahead->news, false, memory_order_relaxed);
    for (unsigned i = 0; level && level->dir && i < LEVELS_LOOKED_AT; i++, level = level->parent)
        look_in(ahead, level, PLACES);
    for (size_t i = 0; i < ahead->count; i++) {
        if (ahead->known[i]->listing == SB_TREE_LISTED)
            look_in(ahead, ahead->known[i], ahead->known_max);
    }
    if (ahead->count > before)
        pthread_cond_broadcast(&ahead->work);
}

void sb_tree_ahead_look(struct sb_tree_ahead *ahead, struct sb_tree_level *innermost, bool entered)
{
    if ((!entered && !atomic_load_explicit(&ahead->news, memory_order_relaxed)) ||
        atomic_load_explicit(&ahead->pace, memory_order_relaxed) < ahead->options->ahead_from)
        return;
    pthread_mutex_lock(&ahead->mutex);
    look(ahead, innermost);
    pthread_mutex_unlock(&ahead->mutex);
    /* One directory is listed by the walk as soon as by a thread. */
    if (ahead->started == ahead->wanted || ahead->count <= 1)
        return;
    while (ahead->started < ahead->wanted &&
           sb_thread_start(&ahead->threads[ahead->started], run, ahead))
        ahead->started++;
    ahead->wanted = ahead->started;
}

struct sb_tree_level *sb_tree_ahead_take(struct sb_tree_ahead *ahead, struct sb_tree_level *parent,
                                         size_t place)
{
    CLEANUP(sb_tree_level_freep) struct sb_tree_level *level = NULL;

    if (parent->below == 0)
        return NULL;
    pthread_mutex_lock(&ahead->mutex);
    while (ahead->known[0]->listing == SB_TREE_BEING_LISTED) {
        pthread_cond_wait(&ahead->done, &ahead->mutex);
        look(ahead, parent);
    }
    if (ahead->known[0]->parent == parent && ahead->known[0]->place == place)
        level = take_out(ahead, 0);
    pthread_mutex_unlock(&ahead->mutex);
    return level && level->listing == SB_TREE_LISTED ? TAKE(level) : NULL;
}

void sb_tree_ahead_leave(struct sb_tree_ahead *ahead, const struct sb_tree_level *level)
{
    size_t end;

    /* Only this thread adds to it. */
    if (level->below == 0)
        return;
    pthread_mutex_lock(&ahead->mutex);
    end = place_for(ahead, level);
    while (end > 0 && is_below(ahead->known[end - 1], level))
        sb_tree_level_free(take_out(ahead, --end));
    pthread_mutex_unlock(&ahead->mutex);
}

void sb_tree_ahead_free(struct sb_tree_ahead *ahead)
{
    if (!ahead)
        return;
    pthread_mutex_lock(&ahead->mutex);
    while (ahead->count > 0)
        sb_tree_level_free(take_out(ahead, ahead->count - 1));
    ahead->closed = true;
    pthread_cond_broadcast(&ahead->work);
    pthread_mutex_unlock(&ahead->mutex);
    while (ahead->started > 0)
        pthread_join(ahead->threads[--ahead->started], NULL);
    pthread_cond_destroy(&ahead->done);
    pthread_cond_destroy(&ahead->work);
    pthread_mutex_destroy(&ahead->mutex);
    free(ahead);
}
