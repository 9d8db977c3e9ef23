#include "store/archive/holdings.h"

#include "archive/archive.h"
#include "archive/own/part.h"
#include "archive/writer/writer.h"
#include "core/name.h"
#include "core/number.h"
#include "store/archive/sink_impl.h"
#include "store/archive/unmet.h"
#include "store/member.h"
#include "store/names.h"

#include <stdio.h>
#include <string.h>

void sb_holdings_release(struct sb_holdings *holdings)
{
    sb_buf_release(&holdings->checked_parent);
}

/* Whatever has the name. SB_NOENT. */
static enum sb_code look_up(const struct sb_holdings *holdings, const char *name, size_t size,
                            struct sb_entry *entry)
{
    return holdings->writer ? sb_writer_lookup(holdings->writer, name, size, entry)
                            : sb_archive_lookup(holdings->archive, name, size, entry);
}

/* Is the file at this address, or after it? */
static bool is_from(const struct sb_entry *old, const struct sb_address *begin)
{
    if (old->shard != begin->shard)
        return old->shard > begin->shard;
    /* An empty file may also end what was there before. */
    return old->offset > begin->offset ||
           (old->offset == begin->offset && (old->size > 0 || old->offset == 0));
}

static bool is_own(const struct sb_holdings *holdings, const struct sb_entry *old)
{
    return holdings->progress && is_from(old, &holdings->progress->begin);
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
        code = look_up(holdings, name.data, name.size, &entry);
        if (code == SB_OK && entry.type == SB_DIR)
            return SB_OK;
        if (code == SB_OK)
            code = is_own(holdings, &entry)
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
    TRY(look_up(holdings, wanted->path, wanted->path_size, old));
    if ((old->type == SB_DIR) == (wanted->type == SB_DIR))
        return SB_OK;
    if (old->type != SB_DIR && is_own(holdings, old)) {
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

/* Sizes say nothing about bytes that are yet to be recoded. */
static bool has_other_size(const struct sb_entry *entry, const struct sb_entry *old, bool recodes)
{
    return entry->type != old->type || entry->size < 0 || (!recodes && entry->size != old->size);
}

/*
 * What is brought up to date: all of it, where its bytes say so, the row alone, or nothing. The
 * bytes of a hard link are known when what came before it is done.
 */
static void update(const struct archive_sink *self, const struct sb_member *member,
                   const struct sb_entry *old, struct sb_item *item)
{
    const struct sb_entry *entry = &member->entry;
    bool same_time = entry->has & old->has & SB_HAS_MTIME && entry->mtime_ns == old->mtime_ns;
    bool looks = self->options.checksum || (!self->options.size_only && !same_time);

    item->mark |= item->change & SB_CHANGE_VALUES & ~(unsigned)SB_CHANGE_SIZE ? MARK_NEW_ROW : 0;
    if (member->hard_link) {
        item->replaces = item->compares = true;
    } else if (has_other_size(entry, old, item->original) || (looks && !(old->has & SB_HAS_CRC))) {
        item->replaces = true;
    } else if (looks) {
        item->replaces = item->compares = true;
        item->old_crc = old->crc32c;
    } else if (item->mark & MARK_NEW_ROW) {
        item->replaces = item->bare = true;
        item->mark |= MARK_SAME_BYTES;
    }
}

static const char exists_text[] = "is in the archive already; left out (see %s)";

/* Does the archive hold another name with the bytes that it has as `old`? */
static bool has_same_bytes(struct archive_sink *self, const char *name, const struct sb_entry *old)
{
    struct sb_entry entry;

    return !IGNORED(look_up(&self->holdings, name, strlen(name), &entry)) &&
           !self->changing.partial && !sb_rowset_has(&self->changing, entry.row) &&
           (entry.has & old->has & SB_HAS_CRC) && entry.size == old->size &&
           entry.crc32c == old->crc32c;
}

enum sb_code sb_meet_note_same(struct archive_sink *self, const struct sb_entry *entry, bool same)
{
    if (!self->same || entry->type == SB_DIR)
        return SB_OK;
    return same ? sb_names_put(self->same, self->options.dry_run ? "." : self->sink.name,
                               entry->path, entry->path_size)
                : sb_names_remove(*self->same, entry->path, entry->path_size);
}

enum sb_code sb_meet_has_target(struct archive_sink *self, const char *target, bool *has)
{
    size_t size = strlen(target);
    struct sb_entry entry;
    enum sb_code code = SB_OK;

    *has = false;
    if (self->same)
        code = sb_names_has(*self->same, target, size, has);
    if (code || *has || !self->holdings.progress || !self->writer)
        return code;
    code = sb_writer_lookup(self->writer, target, size, &entry);
    *has = !code && entry.type != SB_DIR && is_own(&self->holdings, &entry);
    return code == SB_NOENT ? SB_OK : code;
}

/*
 * A name that is an error, unless the bytes are the same: then it is passed over. SB_OK: they must
 * be read first, or those of a hard link's target.
 */
static enum sb_code meet_rival(struct archive_sink *self, const struct sb_member *member,
                               const struct sb_entry *old, struct sb_item *item)
{
    const struct sb_entry *entry = &member->entry;
    bool recodes = item->original, knows = (entry->has & SB_HAS_CRC) && !recodes;
    bool same_size =
        entry->type == old->type && (entry->size < 0 || recodes || entry->size == old->size);

    if ((old->has & SB_HAS_CRC) && !member->hard_link && same_size &&
        (!knows || entry->crc32c == old->crc32c)) {
        item->compares = !knows;
        item->old_crc = old->crc32c;
        self->sink.counts.left += knows;
        return knows ? SB_END : SB_OK;
    }
    if (member->hard_link && self->same && has_same_bytes(self, member->hard_link, old)) {
        item->compares = true;
        item->mark |= MARK_LINK_RIVAL;
        return SB_OK;
    }
    sb_report(self->options.notify, SB_PROBLEM, "exists", entry->path, exists_text,
              self->options.advice);
    return SB_END;
}

/* SB_OK: it goes in place of `old`, if compares says so; SB_END: it does not. */
static enum sb_code meet_file(struct archive_sink *self, const struct sb_member *member,
                              const struct sb_entry *old, struct sb_item *item)
{
    bool own = is_own(&self->holdings, old);

    if (own && item->again && is_from(old, &self->holdings.progress->input_begin))
        return SB_END;
    item->mark |= own ? MARK_OVER_OWN : 0;
    item->replaces = own || self->options.meeting == SB_MEET_REPLACE;
    item->old_size = old->size;
    item->old_row = own ? 0 : old->row;
    if (!own && self->options.meeting == SB_MEET_UPDATE)
        update(self, member, old, item);
    if (item->replaces)
        return SB_OK;
    if (self->options.meeting == SB_MEET_ERROR)
        return meet_rival(self, member, old, item);
    self->sink.counts.left++;
    if (self->options.meeting == SB_MEET_UPDATE)
        TRY(sb_meet_note_same(self, &member->entry, true));
    return SB_END;
}

/* A new name: perhaps the archive has its bytes under one that does not come. */
static enum sb_code meet_moved(struct archive_sink *self, const struct sb_member *member,
                               struct sb_item *item)
{
    struct sb_entry old;
    enum sb_code code;

    if (!self->options.unmet || member->hard_link || item->original)
        return SB_OK;
    code = sb_unmet_find_moved(self->options.unmet, &member->entry, &old);
    if (code)
        return code == SB_NOENT ? SB_OK : code;
    item->compares = true;
    item->old_row = old.row;
    item->old_size = old.size;
    item->old_crc = old.crc32c;
    item->old_shard = old.shard;
    item->old_offset = old.offset;
    item->mark |= MARK_NEW_ROW | MARK_MOVED;
    return SB_OK;
}

enum sb_code sb_meet_existing(struct archive_sink *self, const struct sb_member *member,
                              struct sb_item *item)
{
    const struct sb_entry *entry = &member->entry;
    struct sb_entry old, known = *entry;
    bool again = false;
    enum sb_code code = sb_holdings_meet(&self->holdings, entry, &old);

    if (self->options.unmet && (!code || code == SB_NOENT))
        TRY(sb_unmet_meet(self->options.unmet, code ? NULL : &old, &again));
    if (code)
        return code == SB_NOENT ? meet_moved(self, member, item) : code;
    if (member->hard_link)
        known.size = -1;
    item->change = sb_change_between(&known, &old);
    /* What the archive holds is not what an earlier member of this name makes of it. */
    if (again) {
        item->replaces = true;
        item->old_size = old.size;
        item->old_row = old.row;
        return SB_OK;
    }
    if (entry->type != SB_DIR)
        return meet_file(self, member, &old, item);
    return (self->options.keep_dirs && old.has) || !item->change ? SB_END : SB_OK;
}

enum sb_code sb_meet_note_changing(struct archive_sink *self, const struct sb_item *item)
{
    if (!self->options.unmet || !item->replaces || item->old_row == 0 ||
        item->mark & MARK_SAME_BYTES)
        return SB_OK;
    return sb_rowset_add(&self->changing, item->old_row);
}

enum sb_code sb_meet_compare(const struct archive_sink *self, struct sb_batch *batch,
                             struct sb_item *item)
{
    enum sb_code code = sb_item_sum_all(batch, item);
    bool intact = true;
    char text[160];

    if (code == SB_END)
        item->state = SB_ITEM_FAILED;
    if (code)
        return code == SB_END ? SB_OK : code;
    if (item->summed_size != item->old_size || item->sum != item->old_crc) {
        if (item->replaces || item->mark & MARK_MOVED)
            return SB_OK;
        snprintf(text, sizeof(text), exists_text, self->options.advice);
        return sb_item_fail(batch, item, "exists", text);
    }
    /* What is damaged in the archive is not taken over, where good bytes are at hand. */
    if (item->mark & MARK_MOVED)
        TRY(sb_unmet_check_moved(self->options.unmet, item->old_shard, item->old_offset,
                                 item->old_size, item->old_crc, &intact));
    if (!intact)
        return SB_OK;
    item->mark |= MARK_SAME_BYTES;
    item->state = SB_ITEM_STORED;
    return SB_OK;
}

enum sb_code sb_meet_judge_link(struct archive_sink *self, struct sb_item *item)
{
    const struct sb_entry *entry = &item->member.entry;
    bool same;

    TRY(sb_meet_has_target(self, item->member.hard_link, &same));
    if (!same)
        sb_report(self->options.notify, SB_PROBLEM, "exists", entry->path, exists_text,
                  self->options.advice);
    self->sink.counts.left += same;
    item->state = SB_ITEM_FAILED;
    return sb_meet_note_same(self, entry, same);
}

enum sb_code sb_meet_compare_link(struct archive_sink *self, struct sb_item *item)
{
    const struct sb_member *member = &item->member;
    struct sb_entry old;
    bool same;

    if (self->options.meeting != SB_MEET_UPDATE || !member->hard_link || !item->compares ||
        IGNORED(look_up(&self->holdings, member->entry.path, member->entry.path_size, &old)))
        return SB_OK;
    TRY(sb_meet_has_target(self, member->hard_link, &same));
    if (same && has_same_bytes(self, member->hard_link, &old))
        item->mark |= MARK_SAME_BYTES;
    return SB_OK;
}
