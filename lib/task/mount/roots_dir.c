/*
 * Directories: of containers, of one of them, or of several as one tree, in order of name.
 */
#include "task/mount/log.h"
#include "task/mount/private.h"

#include <stdlib.h>
#include <string.h>

#define NAME_MOST 1024 /* bytes that the system takes in one name */

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

/* A container of a united tree has this directory, too, or not. */
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
    struct sb_inode inode = sb_inode_unpack(place);
    struct sb_node child = {0};
    enum sb_code code = SB_CHANGED;

    if (inode.container >= 1 && inode.container <= sb_roots_size(dir->roots)) {
        struct sb_tree *tree = sb_roots_enter(dir->roots, inode.container - 1);

        code = sb_tree_at_place(tree, &inode, &child);
        sb_tree_unref(tree);
    }
    if (!code && !is_in(&child.entry, &node->entry))
        code = SB_CHANGED;
    if (!code && sb_buf_set(name, child.entry.path + dir->base, child.entry.path_size - dir->base))
        code = sb_fail_memory();
    sb_node_release(&child);
    return code == SB_CHANGED ? sb_fail(SB_CHANGED, "is not in the directory any more") : code;
}

static enum sb_code open_sides(struct sb_roots_dir *dir, const struct sb_node *node,
                               const char *after)
{
    const size_t count = sb_roots_is_united(dir->roots) ? sb_roots_size(dir->roots) : 1;
    enum sb_code code;
    size_t lowest;

    dir->sides = calloc(count, sizeof(*dir->sides));
    if (!dir->sides)
        return sb_fail_memory();
    if (count == 1)
        return add_side(dir, node->tree, node->entry.path, after);
    code = sb_roots_lowest(dir->roots, node, &lowest);
    for (size_t i = lowest; !code && i < count; i++) {
        struct sb_tree *tree = sb_roots_enter(dir->roots, i);

        code = add_side(dir, tree, node->entry.path, after);
        sb_tree_unref(tree);
    }
    return code;
}

static enum sb_code open_dir(struct sb_roots_dir *dir, uint64_t number,
                             const struct sb_roots_from *from)
{
    const char *after = from->name;
    struct sb_buf name = {0};
    struct sb_node node = {0};
    enum sb_code code = sb_roots_node(dir->roots, number, &node);

    if (!code && node.entry.type != SB_DIR)
        code = sb_fail(SB_CHANGED, "is no directory any more");
    dir->base = node.entry.path_size + (node.entry.path_size > 0);
    if (!code && from->place && !after) {
        code = find_place(dir, &node, from->place, &name);
        after = name.data;
    }
    if (!code)
        code = open_sides(dir, &node, after);
    sb_buf_release(&name);
    sb_node_release(&node);
    return code;
}

enum sb_code sb_roots_dir_open(struct sb_roots_dir **out, struct sb_roots *roots, uint64_t number,
                               const struct sb_roots_from *from, bool names)
{
    CLEANUP(sb_roots_dir_freep) struct sb_roots_dir *dir = calloc(1, sizeof(*dir));

    *out = NULL;
    if (!dir)
        return sb_fail_memory();
    dir->roots = roots;
    dir->names = names;
    dir->of_containers = number == SB_INODE_TOP && sb_roots_has_directories(roots);
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

    if (i >= sb_roots_size(dir->roots))
        return SB_END;
    dir->next_container++;
    *item = (struct sb_roots_item){.name = sb_roots_name(dir->roots, i)};
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
        sb_log_add(sb_roots_log(dir->roots), SB_PROBLEM, "name", entry->path,
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
    enum sb_code code = SB_NOENT;

    while (code == SB_NOENT) {
        struct side *side;

        code = refill(dir);
        side = code ? NULL : choose(dir);
        if (!code)
            code = side ? take(dir, side, item) : SB_END;
    }
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
