#include "store/archive/holdings.h"

#include "archive/archive.h"
#include "archive/own/part.h"
#include "archive/writer/writer.h"
#include "core/name.h"
#include "core/number.h"
#include "store/archive/unmet.h"
#include "store/member.h"

#include <string.h>

void sb_holdings_release(struct sb_holdings *holdings)
{
    sb_buf_release(&holdings->checked_parent);
}

enum sb_code sb_holdings_look_up(const struct sb_holdings *holdings, const char *name, size_t size,
                                 struct sb_entry *entry)
{
    return holdings->writer ? sb_writer_lookup(holdings->writer, name, size, entry)
                            : sb_archive_lookup(holdings->archive, name, size, entry);
}

bool sb_holdings_is_from(const struct sb_entry *old, const struct sb_address *begin)
{
    if (old->shard != begin->shard)
        return old->shard > begin->shard;
    /* An empty file may also end what was there before. */
    return old->offset > begin->offset ||
           (old->offset == begin->offset && (old->size > 0 || old->offset == 0));
}

bool sb_holdings_is_own(const struct sb_holdings *holdings, const struct sb_entry *old)
{
    return holdings->progress && sb_holdings_is_from(old, &holdings->progress->begin);
}

enum sb_code sb_holdings_drop_own(struct sb_holdings *holdings, const struct sb_entry *old,
                                  bool *dropped)
{
    int64_t before = sb_writer_counts(holdings->writer).dropped;
    enum sb_code code = sb_writer_drop_file(holdings->writer, old);

    *dropped = !code && sb_writer_counts(holdings->writer).dropped > before;
    if (*dropped) {
        holdings->own_dropped++;
        sb_count_up(&holdings->own_bytes, old->size);
    }
    return code;
}

/* As the commit says it of names within one stretch. */
static void report_clash(const struct sb_holdings *holdings, const char *name)
{
    sb_report(holdings->notify, SB_PROBLEM, "clash", name,
              "is a directory as well; the file was left out");
}

static enum sb_code drop_clash(struct sb_holdings *holdings, const struct sb_entry *old)
{
    bool dropped;

    TRY(sb_holdings_drop_own(holdings, old, &dropped));
    if (dropped)
        report_clash(holdings, old->path);
    return SB_OK;
}

/* What the archive has under a name that a new type needs. *gone: it is dropped. */
static enum sb_code drop_in_way(struct sb_holdings *holdings, const struct sb_entry *old,
                                bool *gone)
{
    bool full = false, clears = false;

    *gone = holdings->makes_way &&
            (!holdings->unmet || sb_unmet_concerns(holdings->unmet, old->path, old->path_size));
    if (*gone && old->type == SB_DIR)
        TRY(holdings->writer
                ? sb_writer_has_below(holdings->writer, old->path, old->path_size, &full)
                : sb_archive_has_below(holdings->archive, old->path, &full));
    if (full && holdings->unmet)
        TRY(sb_unmet_may_clear(holdings->unmet, old, &clears));
    *gone = *gone && (!full || clears);
    if (!*gone || !holdings->writer)
        return SB_OK;
    return old->type == SB_DIR ? sb_writer_drop_dir(holdings->writer, old->path, old->path_size)
                               : sb_writer_drop_file(holdings->writer, old);
}

/* Would it be below a file of the archive? Looked up once for each directory. */
static enum sb_code check_parent(struct sb_holdings *holdings, const struct sb_entry *wanted)
{
    size_t size = sb_parent_size(wanted->path, wanted->path_size);
    struct sb_buf *checked = &holdings->checked_parent;
    CLEANUP(sb_buf_release) struct sb_buf name = {0};
    struct sb_entry entry;
    enum sb_code code;

    if (checked->data && size == checked->size && memcmp(checked->data, wanted->path, size) == 0)
        return SB_OK;
    holdings->parent_is_dir = true;
    TRY(sb_buf_set(checked, wanted->path, size));
    TRY(sb_buf_set(&name, wanted->path, size));
    for (; name.size > 0; sb_buf_cut(&name, sb_parent_size(name.data, name.size))) {
        code = sb_holdings_look_up(holdings, name.data, name.size, &entry);
        if (code == SB_OK && entry.type == SB_DIR)
            return SB_OK;
        if (code == SB_OK)
            code = sb_holdings_is_own(holdings, &entry)
                       ? drop_clash(holdings, &entry)
                       : drop_in_way(holdings, &entry, &holdings->parent_is_dir);
        if (code && code != SB_NOENT)
            return code;
    }
    return SB_OK;
}

enum sb_code sb_holdings_meet(struct sb_holdings *holdings, const struct sb_entry *wanted,
                              struct sb_entry *old)
{
    bool gone;

    TRY(check_parent(holdings, wanted));
    if (!holdings->parent_is_dir) {
        sb_report(holdings->notify, SB_PROBLEM, "clash", wanted->path,
                  "a name above it is a file in the archive; left out");
        return SB_END;
    }
    TRY(sb_holdings_look_up(holdings, wanted->path, wanted->path_size, old));
    if ((old->type == SB_DIR) == (wanted->type == SB_DIR))
        return SB_OK;
    if (old->type != SB_DIR && sb_holdings_is_own(holdings, old)) {
        TRY(drop_clash(holdings, old));
        return SB_NOENT;
    }
    if (old->type == SB_DIR && holdings->progress && !holdings->makes_way) {
        report_clash(holdings, wanted->path);
        return SB_END;
    }
    TRY(drop_in_way(holdings, old, &gone));
    if (gone)
        return SB_NOENT;
    sb_report(holdings->notify, SB_PROBLEM, "clash", wanted->path,
              old->type == SB_DIR ? "is a directory in the archive; left out; 'shardbox rm -r' "
                                    "removes it with all that is below it"
                                  : "is a file in the archive; left out; 'shardbox rm' removes it");
    return SB_END;
}

static enum sb_code name_owner(struct sb_writer *writer, struct sb_member *member,
                               enum sb_owner which)
{
    const struct sb_entry *entry = &member->entry;
    const char *name = which == SB_USER ? member->user : member->group;
    int64_t id = which == SB_USER ? entry->uid : entry->gid;
    bool kept = true;

    if (name && name[0] && (entry->has & (which == SB_USER ? SB_HAS_UID : SB_HAS_GID)))
        TRY(sb_writer_name_owner(writer, which, id, name, &kept));
    if (!kept)
        member->has |= SB_KEEPS_SECOND_NAME;
    return SB_OK;
}

enum sb_code sb_holdings_name_owners(struct sb_writer *writer, struct sb_member *member)
{
    TRY(name_owner(writer, member, SB_USER));
    return name_owner(writer, member, SB_GROUP);
}
