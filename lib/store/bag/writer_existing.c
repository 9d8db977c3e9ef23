/*
 * What exists where a bag is to be written.
 */
#include "core/interrupt.h"
#include "store/bag/writer_private.h"
#include "store/out/temporary.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
    char *directory =
        slash ? strndup(pattern->path, (size_t)(slash + 1 - pattern->path)) : strdup(".");
    DIR *dir = directory ? opendir(directory) : NULL;
    enum sb_code code = SB_OK;
    struct dirent *file;

    if (!directory)
        return sb_fail_memory();
    if (!dir)
        code = sb_fail_errno(errno, "%s", directory);
    while (code == SB_OK && (errno = 0, file = readdir(dir))) {
        struct sb_bag_found found = sb_bag_recognize(&writer->pattern, file->d_name);

        if (found.what == SB_FOUND_TEMPORARY && writer->made == 0)
            code = sb_bag_remove_left_over(dirfd(dir), file->d_name);
        if (found.what == SB_FOUND_SHARD || found.what == SB_FOUND_LIMITS)
            note_file(existing, writer, &found);
        if (code == SB_OK && sb_interrupted())
            code = sb_fail_interrupt();
    }
    if (code == SB_OK && errno)
        code = sb_fail_errno(errno, "%s: cannot be read", directory);
    if (dir)
        closedir(dir);
    free(directory);
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
    enum sb_code code = scan(writer, &existing);

    if (code || existing.files == 0)
        return code;
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
