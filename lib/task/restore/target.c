#include "task/restore/impl.h"

#include "archive/shards.h"
#include "archive/writer/linked.h"
#include "core/io.h"
#include "core/open_files.h"
#include "task/protect/before.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

struct sb_restore_target {
    char *base;
    struct sb_rewrite rewrite;
    struct sqlite3 *db;
    struct sb_open_files files; /* open for writing; there is only one generation */
    unsigned char bits[SB_SHARD_MAX + 1];
};

enum sb_code sb_restore_target_new(struct sb_restore_target **out, const char *base,
                                   const char *parity_dir, struct sqlite3 *db)
{
    CLEANUP(sb_restore_target_freep) struct sb_restore_target *target = calloc(1, sizeof(*target));

    *out = NULL;
    if (!target)
        return sb_fail_memory();
    target->db = db;
    target->base = strdup(base);
    sb_open_files_begin(&target->files, SB_OPEN_FILES_FEW);
    TRY(target->base ? sb_rewrite_begin(&target->rewrite, base, parity_dir) : sb_fail_memory());
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

const char *sb_restore_target_base(const struct sb_restore_target *target)
{
    return target->base;
}

void sb_restore_target_mark(struct sb_restore_target *target, uint32_t shard, unsigned bits)
{
    target->bits[shard] |= (unsigned char)bits;
}

bool sb_restore_target_is(const struct sb_restore_target *target, uint32_t shard, unsigned bit)
{
    return target->bits[shard] & bit;
}

bool sb_restore_target_next(const struct sb_restore_target *target, unsigned bit, uint32_t *shard)
{
    for (; *shard <= SB_SHARD_MAX; ++*shard) {
        if (sb_restore_target_is(target, *shard, bit))
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

enum sb_code sb_restore_target_look(struct sb_restore_target *target, uint32_t shard, int64_t *size)
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

bool sb_restore_target_is_missing(struct sb_restore_target *target, uint32_t shard)
{
    CLEANUP(sb_freep) char *path = IGNORED(sb_shard_name(target->base, shard));
    struct stat st;

    return path && lstat(path, &st) && errno == ENOENT &&
           IGNORED(refuse_missing(target, shard)) == SB_OK;
}

int64_t sb_restore_target_limit(const struct sb_restore_target *target)
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
    enum sb_code code = SB_OK;

    *fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | flags, 0666);
    if (*fd < 0)
        return sb_fail_errno(errno, "%s", path);
    if (fstat(*fd, &st))
        code = sb_fail_errno(errno, "%s", path);
    else if (!S_ISREG(st.st_mode) || st.st_nlink > 1)
        code = sb_fail(SB_CHANGED, "%s: was replaced by another process just now", path);
    if (code)
        close(*fd);
    return code;
}

enum sb_code sb_restore_target_ready(struct sb_restore_target *target, uint32_t shard)
{
    CLEANUP(sb_freep) char *path = NULL;
    enum sb_code code;
    int fd;

    if (sb_restore_target_is(target, shard, SB_SHARD_READY))
        return SB_OK;
    path = sb_shard_name(target->base, shard);
    if (!path)
        return sb_error()->code;
    code = open_shard(path, 0, &fd);
    if (code == SB_NOENT) {
        TRY(open_shard(path, O_CREAT | O_EXCL, &fd));
        code = sb_sync_directory_of(path);
        if (code)
            close(fd);
    }
    if (code)
        return code;
    sb_restore_target_mark(target, shard, SB_SHARD_READY);
    close(fd);
    return SB_OK;
}

/* Opens a shard for writing, unless it is open; the caller becomes a holder. */
static enum sb_code hold(struct sb_restore_target *target, uint32_t shard, struct sb_file **out)
{
    CLEANUP(sb_freep) char *path = NULL;
    int fd;

    *out = sb_open_files_find(&target->files, shard, 0);
    if (*out)
        return SB_OK;
    path = sb_shard_name(target->base, shard);
    if (!path)
        return sb_error()->code;
    TRY(open_shard(path, 0, &fd));
    TRY(sb_file_take(out, fd, path));
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
