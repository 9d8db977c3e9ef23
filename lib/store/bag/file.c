#include "store/bag/impl.h"

#include "core/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Appends its path. */
static enum sb_code name_file(const struct sb_bag *bag, uint32_t shard, enum sb_bag_part part,
                              struct sb_buf *out)
{
    const char *path = bag->shards[shard].path;

    return part == SB_BAG_LIMITS ? sb_limits_name(path, out) : sb_buf_add_text(out, path);
}

static enum sb_code refuse_irregular(const char *path, enum sb_bag_part part, const struct stat *st,
                                     struct sb_error *err)
{
    if (S_ISREG(st->st_mode))
        return SB_OK;
    if (part == SB_BAG_LIMITS)
        return sb_fail(err, SB_FORMAT,
                       "%s: limits must be a regular file; for those at the tail: --limits=tail",
                       path);
    if (S_ISFIFO(st->st_mode))
        return sb_fail(err, SB_FORMAT, "%s: is a pipe; read it as: ... --from=bagz - <%s", path,
                       path);
    return sb_fail(err, SB_FORMAT, "%s: a bag must be a regular file", path);
}

/* Looked at before it is opened, since opening a device may do something. */
static enum sb_code open_regular(const char *path, enum sb_bag_part part, int *fd, struct stat *st,
                                 struct sb_error *err)
{
    enum sb_code code;

    *fd = -1;
    if (stat(path, st))
        return sb_fail_errno(err, errno, "%s", path);
    if (refuse_irregular(path, part, st, err))
        return err->code;
    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (*fd < 0 || fstat(*fd, st))
        code = sb_fail_errno(err, errno, "%s", path);
    else
        code = refuse_irregular(path, part, st, err);
    if (code && *fd >= 0)
        close(*fd);
    return code;
}

static struct sb_bag_file describe(const struct stat *st)
{
    return (struct sb_bag_file){
        .device = st->st_dev, .inode = st->st_ino, .size = st->st_size, .written = st->st_mtim};
}

static uint32_t number_of(uint32_t shard, enum sb_bag_part part)
{
    return shard * SB_BAG_PARTS + part;
}

enum sb_code sb_bag_file_open(struct sb_bag *bag, uint32_t shard, enum sb_bag_part part,
                              struct sb_error *err)
{
    struct sb_open_file file;
    struct sb_buf path = {0};
    uint32_t generation;
    struct stat st;
    enum sb_code code;
    int fd;

    code = name_file(bag, shard, part, &path) ? sb_fail_memory(err)
                                              : open_regular(path.data, part, &fd, &st, err);
    if (!code) {
        generation = bag->files[shard][part].generation + 1;
        bag->files[shard][part] = describe(&st);
        bag->files[shard][part].generation = generation;
        sb_open_files_keep(&bag->open_files, number_of(shard, part), generation, fd, &file);
        sb_open_files_release(&bag->open_files, &file);
    }
    sb_buf_release(&path);
    return code;
}

/* Opens it once more, after others have taken its place among the open files. */
static enum sb_code reopen(struct sb_bag *bag, uint32_t shard, enum sb_bag_part part,
                           struct sb_open_file *out, struct sb_error *err)
{
    const struct sb_bag_file *known = &bag->files[shard][part];
    struct sb_buf path = {0};
    struct stat st;
    enum sb_code code;
    int fd;

    if (name_file(bag, shard, part, &path)) {
        code = sb_fail_memory(err);
        goto out;
    }
    code = open_regular(path.data, part, &fd, &st, err);
    if (!code && (st.st_dev != known->device || st.st_ino != known->inode)) {
        close(fd);
        code = sb_fail(err, SB_CHANGED, "%s: was replaced while it was read", path.data);
    }
    if (!code)
        sb_open_files_keep(&bag->open_files, number_of(shard, part), known->generation, fd, out);
out:
    sb_buf_release(&path);
    return code;
}

static enum sb_code acquire(struct sb_bag *bag, uint32_t shard, enum sb_bag_part part,
                            struct sb_open_file *out, struct sb_error *err)
{
    if (sb_open_files_find(&bag->open_files, number_of(shard, part),
                           bag->files[shard][part].generation, out))
        return SB_OK;
    return reopen(bag, shard, part, out, err);
}

static enum sb_code ends_early(const struct sb_bag *bag, uint32_t shard, enum sb_bag_part part,
                               int64_t end, struct sb_error *err)
{
    struct sb_buf path = {0};
    enum sb_code code;

    if (name_file(bag, shard, part, &path))
        code = sb_fail_memory(err);
    else
        code = sb_fail(err, SB_DAMAGED, "%s: ends before byte %lld; it was longer before",
                       path.data, (long long)end);
    sb_buf_release(&path);
    return code;
}

enum sb_code sb_bag_file_read(struct sb_bag *bag, uint32_t shard, enum sb_bag_part part,
                              int64_t offset, void *data, size_t size, struct sb_error *err)
{
    const char *what = bag->shards[shard].path;
    struct sb_open_file file = {.fd = bag->fd};
    enum sb_code code;
    size_t got;

    if (bag->fd < 0 && acquire(bag, shard, part, &file, err))
        return err->code;
    code = sb_pread_full(file.fd, data, size, offset, &got, what, err);
    if (bag->fd < 0)
        sb_open_files_release(&bag->open_files, &file);
    if (!code && got < size)
        code = ends_early(bag, shard, part, offset + (int64_t)size, err);
    return code;
}

enum sb_code sb_bag_file_take(struct sb_bag *bag, struct sb_error *err)
{
    const char *name = bag->shards[0].path;
    struct stat st;

    if (fstat(bag->fd, &st))
        return sb_fail_errno(err, errno, "%s", name);
    if (!S_ISREG(st.st_mode))
        return sb_fail(err, SB_FORMAT, "%s: a bag must be a regular file", name);
    bag->files[0][SB_BAG_RECORDS] = describe(&st);
    return SB_OK;
}

static enum sb_code stat_now(struct sb_bag *bag, uint32_t shard, struct stat *st,
                             struct sb_error *err)
{
    struct sb_open_file file = {.fd = bag->fd};
    enum sb_code code = SB_OK;

    if (bag->fd < 0 && acquire(bag, shard, SB_BAG_RECORDS, &file, err))
        return err->code;
    if (fstat(file.fd, st))
        code = sb_fail_errno(err, errno, "%s", bag->shards[shard].path);
    if (bag->fd < 0)
        sb_open_files_release(&bag->open_files, &file);
    return code;
}

enum sb_code sb_bag_file_settled(struct sb_bag *bag, uint32_t shard, struct sb_error *err)
{
    const struct sb_bag_file *known = &bag->files[shard][SB_BAG_RECORDS];
    struct sb_buf limits = {0};
    struct stat st = {0};
    enum sb_code code = stat_now(bag, shard, &st, err);

    if (code || (st.st_size == known->size && st.st_mtim.tv_sec == known->written.tv_sec &&
                 st.st_mtim.tv_nsec == known->written.tv_nsec))
        return code;
    /* Only touched: it is as it was. */
    if (name_file(bag, shard, SB_BAG_LIMITS, &limits))
        code = sb_fail_memory(err);
    else if (st.st_size != known->size || access(limits.data, F_OK) == 0)
        code = sb_fail(err, SB_CHANGED, "%s: is written to by another process; try again",
                       bag->shards[shard].path);
    sb_buf_release(&limits);
    return code;
}
