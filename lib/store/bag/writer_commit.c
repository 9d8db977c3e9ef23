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

struct names {
    struct sb_buf temporary;
    struct sb_buf final;
    bool changed; /* a final name means something else, or nothing, by now */
};

static void release_names(struct names *names)
{
    sb_buf_release(&names->temporary);
    sb_buf_release(&names->final);
}

static enum sb_code remove_if_there(const char *path, struct sb_error *err)
{
    if (unlink(path) == 0 || errno == ENOENT)
        return SB_OK;
    return sb_fail_errno(err, errno, "%s: cannot be removed", path);
}

static enum sb_code look_for(const char *path, bool *there, struct sb_error *err)
{
    struct stat st;

    *there = lstat(path, &st) == 0;
    if (*there || errno == ENOENT)
        return SB_OK;
    return sb_fail_errno(err, errno, "%s", path);
}

static enum sb_code sync_directory(const struct sb_bag_writer *writer, struct sb_error *err)
{
    return sb_sync_directory_of(writer->pattern.path, err);
}

static enum sb_code rename_one(const struct sb_bag_writer *writer, uint32_t shard, bool limits,
                               struct names *names, struct sb_error *err)
{
    enum sb_code code = sb_bag_temporary_name(writer, shard, limits, &names->temporary, err);

    if (code == SB_OK)
        code = sb_bag_final_name(writer, shard, writer->shards, limits, &names->final, err);
    if (code)
        return code;
    if (writer->options.force)
        code = sb_rename(names->temporary.data, names->final.data, err);
    else
        code = sb_rename_new(names->temporary.data, names->final.data, err);
    names->changed = names->changed || code == SB_OK;
    return code;
}

/* Its limits first: without them it would be read otherwise. */
static enum sb_code rename_shard(const struct sb_bag_writer *writer, uint32_t shard,
                                 struct names *names, struct sb_error *err)
{
    enum sb_code code = SB_OK;
    bool there = false;

    if (writer->separate)
        code = rename_one(writer, shard, true, names, err);
    else if (writer->options.force) {
        code = sb_bag_final_name(writer, shard, writer->shards, true, &names->final, err);
        if (code == SB_OK)
            code = look_for(names->final.data, &there, err);
        if (code == SB_OK && there) {
            names->changed = true;
            code = remove_if_there(names->final.data, err);
        }
    }
    return code ? code : rename_one(writer, shard, false, names, err);
}

/* What has a final name was made by this run, which is not going to end well. */
static void take_names_back(const struct sb_bag_writer *writer, uint32_t end, struct names *names)
{
    struct sb_error ignored;

    for (uint32_t shard = 0; shard < end; shard++) {
        for (int limits = 0; limits <= (int)writer->separate; limits++) {
            /* One that was not reached still has its temporary name. */
            if (sb_bag_temporary_name(writer, shard, limits, &names->temporary, &ignored) ==
                    SB_OK &&
                sb_bag_final_name(writer, shard, writer->shards, limits, &names->final, &ignored) ==
                    SB_OK &&
                access(names->temporary.data, F_OK) && errno == ENOENT)
                unlink(names->final.data);
        }
    }
}

/* The old shard 0, under the temporary name behind the last one. */
static enum sb_code find_aside(struct sb_bag_writer *writer, struct names *names,
                               struct sb_error *err)
{
    enum sb_code code =
        sb_bag_temporary_name(writer, writer->shards, false, &names->temporary, err);

    return code ? code : sb_bag_final_name(writer, 0, writer->shards, false, &names->final, err);
}

static enum sb_code set_aside(struct sb_bag_writer *writer, struct names *names,
                              struct sb_error *err)
{
    enum sb_code code = find_aside(writer, names, err);
    bool there = false;

    if (code == SB_OK)
        code = look_for(names->final.data, &there, err);
    if (code == SB_OK && there) {
        writer->made = writer->shards + 1;
        code = sb_rename(names->final.data, names->temporary.data, err);
    }
    return code ? code : sync_directory(writer, err);
}

static enum sb_code drop_aside(struct sb_bag_writer *writer, struct names *names,
                               struct sb_error *err)
{
    enum sb_code code = find_aside(writer, names, err);

    return code ? code : remove_if_there(names->temporary.data, err);
}

/* Nothing else was replaced: so the old set is whole again. */
static void put_back(struct sb_bag_writer *writer, struct names *names)
{
    struct sb_error ignored;

    if (find_aside(writer, names, &ignored) == SB_OK &&
        sb_rename_new(names->temporary.data, names->final.data, &ignored) == SB_OK)
        ignored.code = sync_directory(writer, &ignored);
}

static enum sb_code name_set(struct sb_bag_writer *writer, struct names *names,
                             struct sb_error *err)
{
    enum sb_code code = SB_OK;

    if (writer->options.force)
        code = set_aside(writer, names, err);
    for (uint32_t shard = 1; code == SB_OK && shard < writer->shards; shard++)
        code = rename_shard(writer, shard, names, err);
    if (code == SB_OK && writer->shards > 1)
        code = sync_directory(writer, err);
    if (code == SB_OK)
        code = rename_shard(writer, 0, names, err);
    if (!writer->options.force)
        return code;
    if (code && !names->changed)
        put_back(writer, names);
    return code ? code : drop_aside(writer, names, err);
}

/* Puts the limits in `limits` behind the records in `file`, which they must end with. */
static enum sb_code add_tail(int file, int limits, const char *path, struct sb_error *err)
{
    struct stat records, numbers;
    uint64_t last;
    enum sb_code code;

    if (fstat(file, &records) || fstat(limits, &numbers))
        return sb_fail_errno(err, errno, "%s", path);
    if (numbers.st_size < (off_t)sizeof(last))
        return SB_OK;
    code = sb_bag_read_last_limit(limits, numbers.st_size, &last, path, err);
    if (code || last != (uint64_t)records.st_size)
        return code;
    if (lseek(file, records.st_size, SEEK_SET) < 0)
        return sb_fail_errno(err, errno, "%s", path);
    code = sb_copy_range(limits, 0, file, numbers.st_size, path, path, err);
    return code ? code : sb_fsync(file, path, err);
}

/*
 * The old bag gets its limits at its tail, where they say the same, and limits.NAME goes: so at
 * every moment there is a whole bag.
 */
static enum sb_code fold_old_limits(const struct sb_bag_writer *writer, const char *limits_path,
                                    struct sb_error *err)
{
    const char *path = writer->pattern.path;
    int file = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    int limits = open(limits_path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    enum sb_code code = SB_OK;

    if (file >= 0 && limits >= 0)
        code = add_tail(file, limits, path, err);
    if (file >= 0)
        close(file);
    if (limits >= 0)
        close(limits);
    if (code == SB_OK)
        code = remove_if_there(limits_path, err);
    return code ? code : sync_directory(writer, err);
}

/* The new file has its limits at its tail as well, until limits.NAME is there. */
static enum sb_code move_limits_out(const struct sb_bag_writer *writer, struct names *names,
                                    struct sb_error *err)
{
    const char *path = writer->pattern.path;
    enum sb_code code = sync_directory(writer, err);
    int fd;

    if (code == SB_OK)
        code = rename_one(writer, 0, true, names, err);
    if (code == SB_OK)
        code = sync_directory(writer, err);
    if (code)
        return code;
    fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return sb_fail_errno(err, errno, "%s", path);
    if (ftruncate(fd, writer->shard_bytes))
        code = sb_fail_errno(err, errno, "%s: cannot be cut", path);
    if (code) {
        close(fd);
        return code;
    }
    return sb_bag_close_synced(writer, fd, err);
}

static enum sb_code replace_file(const struct sb_bag_writer *writer, struct names *names,
                                 struct sb_error *err)
{
    struct sb_buf limits = {0};
    enum sb_code code = sb_bag_final_name(writer, 0, 1, true, &limits, err);
    bool there = false;

    if (code == SB_OK)
        code = look_for(limits.data, &there, err);
    if (code == SB_OK && there)
        code = fold_old_limits(writer, limits.data, err);
    if (code == SB_OK)
        code = rename_one(writer, 0, false, names, err);
    if (code == SB_OK && writer->separate)
        code = move_limits_out(writer, names, err);
    sb_buf_release(&limits);
    return code;
}

enum sb_code sb_bag_give_names(struct sb_bag_writer *writer, struct sb_error *err)
{
    struct names names = {0};
    enum sb_code code = SB_OK;

    if (writer->pattern.is_set)
        code = sb_bag_tell_others(writer, err);
    if (code)
        return code;
    if (writer->pattern.is_set)
        code = name_set(writer, &names, err);
    else if (writer->options.force)
        code = replace_file(writer, &names, err);
    else
        code = rename_shard(writer, 0, &names, err);
    if (code && !writer->options.force)
        take_names_back(writer, writer->shards, &names);
    if (code == SB_OK)
        code = sync_directory(writer, err);
    release_names(&names);
    return code;
}

void sb_bag_take_names(struct sb_bag_writer *writer)
{
    struct names names = {0};
    struct sb_error ignored;

    if (writer->options.force || writer->append || writer->stream)
        return;
    take_names_back(writer, writer->shards, &names);
    ignored.code = sync_directory(writer, &ignored);
    release_names(&names);
}
