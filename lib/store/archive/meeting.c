#include "store/archive/sink_impl.h"

#include "archive/archive.h"
#include "store/archive/unmet.h"
#include "store/names.h"

#include <stdio.h>
#include <string.h>

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

    return !IGNORED(sb_holdings_look_up(&self->holdings, name, strlen(name), &entry)) &&
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
    *has = !code && entry.type != SB_DIR && sb_holdings_is_own(&self->holdings, &entry);
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
    bool own = sb_holdings_is_own(&self->holdings, old);

    if (own && item->again && sb_holdings_is_from(old, &self->holdings.progress->input_begin))
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
        IGNORED(sb_holdings_look_up(&self->holdings, member->entry.path, member->entry.path_size,
                                    &old)))
        return SB_OK;
    TRY(sb_meet_has_target(self, member->hard_link, &same));
    if (same && has_same_bytes(self, member->hard_link, &old))
        item->mark |= MARK_SAME_BYTES;
    return SB_OK;
}
