#include "task/verify/treestat.h"

#include "core/buf.h"
#include "core/number.h"

#include <stdlib.h>
#include <string.h>

/*
 * Bytewise order of paths is not the order of a walk: "a", "a-b", "a/x" puts another file between a
 * directory and what is below it, because '-' sorts before '/'. Sorted as "a-b", "a/", "a/x", with
 * a '/' after the names of directories, every subtree is one run of rows. So the row of a directory
 * waits until the rows reach its name with the '/'. Of the waiting names each is a prefix of the
 * next ("a", "a-", "a--"), and so are the open ones ("a", "a/b"): two stacks of lengths, each over
 * one path.
 */
struct level {
    size_t size; /* length of the directory's name, which begins the stack's path */
    bool has_row;
    int64_t id;
    struct sb_tree_sums stored;
    struct sb_tree_sums computed;
};

struct levels {
    struct level *items;
    size_t count;
    size_t capacity;
};

struct sb_treestat {
    sb_treestat_closed *closed;
    void *context;
    struct levels waiting;
    struct sb_buf last; /* path of the last row; all waiting directories begin it */
    bool begun;
    struct levels open; /* items[0] is the root, always there */
    struct sb_buf deep; /* path of the innermost open directory */
};

static struct level *push(struct levels *levels, size_t size)
{
    if (IGNORED(sb_grow(&levels->items, &levels->capacity, levels->count, sizeof(*levels->items))))
        return NULL;
    struct level *level = &levels->items[levels->count++];
    *level = (struct level){.size = size};
    return level;
}

struct sb_treestat *sb_treestat_new(sb_treestat_closed *closed, void *context)
{
    struct sb_treestat *tree = calloc(1, sizeof(*tree));
    if (!tree)
        return NULL;
    tree->closed = closed;
    tree->context = context;
    if (!push(&tree->open, 0)) {
        sb_treestat_free(tree);
        return NULL;
    }
    return tree;
}

void sb_treestat_free(struct sb_treestat *tree)
{
    if (!tree)
        return;
    sb_buf_release(&tree->last);
    sb_buf_release(&tree->deep);
    free(tree->waiting.items);
    free(tree->open.items);
    free(tree);
}

/* rtrim(rtrim(path, replace(path, '/', '')), '/'), as SQLite computes `parent` */
static size_t parent_size(const char *path, size_t size)
{
    while (size > 0 && path[size - 1] != '/')
        size--;
    while (size > 0 && path[size - 1] == '/')
        size--;
    return size;
}

static enum sb_code close_innermost(struct sb_treestat *tree)
{
    struct level level = tree->open.items[--tree->open.count];
    struct sb_treestat_dir dir = {
        .path = level.size ? tree->deep.data : "",
        .path_size = level.size,
        .has_row = level.has_row,
        .id = level.id,
        .stored = level.stored,
        .computed = level.computed,
    };
    if (tree->open.count > 0) {
        struct sb_tree_sums *above = &tree->open.items[tree->open.count - 1].computed;
        sb_count_up(&above->num_files_tree, level.computed.num_files_tree);
        sb_count_up(&above->size_tree, level.computed.size_tree);
    }
    return tree->closed(tree->context, &dir);
}

/* Is the innermost open directory path[0..size] or above it? */
static bool holds(const struct sb_treestat *tree, const char *path, size_t size)
{
    size_t top = tree->open.items[tree->open.count - 1].size;
    if (top == 0)
        return true;
    return top <= size && (top == size || path[top] == '/') &&
           memcmp(tree->deep.data, path, top) == 0;
}

static struct level *open_level(struct sb_treestat *tree, size_t size)
{
    struct level *above = &tree->open.items[tree->open.count - 1];
    sb_count_up(&above->computed.num_subdirs, 1);
    return push(&tree->open, size);
}

/*
 * Makes the directory path[0..size] the innermost open one: closes what does not hold it, and opens
 * those between that have no row.
 */
static enum sb_code enter(struct sb_treestat *tree, const char *path, size_t size)
{
    while (!holds(tree, path, size))
        TRY(close_innermost(tree));
    size_t top = tree->open.items[tree->open.count - 1].size;
    if (top == size)
        return SB_OK;
    TRY(sb_buf_set(&tree->deep, path, size));
    for (size_t end = top + 1; end <= size; end++) {
        bool ends_here = end == size || (path[end] == '/' && path[end - 1] != '/');
        if (ends_here && !open_level(tree, end))
            return sb_fail_memory();
    }
    return SB_OK;
}

static enum sb_code take_dir(struct sb_treestat *tree, const char *path, const struct level *row)
{
    TRY(enter(tree, path, parent_size(path, row->size)));
    TRY(sb_buf_set(&tree->deep, path, row->size));
    struct level *level = open_level(tree, row->size);
    if (!level)
        return sb_fail_memory();
    level->has_row = true;
    level->id = row->id;
    level->stored = row->stored;
    return SB_OK;
}

/* Does `name` followed by '/' come at or before path? */
static bool is_due(const char *name, size_t size, const char *path, size_t path_size)
{
    if (path_size <= size)
        return sb_compare_bytes(path, path_size, name, size) > 0;
    int order = memcmp(path, name, size);
    if (order != 0)
        return order > 0;
    return (unsigned char)path[size] >= '/';
}

/* Takes the waiting directories whose turn is before path (NULL: all of them). */
static enum sb_code take_waiting(struct sb_treestat *tree, const char *path, size_t path_size)
{
    while (tree->waiting.count > 0) {
        const struct level *row = &tree->waiting.items[tree->waiting.count - 1];
        if (path && !is_due(tree->last.data, row->size, path, path_size))
            break;
        TRY(take_dir(tree, tree->last.data, row));
        tree->waiting.count--;
    }
    return SB_OK;
}

/* Called before every row but the root's. */
static enum sb_code advance(struct sb_treestat *tree, const char *path, size_t path_size)
{
    const char *last = tree->last.size ? tree->last.data : "";
    if (tree->begun && sb_compare_bytes(path, path_size, last, tree->last.size) < 0)
        return sb_fail(SB_DAMAGED, "rows are out of order: '%.*s' comes after '%.*s'",
                       (int)(path_size < 300 ? path_size : 300), path,
                       (int)(tree->last.size < 300 ? tree->last.size : 300), last);
    TRY(take_waiting(tree, path, path_size));
    tree->begun = true;
    return sb_buf_set(&tree->last, path, path_size);
}

enum sb_code sb_treestat_file(struct sb_treestat *tree, const char *path, size_t path_size,
                              int64_t file_size)
{
    TRY(advance(tree, path, path_size));
    TRY(enter(tree, path, parent_size(path, path_size)));
    struct sb_tree_sums *sums = &tree->open.items[tree->open.count - 1].computed;
    sb_count_up(&sums->num_files, 1);
    sb_count_up(&sums->num_files_tree, 1);
    sb_count_up(&sums->size_tree, file_size);
    return SB_OK;
}

enum sb_code sb_treestat_dir(struct sb_treestat *tree, const char *path, size_t path_size,
                             const struct sb_tree_sums *stored, int64_t id)
{
    if (path_size == 0) {
        struct level *root = &tree->open.items[0];
        if (!root->has_row) {
            root->has_row = true;
            root->id = id;
            root->stored = *stored;
        }
        return SB_OK;
    }
    TRY(advance(tree, path, path_size));
    size_t waiting = tree->waiting.count;
    if (waiting > 0 && tree->waiting.items[waiting - 1].size == path_size)
        return SB_OK;
    struct level *row = push(&tree->waiting, path_size);
    if (!row)
        return sb_fail_memory();
    row->id = id;
    row->stored = *stored;
    return SB_OK;
}

enum sb_code sb_treestat_end(struct sb_treestat *tree)
{
    TRY(take_waiting(tree, NULL, 0));
    while (tree->open.count > 0)
        TRY(close_innermost(tree));
    return SB_OK;
}
