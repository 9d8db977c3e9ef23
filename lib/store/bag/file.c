#include "store/bag/impl.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

/* Appends its path. */
static enum sb_code name_file(const struct sb_bag *bag, uint32_t shard, enum sb_bag_part part,
                              struct sb_buf *out)
{
    const char *path = bag->shards[shard].path;

    return part == SB_BAG_LIMITS ? sb_limits_name(path, out) : sb_buf_add_text(out, path);
}

static enum sb_code refuse_irregular(const char *path, enum sb_bag_part part, const struct stat *st)
{
    if (S_ISREG(st->st_mode))
        return SB_OK;
    if (part == SB_BAG_LIMITS)
        return sb_fail(SB_FORMAT,
                       "%s: limits must be a regular file; for those at the tail: --limits=tail",
                       path);
    if (S_ISFIFO(st->st_mode))
        return sb_fail(SB_FORMAT, "%s: is a pipe; read it as: ... --from=bagz - <%s", path, path);
    return sb_fail(SB_FORMAT, "%s: a bag must be a regular file", path);
}

/* Looked at before it is opened, since opening a device may do something. */
static enum sb_code open_regular(const struct sb_bag *bag, uint32_t shard, enum sb_bag_part part,
                                 struct sb_file **out)
{
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    struct stat st;

    *out = NULL;
    if (name_file(bag, shard, part, &path))
        return sb_fail_memory();
    if (stat(path.data, &st))
        return sb_fail_errno(errno, "%s", path.data);
    else
        TRY(refuse_irregular(path.data, part, &st));
    return sb_file_open(out, path.data, "bag");
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

enum sb_code sb_bag_file_open(struct sb_bag *bag, uint32_t shard, enum sb_bag_part part)
{
    uint32_t generation = bag->files[shard][part].generation + 1;
    struct sb_file *file;

    TRY(open_regular(bag, shard, part, &file));
    bag->files[shard][part] = describe(&file->st);
    bag->files[shard][part].generation = generation;
    sb_open_files_keep(&bag->open_files, number_of(shard, part), generation, file);
    sb_file_free(file);
    return SB_OK;
}

/* Opens it once more, after others have taken its place among the open files. */
static enum sb_code reopen(struct sb_bag *bag, uint32_t shard, enum sb_bag_part part,
                           struct sb_file **out)
{
    const struct sb_bag_file *known = &bag->files[shard][part];

    TRY(open_regular(bag, shard, part, out));
    if ((*out)->st.st_dev == known->device && (*out)->st.st_ino == known->inode) {
        sb_open_files_keep(&bag->open_files, number_of(shard, part), known->generation, *out);
        return SB_OK;
    }
    (void)sb_fail(SB_CHANGED, "%s: was replaced while it was read", (*out)->name);
    sb_file_free(*out);
    *out = NULL;
    return sb_error()->code;
}

/* The caller becomes a holder. */
static enum sb_code acquire(struct sb_bag *bag, uint32_t shard, enum sb_bag_part part,
                            struct sb_file **out)
{
    *out = bag->file && part == SB_BAG_RECORDS
               ? sb_file_ref(bag->file)
               : sb_open_files_find(&bag->open_files, number_of(shard, part),
                                    bag->files[shard][part].generation);
    return *out ? SB_OK : reopen(bag, shard, part, out);
}

enum sb_code sb_bag_file_read(struct sb_bag *bag, uint32_t shard, enum sb_bag_part part,
                              int64_t offset, void *data, size_t size)
{
    CLEANUP(sb_file_freep) struct sb_file *file = NULL;

    TRY(acquire(bag, shard, part, &file));
    return sb_file_read_exactly(file, data, size, offset);
}

enum sb_code sb_bag_file_take(struct sb_bag *bag)
{
    if (!S_ISREG(bag->file->st.st_mode))
        return sb_fail(SB_FORMAT, "%s: a bag must be a regular file", bag->file->name);
    bag->files[0][SB_BAG_RECORDS] = describe(&bag->file->st);
    return SB_OK;
}

static enum sb_code stat_now(struct sb_bag *bag, uint32_t shard, struct stat *st)
{
    CLEANUP(sb_file_freep) struct sb_file *file = NULL;

    TRY(acquire(bag, shard, SB_BAG_RECORDS, &file));
    if (fstat(file->fd, st))
        return sb_fail_errno(errno, "%s", file->name);
    return SB_OK;
}

enum sb_code sb_bag_file_settled(struct sb_bag *bag, uint32_t shard)
{
    const struct sb_bag_file *known = &bag->files[shard][SB_BAG_RECORDS];
    struct sb_buf limits = {0};
    struct stat st = {0};
    enum sb_code code = stat_now(bag, shard, &st);

    if (code || (st.st_size == known->size && st.st_mtim.tv_sec == known->written.tv_sec &&
                 st.st_mtim.tv_nsec == known->written.tv_nsec))
        return code;
    /* Only touched: it is as it was. */
    if (name_file(bag, shard, SB_BAG_LIMITS, &limits))
        code = sb_fail_memory();
    else if (st.st_size != known->size || access(limits.data, F_OK) == 0)
        code = sb_fail(SB_CHANGED, "%s: is written to by another process; try again",
                       bag->shards[shard].path);
    sb_buf_release(&limits);
    return code;
}
