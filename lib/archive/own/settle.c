#include "archive/own/settle.h"

#include "archive/config.h"
#include "archive/database.h"
#include "archive/journal.h"
#include "archive/own/own_names.h"
#include "archive/own/pending.h"
#include "archive/own/progress.h"
#include "archive/own/shardcount.h"
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

/* A file name, and what is there. */
struct named {
    char *path; /* NULL: not made */
    struct sb_look look;
};

static void release(struct named *named)
{
    free(named->path);
    *named = (struct named){0};
}

/* Takes over the path, also on failure. */
static enum sb_code look(struct named *named, char *path)
{
    *named = (struct named){.path = path};
    return path ? sb_look_at(path, &named->look) : sb_error()->code;
}

static enum sb_code look_at_shard(struct named *named, const char *archive, const char *suffix,
                                  uint32_t number)
{
    char *prefix = sb_own_name(archive, suffix), *path;
    enum sb_code code;

    path = prefix ? sb_shard_name(prefix, number) : NULL;
    code = look(named, path);
    free(prefix);
    return code;
}

static enum sb_code look_at_new_index(struct named *named, const struct sb_hold *hold)
{
    return look(named, sb_own_name(hold->path, SB_NEW_INDEX));
}

static enum sb_code remove_named(const struct named *named)
{
    if (unlink(named->path) && errno != ENOENT)
        return sb_fail_errno(errno, "%s: cannot be removed", named->path);
    return SB_OK;
}

static enum sb_code sync_directory(const struct sb_hold *hold)
{
    return sb_sync_directory_of(hold->path);
}

/* Removes the file of a name if it is the one that was claimed. */
static enum sb_code remove_claimed(const struct sb_hold *hold, const char *suffix,
                                   enum sb_claim_kind kind, uint32_t number)
{
    struct named file;
    enum sb_code code = look_at_shard(&file, hold->path, suffix, number);

    if (code == SB_OK && sb_note_claims(&hold->note, kind, number, &file.look.identity)) {
        code = sb_protect_drop(file.path);
        if (code == SB_OK)
            code = remove_named(&file);
    }
    release(&file);
    return code;
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
    enum sb_code code = SB_OK;
    bool again = true;

    for (; code == SB_OK && again && number <= SB_SHARD_MAX; number++) {
        struct named file;

        code = look_at_shard(&file, hold->path, SB_NEW_SUFFIX, number);
        again = number >= hold->note.text.links_from && is_link(&file.look);
        if (code == SB_OK && (again || sb_is_empty_file(&file.look)))
            code = remove_named(&file);
        release(&file);
    }
    return code;
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
    struct named index;
    enum sb_code code = look_at_new_index(&index, hold);

    /* An index that was just made, and not noted yet, is empty. */
    if (code == SB_OK && (sb_is_identical(&index.look.identity, &left->index) ||
                          (left->aim != SB_AIM_CHANGE && sb_is_empty_file(&index.look))))
        code = remove_named(&index);
    release(&index);
    return code;
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
    TRY(sync_directory(hold));
    TRY(remove_new_index(hold));
    /* Before the note is changed. */
    return sync_directory(hold);
}

bool sb_settle_undo(struct sb_hold *hold, uint32_t counted)
{
    bool undone = IGNORED(sb_note_confirm(&hold->note)) == SB_OK &&
                  IGNORED(undo_shards(hold, counted)) == SB_OK;

    /* Continues if the sync fails, to remove what can be removed. */
    (void)!IGNORED(sync_directory(hold));
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
    struct named file;
    enum sb_code code = look_at_shard(&file, hold->path, suffix, number);

    if (code == SB_OK && file.look.there)
        code = refuse(hold, file.path);
    release(&file);
    return code;
}

/*
 * The note is about an index that is not here. Nothing shows whether its run committed, and its
 * shards may be all that is left of an archive: while any of them is where the run made it, no
 * writer may begin. `counted`: the existing index owns its shards.
 */
static enum sb_code refuse_unknown(const struct sb_hold *hold, uint32_t counted)
{
    const struct sb_note_text *left = &hold->note.text;
    struct named index;
    enum sb_code code = look_at_new_index(&index, hold);

    if (code == SB_OK && index.look.there)
        code = refuse(hold, index.path);
    release(&index);
    for (int kind = 0; code == SB_OK && kind < SB_CLAIM_KINDS; kind++) {
        for (uint32_t i = 0; code == SB_OK && i < left->claims[kind].count; i++) {
            if (left->claims[kind].at[i].inode == 0)
                continue;
            code = refuse_existing(hold, SB_NEW_SUFFIX, i);
            if (code == SB_OK && kind == SB_CLAIM_MADE && i >= counted)
                code = refuse_existing(hold, "", i);
        }
    }
    if (code == SB_OK && left->links_from <= SB_SHARD_MAX)
        code = refuse_existing(hold, SB_NEW_SUFFIX, left->links_from);
    return code;
}

static enum sb_code refuse_in_the_way(const struct named *from, const struct named *to)
{
    return sb_fail(SB_EXISTS, "%s: in the way of %s, which is to have this name; move it away",
                   to->path, from->path);
}

/*
 * Removes an empty file that a killed run left under a name, but only if it is still empty:
 * exchanges the two names, and exchanges them back if the file has content.
 */
static enum sb_code replace_empty(const struct named *from, const struct named *to)
{
    struct sb_look look;
    enum sb_code code;

    if (renameat2(AT_FDCWD, from->path, AT_FDCWD, to->path, RENAME_EXCHANGE)) {
        if (errno != EINVAL && errno != ENOSYS)
            return sb_fail_errno(errno, "%s: cannot be renamed to %s", from->path, to->path);
        code = sb_look_at(to->path, &look);
        if (code == SB_OK && !sb_is_empty_file(&look))
            code = refuse_in_the_way(from, to);
        return code ? code : sb_rename(from->path, to->path);
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
static enum sb_code refuse_written(const struct sb_hold *hold, const struct named *from,
                                   const struct named *to)
{
    const struct timespec *written = &to->look.changed;
    struct sb_look note;
    enum sb_code code;

    if (!hold->note.was_left)
        return SB_OK;
    code = sb_look_into(hold->note.fd, hold->note.path, &note);
    if (code || written->tv_sec < note.changed.tv_sec ||
        (written->tv_sec == note.changed.tv_sec && written->tv_nsec <= note.changed.tv_nsec))
        return code;
    return sb_fail(SB_EXISTS,
                   "%s: was written to since a run was killed that is to replace it by %s; another "
                   "program may have added files to it, so move it away and look at them",
                   to->path, from->path);
}

static enum sb_code give_name(const struct sb_hold *hold, const struct named *from,
                              const struct named *to, uint32_t number)
{
    enum sb_code code;

    if (!to->look.there) {
        code = sb_rename_new(from->path, to->path);
        return code == SB_EXISTS ? refuse_in_the_way(from, to) : code;
    }
    /* Where a file system cannot rename without replacing, a kill leaves both names. */
    if (sb_is_identical(&from->look.identity, &to->look.identity))
        return remove_named(from);
    if (sb_note_claims(&hold->note, SB_CLAIM_GONE, number, &to->look.identity)) {
        code = refuse_written(hold, from, to);
        if (code == SB_OK)
            code = sb_protect_drop(to->path);
        return code ? code : sb_rename(from->path, to->path);
    }
    if (sb_note_claims(&hold->note, SB_CLAIM_EMPTY, number, &to->look.identity) &&
        sb_is_empty_file(&to->look)) {
        code = sb_protect_drop(to->path);
        return code ? code : replace_empty(from, to);
    }
    return refuse_in_the_way(from, to);
}

static enum sb_code fail_missing(const struct named *from, const struct named *to)
{
    return sb_fail(SB_NOENT,
                   "%s: not there; put it back, or, if it is lost, remove %s, if that exists, and "
                   "make an empty file of that name",
                   from->path, to->path);
}

/* Gives a shard with the suffix its final name. `proved`: the note has its identity. */
static enum sb_code name_shard(const struct sb_hold *hold, const char *suffix, uint32_t number,
                               bool proved)
{
    const struct sb_note *note = &hold->note;
    struct named from, to = {0};
    enum sb_code code = look_at_shard(&from, hold->path, suffix, number);

    if (code == SB_OK)
        code = look_at_shard(&to, hold->path, "", number);
    if (code)
        goto out;
    if (proved && sb_note_claims(note, SB_CLAIM_MADE, number, &to.look.identity) &&
        !sb_is_identical(&from.look.identity, &to.look.identity))
        goto out;
    if (proved && from.look.there &&
        !sb_note_claims(note, SB_CLAIM_MADE, number, &from.look.identity))
        code = refuse(hold, from.path);
    else if (from.look.there)
        code = give_name(hold, &from, &to, number);
    else if (!to.look.there || sb_note_claims(note, SB_CLAIM_GONE, number, &to.look.identity))
        code = fail_missing(&from, &to);
out:
    release(&from);
    release(&to);
    return code;
}

enum sb_code sb_settle_claim_name(struct sb_hold *hold, uint32_t number)
{
    struct named file;
    enum sb_code code = look_at_shard(&file, hold->path, "", number);

    if (code == SB_OK && sb_is_empty_file(&file.look))
        code = sb_note_claim(&hold->note, SB_CLAIM_EMPTY, number, &file.look.identity);
    else if (code == SB_OK && file.look.there)
        code = sb_fail(SB_EXISTS,
                       "%s: in the way of the next shard, and no index says what is in it; move it "
                       "away",
                       file.path);
    release(&file);
    return code;
}

enum sb_code sb_settle_name_shards(struct sb_hold *hold)
{
    const struct sb_claims *made = &hold->note.text.claims[SB_CLAIM_MADE];

    TRY(sb_note_confirm(&hold->note));
    for (uint32_t i = 0; i < made->count; i++) {
        if (made->at[i].inode != 0)
            TRY(name_shard(hold, SB_NEW_SUFFIX, i, true));
    }
    return sync_directory(hold);
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
 * Shards that the row of config refers to, which thus are the archive's. If the note is about this
 * index, it identifies these files, and those that they replace.
 */
static enum sb_code finish_row(const struct sb_hold *hold, const struct sb_pending *pending)
{
    bool of_new = strcmp(pending->suffix, SB_NEW_SUFFIX) == 0 &&
                  sb_is_identical(&hold->note.text.index, &hold->index);

    for (uint32_t i = 0; i < pending->count; i++)
        TRY(name_shard(hold, pending->suffix, i, of_new));
    return SB_OK;
}

/*
 * Where a file system cannot rename without replacing, a kill leaves the index under both names:
 * completes the renaming.
 */
static enum sb_code remove_second_names(const struct sb_hold *hold)
{
    static const char *const suffixes[] = {SB_NEW_INDEX, SB_PART, SB_OLD_INDEX};
    enum sb_code code = SB_OK;

    for (size_t i = 0; code == SB_OK && i < ARRAY_SIZE(suffixes); i++) {
        struct named name;

        code = look(&name, sb_own_name(hold->path, suffixes[i]));
        if (code == SB_OK && strcmp(name.path, hold->file) != 0 &&
            sb_is_identical(&name.look.identity, &hold->index))
            code = remove_named(&name);
        release(&name);
    }
    return code;
}

/* A part that became this archive no longer exists: shards of an existing part are the part's. */
static enum sb_code refuse_part(const struct sb_hold *hold)
{
    struct named part;
    enum sb_code code = look(&part, sb_own_name(hold->path, SB_PART));

    if (code == SB_OK && part.look.there)
        code = sb_fail(SB_EXISTS,
                       "%s: shards of this archive have names that are those of %s; move that away",
                       hold->path, part.path);
    release(&part);
    return code;
}

static enum sb_code drop_row(struct sb_hold *hold, struct sqlite3 *db, bool part)
{
    /* It is no longer a part. */
    if (part)
        TRY(sb_progress_save(db, NULL));
    TRY(sb_config_drop(db, SB_CONFIG_SHARD_PREFIX));
    TRY(sb_database_run(db, "COMMIT"));
    return sb_hold_begin(hold, db);
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
    struct named old;
    enum sb_code code = look(&old, sb_own_name(hold->path, SB_OLD_INDEX));

    if (code == SB_OK && sb_is_identical(&old.look.identity, &hold->note.text.subject))
        code = remove_named(&old);
    release(&old);
    return code;
}

/* The index of the run is in place. The one that it replaced may be under the new one's name. */
static enum sb_code finish_committed(struct sb_hold *hold, uint32_t counted)
{
    struct named index;
    enum sb_code code = look_at_new_index(&index, hold);

    if (code == SB_OK && (sb_is_identical(&index.look.identity, &hold->index) ||
                          sb_is_identical(&index.look.identity, &hold->note.text.subject)))
        code = remove_named(&index);
    release(&index);
    if (code == SB_OK)
        code = sb_settle_forget(hold);
    if (code == SB_OK && hold->note.text.aim == SB_AIM_REPLACE)
        code = remove_replaced(hold);
    if (code == SB_OK)
        code = sb_settle_remove_gone(hold, counted);
    return code ? code : sync_directory(hold);
}

/* After a change in place the index itself shows which shards it counts. */
static enum sb_code settle_change(struct sb_hold *hold, uint32_t counted)
{
    enum sb_code code = undo(hold, counted);

    hold->left = hold->note.text.grows;
    return code ? code : finish_committed(hold, counted);
}

static bool is_at_new_index(const struct sb_hold *hold, bool *is)
{
    struct named index;
    enum sb_code code = look_at_new_index(&index, hold);

    *is = code == SB_OK && (sb_is_identical(&index.look.identity, &hold->note.text.index) ||
                            (hold->note.text.index.inode == 0 && !index.look.there) ||
                            sb_is_empty_file(&index.look));
    release(&index);
    return code == SB_OK;
}

static enum sb_code settle_note(struct sb_hold *hold, uint32_t counted)
{
    const struct sb_note_text *left = &hold->note.text;
    bool waits;

    /* A run that was killed before its first line may have made an empty file. */
    if (left->aim == SB_AIM_NONE)
        return hold->note.was_left ? undo(hold, counted) : SB_OK;
    if (left->aim == SB_AIM_CHANGE)
        return sb_is_identical(&left->subject, &hold->index) ? settle_change(hold, counted)
                                                             : refuse_unknown(hold, counted);
    if (sb_is_identical(&left->index, &hold->index))
        return finish_committed(hold, counted);
    if (!is_at_new_index(hold, &waits))
        return sb_error()->code;
    /* While the new index has its temporary name, it has not replaced anything. */
    if (waits || sb_is_identical(&left->subject, &hold->index))
        return undo(hold, counted);
    return refuse_unknown(hold, counted);
}

/* The row, and the shards that it refers to; SB_OK also without a row. */
static enum sb_code settle_row(struct sb_hold *hold, struct sqlite3 *db)
{
    struct sb_pending pending;
    enum sb_code code = sb_pending_read(db, hold->path, &pending);
    bool part;

    if (code || !pending.suffix)
        return code;
    /* Under its other names, as after cp -al, shards have the names that the row has. */
    TRY(sb_hold_refuse_links(hold));
    part = strcmp(pending.suffix, SB_PART) == 0;
    if (part)
        code = refuse_part(hold);
    if (code == SB_OK)
        code = finish_row(hold, &pending);
    if (code == SB_OK)
        code = sync_directory(hold);
    return code ? code : drop_row(hold, db, part);
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
    return settle_note(hold, counted > 0 ? counted : 1);
}

enum sb_code sb_settle_oldest(struct sb_hold *hold)
{
    return settle_note(hold, SB_SHARD_MAX + 1);
}

enum sb_code sb_settle_missing(struct sb_hold *hold)
{
    const struct sb_note_text *left = &hold->note.text;
    bool waits = false;

    if (left->aim == SB_AIM_NONE)
        return hold->note.was_left ? undo(hold, 0) : SB_OK;
    if (left->aim != SB_AIM_CHANGE && !is_at_new_index(hold, &waits))
        return sb_error()->code;
    return waits ? undo(hold, 0) : refuse_unknown(hold, 0);
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
    struct named index;
    enum sb_code code;

    *done = false;
    if (left->aim != SB_AIM_MAKE || !left->whole)
        return SB_OK;
    code = look_at_new_index(&index, hold);
    if (code == SB_OK && sb_is_identical(&index.look.identity, &left->index)) {
        code = sb_journal_refuse(hold->path);
        if (code == SB_OK)
            code = sb_settle_name_shards(hold);
        if (code == SB_OK)
            code = sb_rename_new(index.path, hold->path);
        if (code == SB_OK)
            code = sync_directory(hold);
        *done = code == SB_OK;
    }
    release(&index);
    return code;
}
