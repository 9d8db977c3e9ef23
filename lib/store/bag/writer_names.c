/*
 * Names of a bag that is written, and what exists under them.
 */
#include "core/interrupt.h"
#include "store/bag/writer_private.h"
#include "store/out/lock.h"

#include <dirent.h>
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
    CLEANUP(sb_buf_release) struct sb_buf plain = {0};

    sb_buf_clear(out);
    if (sb_shard_pattern_name(&writer->pattern, shard, shards, &plain) ||
        add_limits_name(plain.data, limits, out))
        return sb_fail_memory();
    return SB_OK;
}

/* Of a set they do not say of how many shards it is, which may be known only in the end. */
enum sb_code sb_bag_temporary_name(const struct sb_bag_writer *writer, uint32_t shard, bool limits,
                                   struct sb_buf *out)
{
    const struct sb_shard_pattern *pattern = &writer->pattern;
    CLEANUP(sb_buf_release) struct sb_buf plain = {0}, named = {0};

    if (pattern->is_set ? sb_buf_add_format(&plain, "%.*s-%0*u%s", (int)pattern->prefix_size,
                                            pattern->path, DIGITS, shard, pattern->suffix)
                        : sb_buf_add_text(&plain, pattern->path))
        return sb_fail_memory();
    if (add_limits_name(plain.data, limits, &named))
        return sb_fail_memory();
    return sb_out_hide(named.data, SB_BAG_NEW_SUFFIX, out);
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

/*
 * Removes a temporary file, by its exact name, in a directory or AT_FDCWD: for who holds the lock.
 * None is there: SB_OK. It may have a second name, given by a run that was killed before it took
 * this one away (sb_rename_new); SB_EXISTS: it is no regular file, and so nobody's of ours.
 */
static enum sb_code remove_left_over(int directory, const char *name)
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
    return remove_left_over(AT_FDCWD, name.data);
}

struct sb_bag_found sb_bag_recognize(const struct sb_shard_pattern *set, const char *file)
{
    const char *prefix = set->path + set->prefix_size, *at = file;
    struct sb_bag_found found = {SB_FOUND_OTHER, 0, 0};
    size_t prefix_size = 0, size = strlen(file), end = strlen(SB_BAG_NEW_SUFFIX);
    bool hidden, limits;

    while (prefix > set->path && prefix[-1] != '/') {
        prefix--;
        prefix_size++;
    }
    hidden = size >= end && strcmp(file + size - end, SB_BAG_NEW_SUFFIX) == 0 && skip(&at, ".", 1);
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

/* What exists where a bag is to be written. */

static enum sb_code refuse_existing(const char *path, bool force)
{
    struct stat st;

    if (lstat(path, &st))
        return errno == ENOENT ? SB_OK : sb_fail_errno(errno, "%s", path);
    return sb_out_refuse(path, &st, force);
}

/* Limits beside it are put at its tail before it is replaced, which other names of it would see. */
static enum sb_code refuse_linked(const char *path, const char *limits)
{
    struct stat st;

    if (lstat(limits, &st) || lstat(path, &st) || st.st_nlink == 1)
        return SB_OK;
    return sb_fail(SB_EXISTS,
                   "%s: has its limits beside it, and several names (hard links); remove it first, "
                   "or choose another name",
                   path);
}

/* A limits.NAME would be taken for the new file's. */
static enum sb_code look_at_file(struct sb_bag_writer *writer)
{
    CLEANUP(sb_buf_release) struct sb_buf name = {0};

    TRY(refuse_existing(writer->pattern.path, writer->options.force));
    TRY(sb_bag_final_name(writer, 0, 1, true, &name));
    TRY(refuse_existing(name.data, writer->options.force));
    TRY(refuse_linked(writer->pattern.path, name.data));
    for (int limits = 0; limits < 2; limits++)
        TRY(sb_bag_remove_one(writer, 0, limits));
    return SB_OK;
}

struct existing {
    int64_t files;   /* shards of this set, or their limits */
    uint32_t lowest; /* of these, whatever the order of the directory; */
    uint32_t of;     /* how many shards its set has, */
    bool limits;     /* and whether it is the limits */
    uint32_t other;  /* another set's number of shards; 0: none is there */
};

static void note_file(struct existing *existing, const struct sb_bag_writer *writer,
                      const struct sb_bag_found *found)
{
    if (writer->shards > 0 && found->shards != writer->shards) {
        if (found->shards > existing->other)
            existing->other = found->shards;
        return;
    }
    if (existing->files++ > 0 && found->shard >= existing->lowest)
        return;
    existing->lowest = found->shard;
    existing->of = found->shards;
    existing->limits = found->what == SB_FOUND_LIMITS;
}

static enum sb_code scan(const struct sb_bag_writer *writer, struct existing *existing)
{
    const struct sb_shard_pattern *pattern = &writer->pattern;
    const char *slash = memrchr(pattern->path, '/', pattern->prefix_size);
    CLEANUP(sb_freep)
    char *directory =
        slash ? strndup(pattern->path, (size_t)(slash + 1 - pattern->path)) : strdup(".");
    enum sb_code code = SB_OK;
    struct dirent *file;
    DIR *dir;

    if (!directory)
        return sb_fail_memory();
    dir = opendir(directory);
    if (!dir)
        return sb_fail_errno(errno, "%s", directory);
    while (code == SB_OK && (errno = 0, file = readdir(dir))) {
        struct sb_bag_found found = sb_bag_recognize(pattern, file->d_name);

        if (found.what == SB_FOUND_TEMPORARY && writer->made == 0)
            code = remove_left_over(dirfd(dir), file->d_name);
        if (found.what == SB_FOUND_SHARD || found.what == SB_FOUND_LIMITS)
            note_file(existing, writer, &found);
        if (code == SB_OK && sb_interrupted())
            code = sb_fail_interrupt();
    }
    if (code == SB_OK && errno)
        code = sb_fail_errno(errno, "%s: cannot be read", directory);
    closedir(dir);
    return code;
}

static enum sb_code refuse_set(const struct sb_bag_writer *writer, const struct existing *existing)
{
    CLEANUP(sb_buf_release) struct sb_buf name = {0};

    TRY(sb_bag_final_name(writer, existing->lowest, existing->of, existing->limits, &name));
    return sb_fail(SB_EXISTS,
                   existing->lowest ? "%s: exists already, though shard 0 of the set does not, "
                                      "as a killed run leaves it; use --force to replace it"
                                    : "%s: exists already; use --force to replace the set",
                   name.data);
}

static enum sb_code look_at_set(struct sb_bag_writer *writer)
{
    struct existing existing = {0};

    TRY(scan(writer, &existing));
    if (existing.files == 0)
        return SB_OK;
    if (!writer->options.force)
        return refuse_set(writer, &existing);
    if (existing.lowest > 0)
        sb_report(writer->options.notify, SB_WARNING, "mixed", writer->name,
                  "shards of it are there without the first, as a run that was killed leaves them; "
                  "they are replaced");
    return SB_OK;
}

enum sb_code sb_bag_look_at_target(struct sb_bag_writer *writer)
{
    return writer->pattern.is_set ? look_at_set(writer) : look_at_file(writer);
}

enum sb_code sb_bag_report_others(const struct sb_bag_writer *writer)
{
    struct existing existing = {0};

    TRY(scan(writer, &existing));
    if (existing.other > 0)
        sb_report(writer->options.notify, SB_WARNING, "mixed", writer->name,
                  "shards of another set, of %u, stay beside the %u of this one; remove them, for "
                  "\"@*\" may find either",
                  existing.other, writer->shards);
    return SB_OK;
}
