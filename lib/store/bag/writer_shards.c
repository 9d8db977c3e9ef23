/*
 * The temporary files of a bag that is being written, but for those of interleaved sets.
 */
#include "core/io.h"
#include "store/bag/writer_private.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static enum sb_code open_temporary(struct sb_bag_writer *writer, uint32_t shard, bool limits,
                                   int flags, int *fd)
{
    CLEANUP(sb_buf_release) struct sb_buf name = {0};

    *fd = -1;
    TRY(sb_bag_temporary_name(writer, shard, limits, &name));
    *fd = open(name.data, flags | O_NOFOLLOW | O_CLOEXEC, 0666);
    return *fd < 0 ? sb_fail_errno(errno, "%s: cannot be created", writer->name) : SB_OK;
}

enum sb_code sb_bag_create(struct sb_bag_writer *writer, uint32_t shard, bool limits, int *fd)
{
    if (shard >= writer->made)
        writer->made = shard + 1;
    return open_temporary(writer, shard, limits, O_RDWR | O_CREAT | O_EXCL, fd);
}

enum sb_code sb_bag_reopen(struct sb_bag_writer *writer, uint32_t shard, bool limits, int *fd)
{
    return open_temporary(writer, shard, limits, O_WRONLY | O_APPEND, fd);
}

enum sb_code sb_bag_close_synced(const struct sb_bag_writer *writer, int fd)
{
    enum sb_code code = sb_fsync(fd, writer->name);

    if (close(fd) && code == SB_OK)
        code = sb_fail_errno(errno, "%s: cannot close", writer->name);
    return code;
}

enum sb_code sb_bag_put(void *context, const void *data, size_t size)
{
    struct sb_bag_writer *writer = context;

    return sb_outbuf_write(&writer->out, data, size);
}

enum sb_code sb_bag_begin_shard(struct sb_bag_writer *writer)
{
    writer->shard_records = 0;
    writer->shard_bytes = 0;
    TRY(sb_bag_create(writer, writer->shard, false, &writer->fd));
    return sb_outbuf_begin(&writer->out, writer->fd, writer->name, true, 0);
}

/* What was put is whole. */
static enum sb_code close_out(struct sb_bag_writer *writer)
{
    int fd = writer->fd;

    TRY(sb_outbuf_flush(&writer->out));
    writer->fd = -1;
    return sb_bag_close_synced(writer, fd);
}

/* The limits of the shard that grows, `count` from `first` on, go to their place. */
static enum sb_code end_shard(struct sb_bag_writer *writer, int64_t first, int64_t count,
                              int64_t base)
{
    bool at_tail = !writer->separate || sb_bag_replaces_file(writer);

    if (at_tail)
        TRY(sb_limit_spool_feed(&writer->limits, first, count, base, sb_bag_put, writer));
    if (writer->separate) {
        TRY(close_out(writer));
        TRY(sb_bag_create(writer, writer->shard, true, &writer->fd));
        TRY(sb_outbuf_begin(&writer->out, writer->fd, writer->name, true, 0));
        TRY(sb_limit_spool_feed(&writer->limits, first, count, base, sb_bag_put, writer));
    }
    return close_out(writer);
}

/* May there be one more shard? */
static enum sb_code check_shard_limit(const struct sb_bag_writer *writer)
{
    uint32_t most = writer->shards ? writer->shards : SB_SPEC_SHARDS_MAX;

    if (writer->shard + 1 < most)
        return SB_OK;
    return sb_fail(SB_LIMIT,
                   "%s: more records come than %u shards hold; let a shard hold more, or name more "
                   "of them",
                   writer->name, most);
}

static enum sb_code end_grown(struct sb_bag_writer *writer)
{
    return end_shard(writer, 0, writer->shard_records, 0);
}

enum sb_code sb_bag_next_shard(struct sb_bag_writer *writer)
{
    TRY(check_shard_limit(writer));
    TRY(end_grown(writer));
    sb_limit_spool_clear(&writer->limits);
    writer->shard++;
    return sb_bag_begin_shard(writer);
}

enum sb_code sb_bag_carry_over(struct sb_bag_writer *writer)
{
    int64_t start = writer->shard_bytes, size = writer->record_bytes;
    CLEANUP(sb_closep) int next = -1;

    TRY(check_shard_limit(writer));
    TRY(sb_outbuf_flush(&writer->out));
    TRY(sb_bag_create(writer, writer->shard + 1, false, &next));
    TRY(sb_copy_range(writer->fd, start, next, size, writer->name, writer->name));
    TRY(sb_outbuf_cut(&writer->out, start));
    TRY(end_grown(writer));
    sb_limit_spool_clear(&writer->limits);
    writer->shard++;
    writer->fd = next;
    next = -1;
    writer->shard_records = 0;
    writer->shard_bytes = 0;
    return sb_outbuf_begin(&writer->out, writer->fd, writer->name, true, size);
}

/* The end of a record within the file that all of them were put into. */
static enum sb_code spooled_end(const struct sb_bag_writer *writer, int64_t records, int64_t *end)
{
    *end = 0;
    return records ? sb_limit_spool_get(&writer->limits, records - 1, 1, end) : SB_OK;
}

/* The records from `first` to `end` of those in `from` become the shard, and are cut off there. */
static enum sb_code cut_off(struct sb_bag_writer *writer, int from, uint32_t shard, int64_t first,
                            int64_t end)
{
    const char *name = writer->name;
    int64_t from_byte, end_byte;

    writer->shard = shard;
    TRY(spooled_end(writer, first, &from_byte));
    TRY(spooled_end(writer, end, &end_byte));
    TRY(sb_bag_create(writer, shard, false, &writer->fd));
    TRY(sb_copy_range(from, from_byte, writer->fd, end_byte - from_byte, name, name));
    TRY(sb_outbuf_begin(&writer->out, writer->fd, name, true, end_byte - from_byte));
    TRY(end_shard(writer, first, end - first, from_byte));
    if (ftruncate(from, from_byte) || lseek(from, from_byte, SEEK_SET) < 0)
        return sb_fail_errno(errno, "%s: cannot be cut", name);
    return SB_OK;
}

/* From the last shard to the second, so that no more than one of them is there twice. */
static enum sb_code cut_spooled(struct sb_bag_writer *writer)
{
    int from = writer->fd;
    int64_t count = writer->records, each = count / writer->shards, more = count % writer->shards;
    int64_t end = count, first, size;
    enum sb_code code = sb_outbuf_flush(&writer->out);

    writer->fd = -1;
    for (uint32_t shard = writer->shards - 1; code == SB_OK && shard > 0; shard--, end = first) {
        first = shard * each + (shard < more ? shard : more);
        code = cut_off(writer, from, shard, first, end);
    }
    if (writer->fd >= 0)
        close(writer->fd);
    writer->fd = from;
    writer->shard = 0;
    TRY(code);
    TRY(spooled_end(writer, end, &size));
    TRY(sb_outbuf_begin(&writer->out, from, writer->name, true, size));
    return end_shard(writer, 0, end, 0);
}

enum sb_code sb_bag_end_shards(struct sb_bag_writer *writer)
{
    if (writer->spooled)
        return cut_spooled(writer);
    while (writer->shard + 1 < writer->shards)
        TRY(sb_bag_next_shard(writer));
    TRY(end_grown(writer));
    writer->shards = writer->shard + 1;
    return SB_OK;
}

void sb_bag_remove_temporary(struct sb_bag_writer *writer)
{
    CLEANUP(sb_buf_release) struct sb_buf name = {0};

    for (uint32_t shard = 0; shard < writer->made; shard++) {
        for (int limits = 0; limits < 2; limits++) {
            if (IGNORED(sb_bag_temporary_name(writer, shard, limits, &name)) == SB_OK)
                unlink(name.data);
        }
    }
}
