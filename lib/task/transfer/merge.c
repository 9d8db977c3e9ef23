#include "task/transfer/merge.h"

#include "core/buf.h"

#include <string.h>

static const char *name_of(const char *source)
{
    return strcmp(source, "-") == 0 ? "standard input" : source;
}

/* The name came from an earlier source. */
static enum sb_code refuse(const struct sb_transfer_options *options, const char *name,
                           const char *source, int64_t first, int64_t *left, struct sb_error *err)
{
    const char *other = name_of(options->merged[first]);

    if (options->duplicates != SB_DUPLICATE_ERROR) {
        ++*left;
        return SB_END;
    }
    if (!options->dry_run)
        return sb_fail(err, SB_EXISTS,
                       "%s: is in %s and in %s (see --duplicates, --prefix and --as-subdirs)", name,
                       other, source);
    sb_tell(options->notify, SB_PROBLEM, "duplicate", name, "is in %s and in %s", other, source);
    return SB_END;
}

/* One whose bytes another source has replaced would get bytes that it never had. */
static enum sb_code meet_link(const struct sb_transfer_options *options,
                              const struct sb_member *member, struct sb_error *err)
{
    const char *target = member->hard_link;
    int64_t first;

    if (sb_seen_find(options->seen, target, strlen(target), &first, err))
        return err->code;
    if (first < 0 || (size_t)first == options->merged_number)
        return SB_OK;
    sb_tell(options->notify, SB_PROBLEM, "missing", member->entry.path,
            "hard link to %s, which is taken from %s; left out", target,
            name_of(options->merged[first]));
    return SB_END;
}

/* A directory is noted under its name with a '/', and only by a source that knows more of it. */
static enum sb_code meet_dir(const struct sb_transfer_options *options,
                             const struct sb_entry *entry, struct sb_error *err)
{
    struct sb_buf key = {0};
    int64_t first = -1;
    enum sb_code code;

    if (!entry->has)
        return SB_OK;
    if (sb_buf_add(&key, entry->path, entry->path_size) || sb_buf_add_char(&key, '/'))
        code = sb_fail_memory(err);
    else
        code = sb_seen_add_from(options->seen, key.data, key.size, (int64_t)options->merged_number,
                                &first, err);
    sb_buf_release(&key);
    return code ? code : (size_t)first == options->merged_number ? SB_OK : SB_END;
}

enum sb_code sb_transfer_meet(const struct sb_transfer_options *options,
                              const struct sb_member *member, const char *source, int64_t *left,
                              struct sb_error *err)
{
    const struct sb_entry *entry = &member->entry;
    int64_t first;
    enum sb_code code;

    if (entry->type == SB_DIR)
        return meet_dir(options, entry, err);
    code = sb_seen_add_from(options->seen, entry->path, entry->path_size,
                            (int64_t)options->merged_number, &first, err);
    if (code == SB_OK && (size_t)first != options->merged_number)
        code = refuse(options, entry->path, source, first, left, err);
    if (code == SB_OK && member->hard_link)
        code = meet_link(options, member, err);
    return code;
}
