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
    CLEANUP(sb_buf_release) struct sb_buf from = {0}, to = {0};

    TRY(sb_bag_temporary_name(writer, shard, limits, &from));
    TRY(sb_bag_final_name(writer, shard, writer->shards, limits, &to));
    return replace ? sb_rename(from.data, to.data) : sb_rename_new(from.data, to.data);
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

    if (writer->separate) {
        TRY(sb_bag_give_name(writer, shard, true, force));
        *changed = true;
    } else if (force) {
        TRY(remove_old(writer, shard, false, changed));
    }
    TRY(sb_bag_give_name(writer, shard, false, force));
    *changed = true;
    return SB_OK;
}

/* What has a final name was made by this run, which is not going to end well. */
static void take_names_back(const struct sb_bag_writer *writer)
{
    CLEANUP(sb_buf_release) struct sb_buf temporary = {0}, final = {0};

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
}

/* The old shard 0 goes under the temporary name after the last one, or comes back. */
static enum sb_code move_aside(struct sb_bag_writer *writer, bool back)
{
    CLEANUP(sb_buf_release) struct sb_buf aside = {0}, own = {0};
    enum sb_code code;

    writer->made = writer->shards + 1;
    TRY(sb_bag_temporary_name(writer, writer->shards, false, &aside));
    TRY(sb_bag_final_name(writer, 0, writer->shards, false, &own));
    code = back ? sb_rename_new(aside.data, own.data) : sb_rename(own.data, aside.data);
    if (code != SB_NOENT) /* there is one */
        TRY(code);
    return sync_directory(writer);
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

    if (fstat(file, &records) || fstat(limits, &numbers))
        return sb_fail_errno(errno, "%s", path);
    if (numbers.st_size < (off_t)sizeof(last))
        return SB_OK;
    TRY(sb_bag_read_last_limit(limits, numbers.st_size, &last, path));
    if (last != (uint64_t)records.st_size)
        return SB_OK;
    if (lseek(file, records.st_size, SEEK_SET) < 0)
        return sb_fail_errno(errno, "%s", path);
    TRY(sb_copy_range(limits, 0, file, numbers.st_size, path, path));
    return sb_fsync(file, path);
}

/*
 * The old bag gets its limits at its tail, where they say the same, and limits.NAME goes: so at
 * every moment there is a whole bag.
 */
static enum sb_code fold_old_limits(const struct sb_bag_writer *writer)
{
    const char *path = writer->pattern.path;
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    bool ignored = false;
    enum sb_code code = SB_OK;
    int file, limits;

    TRY(sb_bag_final_name(writer, 0, 1, true, &name));
    limits = open(name.data, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    if (limits < 0 && errno == ENOENT)
        return SB_OK;
    file = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (file >= 0 && limits >= 0)
        code = add_tail(file, limits, path);
    if (file >= 0)
        close(file);
    if (limits >= 0)
        close(limits);
    TRY(code);
    TRY(remove_old(writer, 0, false, &ignored));
    return sync_directory(writer);
}

/* The new file has its limits at its tail as well, until limits.NAME is there. */
static enum sb_code move_limits_out(const struct sb_bag_writer *writer)
{
    const char *path = writer->pattern.path;
    enum sb_code code;
    int fd;

    TRY(sync_directory(writer));
    TRY(sb_bag_give_name(writer, 0, true, true));
    TRY(sync_directory(writer));
    fd = open(path, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return sb_fail_errno(errno, "%s", path);
    if (ftruncate(fd, writer->shard_bytes) == 0)
        return sb_bag_close_synced(writer, fd);
    code = sb_fail_errno(errno, "%s: cannot be cut", path);
    close(fd);
    return code;
}

enum sb_code sb_bag_give_names(struct sb_bag_writer *writer)
{
    bool ignored = false;
    enum sb_code code;

    if (sb_bag_replaces_file(writer)) {
        TRY(fold_old_limits(writer));
        TRY(sb_bag_give_name(writer, 0, false, true));
        if (writer->separate)
            TRY(move_limits_out(writer));
        return sync_directory(writer);
    }
    if (writer->pattern.is_set)
        TRY(sb_bag_report_others(writer));
    code = writer->pattern.is_set ? name_set(writer) : name_shard(writer, 0, &ignored);
    if (code && !writer->options.force)
        take_names_back(writer);
    return code ? code : sync_directory(writer);
}

/* No names at all for what a run without force made. */
static void take_names(struct sb_bag_writer *writer)
{
    if (writer->options.force || writer->append || writer->stream)
        return;
    take_names_back(writer);
    (void)!IGNORED(sync_directory(writer));
}

/* Records and their keys, committed together. */

/* What is not finished is left to the next writer, as after a kill. */
static void leave(struct sb_bag_writer *records, struct sb_bag_writer *keys)
{
    records->append->left = keys->append->left = true;
    records->made = keys->made = 0;
}

static enum sb_code has_grown(const struct sb_bag_writer *writer, bool *grown)
{
    return IGNORED(sb_bag_has_grown(writer->pattern.path, writer->append->new_end,
                                    writer->append->new_limits_size, grown));
}

/* Only names are left to do, so that it is worth a second try. */
static enum sb_code commit_keys(struct sb_bag_writer *records, struct sb_bag_writer *keys)
{
    enum sb_code code = sb_bag_append_commit(keys);
    bool grown;

    if (code && (has_grown(keys, &grown) || !grown) && IGNORED(sb_bag_append_commit(keys)))
        leave(records, keys);
    return code;
}

/* A commit that failed may have done its work: then the keys get theirs all the same. */
static enum sb_code commit_tied(struct sb_bag_writer *records, struct sb_bag_writer *keys)
{
    enum sb_code code;
    bool grown;

    TRY(sb_bag_tie(records, keys));
    code = sb_bag_append_commit(records);
    if (!code)
        return commit_keys(records, keys);
    if (has_grown(records, &grown))
        leave(records, keys);
    else if (grown)
        (void)!IGNORED(commit_keys(records, keys));
    return code;
}

static enum sb_code commit_new(struct sb_bag_writer *records, struct sb_bag_writer *keys)
{
    enum sb_code code = sb_bag_writer_commit(keys);

    if (code == SB_OK) {
        code = sb_bag_writer_commit(records);
        if (code)
            take_names(records);
    }
    if (code)
        take_names(keys);
    return code;
}

enum sb_code sb_bag_writer_commit_pair(struct sb_bag_writer *records, struct sb_bag_writer *keys)
{
    TRY(sb_bag_writer_finish(records));
    TRY(sb_bag_writer_finish(keys));
    if (records->append && keys->append && records->append->begun && keys->append->begun)
        return commit_tied(records, keys);
    return commit_new(records, keys);
}
