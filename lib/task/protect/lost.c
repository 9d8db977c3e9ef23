#include "archive/database.h"
#include "archive/journal.h"
#include "archive/own/own_names.h"
#include "archive/own/settle.h"
#include "archive/own/state.h"
#include "archive/parity/check.h"
#include "core/io.h"
#include "store/out/lock.h"
#include "task/protect/impl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* A file that is made again. */
struct remake {
    struct sb_protected work; /* its file is empty, under the temporary name */
    struct sb_out_lock made;
    struct sb_hold hold; /* of an index */
    bool index;
    bool found;    /* a killed run had made it, and only not given it its name */
    bool older;    /* it may be than its shards */
    int64_t bytes; /* that were made */
};

static bool is_missing(const char *path)
{
    struct stat st;

    return lstat(path, &st) && errno == ENOENT;
}

static enum sb_code take_mended(void *context, int64_t offset, const void *bytes, size_t size)
{
    struct remake *remake = context;

    remake->bytes += (int64_t)size;
    if (remake->made.fd < 0)
        return SB_OK;
    return sb_pwrite_full(remake->made.fd, bytes, size, offset, remake->work.path);
}

static enum sb_code make_bytes(struct remake *remake)
{
    const struct sb_protected *work = &remake->work;
    const struct sb_parity_check_options wanted = {.progress = work->options->progress,
                                                   .context = work->options->context};
    const struct sb_parity_mender mender = {.mended = take_mended, .context = remake};
    CLEANUP(sb_parity_bad_freep) struct sb_parity_bad *bad = NULL;
    int64_t size = work->parity->super.shape.size;

    TRY(sb_parity_check(&bad, work->parity, work->file, &wanted));
    if (!bad->of_another)
        TRY(sb_parity_mend(work->parity, work->file, bad, &mender));
    if (remake->bytes < size)
        return sb_fail(SB_DAMAGED,
                       "%s: is missing, and of its %" PRId64
                       " bytes its parity file can make %" PRId64 "; bring it back from a copy",
                       work->path, size, remake->bytes);
    return SB_OK;
}

/* Its bytes, where its time is not that which is noted. */
static bool has_same_bytes(const char *path, const char *parity_dir)
{
    const struct sb_protect_options options = {.parity_dir = parity_dir};
    const struct sb_parity_check_options all = {0};
    CLEANUP(sb_protected_end) struct sb_protected work = {.lock = {.fd = -1}};
    CLEANUP(sb_parity_bad_freep) struct sb_parity_bad *bad = NULL;

    return IGNORED(sb_protected_begin(&work, path, &options)) == SB_OK &&
           IGNORED(sb_protected_open(&work, false)) == SB_OK &&
           IGNORED(sb_protected_open_parity(&work)) == SB_OK &&
           work.file->st.st_size <= work.parity->super.shape.size &&
           IGNORED(sb_parity_check(&bad, work.parity, work.file, &all)) == SB_OK &&
           bad->data == 0 && bad->unknown == 0 && !bad->of_another;
}

static enum sb_code is_as_protected(const char *shard, const char *parity_dir, bool *is)
{
    struct sb_protect_status status;
    struct stat st;

    *is = lstat(shard, &st) == 0 && S_ISLNK(st.st_mode);
    if (*is)
        return SB_OK;
    TRY(sb_protect_look(shard, parity_dir, &status));
    *is = status.state == SB_PROTECT_CURRENT || status.state == SB_PROTECT_CUT ||
          (status.state == SB_PROTECT_CHANGED && has_same_bytes(shard, parity_dir));
    return SB_OK;
}

/* May an index, in this file, be older than the shards of the archive? Not if these are as they
 * were protected, end with its files, and there are no more of them. */
static enum sb_code find_age(const char *file, const char *index,
                             const struct sb_protect_options *options, bool *older)
{
    CLEANUP(sb_freep) char *name = strndup(index, sb_index_base_size(index));
    bool same = true;
    uint32_t count = 0;

    if (!name)
        return sb_fail_memory();
    TRY(sb_protect_count_shards(file, name, &count));
    for (uint32_t i = 0; same && i <= count && i <= SB_SHARD_MAX; i++) {
        CLEANUP(sb_freep) char *shard = sb_shard_name(name, i);

        if (!shard)
            return sb_error()->code;
        if (i < count)
            TRY(is_as_protected(shard, options->parity_dir, &same));
        else
            same = is_missing(shard);
    }
    *older = !same;
    return same ? sb_protect_has_tail(file, name, older) : SB_OK;
}

static enum sb_code name_it(const struct remake *remake)
{
    const struct sb_protected *work = &remake->work;
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                      sb_protect_noted_time(&work->parity->super)};

    if (!remake->older && futimens(remake->made.fd, times))
        return sb_fail_errno(errno, "%s", work->path);
    TRY(sb_fsync(remake->made.fd, work->path));
    TRY(sb_rename_new(remake->made.path, work->path));
    return sb_sync_directory_of(work->path);
}

static void say_remade(const struct remake *remake)
{
    const struct sb_protected *work = &remake->work;
    const struct sb_notify *notify = work->options->notify;
    struct timespec noted = sb_protect_noted_time(&work->parity->super);
    char date[64] = "";
    struct tm parts;

    if (localtime_r(&noted.tv_sec, &parts))
        strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &parts);
    if (work->options->dry_run)
        sb_report(notify, SB_PROBLEM, "would-remake", work->path,
                  "is missing, and would be made again as it was when it was protected, at %s",
                  date);
    else
        sb_report(notify, SB_WARNING, "remade", work->path,
                  "was missing, and is made again as it was when it was protected, at %s", date);
}

/* The empty file that is to be filled; in a dry run any that is empty. It belongs to, and may be
 * read by, whom its parity file does. */
static enum sb_code open_empty(struct remake *remake)
{
    struct sb_protected *work = &remake->work;
    int fd;

    if (work->options->dry_run) {
        fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    } else {
        TRY(sb_out_temporary_make(&remake->made, work->path, work->path));
        sb_parity_adopt(remake->made.fd, &work->parity->file->st);
        fd = dup(remake->made.fd);
    }
    if (fd < 0)
        return sb_fail_errno(errno, "%s", work->path);
    return sb_file_take(&work->file, fd, work->path);
}

static enum sb_code fill(struct remake *remake)
{
    const struct sb_protected *work = &remake->work;

    TRY(open_empty(remake));
    TRY(make_bytes(remake));
    if (work->options->dry_run)
        return SB_OK;
    if (remake->index)
        TRY(find_age(remake->made.path, work->path, work->options, &remake->older));
    /* The time of the parity file is recorded in an older index. */
    if (remake->older)
        TRY(sb_remade_record(remake->made.path,
                             sb_protect_noted_time(&work->parity->super).tv_sec));
    TRY(name_it(remake));
    return remake->index ? sb_settle_remade(&remake->hold) : SB_OK;
}

static enum sb_code make_again(struct remake *remake)
{
    enum sb_code code = fill(remake);

    sb_file_free(TAKE(remake->work.file));
    sb_out_lock_drop(&remake->made);
    return code;
}

/* Writers of an archive without index wait. */
static enum sb_code hold_index(struct remake *remake)
{
    const struct sb_protected *work = &remake->work;
    CLEANUP(sb_freep) char *archive = strndup(work->path, sb_index_base_size(work->path));

    TRY(archive ? sb_hold_find(&remake->hold, archive, false) : sb_fail_memory());
    TRY(sb_hold_take(&remake->hold));
    TRY(sb_journal_refuse(work->path));
    return sb_settle_forward(&remake->hold, &remake->found);
}

static enum sb_code remake_held(struct remake *remake)
{
    struct sb_protected *work = &remake->work;
    const struct sb_protect_options *options = work->options;

    if (is_missing(work->name.data))
        return SB_NOENT;
    if (!options->dry_run)
        TRY(sb_out_lock_take_beside(&work->lock, work->name.data, work->name.data));
    TRY(sb_protected_open_parity(work));
    if (remake->index && !options->dry_run)
        TRY(hold_index(remake));
    if (!remake->found) {
        TRY(make_again(remake));
        say_remade(remake);
    }
    if (options->result) {
        options->result->remade += remake->index;
        options->result->files += remake->index;
    }
    return SB_OK;
}

/* SB_OK, too, if that is not possible, which is reported; SB_NOENT: it has no parity file. */
static enum sb_code remake(const char *path, bool index, const struct sb_protect_options *options)
{
    struct remake remake = {.made = {.fd = -1}, .hold = SB_HOLD_NONE, .index = index};
    enum sb_code code = sb_protected_begin(&remake.work, path, options);

    if (!code)
        code = remake_held(&remake);
    sb_hold_drop(&remake.hold, code != SB_OK);
    sb_protected_end(&remake.work);
    return code;
}

/* What no parity file can do is left to whoever opens the container, and finds that it is missing.
 */
static enum sb_code leave(const char *path, const struct sb_protect_options *options)
{
    enum sb_code code = sb_error()->code;
    bool older = false, index;

    if (sb_protect_ends_work() || code == SB_LOCKED || code == SB_EXISTS)
        return code;
    index = code == SB_CHANGED && sb_protect_is_index(path);
    if (index && !IGNORED(sb_protect_is_older(path, options->parity_dir, &older)) && older)
        sb_report(options->notify, SB_PROBLEM, "older", path, "%s", sb_protect_older);
    else if (index)
        sb_report(options->notify, SB_WARNING, "changed", path,
                  "changed since its parity file was made; if it is right, 'shardbox protect "
                  "--update' makes that anew; if it cannot be opened, move it away, and --repair "
                  "makes it again as it was then");
    else if (code != SB_NOENT)
        sb_report(options->notify, code == SB_DAMAGED ? SB_WARNING : SB_PROBLEM,
                  code == SB_CHANGED ? "changed" : "parity", NULL, "%s", sb_error()->text);
    return SB_OK;
}

static enum sb_code bring_back_file(const char *path, const struct sb_protect_options *options)
{
    CLEANUP(sb_buf_release) struct sb_buf temporary = {0};
    enum sb_code code;

    /* A run that made it again was killed, and it came back otherwise. */
    if (!is_missing(path) && !options->dry_run)
        (void)!IGNORED(sb_protect_clear(path, &temporary));
    if (!sb_protect_has_parity(path, options->parity_dir))
        return SB_OK;
    code = is_missing(path) ? remake(path, sb_protect_is_index(path), options)
                            : sb_protect_mend(path, options, NULL, NULL, NULL);
    return code ? leave(path, options) : SB_OK;
}

/* The shards of an archive. */
struct shards {
    const char *index;
    const struct sb_protect_options *options;
    uint32_t count; /* that the index has */
    bool any;       /* is missing, and has a parity file */
    enum sb_code code;
};

static bool is_missing_shard(const struct shards *shards, const char *path)
{
    return strcmp(path, shards->index) != 0 && is_missing(path) &&
           sb_protect_has_parity(path, shards->options->parity_dir);
}

static void look(void *context, const char *path)
{
    struct shards *shards = context;

    shards->any |= is_missing_shard(shards, path);
}

static void bring_back_shard(void *context, const char *path)
{
    struct shards *shards = context;
    size_t base = sb_protect_base_of_shard(path);

    if (shards->code || !is_missing_shard(shards, path) ||
        sb_own_of_rest(path + base).shard >= shards->count)
        return;
    shards->code = remake(path, false, shards->options);
    if (shards->code)
        shards->code = leave(path, shards->options);
}

static enum sb_code walk(struct shards *shards, void (*each)(void *context, const char *path))
{
    return sb_protect_walk(shards->index, shards->options->parity_dir, each, shards);
}

/* Of what a killed writer was renaming nothing is missing once that is settled. */
static enum sb_code bring_back_shards(struct shards *shards)
{
    if (!shards->options->dry_run)
        TRY(sb_hold_settle(shards->index));
    TRY(sb_protect_count_shards(shards->index, shards->index, &shards->count));
    TRY(walk(shards, bring_back_shard));
    return shards->code;
}

/* The file that is there, or was: of old archives the index has another name. */
enum sb_code sb_protect_bring_back(const char *path, const struct sb_protect_options *options)
{
    CLEANUP(sb_freep) char *old = sb_own_name(path, SB_OLD_INDEX);
    struct shards shards = {.index = path, .options = options};

    if (!old)
        return sb_error()->code;
    if (is_missing(path) &&
        (!is_missing(old) || (!sb_protect_has_parity(path, options->parity_dir) &&
                              sb_protect_has_parity(old, options->parity_dir))))
        shards.index = old;
    TRY(bring_back_file(shards.index, options));
    TRY(walk(&shards, look));
    if (shards.any && bring_back_shards(&shards))
        return leave(shards.index, options);
    return SB_OK;
}
