#include "store/cache/names.h"
#include "task/verify/cache_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

/* Called with each file, of any type, of the two directories; path is relative to the cache's. */
typedef enum sb_code each_file(void *context, const char *path, const char *name,
                               const struct stat *st);

static enum sb_code walk(DIR *dir, const char *prefix, each_file *each, void *context)
{
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    struct dirent *entry;
    struct stat st;

    while ((errno = 0, entry = readdir(dir))) {
        /* A file that vanished meanwhile belonged to a job. */
        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW))
            continue;
        sb_buf_clear(&path);
        TRY(sb_buf_add_format(&path, "%s%s", prefix, entry->d_name)
                ? sb_fail_memory()
                : each(context, path.data, entry->d_name, &st));
    }
    if (errno)
        return sb_fail_errno(errno, "%s", *prefix ? prefix : ".");
    return SB_OK;
}

static enum sb_code walk_in(const char *root, const char *prefix, each_file *each, void *context)
{
    struct sb_buf name = {0};
    DIR *dir = NULL;
    enum sb_code code = SB_OK;

    if (sb_buf_add_format(&name, "%s/%s", root, prefix))
        code = sb_fail_memory();
    if (!code)
        dir = opendir(name.data);
    if (!code && !dir && errno != ENOENT)
        code = sb_fail_errno(errno, "%s", name.data);
    if (dir) {
        code = walk(dir, prefix, each, context);
        closedir(dir);
    }
    sb_buf_release(&name);
    return code;
}

static enum sb_code each_in_cache(const char *root, each_file *each, void *context)
{
    TRY(walk_in(root, "", each, context));
    return walk_in(root, "segments/", each, context);
}

static enum sb_code keep_leftover(void *context, const char *path, const char *name,
                                  const struct stat *st)
{
    struct sb_cache_check *check = context;

    if (!S_ISREG(st->st_mode) || !sb_cache_is_leftover(name))
        return SB_OK;
    TRY(sb_grow(&check->leftovers, &check->leftover_capacity, check->leftover_count,
                sizeof(*check->leftovers)));
    check->leftovers[check->leftover_count] =
        (struct sb_cache_leftover){.path = strdup(path), .st = *st};
    if (!check->leftovers[check->leftover_count].path)
        return sb_fail_memory();
    check->leftover_count++;
    return SB_OK;
}

static int by_path(const void *a, const void *b)
{
    const struct sb_cache_leftover *x = a, *y = b;

    return strcmp(x->path, y->path);
}

enum sb_code sb_cache_find_leftovers(struct sb_cache_check *check)
{
    TRY(each_in_cache(check->dir, keep_leftover, check));
    if (check->leftover_count > 0)
        qsort(check->leftovers, check->leftover_count, sizeof(*check->leftovers), by_path);
    for (size_t i = 0; i < check->leftover_count; i++)
        sb_cache_defect(check, SB_REMEDY_LEFTOVERS, "leftover", check->leftovers[i].path,
                        strlen(check->leftovers[i].path),
                        "was never finished: its writer was interrupted, or is at work");
    return SB_OK;
}

void sb_cache_free_leftovers(struct sb_cache_check *check)
{
    for (size_t i = 0; i < check->leftover_count; i++)
        free(check->leftovers[i].path);
    free(check->leftovers);
}

struct newest {
    int64_t *time;
    struct sb_buf *path;
};

static enum sb_code note_time(void *context, const char *path, const char *name,
                              const struct stat *st)
{
    struct newest *newest = context;

    (void)name;
    if (!S_ISREG(st->st_mode) || (newest->path->size > 0 && st->st_mtim.tv_sec <= *newest->time))
        return SB_OK;
    *newest->time = st->st_mtim.tv_sec;
    return sb_buf_set(newest->path, path, strlen(path)) ? sb_fail_memory() : SB_OK;
}

enum sb_code sb_cache_newest(struct sb_cache_check *check, int64_t *time, struct sb_buf *path)
{
    struct newest newest = {.time = time, .path = path};

    *time = 0;
    sb_buf_clear(path);
    return each_in_cache(check->dir, note_time, &newest);
}

static enum sb_code count_segment(void *context, const char *path, const char *name,
                                  const struct stat *st)
{
    uint32_t *count = context;
    int64_t number;

    (void)path, (void)st;
    *count += sb_cache_segment_number(name, &number);
    return SB_OK;
}

enum sb_code sb_cache_is_same(struct sb_cache_check *check)
{
    uint32_t count = 0;

    TRY(walk_in(check->dir, "segments/", count_segment, &count));
    if (count != check->segments)
        return sb_fail(SB_CHANGED, "%s: was written to meanwhile; verify it again", check->dir);
    return SB_OK;
}
