#include "core/io.h"
#include "store/cache/index.h"
#include "store/out/lock.h"
#include "task/verify/cache_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* *young: a file was written so lately that a job may be at work, which is reported. A time in the
 * future is the clock of another machine, and does not show that a job has ended. */
static enum sb_code look_at_age(struct sb_cache_check *check, enum sb_level level, bool *young)
{
    int64_t min_age = check->options->min_age, newest, age;
    CLEANUP(sb_buf_release) struct sb_buf path = {0};

    *young = false;
    if (!check->options->force)
        TRY(sb_cache_newest(check, &newest, &path));
    if (path.size > 0) {
        age = time(NULL) - newest;
        *young = age < min_age;
        if (*young && age < 0)
            sb_report(check->notify, level, "young", check->dir,
                      "%s has a time in the future, so that its job may be running: nothing was "
                      "repaired; --force does",
                      path.data);
        else if (*young)
            sb_report(
                check->notify, level, "young", check->dir,
                "%s was written %lld second%s ago, so that its job may be running: nothing was "
                "repaired; wait until it is older than --min-age (%lld s), or give --force",
                path.data, (long long)age, age == 1 ? "" : "s", (long long)min_age);
    }
    return SB_OK;
}

static enum sb_code name_file(struct sb_cache_check *check, const char *file)
{
    sb_buf_clear(&check->text);
    return sb_buf_add_format(&check->text, "%s/%s", check->dir, file) ? sb_fail_memory() : SB_OK;
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
    bool done;
    enum sb_code code =
        check->options->dry_run ? SB_OK : sb_cache_write_index(check->cache, check->dir, &done);

    if (code == SB_CHANGED) {
        sb_report(check->notify, SB_PROBLEM, "changed", NULL, "%s", sb_error()->text);
        return SB_END;
    }
    if (code)
        return code;
    check->counts->repaired += check->stale;
    return report_repaired(check, "index.pkl", "written anew");
}

/* A leftover that was written to since it was reported is in use. */
static bool is_as_found(const struct sb_cache_leftover *leftover, const char *path)
{
    struct stat now;

    return lstat(path, &now) == 0 && sb_is_same_file(&now, &leftover->st) &&
           sb_is_unchanged(&now, &leftover->st);
}

static enum sb_code remove_leftover(struct sb_cache_check *check,
                                    const struct sb_cache_leftover *leftover)
{
    bool dry_run = check->options->dry_run;

    TRY(name_file(check, leftover->path));
    if (!dry_run && access(check->text.data, F_OK) == 0 &&
        !is_as_found(leftover, check->text.data)) {
        sb_report(check->notify, SB_PROBLEM, "changed", check->text.data,
                  "is being written to, and was left alone");
        return SB_OK;
    }
    /* Another repair may have been faster. */
    if (!dry_run && unlink(check->text.data) && errno != ENOENT)
        return sb_fail_errno(errno, "%s: cannot be removed", check->text.data);
    check->counts->repaired++;
    return report_repaired(check, leftover->path, "removed");
}

static enum sb_code remove_leftovers(struct sb_cache_check *check)
{
    for (size_t i = 0; i < check->leftover_count; i++)
        TRY(remove_leftover(check, &check->leftovers[i]));
    return SB_OK;
}

/* Against other repairs, and our own writers. If no lock can be made, as beside a mount point,
 * there is none, as torchcachex has none either. SB_END: another process holds it, which is
 * reported. */
static enum sb_code take_lock(struct sb_cache_check *check, struct sb_out_lock *lock)
{
    char *path = realpath(check->dir, NULL);
    enum sb_code code;

    if (!path)
        return sb_fail_errno(errno, "%s", check->dir);
    code = sb_out_lock_take_beside(lock, path, check->dir);
    free(path);
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
    if (!code)
        code = remove_leftovers(check);
    sb_out_lock_drop(&lock);
    return code == SB_END ? SB_OK : code;
}

enum sb_code sb_cache_repair(struct sb_cache_check *check)
{
    bool defects = check->stale || check->leftover_count > 0;
    bool index = check->stale || (!check->has_index && check->counts->keys > 0);
    bool young;
    enum sb_code code;

    if (!index && !defects)
        return SB_OK;
    code = look_at_age(check, defects ? SB_PROBLEM : SB_NOTE, &young);
    return code || young ? code : put_right(check, index);
}
