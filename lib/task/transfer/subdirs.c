#include "task/transfer/subdirs.h"

#include "core/name.h"
#include "store/container.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The last component of a path that may end in '/'; the caller frees it. */
static char *last_component(const char *path)
{
    size_t size = strlen(path);
    const char *slash;

    while (size > 0 && path[size - 1] == '/')
        size--;
    slash = size ? memrchr(path, '/', size) : NULL;
    return slash ? strndup(slash + 1, (size_t)(path + size - slash - 1)) : strndup(path, size);
}

/* For "." and ".." the directory's own name. */
static char *name_of(const char *path)
{
    char *name = last_component(path), *real;

    if (!name || (strcmp(name, ".") != 0 && strcmp(name, "..") != 0))
        return name;
    real = realpath(path, NULL);
    if (!real)
        return name;
    free(name);
    name = last_component(real);
    free(real);
    return name;
}

static enum sb_code make_one(char **out, const char *path, const char *prefix)
{
    CLEANUP(sb_freep) char *name = name_of(path);

    if (!name)
        return sb_fail_memory();
    name[sb_container_base_size(name)] = '\0';
    if (strcmp(path, "-") == 0)
        return sb_fail(SB_INVALID, "standard input has no name to be a subdirectory's");
    if (sb_name_problem(name, strlen(name)))
        return sb_fail(SB_INVALID, "%s: has no name that a subdirectory could have", path);
    if (asprintf(out, "%s%s%s", prefix ? prefix : "", prefix ? "/" : "", name) < 0)
        return sb_fail_memory();
    return SB_OK;
}

struct named {
    const char *subdir;
    const char *path;
};

static int compare(const void *a, const void *b)
{
    const struct named *x = a, *y = b;

    return strcmp(x->subdir, y->subdir);
}

static enum sb_code refuse_alike(char *const *subdirs, char *const *paths, size_t count)
{
    CLEANUP(sb_freep) struct named *sorted = NULL;

    TRY(SB_NEW_ARRAY(&sorted, count + 1));
    for (size_t i = 0; i < count; i++)
        sorted[i] = (struct named){subdirs[i], paths[i]};
    qsort(sorted, count, sizeof(*sorted), compare);
    for (size_t i = 1; i < count; i++) {
        if (strcmp(sorted[i].subdir, sorted[i - 1].subdir) == 0)
            return sb_fail(SB_INVALID,
                           "%s and %s: both would be the subdirectory %s; give one another name",
                           sorted[i - 1].path, sorted[i].path, sorted[i].subdir);
    }
    return SB_OK;
}

enum sb_code sb_subdirs_new(char ***out, char *const *paths, size_t count, const char *prefix)
{
    char **subdirs;
    enum sb_code code = SB_NEW_ARRAY(&subdirs, count + 1);

    for (size_t i = 0; code == SB_OK && i < count; i++)
        code = make_one(&subdirs[i], paths[i], prefix);
    if (code == SB_OK)
        code = refuse_alike(subdirs, paths, count);
    if (code) {
        sb_subdirs_free(subdirs, count);
        subdirs = NULL;
    }
    *out = subdirs;
    return code;
}

void sb_subdirs_free(char **subdirs, size_t count)
{
    for (size_t i = 0; subdirs && i < count; i++)
        free(subdirs[i]);
    free(subdirs);
}
