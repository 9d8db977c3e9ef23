#include "task/protect/lost.h"

#include "archive/archive.h"
#include "archive/database.h"
#include "archive/journal.h"
#include "archive/own/hold.h"
#include "archive/own/own_names.h"
#include "archive/parity/check.h"
#include "archive/parity/mend.h"
#include "core/io.h"
#include "store/out/temporary.h"
#include "task/protect/impl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SHARD_DIGITS 5

/* A file that is made again. */
struct remake {
    struct sb_protected work; /* its file is empty, under the temporary name */
    struct sb_out_lock made;
    int64_t bytes; /* that were made */
};

static bool is_missing(const char *path)
{
    struct stat st;

    return lstat(path, &st) && errno == ENOENT;
}

/* What is not made is missed. */
static enum sb_code take_lost(void *context, const struct sb_parity_part *part,
                              struct sb_error *err)
{
    (void)context;
    (void)part;
    (void)err;
    return SB_OK;
}

static enum sb_code take_mended(void *context, const struct sb_parity_part *part, const void *bytes,
                                struct sb_error *err)
{
    struct remake *remake = context;

    if (part->kind != SB_PARITY_DATA)
        return SB_OK;
    remake->bytes += part->size;
    if (remake->made.fd < 0)
        return SB_OK;
    return sb_pwrite_full(remake->made.fd, bytes, (size_t)part->size, part->offset,
                          remake->work.path, err);
}

static enum sb_code make_bytes(struct remake *remake, struct sb_error *err)
{
    const struct sb_protected *work = &remake->work;
    const struct sb_parity_check_options wanted = {.progress = work->options->progress,
                                                   .context = work->options->context};
    const struct sb_parity_mender mender = {
        .mended = take_mended, .lost = take_lost, .context = remake};
    struct sb_parity_bad *bad;
    enum sb_code code = sb_parity_check(&bad, work->parity, work->file, &wanted, err);

    if (!code)
        code = sb_parity_mend(work->parity, work->file, bad, &mender, err);
    sb_parity_bad_free(bad);
    if (!code && remake->bytes < work->parity->super.shape.size)
        code = sb_fail(err, SB_DAMAGED,
                       "%s: is missing, and of its %" PRId64
                       " bytes its parity file can make %" PRId64 "; bring it back from a copy",
                       work->path, work->parity->super.shape.size, remake->bytes);
    return code;
}

/* Those of the file; it belongs to, and may be read by, whom its parity file does. */
static enum sb_code set_metadata(const struct remake *remake, struct sb_error *err)
{
    const struct sb_protected *work = &remake->work;
    const struct timespec times[2] = {{.tv_nsec = UTIME_OMIT},
                                      sb_protect_noted_time(&work->parity->super)};

    const struct stat *like = &work->parity->file->st;

    if (geteuid() == 0 && fchown(remake->made.fd, like->st_uid, like->st_gid))
        return sb_fail_errno(err, errno, "%s", work->path);
    if (fchmod(remake->made.fd, like->st_mode & 0666) || futimens(remake->made.fd, times))
        return sb_fail_errno(err, errno, "%s", work->path);
    return sb_fsync(remake->made.fd, work->path, err);
}

static void say_remade(const struct remake *remake)
{
    const struct sb_protected *work = &remake->work;
    struct timespec noted = sb_protect_noted_time(&work->parity->super);
    char date[64] = "";
    struct tm parts;

    if (localtime_r(&noted.tv_sec, &parts))
        strftime(date, sizeof(date), "%Y-%m-%d %H:%M:%S", &parts);
    sb_report(work->options->notify, work->options->dry_run ? SB_PROBLEM : SB_WARNING,
              work->options->dry_run ? "would-remake" : "remade", work->path,
              work->options->dry_run
                  ? "is missing, and would be made again as it was when it was protected, at %s"
                  : "was missing, and is made again as it was when it was protected, at %s",
              date);
}

/* Before the name is there: whoever finds it, finds that it may be older than its shards. */
static enum sb_code note_old(struct sb_protected *work, struct sb_error *err)
{
    struct sb_parity *parity = work->parity;
    unsigned char user[SB_PARITY_USER];

    memcpy(user, parity->super.user, sizeof(user));
    sb_protect_note_old(user);
    return sb_parity_mark(parity, parity->super.valid, user, err);
}

static enum sb_code name_it(struct remake *remake, struct sb_error *err)
{
    struct sb_protected *work = &remake->work;

    if (set_metadata(remake, err) || note_old(work, err) ||
        sb_rename_new(remake->made.path, work->path, err))
        return err->code;
    return sb_sync_directory_of(work->path, err);
}

/* The empty file that is to be filled; in a dry run any that is empty. */
static enum sb_code open_empty(struct remake *remake, struct sb_error *err)
{
    struct sb_protected *work = &remake->work;
    bool dry_run = work->options->dry_run;
    int fd;

    if (!dry_run && sb_out_temporary_make(&remake->made, work->path, work->path, err))
        return err->code;
    fd = dry_run ? open("/dev/null", O_RDONLY | O_CLOEXEC) : dup(remake->made.fd);
    if (fd < 0)
        return sb_fail_errno(err, errno, "%s", work->path);
    return sb_file_take(&work->file, fd, work->path, err);
}

static enum sb_code make_again(struct remake *remake, struct sb_error *err)
{
    struct sb_protected *work = &remake->work;
    enum sb_code code = open_empty(remake, err);

    if (!code)
        code = make_bytes(remake, err);
    if (!code && !work->options->dry_run)
        code = name_it(remake, err);
    sb_file_free(work->file);
    work->file = NULL;
    sb_out_lock_drop(&remake->made);
    return code;
}

/* SB_OK, too, if that is not possible, which is reported; SB_NOENT: it has no parity file. */
static enum sb_code remake(const char *path, const struct sb_protect_options *options,
                           struct sb_error *err)
{
    enum sb_parity_access access = options->dry_run ? SB_PARITY_READ : SB_PARITY_WRITE;
    struct remake remake = {.work = {.path = path, .options = options, .lock = {.fd = -1}},
                            .made = {.fd = -1}};
    struct sb_protected *work = &remake.work;
    enum sb_code code = sb_protected_begin(work, err);

    if (!code && is_missing(work->name.data))
        code = SB_NOENT;
    if (!code && !options->dry_run)
        code = sb_out_lock_take_beside(&work->lock, work->name.data, work->name.data, err);
    if (!code)
        code = sb_protected_open_parity(work, access, err);
    if (!code)
        code = make_again(&remake, err);
    if (!code)
        say_remade(&remake);
    sb_protected_end(work);
    return code;
}

/* What no parity file can do is left to whoever opens the container, and finds that it is missing.
 */
static enum sb_code leave(const char *path, const struct sb_protect_options *options,
                          struct sb_error *err)
{
    if (sb_protect_ends_work(err) || err->code == SB_LOCKED)
        return err->code;
    if (err->code == SB_CHANGED)
        sb_report(options->notify, SB_WARNING, "changed", path,
                  "changed since its parity file was made; if it is right, 'shardbox protect "
                  "--update' makes that anew; if it cannot be opened, move it away, and --repair "
                  "makes it again as it was then");
    else if (err->code != SB_NOENT)
        sb_report(options->notify, err->code == SB_DAMAGED ? SB_WARNING : SB_PROBLEM, "parity",
                  NULL, "%s", err->text);
    return SB_OK;
}

static bool has_parity(const char *path, const struct sb_protect_options *options)
{
    struct sb_buf name = {0};
    struct sb_error ignored;
    bool has =
        sb_protect_find(path, options->parity_dir, &name, &ignored) == SB_OK && name.size > 0;

    sb_buf_release(&name);
    return has;
}

/* What a repair would find, without a report. */
static enum sb_code examine(const char *path, const char *parity_dir,
                            const struct sb_protect_guard *guard, struct sb_protect_result *found,
                            struct sb_error *err)
{
    const struct sb_protect_options options = {
        .act = SB_PROTECT_CHECK, .parity_dir = parity_dir, .result = found};

    return sb_protect_guarded(path, &options, guard, err);
}

/* Others are kept away only if there is something to do. */
static enum sb_code repair(const char *path, const struct sb_protect_options *options,
                           struct sb_error *err)
{
    struct sb_protect_result found = {0};
    enum sb_code code = examine(path, options->parity_dir, NULL, &found, err);

    if (!code && sb_protect_has_found(&found))
        return sb_protect(path, options, err);
    if (options->result) {
        options->result->files += found.files;
        options->result->changed += code == SB_CHANGED;
    }
    return code;
}

/* A run that made it again was killed, and it came back otherwise. */
static void remove_leftover(const char *path, const struct sb_protect_options *options)
{
    struct sb_buf temporary = {0};
    struct sb_out_lock lock;
    struct sb_error ignored;
    struct stat st;

    if (!options->dry_run && sb_out_temporary_name(path, &temporary, &ignored) == SB_OK &&
        lstat(temporary.data, &st) == 0 &&
        sb_out_temporary_make(&lock, path, path, &ignored) == SB_OK)
        sb_out_lock_drop(&lock);
    sb_buf_release(&temporary);
}

static enum sb_code bring_back_file(const char *path, const struct sb_protect_options *options,
                                    struct sb_error *err)
{
    enum sb_code code;

    if (!is_missing(path))
        remove_leftover(path, options);
    if (!has_parity(path, options))
        return SB_OK;
    if (!is_missing(path))
        code = repair(path, options, err);
    else if (!(code = sb_journal_refuse(path, err)) && !(code = remake(path, options, err)) &&
             options->result)
        options->result->remade++;
    return code ? leave(path, options, err) : SB_OK;
}

/* Shards that are missing and have a parity file. */
struct missing {
    const char *index;
    const struct sb_protect_options *options;
    uint32_t count; /* of shards that the index has */
    bool any;
    enum sb_code code;
    struct sb_error *err;
};

static enum sb_code walk(struct missing *missing, void (*each)(void *context, const char *path),
                         struct sb_error *err)
{
    return sb_protect_walk(missing->index, missing->options->parity_dir, each, missing, err);
}

static bool is_missing_shard(const struct missing *missing, const char *path)
{
    return strcmp(path, missing->index) != 0 && is_missing(path) &&
           has_parity(path, missing->options);
}

static void look(void *context, const char *path)
{
    struct missing *missing = context;

    missing->any |= is_missing_shard(missing, path);
}

static void bring_back_shard(void *context, const char *path)
{
    struct missing *missing = context;
    size_t size = strlen(path);

    if (missing->code || !is_missing_shard(missing, path) ||
        strtoul(path + size - SHARD_DIGITS, NULL, 10) >= missing->count)
        return;
    missing->code = remake(path, missing->options, missing->err);
    if (missing->code)
        missing->code = leave(path, missing->options, missing->err);
}

static enum sb_code count_shards(const char *index, uint32_t *count, struct sb_error *err)
{
    struct sb_archive *archive;
    enum sb_code code = sb_archive_open(&archive, index, err);

    if (!code)
        code = sb_archive_shard_count(archive, count, err);
    sb_archive_free(archive);
    return code;
}

/* Of what a killed writer was renaming nothing is missing once that is settled. */
static enum sb_code bring_back_shards(struct missing *missing, struct sb_error *err)
{
    enum sb_code code = missing->options->dry_run ? SB_OK : sb_hold_settle(missing->index, err);

    missing->any = false;
    if (!code)
        code = walk(missing, look, err);
    if (code || !missing->any)
        return code;
    code = count_shards(missing->index, &missing->count, err);
    if (!code)
        code = walk(missing, bring_back_shard, err);
    return code ? code : missing->code;
}

/* Is it as it was protected, but for its end, which is missing? size: without that. */
static bool is_cut(const char *path, const struct sb_protect_options *options, int64_t *size)
{
    struct sb_protect_status status;
    struct sb_error ignored;
    struct stat st;

    if (sb_protect_look(path, options->parity_dir, &status, &ignored) ||
        status.state != SB_PROTECT_CUT || lstat(path, &st) || !S_ISREG(st.st_mode))
        return false;
    *size = st.st_size;
    return true;
}

/* Only what is past the end, at `context`. */
static enum sb_code past_end(void *context, int64_t from, int64_t to, int64_t *begin, int64_t *end,
                             struct sb_error *err)
{
    const int64_t *size = context;

    (void)err;
    *end = to;
    *begin = from > *size ? from : *size;
    if (*begin > to)
        *begin = to;
    return SB_OK;
}

/* Only if all that is missing can be made; else verify finds what files lack. */
static enum sb_code grow(const char *path, int64_t size, const struct sb_protect_options *options,
                         struct sb_error *err)
{
    const struct sb_protect_guard guard = {.next = past_end, .context = &size};
    struct sb_protect_result found = {0};
    struct sb_protect_holds holds = {0};
    enum sb_code code = examine(path, options->parity_dir, &guard, &found, err);

    if (code || found.lost > 0 || found.contradicted > 0)
        return code;
    if (!options->dry_run)
        code = sb_protect_hold(&holds, path, err);
    if (!code)
        code = sb_protect_guarded(path, options, &guard, err);
    sb_protect_release(&holds);
    return code;
}

static void grow_shard(void *context, const char *path)
{
    struct missing *missing = context;
    int64_t size;

    if (missing->code || strcmp(path, missing->index) == 0 ||
        !is_cut(path, missing->options, &size))
        return;
    missing->code = grow(path, size, missing->options, missing->err);
    if (missing->code)
        missing->code = leave(path, missing->options, missing->err);
}

static enum sb_code bring_back(const char *path, const struct sb_protect_options *options,
                               struct sb_error *err)
{
    struct missing missing = {.index = path, .options = options, .err = err};
    enum sb_code code = bring_back_file(path, options, err);

    if (!code)
        code = walk(&missing, look, err);
    if (!code && missing.any && bring_back_shards(&missing, err))
        code = leave(path, options, err);
    if (!code)
        code = walk(&missing, grow_shard, err);
    return code ? code : missing.code;
}

/* The file that is there, or was: of old archives the index has another name. */
enum sb_code sb_protect_bring_back(const char *path, const struct sb_protect_options *options,
                                   struct sb_error *err)
{
    char *old = sb_own_name(path, SB_OLD_INDEX, err);
    bool is_old;
    enum sb_code code;

    if (!old)
        return err->code;
    is_old = is_missing(path) &&
             (!is_missing(old) || (!has_parity(path, options) && has_parity(old, options)));
    code = bring_back(is_old ? old : path, options, err);
    free(old);
    return code;
}
