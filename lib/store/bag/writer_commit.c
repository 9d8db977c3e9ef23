/*
 * From temporary names to final ones.
 *
 * Of a set the file of shard 0 goes first and comes last: whoever looks for a set finds none in
 * between, rather than parts of two.
 */
#include "core/io.h"
#include "store/bag/writer_private.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

static enum sb_code sync_directory(const struct sb_bag_writer *writer)
{
    return sb_sync_directory_of(writer->pattern.path);
}

enum sb_code sb_bag_give_name(const struct sb_bag_writer *writer, uint32_t shard, bool limits,
                              bool replace)
{
    struct sb_buf from = {0}, to = {0};
    enum sb_code code = sb_bag_temporary_name(writer, shard, limits, &from);

    if (code == SB_OK)
        code = sb_bag_final_name(writer, shard, writer->shards, limits, &to);
    if (code == SB_OK)
        code = replace ? sb_rename(from.data, to.data) : sb_rename_new(from.data, to.data);
    sb_buf_release(&from);
    sb_buf_release(&to);
    return code;
}

/* The old limits of a shard that has its own at its tail; or what went aside under that name. */
static enum sb_code remove_old(const struct sb_bag_writer *writer, uint32_t shard, bool aside,
                               bool *removed)
{
    CLEANUP(sb_buf_release) struct sb_buf name = {0};

    TRY(aside ? sb_bag_temporary_name(writer, shard, false, &name)
              : sb_bag_final_name(writer, shard, writer->shards, true, &name));
    int failure = unlink(name.data) ? errno : 0;

    *removed = *removed || failure != ENOENT; /* what failed may have done its work */
    if (failure && failure != ENOENT)
        return sb_fail_errno(failure, "%s: cannot be removed", name.data);
    return SB_OK;
}

/* Its limits first: without them it would be read otherwise. *changed: set where a final name means
 * something else, or nothing, by now. */
static enum sb_code name_shard(const struct sb_bag_writer *writer, uint32_t shard, bool *changed)
{
    bool force = writer->options.force;
    enum sb_code code = SB_OK;

    if (writer->separate) {
        code = sb_bag_give_name(writer, shard, true, force);
        *changed = *changed || code == SB_OK;
    } else if (force) {
        code = remove_old(writer, shard, false, changed);
    }
    if (code == SB_OK)
        code = sb_bag_give_name(writer, shard, false, force);
    *changed = *changed || code == SB_OK;
    return code;
}

/* What has a final name was made by this run, which is not going to end well. */
static void take_names_back(const struct sb_bag_writer *writer)
{
    struct sb_buf temporary = {0}, final = {0};

    for (uint32_t shard = 0; shard < writer->shards; shard++) {
        for (int limits = 0; limits <= (int)writer->separate; limits++) {
            /* One that was not reached still has its temporary name. */
            if (IGNORED(sb_bag_temporary_name(writer, shard, limits, &temporary)) == SB_OK &&
                IGNORED(sb_bag_final_name(writer, shard, writer->shards, limits, &final)) ==
                    SB_OK &&
                access(temporary.data, F_OK) && errno == ENOENT)
                unlink(final.data);
        }
    }
    sb_buf_release(&temporary);
    sb_buf_release(&final);
}

/* The old shard 0 goes under the temporary name after the last one, or comes back. */
static enum sb_code move_aside(struct sb_bag_writer *writer, bool back)
{
    struct sb_buf aside = {0}, own = {0};
    enum sb_code code = sb_bag_temporary_name(writer, writer->shards, false, &aside);

    writer->made = writer->shards + 1;
    if (code == SB_OK)
        code = sb_bag_final_name(writer, 0, writer->shards, false, &own);
    if (code == SB_OK)
        code = back ? sb_rename_new(aside.data, own.data) : sb_rename(own.data, aside.data);
    if (code == SB_NOENT)
        code = SB_OK; /* there is none */
    sb_buf_release(&aside);
    sb_buf_release(&own);
    return code ? code : sync_directory(writer);
}

static enum sb_code name_set(struct sb_bag_writer *writer)
{
    bool changed = false;
    enum sb_code code = SB_OK;

    if (writer->options.force)
        code = move_aside(writer, false);
    for (uint32_t shard = 1; code == SB_OK && shard < writer->shards; shard++)
        code = name_shard(writer, shard, &changed);
    if (code == SB_OK && writer->shards > 1)
        code = sync_directory(writer);
    if (code == SB_OK)
        code = name_shard(writer, 0, &changed);
    if (!writer->options.force)
        return code;
    /* Where nothing was replaced the old set is whole again. */
    if (code && !changed)
        (void)!IGNORED(move_aside(writer, true));
    return code ? code : remove_old(writer, writer->shards, true, &changed);
}

/* Adds the limits in `limits` at the end of `file`, if the last of them is where its records
 * end. */
static enum sb_code add_tail(int file, int limits, const char *path)
{
    struct stat records, numbers;
    uint64_t last;
    enum sb_code code;

    if (fstat(file, &records) || fstat(limits, &numbers))
        return sb_fail_errno(errno, "%s", path);
    if (numbers.st_size < (off_t)sizeof(last))
        return SB_OK;
    code = sb_bag_read_last_limit(limits, numbers.st_size, &last, path);
    if (code || last != (uint64_t)records.st_size)
        return code;
    if (lseek(file, records.st_size, SEEK_SET) < 0)
        return sb_fail_errno(errno, "%s", path);
    code = sb_copy_range(limits, 0, file, numbers.st_size, path, path);
    return code ? code : sb_fsync(file, path);
}

/*
 * The old bag gets its limits at its tail, where they say the same, and limits.NAME goes: so at
 * every moment there is a whole bag.
 */
static enum sb_code fold_old_limits(const struct sb_bag_writer *writer)
{
    const char *path = writer->pattern.path;
    struct sb_buf name = {0};
    int file = -1, limits = -1;
    bool ignored = false;
    enum sb_code code = sb_bag_final_name(writer, 0, 1, true, &name);

    if (code == SB_OK) {
        limits = open(name.data, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        if (limits < 0 && errno == ENOENT)
            goto out;
        file = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    }
    if (file >= 0 && limits >= 0)
        code = add_tail(file, limits, path);
    if (file >= 0)
        close(file);
    if (limits >= 0)
        close(limits);
    if (code == SB_OK)
        code = remove_old(writer, 0, false, &ignored);
    if (code == SB_OK)
        code = sync_directory(writer);
out:
    sb_buf_release(&name);
    return code;
}

/* The new file has its limits at its tail as well, until limits.NAME is there. */
static enum sb_code move_limits_out(const struct sb_bag_writer *writer)
{
    const char *path = writer->pattern.path;
    enum sb_code code = sync_directory(writer);
    int fd;

    if (code == SB_OK)
        code = sb_bag_give_name(writer, 0, true, true);
    if (code == SB_OK)
        code = sync_directory(writer);
    if (code)
        return code;
    fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return sb_fail_errno(errno, "%s", path);
    if (ftruncate(fd, writer->shard_bytes))
        code = sb_fail_errno(errno, "%s: cannot be cut", path);
    if (code) {
        close(fd);
        return code;
    }
    return sb_bag_close_synced(writer, fd);
}

static enum sb_code replace_file(const struct sb_bag_writer *writer)
{
    TRY(fold_old_limits(writer));
    TRY(sb_bag_give_name(writer, 0, false, true));
    if (writer->separate)
        TRY(move_limits_out(writer));
    return SB_OK;
}

enum sb_code sb_bag_give_names(struct sb_bag_writer *writer)
{
    enum sb_code code = SB_OK;
    bool ignored = false;

    if (writer->pattern.is_set)
        code = sb_bag_report_others(writer);
    if (code)
        return code;
    if (writer->pattern.is_set)
        code = name_set(writer);
    else if (writer->options.force)
        code = replace_file(writer);
    else
        code = name_shard(writer, 0, &ignored);
    if (code && !writer->options.force)
        take_names_back(writer);
    return code ? code : sync_directory(writer);
}

void sb_bag_take_names(struct sb_bag_writer *writer)
{
    if (writer->options.force || writer->append || writer->stream)
        return;
    take_names_back(writer);
    (void)!IGNORED(sync_directory(writer));
}
