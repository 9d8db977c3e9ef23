#include "task/mount/roots.h"

#include "core/time.h"
#include "task/mount/log.h"
#include "task/mount/private.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_EVERY (SB_SECOND / 2) /* for another archive in the place of one */
#define LOWEST     256             /* directories whose lowest container is known */

struct place {
    struct sb_mount_container container;
    pthread_mutex_t lock;
    struct sb_tree *tree; /* under the lock, as the others below */
    int64_t looked;
    bool failed; /* the other archive could not be opened, and that is logged */
};

/* Of a directory of a united tree, the first container whose part of it is seen. */
struct lowest {
    uint64_t number; /* of the directory; 0: none */
    int64_t since;
    size_t container;
};

struct sb_roots {
    const struct sb_mount_options *options;
    struct sb_log *log;
    struct sb_notify notify;
    int64_t lifetime;
    struct place *places;
    size_t count;
    pthread_mutex_t lock; /* of all below */
    struct lowest lowest[LOWEST];
};

static bool has_directories(const struct sb_roots *roots)
{
    return roots->count > 1 && !roots->options->united;
}

static enum sb_code open_place(struct sb_roots *roots, size_t i, unsigned epoch,
                               struct sb_tree **out)
{
    return sb_tree_open(out, &roots->places[i].container, (unsigned)i + 1, epoch, roots->lifetime);
}

static enum sb_code refuse_twins(const struct sb_mount_options *options)
{
    if (options->count > SB_INODE_CONTAINERS)
        return sb_fail(SB_LIMIT, "%zu containers are too many: %d can be mounted at once",
                       options->count, SB_INODE_CONTAINERS);
    for (size_t i = 0; !options->united && i < options->count; i++) {
        for (size_t k = 0; k < i; k++) {
            if (strcmp(options->containers[i].name, options->containers[k].name) == 0)
                return sb_fail(SB_EXISTS,
                               "%s: is called '%s' as %s is, and each needs a directory of its "
                               "own; --union makes one tree of them",
                               options->containers[i].path, options->containers[i].name,
                               options->containers[k].path);
        }
    }
    return SB_OK;
}

enum sb_code sb_roots_open(struct sb_roots **out, const struct sb_mount_options *options,
                           struct sb_log *log)
{
    struct sb_roots *roots;
    enum sb_code code = SB_OK;

    *out = NULL;
    TRY(refuse_twins(options));
    roots = calloc(1, sizeof(*roots));
    if (!roots)
        return sb_fail_memory();
    pthread_mutex_init(&roots->lock, NULL);
    roots->options = options;
    roots->log = log;
    roots->notify = sb_log_notify(log);
    roots->lifetime = options->immutable ? SB_TREE_IMMUTABLE : SB_SECOND;
    roots->places = calloc(options->count + 1, sizeof(*roots->places));
    if (!roots->places)
        code = sb_fail_memory();
    for (size_t i = 0; !code && i < options->count; i++) {
        roots->places[i].container = options->containers[i];
        roots->places[i].container.opening.notify = &roots->notify;
        pthread_mutex_init(&roots->places[i].lock, NULL);
        roots->count++;
        code = open_place(roots, i, 0, &roots->places[i].tree);
        roots->places[i].looked = sb_clock_ns();
    }
    if (code)
        sb_roots_free(roots);
    else
        *out = roots;
    return code;
}

void sb_roots_free(struct sb_roots *roots)
{
    if (!roots)
        return;
    for (size_t i = 0; roots->places && i < roots->count; i++) {
        sb_tree_unref(roots->places[i].tree);
        pthread_mutex_destroy(&roots->places[i].lock);
    }
    pthread_mutex_destroy(&roots->lock);
    free(roots->places);
    free(roots);
}

/* Opens what took the place of a container; the former one stays where that fails. */
static void look_again(struct sb_roots *roots, size_t i)
{
    struct place *place = &roots->places[i];
    struct sb_tree *tree;
    struct sb_error err;

    place->looked = sb_clock_ns();
    if (!sb_tree_is_replaced(place->tree))
        return;
    if (!INTO(&err, open_place(roots, i, sb_tree_epoch(place->tree) + 1, &tree))) {
        sb_tree_unref(place->tree);
        place->tree = tree;
        place->failed = false;
        return;
    }
    if (!place->failed)
        sb_log_add(roots->log, SB_PROBLEM, "replaced", place->container.path,
                   "was replaced by what cannot be read: %s", err.text);
    place->failed = true;
}

/* The current tree of a container; the caller becomes a holder. */
static struct sb_tree *enter(struct sb_roots *roots, size_t i)
{
    struct place *place = &roots->places[i];
    struct sb_tree *tree;

    pthread_mutex_lock(&place->lock);
    if (!roots->options->immutable && sb_clock_ns() - place->looked > LOOK_EVERY)
        look_again(roots, i);
    tree = sb_tree_ref(place->tree);
    pthread_mutex_unlock(&place->lock);
    return tree;
}

static enum sb_code fail_stale(void)
{
    return sb_fail(SB_CHANGED, "is not there any more");
}

/* The directory of containers; or of one, or of all as one, the root. */
static enum sb_code find_top(struct sb_roots *roots, struct sb_node *node)
{
    struct sb_tree *tree;
    enum sb_code code;

    if (has_directories(roots)) {
        node->entry = (struct sb_entry){.type = SB_DIR, .path = ""};
        node->entry.num_subdirs = (int64_t)roots->count;
        return SB_OK;
    }
    tree = enter(roots, roots->count - 1);
    code = sb_tree_find(tree, "", 0, node);
    sb_tree_unref(tree);
    return code;
}

enum sb_code sb_roots_node(struct sb_roots *roots, uint64_t number, struct sb_node *node)
{
    const struct sb_inode inode = sb_inode_unpack(number);
    struct sb_tree *tree;
    enum sb_code code;

    if (number == SB_INODE_TOP)
        return find_top(roots, node);
    if (inode.container < 1 || inode.container > roots->count)
        return fail_stale();
    tree = enter(roots, inode.container - 1);
    if (inode.epoch == sb_tree_epoch(tree) % SB_INODE_EPOCHS)
        code = sb_tree_node(tree, &inode, node);
    else
        code = fail_stale();
    sb_tree_unref(tree);
    return code;
}

static enum sb_code find_container(struct sb_roots *roots, const char *name, struct sb_node *node)
{
    for (size_t i = 0; i < roots->count; i++) {
        struct sb_tree *tree;
        enum sb_code code;

        if (strcmp(roots->places[i].container.name, name) != 0)
            continue;
        tree = enter(roots, i);
        code = sb_tree_find(tree, "", 0, node);
        sb_tree_unref(tree);
        return code;
    }
    return SB_NOENT;
}

/* Has a container something that is no directory at that path, or above it? */
static enum sb_code look_for_cover(struct sb_tree *tree, const struct sb_entry *dir, bool *covers)
{
    enum sb_code code = SB_OK;

    *covers = false;
    for (size_t end = 0; !code && !*covers && end < dir->path_size; end++) {
        const char *slash = memchr(dir->path + end, '/', dir->path_size - end);
        struct sb_node node = {0};

        end = slash ? (size_t)(slash - dir->path) : dir->path_size;
        code = sb_tree_find(tree, dir->path, end, &node);
        *covers = !code && node.entry.type != SB_DIR;
        sb_node_release(&node);
    }
    return code == SB_NOENT ? SB_OK : code;
}

static enum sb_code find_lowest(struct sb_roots *roots, const struct sb_entry *dir,
                                size_t *container)
{
    enum sb_code code = SB_OK;
    bool covers = false;

    *container = roots->count;
    while (!code && !covers && *container > 0) {
        struct sb_tree *tree = enter(roots, *container - 1);

        code = look_for_cover(tree, dir, &covers);
        sb_tree_unref(tree);
        *container -= !covers;
    }
    return code;
}

enum sb_code sb_roots_lowest(struct sb_roots *roots, const struct sb_node *dir, size_t *container)
{
    const int64_t lifetime = roots->options->immutable ? SB_TREE_IMMUTABLE : LOOK_EVERY;
    const uint64_t number = sb_inode_pack(&dir->inode);
    struct lowest *lowest = &roots->lowest[sb_inode_slot(number, LOWEST)];
    bool known;

    pthread_mutex_lock(&roots->lock);
    known = lowest->number == number && sb_clock_ns() - lowest->since < lifetime;
    *container = lowest->container;
    pthread_mutex_unlock(&roots->lock);
    if (known)
        return SB_OK;
    TRY(find_lowest(roots, &dir->entry, container));
    pthread_mutex_lock(&roots->lock);
    *lowest = (struct lowest){.number = number, .since = sb_clock_ns(), .container = *container};
    pthread_mutex_unlock(&roots->lock);
    return SB_OK;
}

/* A name in a directory of a united tree: of the containers that have it, the last. */
static enum sb_code find_united(struct sb_roots *roots, const struct sb_node *dir,
                                const struct sb_buf *path, struct sb_node *node)
{
    size_t lowest;
    enum sb_code code = sb_roots_lowest(roots, dir, &lowest);

    if (code)
        return code;
    code = SB_NOENT;
    for (size_t i = roots->count; code == SB_NOENT && i > lowest; i--) {
        struct sb_tree *tree = enter(roots, i - 1);

        code = sb_tree_find(tree, path->data, path->size, node);
        sb_tree_unref(tree);
    }
    return code;
}

enum sb_code sb_roots_find(struct sb_roots *roots, uint64_t parent, const char *name,
                           struct sb_node *node)
{
    CLEANUP(sb_node_release) struct sb_node above = {0};
    CLEANUP(sb_buf_release) struct sb_buf path = {0};

    if (parent == SB_INODE_TOP && has_directories(roots))
        return find_container(roots, name, node);
    TRY(sb_roots_node(roots, parent, &above));
    if (above.entry.type != SB_DIR)
        return fail_stale();
    if (sb_name_join(&path, above.entry.path, above.entry.path_size, name, strlen(name)))
        return sb_fail_memory();
    if (roots->options->united)
        TRY(find_united(roots, &above, &path, node));
    else
        TRY(sb_tree_find(above.tree, path.data, path.size, node));
    return SB_OK;
}

void sb_roots_count(struct sb_roots *roots, struct sb_roots_totals *totals)
{
    *totals = (struct sb_roots_totals){0};
    for (size_t i = 0; i < roots->count; i++) {
        struct sb_tree *tree = enter(roots, i);
        struct sb_node node = {0};

        if (!IGNORED(sb_tree_find(tree, "", 0, &node))) {
            sb_count_up(&totals->files,
                        node.entry.num_files_tree > 0 ? node.entry.num_files_tree : 0);
            sb_count_up(&totals->bytes, node.entry.size_tree > 0 ? node.entry.size_tree : 0);
        }
        sb_node_release(&node);
        sb_tree_unref(tree);
    }
}

size_t sb_roots_size(const struct sb_roots *roots)
{
    return roots->count;
}

bool sb_roots_has_directories(const struct sb_roots *roots)
{
    return has_directories(roots);
}

bool sb_roots_is_united(const struct sb_roots *roots)
{
    return roots->options->united;
}

struct sb_log *sb_roots_log(const struct sb_roots *roots)
{
    return roots->log;
}

const char *sb_roots_name(const struct sb_roots *roots, size_t i)
{
    return roots->places[i].container.name;
}

struct sb_tree *sb_roots_enter(struct sb_roots *roots, size_t i)
{
    return enter(roots, i);
}
