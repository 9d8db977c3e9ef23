/*
 * Where a walk begins.
 */
#include "store/tree/impl.h"

#include <errno.h>
#include <string.h>

void sb_tree_start_problem(const struct sb_tree *tree, int error_number)
{
    bool missing = error_number == ENOENT || error_number == ENOTDIR;

    sb_tree_problem(tree, missing ? "missing" : "unreadable", "cannot be packed", error_number);
}

/* Splits path into the directory to open and the component in it. */
static enum sb_code split_start(struct sb_tree *tree, const char *path, struct sb_buf *base)
{
    size_t end = strlen(path);
    size_t last;

    tree->follow_start = tree->options.dereference || (end > 0 && path[end - 1] == '/');
    while (end > 0 && path[end - 1] == '/')
        end--;
    last = end;
    while (last > 0 && path[last - 1] != '/')
        last--;
    if (end == 0 || (end - last == 1 && path[last] == '.') ||
        (end - last == 2 && path[last] == '.' && path[last + 1] == '.')) {
        if (sb_buf_set(base, path, strlen(path)))
            return SB_NOMEM;
        return sb_buf_set(&tree->component, ".", 1);
    }
    if (sb_buf_set(base, last > 0 ? path : ".", last > 0 ? last : 1))
        return SB_NOMEM;
    return sb_buf_set(&tree->component, path + last, end - last);
}

/* Opens the directory that holds the start. SB_END: it was said why that cannot be. */
static enum sb_code open_base(struct sb_tree *tree, int base_fd, const struct sb_buf *path)
{
    int fd;

    if (tree->base && tree->base_fd == base_fd && tree->base_path.size == path->size &&
        memcmp(tree->base_path.data, path->data, path->size) == 0)
        return SB_OK;
    sb_tree_dir_unref(tree->base);
    tree->base = NULL;
    fd = sb_tree_open_directory(base_fd, path->data, true);
    if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
        return sb_fail_errno(errno, "%s", tree->disk.data);
    if (fd < 0) {
        sb_tree_start_problem(tree, errno);
        return SB_END;
    }
    tree->base = sb_tree_dir_new(fd);
    tree->base_fd = base_fd;
    if (!tree->base || sb_buf_set(&tree->base_path, path->data, path->size))
        return sb_fail_memory();
    return SB_OK;
}

enum sb_code sb_tree_start(struct sb_tree *tree, int base_fd, const char *path, const char *name,
                           size_t name_size)
{
    struct sb_buf base = {0};
    enum sb_code code = SB_OK;

    while (tree->depth > 0)
        sb_tree_leave(tree);
    tree->start_waits = false;
    tree->start_type = 0;
    if (path[0] == '\0')
        return sb_fail(SB_INVALID, "an empty path");
    if (split_start(tree, path, &base) || sb_buf_set(&tree->name, name, name_size) ||
        sb_buf_set(&tree->disk, path, strlen(path)))
        code = sb_fail_memory();
    else
        code = open_base(tree, base_fd, &base);
    sb_buf_release(&base);
    tree->start_waits = code == SB_OK;
    return code == SB_END ? SB_OK : code;
}

enum sb_code sb_tree_start_found(struct sb_tree *tree, int base_fd, const char *path,
                                 const char *name, size_t name_size, const struct stat *found)
{
    static const char here[] = ".";
    const struct sb_buf base = {.data = (char *)here, .size = 1};
    unsigned type = found->st_mode & S_IFMT;
    enum sb_code code;

    if (type == S_IFDIR || (type == S_IFLNK && tree->options.dereference))
        return sb_tree_start(tree, base_fd, path, name, name_size);
    while (tree->depth > 0)
        sb_tree_leave(tree);
    tree->start_waits = false;
    tree->start_type = type;
    tree->follow_start = false;
    if (sb_buf_set(&tree->component, path, strlen(path)) ||
        sb_buf_set(&tree->name, name, name_size) || sb_buf_set(&tree->disk, path, strlen(path)))
        return sb_fail_memory();
    code = open_base(tree, base_fd, &base);
    tree->start_waits = code == SB_OK;
    return code == SB_END ? SB_OK : code;
}
