#include "task/mount/roots.h"

#include "archive/archive.h"
#include "archive/database.h"
#include "core/context.h"
#include "core/io.h"
#include "core/name.h"
#include "core/number.h"
#include "core/time.h"
#include "store/shard_spec.h"
#include "task/mount/log.h"
#include "task/mount/reading.h"

#include <dirent.h>
#include <libgen.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_EVERY (SB_SECOND / 2) /* for another archive in the place of one */
#define NAME_MOST  1024            /* bytes that the system takes in one name */

struct place {
    struct sb_mount_container container;
    pthread_mutex_t lock;
    struct sb_tree *tree; /* under the lock, as the others below */
    int64_t looked;
    bool failed; /* the other archive could not be opened, and that is logged */
};

struct sb_roots {
    const struct sb_mount_options *options;
    struct sb_log *log;
    struct sb_notify notify;
    int64_t lifetime;
    struct place *places;
    size_t count;
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
    CLEANUP(sb_roots_freep) struct sb_roots *roots = NULL;

    *out = NULL;
    TRY(refuse_twins(options));
    TRY(SB_NEW(&roots));
    roots->options = options;
    roots->log = log;
    roots->notify = sb_log_notify(log);
    roots->lifetime = options->immutable ? SB_TREE_IMMUTABLE : SB_SECOND;
    TRY(SB_NEW_ARRAY(&roots->places, options->count + 1));
    while (roots->count < options->count) {
        const size_t i = roots->count++;
        struct place *place = &roots->places[i];

        place->container = options->containers[i];
        place->container.opening.notify = &roots->notify;
        pthread_mutex_init(&place->lock, NULL);
        TRY(open_place(roots, i, 0, &place->tree));
        place->looked = sb_clock_ns();
    }
    *out = TAKE(roots);
    return SB_OK;
}

void sb_roots_free(struct sb_roots *roots)
{
    if (!roots)
        return;
    for (size_t i = 0; i < roots->count; i++) {
        sb_tree_unref(roots->places[i].tree);
        pthread_mutex_destroy(&roots->places[i].lock);
    }
    free(roots->places);
    free(roots);
}

/* As most directories are that something is mounted at. */
static bool is_empty(const char *dir)
{
    CLEANUP(closedirp) DIR *list = opendir(dir);
    const struct dirent *entry;
    bool empty = list != NULL;

    while (empty && (entry = readdir(list)))
        empty = strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    return empty;
}

/* What is not there hides nothing: it is reported where it is used. */
static enum sb_code check_path(const char *path, const char *dir)
{
    CLEANUP(sb_freep) char *real = realpath(path, NULL);

    if (real && sb_name_within(real + 1, strlen(real + 1), dir + 1, strlen(dir + 1)))
        return sb_fail(SB_INVALID,
                       "%s: is inside of %s, and what is mounted there would hide it; mount it at "
                       "another directory",
                       path, dir);
    return SB_OK;
}

/* The links in a directory that are shards of an archive of this name. */
static enum sb_code check_shards(const char *folder, const char *name, const char *dir)
{
    static const char middle[] = "-shard-";
    const size_t size = sb_index_base_size(name);
    CLEANUP(closedirp) DIR *list = opendir(folder);
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    const struct dirent *entry;

    while (list && (entry = readdir(list))) {
        if ((entry->d_type != DT_LNK && entry->d_type != DT_UNKNOWN) ||
            strncmp(entry->d_name, name, size) != 0 ||
            strncmp(entry->d_name + size, middle, strlen(middle)) != 0)
            continue;
        sb_buf_clear(&path);
        TRY(sb_buf_add_format(&path, "%s/%s", folder, entry->d_name));
        TRY(check_path(path.data, dir));
    }
    return SB_OK;
}

/* A file, the directory that has it, and its shards there. */
static enum sb_code check_file(const char *path, const char *dir)
{
    CLEANUP(sb_freep) char *copy = strdup(path);
    const char *folder;

    if (!copy)
        return sb_fail_memory();
    folder = dirname(copy);
    TRY(check_path(path, dir));
    TRY(check_path(folder, dir));
    return check_shards(folder, sb_base_name(path), dir);
}

/* By the name that was given, and, of an index, by its own. */
static enum sb_code check_names(const char *path, const char *index, const char *dir)
{
    CLEANUP(sb_buf_release) struct sb_buf limits = {0};

    TRY(check_file(path, dir));
    if (index)
        TRY(check_file(index, dir));
    if (!sb_is_bag_name(path))
        return SB_OK;
    return sb_limits_name(path, &limits) ? sb_fail_memory() : check_path(limits.data, dir);
}

static enum sb_code check_specs(const char *specs, const char *dir)
{
    CLEANUP(sb_spec_release) struct sb_spec beside = {0};

    TRY(sb_spec_beside(&beside, specs));
    for (size_t i = 0; i < beside.count; i++) {
        CLEANUP(sb_spec_release) struct sb_spec files = {0};

        TRY(sb_spec_expand(&files, beside.paths[i]));
        for (size_t k = 0; k < files.count; k++)
            TRY(check_names(files.paths[k], NULL, dir));
    }
    return SB_OK;
}

/* Where members are unpacked, which no archive has. */
static enum sb_code check_temporary(const char *path, const char *dir)
{
    const char *temporary = sb_context_now->temporary;
    enum sb_code code = check_path(temporary ? temporary : SB_MOUNT_TEMPORARY, dir);

    return code == SB_INVALID && sb_archive_looks_like(path) ? SB_OK : code;
}

static enum sb_code refuse_hidden(const char *path, const char *dir)
{
    CLEANUP(sb_freep) char *index = NULL;

    TRY(check_temporary(path, dir));
    if (is_empty(dir))
        return SB_OK;
    index = IGNORED(sb_index_file(path));
    return index || access(path, F_OK) == 0 ? check_names(path, index, dir)
                                            : check_specs(path, dir);
}

enum sb_code sb_roots_refuse_hidden(const struct sb_roots *roots, const char *dir)
{
    for (size_t i = 0; i < roots->count; i++)
        TRY(refuse_hidden(roots->places[i].container.path, dir));
    return SB_OK;
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

/* The current tree of container number i, from 0; the caller becomes a holder. */
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

enum sb_code sb_roots_node(struct sb_roots *roots, uint64_t number, struct sb_node *node)
{
    const struct sb_inode inode = sb_inode_unpack(number);
    CLEANUP(sb_tree_unrefp) struct sb_tree *tree = NULL;

    if (number == SB_INODE_TOP && has_directories(roots)) {
        node->entry =
            (struct sb_entry){.type = SB_DIR, .path = "", .num_subdirs = (int64_t)roots->count};
        return SB_OK;
    }
    if (number == SB_INODE_TOP) {
        tree = enter(roots, roots->count - 1);
        return sb_tree_find(tree, "", 0, node);
    }
    if (inode.container < 1 || inode.container > roots->count)
        return fail_stale();
    tree = enter(roots, inode.container - 1);
    if (inode.epoch != sb_tree_epoch(tree) % SB_INODE_EPOCHS)
        return fail_stale();
    return sb_tree_node(tree, &inode, node);
}

static enum sb_code find_container(struct sb_roots *roots, const char *name, struct sb_node *node)
{
    for (size_t i = 0; i < roots->count; i++) {
        CLEANUP(sb_tree_unrefp) struct sb_tree *tree = NULL;

        if (strcmp(roots->places[i].container.name, name) != 0)
            continue;
        tree = enter(roots, i);
        return sb_tree_find(tree, "", 0, node);
    }
    return SB_NOENT;
}

/* Has a container something that is no directory at that path, or above it? */
static enum sb_code look_for_cover(struct sb_tree *tree, const struct sb_entry *dir, bool *covers)
{
    *covers = false;
    for (size_t end = 0; !*covers && end < dir->path_size; end++) {
        const char *slash = memchr(dir->path + end, '/', dir->path_size - end);
        CLEANUP(sb_node_release) struct sb_node node = {0};
        enum sb_code code;

        end = slash ? (size_t)(slash - dir->path) : dir->path_size;
        code = sb_tree_find(tree, dir->path, end, &node);
        if (code)
            return code == SB_NOENT ? SB_OK : code;
        *covers = node.entry.type != SB_DIR;
    }
    return SB_OK;
}

/*
 * Of a directory of a united tree, the first container whose part of it is seen: what is no
 * directory in a later one, at its path or above it, hides those before.
 */
static enum sb_code find_lowest(struct sb_roots *roots, const struct sb_node *dir,
                                size_t *container)
{
    bool covers = false;

    if (dir->noted > 0) {
        *container = dir->noted - 1;
        return SB_OK;
    }
    *container = roots->count;
    while (!covers && *container > 0) {
        CLEANUP(sb_tree_unrefp) struct sb_tree *tree = enter(roots, *container - 1);

        TRY(look_for_cover(tree, &dir->entry, &covers));
        *container -= !covers;
    }
    sb_tree_note(dir, *container + 1);
    return SB_OK;
}

/* A name in a directory of a united tree: of the containers that have it, the last. */
static enum sb_code find_united(struct sb_roots *roots, const struct sb_node *dir,
                                const struct sb_buf *path, struct sb_node *node)
{
    enum sb_code code = SB_NOENT;
    size_t lowest;

    TRY(find_lowest(roots, dir, &lowest));
    for (size_t i = roots->count; code == SB_NOENT && i > lowest; i--) {
        CLEANUP(sb_tree_unrefp) struct sb_tree *tree = enter(roots, i - 1);

        code = sb_tree_find(tree, path->data, path->size, node);
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
    TRY(sb_name_join(&path, above.entry.path, above.entry.path_size, name, strlen(name)));
    return roots->options->united ? find_united(roots, &above, &path, node)
                                  : sb_tree_find(above.tree, path.data, path.size, node);
}

void sb_roots_count(struct sb_roots *roots, int64_t *files, int64_t *bytes)
{
    *files = *bytes = 0;
    for (size_t i = 0; i < roots->count; i++) {
        CLEANUP(sb_tree_unrefp) struct sb_tree *tree = enter(roots, i);
        CLEANUP(sb_node_release) struct sb_node node = {0};

        if (IGNORED(sb_tree_find(tree, "", 0, &node)))
            continue;
        sb_count_up(files, node.entry.num_files_tree > 0 ? node.entry.num_files_tree : 0);
        sb_count_up(bytes, node.entry.size_tree > 0 ? node.entry.size_tree : 0);
    }
}

/* A directory as one container has it. */
struct side {
    struct sb_tree *tree;
    struct sb_tree_dir *dir; /* NULL: at its end */
    struct sb_entry entry;   /* the next one */
    bool there;
};

struct sb_roots_dir {
    struct sb_roots *roots;
    bool of_containers;
    bool names; /* no more than those, and types */
    size_t next_container;
    struct side *sides; /* the later ones count more */
    size_t count;
    size_t base;        /* of a path, the bytes before the name */
    struct side *used;  /* whose entry was returned, and is not replaced yet */
    struct sb_buf name; /* the last one, of several sides */
    bool any_left_out;
    struct sb_error failure; /* the sides are then not where they should be, and it stays */
};

void sb_roots_dir_free(struct sb_roots_dir *dir)
{
    if (!dir)
        return;
    for (size_t i = 0; i < dir->count; i++) {
        sb_tree_dir_free(dir->sides[i].dir);
        sb_tree_unref(dir->sides[i].tree);
    }
    sb_buf_release(&dir->name);
    free(dir->sides);
    free(dir);
}

/* Of a united tree, a container may have this directory or not. */
static enum sb_code add_side(struct sb_roots_dir *dir, struct sb_tree *tree, const char *path,
                             const char *after)
{
    struct side *side = &dir->sides[dir->count];

    TRY(sb_tree_dir_open(&side->dir, tree, path, after, dir->names));
    side->tree = sb_tree_ref(tree);
    dir->count++;
    return SB_OK;
}

static bool is_in(const struct sb_entry *entry, const struct sb_entry *dir)
{
    return entry->path_size > 0 &&
           sb_parent_size(entry->path, entry->path_size) == dir->path_size &&
           memcmp(entry->path, dir->path, dir->path_size) == 0;
}

/* The name of the entry at a place of this directory, as a text of its own in `name`. */
static enum sb_code find_place(struct sb_roots_dir *dir, const struct sb_node *node, uint64_t place,
                               struct sb_buf *name)
{
    const struct sb_inode inode = sb_inode_unpack(place);
    CLEANUP(sb_tree_unrefp) struct sb_tree *tree = NULL;
    CLEANUP(sb_node_release) struct sb_node child = {0};
    enum sb_code code = SB_CHANGED;

    if (inode.container >= 1 && inode.container <= dir->roots->count) {
        tree = enter(dir->roots, inode.container - 1);
        code = sb_tree_at_place(tree, &inode, &child);
    }
    if (code == SB_CHANGED || (!code && !is_in(&child.entry, &node->entry)))
        return sb_fail(SB_CHANGED, "is not in the directory any more");
    TRY(code);
    TRY(sb_buf_set(name, child.entry.path + dir->base, child.entry.path_size - dir->base));
    return SB_OK;
}

static enum sb_code open_sides(struct sb_roots_dir *dir, const struct sb_node *node,
                               const char *after)
{
    const size_t count = dir->roots->options->united ? dir->roots->count : 1;
    size_t lowest;

    TRY(SB_NEW_ARRAY(&dir->sides, count));
    if (count == 1)
        return add_side(dir, node->tree, node->entry.path, after);
    TRY(find_lowest(dir->roots, node, &lowest));
    for (size_t i = lowest; i < count; i++) {
        CLEANUP(sb_tree_unrefp) struct sb_tree *tree = enter(dir->roots, i);

        TRY(add_side(dir, tree, node->entry.path, after));
    }
    return SB_OK;
}

static enum sb_code open_dir(struct sb_roots_dir *dir, uint64_t number,
                             const struct sb_roots_from *from)
{
    const char *after = from->name;
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    CLEANUP(sb_node_release) struct sb_node node = {0};

    TRY(sb_roots_node(dir->roots, number, &node));
    if (node.entry.type != SB_DIR)
        return sb_fail(SB_CHANGED, "is no directory any more");
    dir->base = node.entry.path_size + (node.entry.path_size > 0);
    if (from->place && !after) {
        TRY(find_place(dir, &node, from->place, &name));
        after = name.data;
    }
    return open_sides(dir, &node, after);
}

enum sb_code sb_roots_dir_open(struct sb_roots_dir **out, struct sb_roots *roots, uint64_t number,
                               const struct sb_roots_from *from, bool names)
{
    CLEANUP(sb_roots_dir_freep) struct sb_roots_dir *dir = NULL;

    *out = NULL;
    TRY(SB_NEW(&dir));
    dir->roots = roots;
    dir->names = names;
    dir->of_containers = number == SB_INODE_TOP && has_directories(roots);
    if (dir->of_containers)
        dir->next_container = sb_inode_unpack(from->place).container;
    else
        TRY(open_dir(dir, number, from));
    *out = TAKE(dir);
    return SB_OK;
}

static enum sb_code next_container(struct sb_roots_dir *dir, struct sb_roots_item *item)
{
    static const struct sb_entry unread = {
        .type = SB_DIR, .path = "", .defect = "is not looked at"};
    size_t i = dir->next_container;

    if (i >= dir->roots->count)
        return SB_END;
    dir->next_container++;
    *item = (struct sb_roots_item){.name = dir->roots->places[i].container.name};
    item->inode = (struct sb_inode){.container = (unsigned)i + 1, .kind = SB_INODE_DIR};
    item->entry = &unread;
    item->place = sb_inode_place(&item->inode);
    return SB_OK;
}

/* Of all sides, moves on those whose entry was returned, or has the name of one that was. */
static enum sb_code refill(struct sb_roots_dir *dir)
{
    for (size_t i = 0; i < dir->count; i++) {
        struct side *side = &dir->sides[i];

        while (side->dir &&
               (!side->there || side == dir->used ||
                (dir->count > 1 && dir->name.data &&
                 sb_compare_bytes(side->entry.path + dir->base, side->entry.path_size - dir->base,
                                  dir->name.data, dir->name.size) == 0))) {
            enum sb_code code = sb_tree_dir_next(side->dir, &side->entry);

            if (side == dir->used)
                dir->used = NULL;
            side->there = !code;
            if (code == SB_END) {
                sb_tree_dir_free(side->dir);
                side->dir = NULL;
            } else if (code) {
                return code;
            }
        }
    }
    return SB_OK;
}

/* The side with the least name; of those with the same, the last. */
static struct side *choose(struct sb_roots_dir *dir)
{
    struct side *best = NULL;

    for (size_t i = 0; i < dir->count; i++) {
        struct side *side = &dir->sides[i];

        if (side->dir && (!best || sb_compare_bytes(side->entry.path, side->entry.path_size,
                                                    best->entry.path, best->entry.path_size) <= 0))
            best = side;
    }
    return best;
}

/* The name, if a directory of the system can have it. */
static bool is_usable(const char *name, size_t size)
{
    return size > 0 && size <= NAME_MOST && !memchr(name, '/', size) && !memchr(name, '\0', size) &&
           strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
}

/* Once for a directory: there may be many. */
static void leave_out(struct sb_roots_dir *dir, const struct sb_entry *entry, const char *why)
{
    if (!dir->any_left_out)
        sb_log_add(dir->roots->log, SB_PROBLEM, "name", entry->path,
                   "left out of its directory, perhaps with others: %s", why);
    dir->any_left_out = true;
}

/* SB_NOENT: it is left out. */
static enum sb_code take(struct sb_roots_dir *dir, struct side *side, struct sb_roots_item *item)
{
    const struct sb_entry *entry = &side->entry;
    enum sb_code code;

    *item =
        (struct sb_roots_item){.name = entry->path + dir->base, .tree = side->tree, .entry = entry};
    dir->used = side;
    if (dir->count > 1 && sb_buf_set(&dir->name, item->name, entry->path_size - dir->base))
        return sb_fail_memory();
    if (!is_usable(item->name, entry->path_size - dir->base)) {
        leave_out(dir, entry, "no file system can hold its name");
        return SB_NOENT;
    }
    code = sb_tree_number(side->tree, entry, &item->inode);
    if (code == SB_LIMIT) {
        leave_out(dir, entry, "its row number cannot be shown");
        return SB_NOENT;
    }
    item->place = sb_inode_place(&item->inode);
    return code;
}

static enum sb_code next(struct sb_roots_dir *dir, struct sb_roots_item *item)
{
    enum sb_code code;

    do {
        struct side *side;

        TRY(refill(dir));
        side = choose(dir);
        code = side ? take(dir, side, item) : SB_END;
    } while (code == SB_NOENT);
    return code;
}

enum sb_code sb_roots_dir_next(struct sb_roots_dir *dir, struct sb_roots_item *item)
{
    enum sb_code code;

    if (dir->of_containers)
        return next_container(dir, item);
    if (dir->failure.code) {
        *sb_error() = dir->failure;
        return sb_error()->code;
    }
    code = next(dir, item);
    if (code && code != SB_END)
        dir->failure = *sb_error();
    return code;
}
