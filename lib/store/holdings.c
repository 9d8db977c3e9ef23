#include "store/standing.h"

#include "archive/archive.h"
#include "archive/progress.h"
#include "archive/writer.h"
#include "core/name.h"

#include <string.h>

void sb_standing_release(struct sb_standing *standing)
{
    sb_buf_release(&standing->checked_parent);
}

static enum sb_code look_up(struct sb_standing *standing, const char *name, size_t size,
                            struct sb_entry *entry, struct sb_error *err)
{
    return standing->writer ? sb_writer_lookup(standing->writer, name, size, entry, err)
                            : sb_archive_lookup(standing->archive, name, size, entry, err);
}

bool sb_standing_is_behind(const struct sb_entry *old, const struct sb_address *begin)
{
    if (old->shard != begin->shard)
        return old->shard > begin->shard;
    /* An empty file may also end what was there before. */
    return old->offset > begin->offset ||
           (old->offset == begin->offset && (old->size > 0 || old->offset == 0));
}

bool sb_standing_is_own(const struct sb_standing *standing, const struct sb_entry *old)
{
    return standing->progress && sb_standing_is_behind(old, &standing->progress->begin);
}

enum sb_code sb_standing_drop_own(struct sb_standing *standing, const struct sb_entry *old,
                                  bool *dropped, struct sb_error *err)
{
    int64_t before = sb_writer_counts(standing->writer).dropped;
    enum sb_code code = sb_writer_drop_file(standing->writer, old, err);

    *dropped = !code && sb_writer_counts(standing->writer).dropped > before;
    if (*dropped) {
        standing->own_dropped++;
        standing->own_bytes += old->size;
    }
    return code;
}

/* As the commit says it of names within one stretch. */
static void tell_clash(const struct sb_standing *standing, const char *name)
{
    sb_tell(standing->notify, SB_PROBLEM, "clash", name,
            "is a directory as well; the file was left out");
}

static enum sb_code drop_clash(struct sb_standing *standing, const struct sb_entry *old,
                               struct sb_error *err)
{
    bool dropped;
    enum sb_code code = sb_standing_drop_own(standing, old, &dropped, err);

    if (dropped)
        tell_clash(standing, old->path);
    return code;
}

/* Would it stand below a file of the archive? Asked once for each directory. */
static enum sb_code check_parent(struct sb_standing *standing, const struct sb_entry *wanted,
                                 struct sb_error *err)
{
    size_t size = sb_parent_size(wanted->path, wanted->path_size);
    struct sb_buf *checked = &standing->checked_parent;
    struct sb_buf name = {0};
    struct sb_entry entry;
    enum sb_code code = SB_OK;

    if (checked->data && size == checked->size && memcmp(checked->data, wanted->path, size) == 0)
        return SB_OK;
    standing->parent_is_dir = true;
    if (sb_buf_set(checked, wanted->path, size) || sb_buf_set(&name, wanted->path, size))
        code = sb_fail_memory(err);
    while (code == SB_OK && name.size > 0) {
        code = look_up(standing, name.data, name.size, &entry, err);
        if (code == SB_OK && entry.type != SB_DIR && sb_standing_is_own(standing, &entry))
            code = drop_clash(standing, &entry, err);
        else if (code == SB_OK && entry.type != SB_DIR)
            standing->parent_is_dir = false;
        if (code == SB_OK && entry.type == SB_DIR)
            break;
        if (code == SB_NOENT)
            code = SB_OK;
        sb_buf_cut(&name, sb_parent_size(name.data, name.size));
    }
    sb_buf_release(&name);
    return code;
}

enum sb_code sb_standing_meet(struct sb_standing *standing, const struct sb_entry *wanted,
                              struct sb_entry *old, struct sb_error *err)
{
    enum sb_code code = check_parent(standing, wanted, err);

    if (code)
        return code;
    if (!standing->parent_is_dir) {
        sb_tell(standing->notify, SB_PROBLEM, "clash", wanted->path,
                "a name above it is a file in the archive; left out");
        return SB_END;
    }
    code = look_up(standing, wanted->path, wanted->path_size, old, err);
    if (code)
        return code;
    if ((old->type == SB_DIR) == (wanted->type == SB_DIR))
        return SB_OK;
    if (old->type != SB_DIR && sb_standing_is_own(standing, old)) {
        code = drop_clash(standing, old, err);
        return code ? code : SB_NOENT;
    }
    if (old->type == SB_DIR && standing->progress) {
        tell_clash(standing, wanted->path);
        return SB_END;
    }
    sb_tell(standing->notify, SB_PROBLEM, "clash", wanted->path, "is a %s in the archive; left out",
            old->type == SB_DIR ? "directory" : "file");
    return SB_END;
}
