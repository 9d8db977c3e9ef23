#include "store/bag/writer_private.h"
#include "store/out/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DIGITS 5 /* of each number in the name of a shard */

static enum sb_code add_limits_name(const char *path, bool limits, struct sb_buf *out)
{
    return limits ? sb_limits_name(path, out) : sb_buf_add_text(out, path);
}

enum sb_code sb_bag_final_name(const struct sb_bag_writer *writer, uint32_t shard, uint32_t shards,
                               bool limits, struct sb_buf *out)
{
    struct sb_buf plain = {0};
    enum sb_code code = sb_shard_pattern_name(&writer->pattern, shard, shards, &plain);

    sb_buf_clear(out);
    if (code == SB_OK)
        code = add_limits_name(plain.data, limits, out);
    sb_buf_release(&plain);
    return code ? sb_fail_memory() : SB_OK;
}

/* Of a set they do not say of how many shards it is, which may be known only in the end. */
enum sb_code sb_bag_temporary_name(const struct sb_bag_writer *writer, uint32_t shard, bool limits,
                                   struct sb_buf *out)
{
    const struct sb_shard_pattern *pattern = &writer->pattern;
    struct sb_buf plain = {0}, named = {0};
    enum sb_code code;

    if (pattern->is_set)
        code = sb_buf_add_format(&plain, "%.*s-%0*u%s", (int)pattern->prefix_size, pattern->path,
                                 DIGITS, shard, pattern->suffix);
    else
        code = sb_buf_add_text(&plain, pattern->path);
    if (code == SB_OK)
        code = add_limits_name(plain.data, limits, &named);
    if (code)
        code = sb_fail_memory();
    else
        code = sb_out_hide(named.data, SB_BAG_NEW_SUFFIX, out);
    sb_buf_release(&plain);
    sb_buf_release(&named);
    return code;
}

/* A link to a file stays, and the file is replaced; but limits.NAME can be beside one name only. */
static enum sb_code follow_link(struct sb_bag_writer *writer)
{
    const char *path = writer->pattern.path;
    struct stat st;
    char *target;

    if (lstat(path, &st))
        return errno == ENOENT ? SB_OK : sb_fail_errno(errno, "%s", path);
    if (!S_ISLNK(st.st_mode))
        return SB_OK;
    if (writer->options.limits == SB_LIMITS_SEPARATE || writer->options.append)
        return sb_fail(SB_INVALID,
                       "%s: is a link, beside which its limits would not be found; name the file",
                       path);
    target = realpath(path, NULL);
    if (!target && errno == ENOENT)
        return sb_fail(SB_EXISTS, "%s: is a link to what is not there; remove it", path);
    if (!target)
        return sb_fail_errno(errno, "%s", path);
    free(writer->path);
    writer->path = target;
    return sb_shard_pattern_parse(&writer->pattern, target);
}

/* One for a set, however many shards it is to have. */
enum sb_code sb_bag_take_lock(const struct sb_bag_writer *writer, struct sb_out_lock *lock)
{
    const struct sb_shard_pattern *pattern = &writer->pattern;
    CLEANUP(sb_buf_release) struct sb_buf set = {0};

    if (!pattern->is_set)
        return sb_out_lock_take_beside(lock, pattern->path, writer->name);
    return sb_buf_add_format(&set, "%.*s@%s", (int)pattern->prefix_size, pattern->path,
                             pattern->suffix)
               ? sb_fail_memory()
               : sb_out_lock_take_beside(lock, set.data, writer->name);
}

enum sb_code sb_bag_take_name(struct sb_bag_writer *writer)
{
    if (!writer->pattern.is_set)
        TRY(follow_link(writer));
    return sb_bag_take_lock(writer, &writer->lock);
}

/* Takes the text off the front. */
static bool skip(const char **at, const char *text, size_t size)
{
    if (strncmp(*at, text, size) != 0)
        return false;
    *at += size;
    return true;
}

static bool skip_number(const char **at, uint32_t *number)
{
    *number = 0;
    for (int i = 0; i < DIGITS; i++, (*at)++) {
        if (**at < '0' || **at > '9')
            return false;
        *number = *number * 10 + (uint32_t)(**at - '0');
    }
    return true;
}

static bool is_temporary(const char *file)
{
    size_t size = strlen(file), end = strlen(SB_BAG_NEW_SUFFIX);

    return size >= end && strcmp(file + size - end, SB_BAG_NEW_SUFFIX) == 0;
}

enum sb_code sb_bag_remove_left_over(int directory, const char *name)
{
    struct stat st;

    if (fstatat(directory, name, &st, AT_SYMLINK_NOFOLLOW))
        return errno == ENOENT ? SB_OK : sb_fail_errno(errno, "%s", name);
    if (!S_ISREG(st.st_mode))
        return sb_fail(SB_EXISTS,
                       "%s: is in the way, and not left by an interrupted run; move it away", name);
    if (unlinkat(directory, name, 0) && errno != ENOENT)
        return sb_fail_errno(errno, "%s: cannot be removed", name);
    return SB_OK;
}

enum sb_code sb_bag_remove_one(const struct sb_bag_writer *writer, uint32_t shard, bool limits)
{
    CLEANUP(sb_buf_release) struct sb_buf name = {0};

    TRY(sb_bag_temporary_name(writer, shard, limits, &name));
    return sb_bag_remove_left_over(AT_FDCWD, name.data);
}

struct sb_bag_found sb_bag_recognize(const struct sb_shard_pattern *set, const char *file)
{
    const char *prefix = set->path + set->prefix_size, *at = file;
    struct sb_bag_found found = {SB_FOUND_OTHER, 0, 0};
    size_t prefix_size = 0;
    bool hidden, limits;

    while (prefix > set->path && prefix[-1] != '/') {
        prefix--;
        prefix_size++;
    }
    hidden = is_temporary(file) && skip(&at, ".", 1);
    limits = skip(&at, "limits.", strlen("limits."));
    if (!skip(&at, prefix, prefix_size) || !skip(&at, "-", 1) || !skip_number(&at, &found.shard))
        return found;
    if (hidden) {
        if (skip(&at, set->suffix, strlen(set->suffix)) && strcmp(at, SB_BAG_NEW_SUFFIX) == 0)
            found.what = SB_FOUND_TEMPORARY;
    } else if (skip(&at, "-of-", 4) && skip_number(&at, &found.shards) &&
               strcmp(at, set->suffix) == 0) {
        found.what = limits ? SB_FOUND_LIMITS : SB_FOUND_SHARD;
    }
    return found;
}
