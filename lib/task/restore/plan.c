/*
 * The shards whose damaged files are rewritten in place, and those of the files that can be
 * restored at all.
 */
#include "task/restore/impl.h"

#include "archive/archive.h"
#include "archive/shards.h"
#include "archive/writer/linked.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/number.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum sb_code sb_restore_target_new(struct sb_restore_target **out, const char *base,
                                   const char *parity_dir, struct sqlite3 *db)
{
    CLEANUP(sb_restore_target_freep) struct sb_restore_target *target = NULL;

    *out = NULL;
    TRY(SB_NEW(&target));
    target->db = db;
    sb_open_files_begin(&target->files, SB_OPEN_FILES_FEW);
    TRY(sb_copy_text(&target->base, base));
    TRY(sb_rewrite_begin(&target->rewrite, base, parity_dir));
    *out = TAKE(target);
    return SB_OK;
}

void sb_restore_target_free(struct sb_restore_target *target)
{
    if (!target)
        return;
    sb_rewrite_release(&target->rewrite);
    sb_open_files_end(&target->files);
    free(target->base);
    free(target);
}

bool sb_restore_target_next(const struct sb_restore_target *target, unsigned bit, uint32_t *shard)
{
    for (; *shard <= SB_SHARD_MAX; ++*shard) {
        if (target->bits[*shard] & bit)
            return true;
    }
    return false;
}

/* A missing shard that is recorded as another archive's must be brought back from there. */
static enum sb_code refuse_missing(struct sb_restore_target *target, uint32_t shard)
{
    struct sb_linked linked;

    TRY(sb_linked_get(target->db, shard, &linked));
    if (!linked.watched)
        return SB_OK;
    return sb_fail(SB_INVALID, "is another archive's, and is not there; bring it back");
}

static enum sb_code refuse_link(const char *path)
{
    CLEANUP(sb_freep) char *leads_to = realpath(path, NULL);

    return sb_fail(SB_INVALID, "is a symbolic link to %s; repair the archive that it belongs to",
                   leads_to ? leads_to : "a file that is not there");
}

/*
 * May a shard be written, or made? SB_INVALID, without its name, if not. *size: its length, 0 if it
 * is missing.
 */
static enum sb_code look(struct sb_restore_target *target, uint32_t shard, int64_t *size)
{
    CLEANUP(sb_freep) char *path = sb_shard_name(target->base, shard);
    struct stat st;

    *size = 0;
    if (!path)
        return sb_error()->code;
    if (lstat(path, &st)) {
        if (errno == ENOENT)
            return refuse_missing(target, shard);
        return sb_fail_errno(errno, "%s", path);
    }
    if (S_ISLNK(st.st_mode))
        return refuse_link(path);
    if (!S_ISREG(st.st_mode))
        return sb_fail(SB_INVALID, "is not a regular file; move it away");
    if (st.st_nlink > 1)
        return sb_fail(SB_INVALID,
                       "has %ju hard links, by which other archives may use it; copy it, and "
                       "rename the copy to this name",
                       (uintmax_t)st.st_nlink);
    if (access(path, W_OK))
        return sb_fail(SB_INVALID, "cannot be written: %s", strerror(errno));
    *size = st.st_size;
    return SB_OK;
}

/* Is it missing, and to be made here, not to be brought back from another archive? */
static bool is_missing(struct sb_restore_target *target, uint32_t shard)
{
    CLEANUP(sb_freep) char *path = IGNORED(sb_shard_name(target->base, shard));
    struct stat st;

    return path && lstat(path, &st) && errno == ENOENT &&
           IGNORED(refuse_missing(target, shard)) == SB_OK;
}

/* The largest possible shard: the size of the file system. INT64_MAX if that is unknown. */
static int64_t limit_of(const struct sb_restore_target *target)
{
    CLEANUP(sb_freep) char *base = strdup(target->base);
    struct statvfs fs;
    int64_t capacity;

    if (!base || statvfs(dirname(base), &fs) || fs.f_blocks == 0 ||
        __builtin_mul_overflow(fs.f_blocks, fs.f_frsize, &capacity))
        return INT64_MAX;
    return capacity;
}

static enum sb_code open_shard(const char *path, int flags, int *fd)
{
    struct stat st;

    *fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | flags, 0666);
    if (*fd < 0 || fstat(*fd, &st))
        return sb_fail_errno(errno, "%s", path);
    if (!S_ISREG(st.st_mode) || st.st_nlink > 1)
        return sb_fail(SB_CHANGED, "%s: was replaced by another process just now", path);
    return SB_OK;
}

/*
 * Opens a shard for writing, unless it is open; the caller becomes a holder. A missing one is made,
 * empty, under its final name, and its directory synced.
 */
static enum sb_code hold(struct sb_restore_target *target, uint32_t shard, struct sb_file **out)
{
    CLEANUP(sb_freep) char *path = NULL;
    CLEANUP(sb_closep) int fd = -1;
    enum sb_code code;

    *out = sb_open_files_find(&target->files, shard, 0);
    if (*out)
        return SB_OK;
    path = sb_shard_name(target->base, shard);
    if (!path)
        return sb_error()->code;
    code = open_shard(path, 0, &fd);
    if (code == SB_NOENT) {
        TRY(open_shard(path, O_CREAT | O_EXCL, &fd));
        code = sb_sync_directory_of(path);
    }
    TRY(code);
    TRY(sb_file_take(out, TAKE_FD(fd), path));
    target->bits[shard] |= SB_SHARD_READY;
    sb_open_files_keep(&target->files, shard, 0, *out);
    return SB_OK;
}

enum sb_code sb_restore_put_block(void *context, const void *data, size_t size)
{
    struct sb_restore_put *put = context;
    CLEANUP(sb_file_freep) struct sb_file *file = NULL;

    TRY(hold(put->target, put->shard, &file));
    TRY(sb_rewrite_add(&put->target->rewrite, file, put->offset, data, size));
    put->offset += (int64_t)size;
    return SB_OK;
}

enum sb_code sb_restore_target_sync(struct sb_restore_target *target)
{
    return sb_rewrite_end(&target->rewrite);
}

/* A shard, file by file in order of address. */
struct pass {
    struct sb_restore *restore;
    int64_t size;         /* current size of the shard */
    int64_t capacity;     /* it cannot have been larger */
    int64_t end;          /* of the files so far */
    bool gap;             /* a file without a checksum is past the shard's end */
    bool pending;         /* the previous file is to be restored, unless the next one overlaps it */
    bool shared;          /* it shares bytes with one before it */
    struct sb_entry last; /* that file */
    struct sb_buf path;   /* and its name */
};

/* Marks the current shards of the files. */
static enum sb_code mark_shards(struct sb_restore *restore)
{
    struct sb_entry entry;
    const char *path;
    size_t size;
    enum sb_code code;

    while (!(code = sb_restore_list_next_damaged(restore->list, &path, &size))) {
        code = sb_interrupted() ? sb_fail_interrupt()
                                : sb_archive_lookup(restore->archive, path, size, &entry);
        if (code && code != SB_NOENT)
            return code;
        if (code == SB_NOENT || entry.defect || entry.type == SB_DIR)
            restore->gone++;
        else if (entry.size == 0)
            sb_report(restore->notify, SB_PROBLEM, "empty", path,
                      "is empty: it is its checksum in the index that is wrong");
        else if (entry.shard <= SB_SHARD_MAX)
            restore->target->bits[entry.shard] |= SB_SHARD_WANTED;
    }
    return code == SB_END ? SB_OK : code;
}

static void refuse(const struct sb_restore *restore, const struct sb_entry *entry, const char *kind,
                   const char *text)
{
    sb_report(restore->notify, SB_PROBLEM, kind, entry->path, "not restored: %s", text);
}

/* Called when it is known whether the previous file overlaps another. */
static enum sb_code settle(struct pass *pass)
{
    struct sb_restore *restore = pass->restore;

    if (!pass->pending)
        return SB_OK;
    pass->pending = false;
    if (pass->shared) {
        refuse(restore, &pass->last, "overlap", "it shares bytes with another file");
        return SB_OK;
    }
    sb_count_up(&restore->wanted_bytes, pass->last.size);
    return sb_restore_list_add(restore->list, &pass->last);
}

/* Can it be restored, other files aside? */
static bool may_be_restored(const struct pass *pass, const struct sb_entry *entry)
{
    if (!(entry->has & SB_HAS_CRC)) {
        refuse(pass->restore, entry, "unchecked",
               "it has no checksum that a copy could be held against");
        return false;
    }
    if (entry->offset + entry->size > pass->size && entry->offset + entry->size > pass->capacity) {
        refuse(pass->restore, entry, "place",
               "its place is beyond what the file system could hold, where it cannot have been");
        return false;
    }
    if (pass->gap && entry->offset + entry->size > pass->size) {
        refuse(pass->restore, entry, "unchecked",
               "before it, where the shard has ended, lies a file without a checksum, which would "
               "become zeros");
        return false;
    }
    return true;
}

static enum sb_code see(struct pass *pass, const struct sb_entry *entry)
{
    int64_t end = entry->offset + entry->size;
    bool shares = entry->offset < pass->end, damaged;

    pass->shared = pass->shared || shares;
    TRY(settle(pass));
    TRY(sb_restore_list_is_damaged(pass->restore->list, entry->path, entry->path_size, &damaged));
    if (end > pass->end)
        pass->end = end;
    if (!(entry->has & SB_HAS_CRC) && end > pass->size && !pass->restore->options->protect)
        pass->gap = true;
    if (!damaged || !may_be_restored(pass, entry))
        return SB_OK;
    TRY(sb_buf_set(&pass->path, entry->path, entry->path_size));
    pass->last = *entry;
    pass->last.path = pass->path.data;
    pass->pending = true;
    pass->shared = shares;
    return SB_OK;
}

static enum sb_code plan_shard(struct pass *pass, uint32_t shard)
{
    struct sb_query query = {.order = SB_BY_ADDRESS,
                             .files = true,
                             .shard_first = shard,
                             .shard_last = shard,
                             .steady = true};
    CLEANUP(sb_cursor_freep) struct sb_cursor *cursor = NULL;
    struct sb_entry entry;
    enum sb_code code;

    TRY(sb_cursor_open(&cursor, pass->restore->archive, &query));
    while (!(code = sb_cursor_next(cursor, &entry))) {
        if (!entry.defect && entry.size > 0)
            TRY(see(pass, &entry));
    }
    return code == SB_END ? settle(pass) : code;
}

static enum sb_code plan_writable(struct sb_restore *restore, uint32_t shard)
{
    struct pass pass = {.restore = restore, .capacity = limit_of(restore->target)};
    CLEANUP(sb_freep) char *path = NULL;
    enum sb_code code = look(restore->target, shard, &pass.size);

    if (code == SB_OK) {
        code = plan_shard(&pass, shard);
        sb_buf_release(&pass.path);
        return code;
    }
    if (code != SB_INVALID)
        return code;
    path = sb_shard_name(restore->target->base, shard);
    if (!path)
        return sb_error()->code;
    sb_report(restore->notify, SB_PROBLEM, "linked", path, "its files are not restored: it %s",
              sb_error()->text);
    return SB_OK;
}

static enum sb_code is_in_use(struct sb_restore *restore, uint32_t shard, bool *in_use)
{
    struct sb_query query = {
        .order = SB_BY_ADDRESS, .files = true, .shard_first = shard, .shard_last = shard};
    CLEANUP(sb_cursor_freep) struct sb_cursor *cursor = NULL;
    struct sb_entry entry;
    enum sb_code code;

    *in_use = false;
    TRY(sb_cursor_open(&cursor, restore->archive, &query));
    while (!*in_use && !(code = sb_cursor_next(cursor, &entry)))
        *in_use = entry.defect || entry.size > 0;
    return *in_use || code == SB_END ? SB_OK : code;
}

/* Up to the next one in use: verify reports a run of them once. */
static enum sb_code fill_hole(struct sb_restore *restore, uint32_t shard)
{
    const char *path = sb_archive_path(restore->archive);
    uint32_t first = shard;
    enum sb_code code = SB_OK;
    bool in_use = false;

    while (shard <= SB_SHARD_MAX && is_missing(restore->target, shard)) {
        CLEANUP(sb_file_freep) struct sb_file *made = NULL;

        code = is_in_use(restore, shard, &in_use);
        if (!code && !in_use)
            code = hold(restore->target, shard, &made);
        if (code || in_use)
            break;
        shard++;
    }
    if (shard == first + 1)
        sb_report(restore->notify, SB_WARNING, "shard", path,
                  "shard %u, which no file uses, was missing, and is made anew", first);
    else if (shard > first)
        sb_report(restore->notify, SB_WARNING, "shard", path,
                  "shards %u to %u, which no file uses, were missing, and are made anew", first,
                  shard - 1);
    return code;
}

enum sb_code sb_restore_holes(struct sb_restore *restore)
{
    for (uint32_t i = 0; sb_restore_target_next(restore->target, SB_SHARD_DEFECT, &i); i++)
        TRY(fill_hole(restore, i));
    return SB_OK;
}

enum sb_code sb_restore_plan(struct sb_restore *restore)
{
    struct sb_restore_target *target = restore->target;

    TRY(mark_shards(restore));
    for (uint32_t i = 0; sb_restore_target_next(target, SB_SHARD_WANTED, &i); i++)
        TRY(plan_writable(restore, i));
    return SB_OK;
}
