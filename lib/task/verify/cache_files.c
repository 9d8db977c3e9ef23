#include "core/io.h"
#include "store/cache/index.h"
#include "store/cache/cache.h"
#include "store/out/lock.h"
#include "task/verify/cache_impl.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Called with each file, of any type, of the two directories; path is relative to the cache's. */
typedef enum sb_code each_file(void *context, const char *path, const char *name,
                               const struct stat *st);

static enum sb_code walk(const char *root, const char *prefix, each_file *each, void *context)
{
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    CLEANUP(closedirp) DIR *dir = NULL;
    struct dirent *entry;
    struct stat st;

    TRY(sb_buf_add_format(&path, "%s/%s", root, prefix));
    dir = opendir(path.data);
    if (!dir)
        return errno == ENOENT ? SB_OK : sb_fail_errno(errno, "%s", path.data);
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

static enum sb_code each_in_cache(const char *root, each_file *each, void *context)
{
    TRY(walk(root, "", each, context));
    return walk(root, "segments/", each, context);
}

static enum sb_code keep_leftover(void *context, const char *path, const char *name,
                                  const struct stat *st)
{
    struct sb_cache_check *check = context;
    char *copy;

    if (!S_ISREG(st->st_mode) || !sb_cache_is_leftover(name))
        return SB_OK;
    TRY(sb_grow(&check->leftovers, &check->leftover_capacity, check->leftover_count,
                sizeof(*check->leftovers)));
    TRY(sb_copy_text(&copy, path));
    check->leftovers[check->leftover_count++] = (struct sb_cache_leftover){.path = copy, .st = *st};
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
        sb_verify_defect(check->events, SB_REMEDY_LEFTOVERS, "leftover",
                         sb_defect_of(check->leftovers[i].path, strlen(check->leftovers[i].path)),
                         "was never finished: its writer was interrupted, or is at work");
    check->result->repairable += (int64_t)check->leftover_count;
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
    return sb_buf_set(newest->path, path, strlen(path));
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

    TRY(walk(check->dir, "segments/", count_segment, &count));
    if (count != check->segments)
        return sb_fail(SB_CHANGED, "%s: was written to meanwhile; verify it again", check->dir);
    return SB_OK;
}

/* *young: a file was written so lately that a job may be at work, which is reported. A time in the
 * future is the clock of another machine, and does not show that a job has ended. */
static enum sb_code look_at_age(struct sb_cache_check *check, enum sb_level level, bool *young)
{
    int64_t min_age = check->options->min_age, written = 0, age;
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    struct newest newest = {.time = &written, .path = &path};

    *young = false;
    if (check->options->force)
        return SB_OK;
    TRY(each_in_cache(check->dir, note_time, &newest));
    if (path.size == 0)
        return SB_OK;
    age = time(NULL) - written;
    *young = age < min_age;
    if (*young && age < 0)
        sb_report(check->notify, level, "young", check->dir,
                  "%s has a time in the future, so that its job may be running: nothing was "
                  "repaired; --force does",
                  path.data);
    else if (*young)
        sb_report(check->notify, level, "young", check->dir,
                  "%s was written %lld second%s ago, so that its job may be running: nothing was "
                  "repaired; wait until it is older than --min-age (%lld s), or give --force",
                  path.data, (long long)age, age == 1 ? "" : "s", (long long)min_age);
    return SB_OK;
}

static enum sb_code name_file(struct sb_cache_check *check, const char *file)
{
    sb_buf_clear(&check->text);
    return sb_buf_add_format(&check->text, "%s/%s", check->dir, file);
}

static enum sb_code report_repaired(struct sb_cache_check *check, const char *file,
                                    const char *what)
{
    bool dry_run = check->options->dry_run;

    TRY(name_file(check, file));
    sb_report(check->notify, SB_NOTE, dry_run ? "would-repair" : "repaired", check->text.data,
              "%s%s", dry_run ? "would be " : "", what);
    return SB_OK;
}

static enum sb_code write_index(struct sb_cache_check *check)
{
    enum sb_code code = SB_OK;
    bool done;

    if (!check->options->dry_run)
        code = sb_cache_write_index(check->cache, check->dir, &done);
    if (code == SB_CHANGED) {
        sb_report(check->notify, SB_PROBLEM, "changed", NULL, "%s", sb_error()->text);
        return SB_END;
    }
    if (code)
        return code;
    check->result->repaired += check->stale;
    return report_repaired(check, "index.pkl", "written anew");
}

static enum sb_code remove_leftover(struct sb_cache_check *check,
                                    const struct sb_cache_leftover *leftover)
{
    bool dry_run = check->options->dry_run;
    const char *path;
    struct stat now;

    TRY(name_file(check, leftover->path));
    path = check->text.data;
    /* What was written to since it was reported is in use. */
    if (!dry_run && access(path, F_OK) == 0 &&
        (lstat(path, &now) || !sb_is_same_file(&now, &leftover->st) ||
         !sb_is_unchanged(&now, &leftover->st))) {
        sb_report(check->notify, SB_PROBLEM, "changed", path,
                  "is being written to, and was left alone");
        return SB_OK;
    }
    /* Another repair may have been faster. */
    if (!dry_run && unlink(path) && errno != ENOENT)
        return sb_fail_errno(errno, "%s: cannot be removed", path);
    check->result->repaired++;
    return report_repaired(check, leftover->path, "removed");
}

/* Against other repairs, and our own writers. If no lock can be made, as beside a mount point,
 * there is none, as torchcachex has none either. SB_END: another process holds it, which is
 * reported. */
static enum sb_code take_lock(struct sb_cache_check *check, struct sb_out_lock *lock)
{
    CLEANUP(sb_freep) char *path = realpath(check->dir, NULL);
    enum sb_code code;

    if (!path)
        return sb_fail_errno(errno, "%s", check->dir);
    code = sb_out_lock_take_beside(lock, path, check->dir);
    if (code == SB_NOMEM || code == SB_INTERRUPT)
        return code;
    if (code != SB_LOCKED)
        return SB_OK;
    sb_report(check->notify, SB_PROBLEM, "locked", NULL, "%s; nothing was repaired",
              sb_error()->text);
    return SB_END;
}

static enum sb_code put_right(struct sb_cache_check *check, bool index)
{
    struct sb_out_lock lock = {.fd = -1};
    enum sb_code code = check->options->dry_run ? SB_OK : take_lock(check, &lock);

    if (!code && index)
        code = write_index(check);
    for (size_t i = 0; !code && i < check->leftover_count; i++)
        code = remove_leftover(check, &check->leftovers[i]);
    sb_out_lock_drop(&lock);
    return code == SB_END ? SB_OK : code;
}

enum sb_code sb_cache_repair(struct sb_cache_check *check)
{
    bool defects = check->stale || check->leftover_count > 0;
    bool index = check->stale || (!check->has_index && check->keys > 0);
    bool young;

    if (!index && !defects)
        return SB_OK;
    TRY(look_at_age(check, defects ? SB_PROBLEM : SB_NOTE, &young));
    return young ? SB_OK : put_right(check, index);
}
