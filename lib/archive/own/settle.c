#include "archive/own/settle.h"

#include "archive/config.h"
#include "archive/database.h"
#include "archive/journal.h"
#include "archive/own/own_names.h"
#include "archive/own/part.h"
#include "archive/own/state.h"
#include "archive/parity/note.h"
#include "core/array.h"
#include "core/io.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static enum sb_code remove_named(const struct sb_named *named)
{
    if (unlink(named->path) && errno != ENOENT)
        return sb_fail_errno(errno, "%s: cannot be removed", named->path);
    return SB_OK;
}

/* Removes the file of a name if it is the one that was claimed. */
static enum sb_code remove_claimed(const struct sb_hold *hold, const char *suffix,
                                   enum sb_claim_kind kind, uint32_t number)
{
    CLEANUP(sb_named_release) struct sb_named file = {0};

    TRY(sb_look_at_shard(&file, hold->path, suffix, number));
    if (!sb_note_claims(&hold->note, kind, number, &file.look.identity))
        return SB_OK;
    TRY(sb_protect_drop(file.path));
    return remove_named(&file);
}

/* A shard that was made as a link: removing the name loses nothing of its target. */
static bool is_link(const struct sb_look *look)
{
    return look->there && (S_ISLNK(look->mode) || (S_ISREG(look->mode) && look->links > 1));
}

/*
 * From this number on, removes links, which were not noted one by one, and an empty file, which a
 * killed run had made but not noted yet.
 */
static enum sb_code remove_unnoted(const struct sb_hold *hold, uint32_t number)
{
    bool again = true;

    for (; again && number <= SB_SHARD_MAX; number++) {
        CLEANUP(sb_named_release) struct sb_named file = {0};

        TRY(sb_look_at_shard(&file, hold->path, SB_NEW_SUFFIX, number));
        again = number >= hold->note.text.links_from && is_link(&file.look);
        if (again || sb_is_empty_file(&file.look))
            TRY(remove_named(&file));
    }
    return SB_OK;
}

/* The first number without a claim, among the shards that the run made. */
static uint32_t first_unnoted(const struct sb_hold *hold, uint32_t counted)
{
    const struct sb_claims *made = &hold->note.text.claims[SB_CLAIM_MADE];

    for (uint32_t i = made->count; i > 0; i--) {
        if (made->at[i - 1].inode != 0)
            return i;
    }
    return counted;
}

static enum sb_code remove_new_index(const struct sb_hold *hold)
{
    const struct sb_note_text *left = &hold->note.text;
    CLEANUP(sb_named_release) struct sb_named index = {0};

    TRY(sb_look_at_own(&index, hold->path, SB_NEW_INDEX));
    /* An index that was just made, and not noted yet, is empty. */
    if (sb_is_identical(&index.look.identity, &left->index) ||
        (left->aim != SB_AIM_CHANGE && sb_is_empty_file(&index.look)))
        return remove_named(&index);
    return SB_OK;
}

/* `counted`: shards of the existing index, 0 without one. */
static enum sb_code undo_shards(struct sb_hold *hold, uint32_t counted)
{
    const struct sb_note_text *left = &hold->note.text;

    /* Otherwise a run after a kill would finish an incomplete index. */
    TRY(sb_note_unsay_whole(&hold->note));
    for (uint32_t i = 0; i < left->claims[SB_CLAIM_MADE].count; i++) {
        TRY(remove_claimed(hold, SB_NEW_SUFFIX, SB_CLAIM_MADE, i));
        /* A run that replaces an archive gives no shard its final name before its commit. */
        if (i >= counted && left->aim != SB_AIM_REPLACE)
            TRY(remove_claimed(hold, "", SB_CLAIM_MADE, i));
    }
    if (left->links_from != UINT32_MAX)
        TRY(remove_unnoted(hold, left->links_from));
    TRY(remove_unnoted(hold, 0));
    return remove_unnoted(hold, first_unnoted(hold, counted));
}

/*
 * The run did not commit. While the new index exists, a later run knows that the rest may be
 * removed.
 */
static enum sb_code undo(struct sb_hold *hold, uint32_t counted)
{
    TRY(undo_shards(hold, counted));
    TRY(sb_sync_directory_of(hold->path));
    TRY(remove_new_index(hold));
    /* Before the note is changed. */
    return sb_sync_directory_of(hold->path);
}

bool sb_settle_undo(struct sb_hold *hold, uint32_t counted)
{
    bool undone = IGNORED(sb_note_confirm(&hold->note)) == SB_OK &&
                  IGNORED(undo_shards(hold, counted)) == SB_OK;

    /* Continues if the sync fails, to remove what can be removed. */
    (void)!IGNORED(sb_sync_directory_of(hold->path));
    return undone && IGNORED(remove_new_index(hold)) == SB_OK;
}

static enum sb_code refuse(const struct sb_hold *hold, const char *path)
{
    return sb_fail(SB_EXISTS,
                   "%s: a run that was killed left this, and nothing proves that it is of the "
                   "archive that is here now, which was moved, replaced or copied since; put "
                   "back what belongs together, or, if 'shardbox verify' finds nothing missing, "
                   "remove this and %s",
                   path, hold->note.path);
}

static enum sb_code refuse_existing(const struct sb_hold *hold, const char *suffix, uint32_t number)
{
    CLEANUP(sb_named_release) struct sb_named file = {0};

    TRY(sb_look_at_shard(&file, hold->path, suffix, number));
    return file.look.there ? refuse(hold, file.path) : SB_OK;
}

/*
 * The note is about an index that is not here. Nothing shows whether its run committed, and its
 * shards may be all that is left of an archive: while any of them is where the run made it, no
 * writer may begin. `counted`: the existing index owns its shards.
 */
static enum sb_code refuse_unknown(const struct sb_hold *hold, uint32_t counted)
{
    const struct sb_note_text *left = &hold->note.text;
    CLEANUP(sb_named_release) struct sb_named index = {0};

    TRY(sb_look_at_own(&index, hold->path, SB_NEW_INDEX));
    if (index.look.there)
        return refuse(hold, index.path);
    for (int kind = 0; kind < SB_CLAIM_KINDS; kind++) {
        for (uint32_t i = 0; i < left->claims[kind].count; i++) {
            if (left->claims[kind].at[i].inode == 0)
                continue;
            TRY(refuse_existing(hold, SB_NEW_SUFFIX, i));
            if (kind == SB_CLAIM_MADE && i >= counted)
                TRY(refuse_existing(hold, "", i));
        }
    }
    return left->links_from <= SB_SHARD_MAX ? refuse_existing(hold, SB_NEW_SUFFIX, left->links_from)
                                            : SB_OK;
}

static enum sb_code refuse_in_the_way(const struct sb_named *from, const struct sb_named *to)
{
    return sb_fail(SB_EXISTS, "%s: in the way of %s, which is to have this name; move it away",
                   to->path, from->path);
}

/*
 * Removes an empty file that a killed run left under a name, but only if it is still empty:
 * exchanges the two names, and exchanges them back if the file has content.
 */
static enum sb_code replace_empty(const struct sb_named *from, const struct sb_named *to)
{
    struct sb_look look;
    enum sb_code code;

    if (renameat2(AT_FDCWD, from->path, AT_FDCWD, to->path, RENAME_EXCHANGE)) {
        if (errno != EINVAL && errno != ENOSYS)
            return sb_fail_errno(errno, "%s: cannot be renamed to %s", from->path, to->path);
        TRY(sb_look_at(to->path, &look));
        return sb_is_empty_file(&look) ? sb_rename(from->path, to->path)
                                       : refuse_in_the_way(from, to);
    }
    code = sb_look_at(from->path, &look);
    if (code == SB_OK && sb_is_empty_file(&look))
        return remove_named(from);
    if (renameat2(AT_FDCWD, from->path, AT_FDCWD, to->path, RENAME_EXCHANGE))
        return sb_fail_errno(errno, "%s: cannot be given back its name", from->path);
    return code ? code : refuse_in_the_way(from, to);
}

/*
 * Between a kill and now Barecat, which does not know notes, may have added files to a shard that
 * is to be removed.
 */
static enum sb_code refuse_written(const struct sb_hold *hold, const struct sb_named *from,
                                   const struct sb_named *to)
{
    const struct timespec *written = &to->look.changed;
    struct sb_look note;

    if (!hold->note.was_left)
        return SB_OK;
    TRY(sb_look_into(hold->note.fd, hold->note.path, &note));
    if (written->tv_sec < note.changed.tv_sec ||
        (written->tv_sec == note.changed.tv_sec && written->tv_nsec <= note.changed.tv_nsec))
        return SB_OK;
    return sb_fail(SB_EXISTS,
                   "%s: was written to since a run was killed that is to replace it by %s; another "
                   "program may have added files to it, so move it away and look at them",
                   to->path, from->path);
}

static enum sb_code give_name(const struct sb_hold *hold, const struct sb_named *from,
                              const struct sb_named *to, uint32_t number)
{
    if (!to->look.there) {
        enum sb_code code = sb_rename_new(from->path, to->path);

        return code == SB_EXISTS ? refuse_in_the_way(from, to) : code;
    }
    /* Where a file system cannot rename without replacing, a kill leaves both names. */
    if (sb_is_identical(&from->look.identity, &to->look.identity))
        return remove_named(from);
    if (sb_note_claims(&hold->note, SB_CLAIM_GONE, number, &to->look.identity)) {
        TRY(refuse_written(hold, from, to));
        TRY(sb_protect_drop(to->path));
        return sb_rename(from->path, to->path);
    }
    if (sb_note_claims(&hold->note, SB_CLAIM_EMPTY, number, &to->look.identity) &&
        sb_is_empty_file(&to->look)) {
        TRY(sb_protect_drop(to->path));
        return replace_empty(from, to);
    }
    return refuse_in_the_way(from, to);
}

/* Gives a shard with the suffix its final name. `proved`: the note has its identity. */
static enum sb_code name_shard(const struct sb_hold *hold, const char *suffix, uint32_t number,
                               bool proved)
{
    const struct sb_note *note = &hold->note;
    CLEANUP(sb_named_release) struct sb_named from = {0};
    CLEANUP(sb_named_release) struct sb_named to = {0};

    TRY(sb_look_at_shard(&from, hold->path, suffix, number));
    TRY(sb_look_at_shard(&to, hold->path, "", number));
    if (proved && sb_note_claims(note, SB_CLAIM_MADE, number, &to.look.identity) &&
        !sb_is_identical(&from.look.identity, &to.look.identity))
        return SB_OK;
    if (proved && from.look.there &&
        !sb_note_claims(note, SB_CLAIM_MADE, number, &from.look.identity))
        return refuse(hold, from.path);
    if (from.look.there)
        return give_name(hold, &from, &to, number);
    if (to.look.there && !sb_note_claims(note, SB_CLAIM_GONE, number, &to.look.identity))
        return SB_OK;
    return sb_fail(SB_NOENT,
                   "%s: not there; put it back, or, if it is lost, remove %s, if that exists, and "
                   "make an empty file of that name",
                   from.path, to.path);
}

enum sb_code sb_settle_claim_name(struct sb_hold *hold, uint32_t number)
{
    CLEANUP(sb_named_release) struct sb_named file = {0};

    TRY(sb_look_at_shard(&file, hold->path, "", number));
    if (sb_is_empty_file(&file.look))
        return sb_note_claim(&hold->note, SB_CLAIM_EMPTY, number, &file.look.identity);
    if (!file.look.there)
        return SB_OK;
    return sb_fail(SB_EXISTS,
                   "%s: in the way of the next shard, and no index says what is in it; move it "
                   "away",
                   file.path);
}

enum sb_code sb_settle_claim_gone(struct sb_hold *hold, uint32_t number)
{
    CLEANUP(sb_named_release) struct sb_named file = {0};

    TRY(sb_look_at_shard(&file, hold->path, "", number));
    if (!file.look.there)
        return SB_OK;
    return sb_note_claim(&hold->note, SB_CLAIM_GONE, number, &file.look.identity);
}

enum sb_code sb_settle_name_shards(struct sb_hold *hold)
{
    const struct sb_claims *made = &hold->note.text.claims[SB_CLAIM_MADE];

    TRY(sb_note_confirm(&hold->note));
    for (uint32_t i = 0; i < made->count; i++) {
        if (made->at[i].inode != 0)
            TRY(name_shard(hold, SB_NEW_SUFFIX, i, true));
    }
    return sb_sync_directory_of(hold->path);
}

enum sb_code sb_settle_remove_gone(struct sb_hold *hold, uint32_t count)
{
    const struct sb_claims *gone = &hold->note.text.claims[SB_CLAIM_GONE];

    if (gone->count > count)
        TRY(sb_note_confirm(&hold->note));
    /* The last one first: Barecat counts the shards that it finds. */
    for (uint32_t i = gone->count; i > count; i--)
        TRY(remove_claimed(hold, "", SB_CLAIM_GONE, i - 1));
    return SB_OK;
}

/*
 * Where a file system cannot rename without replacing, a kill leaves the index under both names:
 * completes the renaming.
 */
static enum sb_code remove_second_names(const struct sb_hold *hold)
{
    static const char *const suffixes[] = {SB_NEW_INDEX, SB_PART, SB_OLD_INDEX};

    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
        CLEANUP(sb_named_release) struct sb_named name = {0};

        TRY(sb_look_at_own(&name, hold->path, suffixes[i]));
        if (strcmp(name.path, hold->file) != 0 &&
            sb_is_identical(&name.look.identity, &hold->index))
            TRY(remove_named(&name));
    }
    return SB_OK;
}

/* A part that became this archive no longer exists: shards of an existing part are the part's. */
static enum sb_code refuse_part(const struct sb_hold *hold)
{
    CLEANUP(sb_named_release) struct sb_named part = {0};

    TRY(sb_look_at_own(&part, hold->path, SB_PART));
    if (!part.look.there)
        return SB_OK;
    return sb_fail(SB_EXISTS,
                   "%s: shards of this archive have names that are those of %s; move that away",
                   hold->path, part.path);
}

enum sb_code sb_settle_forget(const struct sb_hold *hold)
{
    const struct sb_note_text *text = &hold->note.text;
    CLEANUP(sb_freep) char *old = NULL;

    if (text->aim != SB_AIM_REPLACE || text->claims[SB_CLAIM_GONE].count == 0)
        return SB_OK;
    old = sb_own_name(hold->path, SB_OLD_INDEX);
    if (!old)
        return sb_error()->code;
    TRY(sb_protect_drop(old));
    return sb_protect_drop_old(hold->path);
}

/* The index under its old name is removed once the new one exists. */
static enum sb_code remove_replaced(const struct sb_hold *hold)
{
    CLEANUP(sb_named_release) struct sb_named old = {0};

    TRY(sb_look_at_own(&old, hold->path, SB_OLD_INDEX));
    return sb_is_identical(&old.look.identity, &hold->note.text.subject) ? remove_named(&old)
                                                                         : SB_OK;
}

/* The index of the run is in place. The one that it replaced may be under the new one's name. */
static enum sb_code finish_committed(struct sb_hold *hold, uint32_t counted)
{
    CLEANUP(sb_named_release) struct sb_named index = {0};

    TRY(sb_look_at_own(&index, hold->path, SB_NEW_INDEX));
    if (sb_is_identical(&index.look.identity, &hold->index) ||
        sb_is_identical(&index.look.identity, &hold->note.text.subject))
        TRY(remove_named(&index));
    TRY(sb_settle_forget(hold));
    if (hold->note.text.aim == SB_AIM_REPLACE)
        TRY(remove_replaced(hold));
    TRY(sb_settle_remove_gone(hold, counted));
    return sb_sync_directory_of(hold->path);
}

/* *waits: the index of the run has its temporary name, or was not made. */
static enum sb_code look_for_new_index(const struct sb_hold *hold, bool *waits)
{
    CLEANUP(sb_named_release) struct sb_named index = {0};

    TRY(sb_look_at_own(&index, hold->path, SB_NEW_INDEX));
    *waits = sb_is_identical(&index.look.identity, &hold->note.text.index) ||
             (hold->note.text.index.inode == 0 && !index.look.there) ||
             sb_is_empty_file(&index.look);
    return SB_OK;
}

enum sb_code sb_settle_note(struct sb_hold *hold, uint32_t counted)
{
    const struct sb_note_text *left = &hold->note.text;
    bool waits = false;

    /* A run that was killed before its first line may have made an empty file. */
    if (left->aim == SB_AIM_NONE)
        return hold->note.was_left ? undo(hold, counted) : SB_OK;
    if (left->aim == SB_AIM_CHANGE) {
        if (!sb_is_identical(&left->subject, &hold->index))
            return refuse_unknown(hold, counted);
        /* After a change in place the index itself shows which shards it counts. */
        hold->left = left->grows;
        TRY(undo(hold, counted));
        return finish_committed(hold, counted);
    }
    if (sb_is_identical(&left->index, &hold->index))
        return finish_committed(hold, counted);
    TRY(look_for_new_index(hold, &waits));
    /* While the new index has its temporary name, it has not replaced anything. */
    if (waits || sb_is_identical(&left->subject, &hold->index))
        return undo(hold, counted);
    return refuse_unknown(hold, counted);
}

/* The row, and the shards that it refers to; SB_OK also without a row. */
static enum sb_code settle_row(struct sb_hold *hold, struct sqlite3 *db)
{
    struct sb_pending pending;
    bool part, of_new;

    TRY(sb_pending_read(db, hold->path, &pending));
    if (!pending.suffix)
        return SB_OK;
    /* Under its other names, as after cp -al, shards have the names that the row has. */
    TRY(sb_hold_refuse_links(hold));
    part = strcmp(pending.suffix, SB_PART) == 0;
    if (part)
        TRY(refuse_part(hold));
    /*
     * Shards that the row refers to are the archive's. If the note is about this index, it
     * identifies these files, and those that they replace.
     */
    of_new = strcmp(pending.suffix, SB_NEW_SUFFIX) == 0 &&
             sb_is_identical(&hold->note.text.index, &hold->index);
    for (uint32_t i = 0; i < pending.count; i++)
        TRY(name_shard(hold, pending.suffix, i, of_new));
    TRY(sb_sync_directory_of(hold->path));
    /* It is no longer a part. */
    if (part)
        TRY(sb_progress_save(db, NULL));
    TRY(sb_config_drop(db, SB_CONFIG_SHARD_PREFIX));
    TRY(sb_database_run(db, "COMMIT"));
    return sb_hold_begin(hold, db);
}

enum sb_code sb_settle(struct sb_hold *hold, struct sqlite3 *db)
{
    uint32_t counted = 0;

    TRY(sb_note_confirm(&hold->note));
    if (hold->half_named)
        TRY(remove_second_names(hold));
    TRY(settle_row(hold, db));

    if (hold->note.was_left || hold->note.text.aim != SB_AIM_NONE)
        TRY(sb_shard_count_in_use(db, hold->path, &counted));
    /* An archive without files has a shard too. */
    return sb_settle_note(hold, counted > 0 ? counted : 1);
}

/* An append gives its shards their names before its commit. */
enum sb_code sb_settle_remade(struct sb_hold *hold)
{
    const struct sb_note_text *left = &hold->note.text;
    bool undone = left->aim == SB_AIM_NONE ||
                  (left->aim == SB_AIM_CHANGE && left->claims[SB_CLAIM_GONE].count == 0);

    if (undone)
        TRY(undo(hold, SB_SHARD_MAX + 1));
    return sb_note_clear(&hold->note);
}

enum sb_code sb_settle_forward(struct sb_hold *hold, bool *done)
{
    const struct sb_note_text *left = &hold->note.text;
    CLEANUP(sb_named_release) struct sb_named index = {0};

    *done = false;
    if (left->aim != SB_AIM_MAKE || !left->whole)
        return SB_OK;
    TRY(sb_look_at_own(&index, hold->path, SB_NEW_INDEX));
    if (!sb_is_identical(&index.look.identity, &left->index))
        return SB_OK;
    TRY(sb_journal_refuse(hold->path));
    TRY(sb_settle_name_shards(hold));
    TRY(sb_rename_new(index.path, hold->path));
    TRY(sb_sync_directory_of(hold->path));
    *done = true;
    return SB_OK;
}
