#include "archive/archive.h"
#include "archive/shards.h"
#include "core/interrupt.h"
#include "core/number.h"
#include "task/restore/impl.h"

#include <stdlib.h>

/* A shard, file by file in order of address. */
struct pass {
    struct sb_restore *restore;
    int64_t size;         /* current size of the shard */
    int64_t capacity;     /* it cannot have been larger */
    int64_t end;          /* of the files so far */
    bool gap;             /* a file without a checksum is past the shard's end */
    bool pending;         /* the previous file is to be restored, unless the next one overlaps it */
    bool shared;          /* it shares bytes with one before it */
    struct sb_entry last; /* that file */
    struct sb_buf path;   /* and its name */
};

/* Marks the current shards of the files. */
static enum sb_code mark_shards(struct sb_restore *restore)
{
    struct sb_entry entry;
    const char *path;
    size_t size;
    enum sb_code code;

    while (!(code = sb_restore_list_next_damaged(restore->list, &path, &size))) {
        code = sb_interrupted() ? sb_fail_interrupt()
                                : sb_archive_lookup(restore->archive, path, size, &entry);
        if (code && code != SB_NOENT)
            return code;
        if (code == SB_NOENT || entry.defect || entry.type == SB_DIR)
            restore->gone++;
        else if (entry.size == 0)
            sb_report(restore->notify, SB_PROBLEM, "empty", path,
                      "is empty: it is its checksum in the index that is wrong");
        else if (entry.shard <= SB_SHARD_MAX)
            sb_restore_target_mark(restore->target, entry.shard, SB_SHARD_WANTED);
    }
    return code == SB_END ? SB_OK : code;
}

static void refuse(const struct sb_restore *restore, const struct sb_entry *entry, const char *kind,
                   const char *text)
{
    sb_report(restore->notify, SB_PROBLEM, kind, entry->path, "not restored: %s", text);
}

/* Called when it is known whether the previous file overlaps another. */
static enum sb_code settle(struct pass *pass)
{
    struct sb_restore *restore = pass->restore;

    if (!pass->pending)
        return SB_OK;
    pass->pending = false;
    if (pass->shared) {
        refuse(restore, &pass->last, "overlap", "it shares bytes with another file");
        return SB_OK;
    }
    sb_count_up(&restore->wanted_bytes, pass->last.size);
    return sb_restore_list_add(restore->list, &pass->last);
}

/* Can it be restored, other files aside? */
static bool may_be_restored(const struct pass *pass, const struct sb_entry *entry)
{
    if (!(entry->has & SB_HAS_CRC)) {
        refuse(pass->restore, entry, "unchecked",
               "it has no checksum that a copy could be held against");
        return false;
    }
    if (entry->offset + entry->size > pass->size && entry->offset + entry->size > pass->capacity) {
        refuse(pass->restore, entry, "place",
               "its place is beyond what the file system could hold, where it cannot have been");
        return false;
    }
    if (pass->gap && entry->offset + entry->size > pass->size) {
        refuse(pass->restore, entry, "unchecked",
               "before it, where the shard has ended, lies a file without a checksum, which would "
               "become zeros");
        return false;
    }
    return true;
}

static enum sb_code see(struct pass *pass, const struct sb_entry *entry)
{
    int64_t end = entry->offset + entry->size;
    bool shares = entry->offset < pass->end, damaged;

    pass->shared = pass->shared || shares;
    TRY(settle(pass));
    TRY(sb_restore_list_is_damaged(pass->restore->list, entry->path, entry->path_size, &damaged));
    if (end > pass->end)
        pass->end = end;
    if (!(entry->has & SB_HAS_CRC) && end > pass->size && !pass->restore->options->protect)
        pass->gap = true;
    if (!damaged || !may_be_restored(pass, entry))
        return SB_OK;
    TRY(sb_buf_set(&pass->path, entry->path, entry->path_size));
    pass->last = *entry;
    pass->last.path = pass->path.data;
    pass->pending = true;
    pass->shared = shares;
    return SB_OK;
}

static enum sb_code plan_shard(struct pass *pass, uint32_t shard)
{
    struct sb_query query = {.order = SB_BY_ADDRESS,
                             .files = true,
                             .shard_first = shard,
                             .shard_last = shard,
                             .steady = true};
    CLEANUP(sb_cursor_freep) struct sb_cursor *cursor = NULL;
    struct sb_entry entry;
    enum sb_code code;

    TRY(sb_cursor_open(&cursor, pass->restore->archive, &query));
    while (!(code = sb_cursor_next(cursor, &entry))) {
        if (!entry.defect && entry.size > 0)
            TRY(see(pass, &entry));
    }
    return code == SB_END ? settle(pass) : code;
}

static enum sb_code plan_writable(struct sb_restore *restore, uint32_t shard)
{
    struct pass pass = {.restore = restore, .capacity = sb_restore_target_limit(restore->target)};
    CLEANUP(sb_freep) char *path = NULL;
    enum sb_code code = sb_restore_target_look(restore->target, shard, &pass.size);

    if (code == SB_OK) {
        code = plan_shard(&pass, shard);
        sb_buf_release(&pass.path);
        return code;
    }
    if (code != SB_INVALID)
        return code;
    path = sb_shard_name(sb_restore_target_base(restore->target), shard);
    if (!path)
        return sb_error()->code;
    sb_report(restore->notify, SB_PROBLEM, "linked", path, "its files are not restored: it %s",
              sb_error()->text);
    return SB_OK;
}

static enum sb_code is_in_use(struct sb_restore *restore, uint32_t shard, bool *in_use)
{
    struct sb_query query = {
        .order = SB_BY_ADDRESS, .files = true, .shard_first = shard, .shard_last = shard};
    CLEANUP(sb_cursor_freep) struct sb_cursor *cursor = NULL;
    struct sb_entry entry;
    enum sb_code code;

    *in_use = false;
    TRY(sb_cursor_open(&cursor, restore->archive, &query));
    while (!*in_use && !(code = sb_cursor_next(cursor, &entry)))
        *in_use = entry.defect || entry.size > 0;
    return *in_use || code == SB_END ? SB_OK : code;
}

/* Up to the next one in use: verify reports a run of them once. */
static enum sb_code fill_hole(struct sb_restore *restore, uint32_t shard)
{
    const char *path = sb_archive_path(restore->archive);
    uint32_t first = shard;
    enum sb_code code = SB_OK;
    bool in_use = false;

    while (shard <= SB_SHARD_MAX && sb_restore_target_is_missing(restore->target, shard)) {
        code = is_in_use(restore, shard, &in_use);
        if (!code && !in_use)
            code = sb_restore_target_ready(restore->target, shard);
        if (code || in_use)
            break;
        shard++;
    }
    if (shard == first + 1)
        sb_report(restore->notify, SB_WARNING, "shard", path,
                  "shard %u, which no file uses, was missing, and is made anew", first);
    else if (shard > first)
        sb_report(restore->notify, SB_WARNING, "shard", path,
                  "shards %u to %u, which no file uses, were missing, and are made anew", first,
                  shard - 1);
    return code;
}

enum sb_code sb_restore_holes(struct sb_restore *restore)
{
    for (uint32_t i = 0; sb_restore_target_next(restore->target, SB_SHARD_DEFECT, &i); i++)
        TRY(fill_hole(restore, i));
    return SB_OK;
}

enum sb_code sb_restore_plan(struct sb_restore *restore)
{
    struct sb_restore_target *target = restore->target;

    TRY(mark_shards(restore));
    for (uint32_t i = 0; sb_restore_target_next(target, SB_SHARD_WANTED, &i); i++)
        TRY(plan_writable(restore, i));
    return SB_OK;
}
