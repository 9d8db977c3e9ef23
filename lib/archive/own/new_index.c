#include "archive/own/new_index.h"

#include "archive/database.h"
#include "archive/journal.h"
#include "archive/own/own_names.h"
#include "archive/schema.h"
#include "core/file_lock.h"
#include "core/io.h"
#include "core/kept_open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum sb_code make_tables(struct sb_new_index *index, const char *journal_mode)
{
    char pragmas[200];

    /* SQLite would play a journal into the new index. */
    TRY(sb_journal_refuse(index->path));
    TRY(sb_database_open(&index->db, index->path, SB_DB_CREATE));
    TRY(sb_register_parent_functions(index->db));
    snprintf(pragmas, sizeof(pragmas),
             "PRAGMA journal_mode=%s; PRAGMA synchronous=OFF; PRAGMA locking_mode=EXCLUSIVE;"
             "PRAGMA cache_size=-24576; PRAGMA page_size=4096; BEGIN",
             journal_mode);
    TRY(sb_database_run(index->db, pragmas));
    TRY(sb_database_run(index->db, sb_ddl_tables));
    return sb_database_run(index->db, "COMMIT; BEGIN EXCLUSIVE");
}

enum sb_code sb_new_index_make(struct sb_new_index *index, struct sb_hold *hold,
                               const char *journal_mode)
{
    struct sb_look look;
    int error_number;

    *index = SB_NEW_INDEX_NONE;
    index->path = sb_own_name(hold->path, SB_NEW_INDEX);
    if (!index->path)
        return sb_error()->code;
    TRY(sb_hold_make_file(index->path, &index->fd));
    TRY(sb_look_into(index->fd, index->path, &look));
    index->identity = look.identity;
    TRY(sb_note_index(&hold->note, &index->identity));
    TRY(sb_note_sync(&hold->note));
    /* The lock that it will need under its final name. */
    error_number = sb_lock_first_byte(index->fd);
    if (error_number)
        return sb_fail_to_lock(error_number, index->path);
    return make_tables(index, journal_mode);
}

enum sb_code sb_new_index_complete(struct sb_new_index *index, struct sb_hold *hold)
{
    TRY(sb_database_run(index->db, "COMMIT"));
    TRY(sb_fsync(index->fd, index->path));
    TRY(sb_note_whole(&hold->note));
    return sb_note_sync(&hold->note);
}

void sb_new_index_close(struct sb_new_index *index)
{
    sb_database_close(index->db);
    index->db = NULL;
}

void sb_new_index_release(struct sb_new_index *index)
{
    sb_new_index_close(index);
    if (index->fd >= 0)
        sb_close_kept(index->fd, NULL);
    free(index->path);
    *index = SB_NEW_INDEX_NONE;
}

static enum sb_code fail_replaced(const struct sb_hold *hold)
{
    return sb_fail(
        SB_CHANGED,
        "%s: was replaced by another program meanwhile; nothing was changed, so run this "
        "again",
        hold->path);
}

static enum sb_code exchange(const char *from, const char *to)
{
    return renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_EXCHANGE) ? SB_SYSTEM : SB_OK;
}

/* Where names cannot be exchanged, the check comes just before the renaming. */
static enum sb_code rename_over(const struct sb_hold *hold, const char *from, bool *committed)
{
    struct sb_look look;

    TRY(sb_look_at(hold->path, &look));
    if (!sb_is_identical(&look.identity, &hold->index))
        return fail_replaced(hold);
    TRY(sb_rename(from, hold->path));
    *committed = true;
    return SB_OK;
}

/* Has this name the file that was made? */
static enum sb_code check_made(const char *name, const char *from,
                               const struct sb_identity *identity)
{
    struct sb_look look;

    TRY(sb_look_at(name, &look));
    if (sb_is_identical(&look.identity, identity))
        return SB_OK;
    return sb_fail(
        SB_CHANGED,
        "%s: was replaced by another file while it was made; nothing was changed, so run "
        "this again",
        from);
}

/*
 * Exchanges the two names; then checks both, and removes only the index that is locked. A run that
 * is killed meanwhile leaves that under the new one's name (settle.h).
 */
static enum sb_code replace(const struct sb_hold *hold, const char *from,
                            const struct sb_identity *identity, bool *committed)
{
    struct sb_look look;
    enum sb_code code;

    if (exchange(from, hold->path)) {
        if (errno == EINVAL || errno == ENOSYS)
            return rename_over(hold, from, committed);
        return sb_fail_errno(errno, "%s: cannot be put in place of %s", from, hold->path);
    }
    *committed = true;
    code = check_made(hold->path, from, identity);
    if (code == SB_OK)
        code = sb_look_at(from, &look);
    if (code == SB_OK && !sb_is_identical(&look.identity, &hold->index))
        code = fail_replaced(hold);
    if (code == SB_CHANGED)
        *committed = exchange(from, hold->path) != SB_OK;
    if (code == SB_OK)
        code = sb_sync_directory_of(hold->path);
    if (code == SB_OK && unlink(from))
        code = sb_fail_errno(errno, "%s: cannot be removed", from);
    return code;
}

/* Without an existing index. */
static enum sb_code rename_first(const struct sb_hold *hold, const char *from,
                                 const struct sb_identity *identity, bool *committed)
{
    enum sb_code code = sb_rename_new(from, hold->path);

    *committed = code == SB_OK;
    if (code == SB_OK)
        code = check_made(hold->path, from, identity);
    if (code == SB_CHANGED)
        *committed = IGNORED(sb_rename_new(hold->path, from)) != SB_OK;
    return code;
}

static enum sb_code take_over(struct sb_hold *hold, int *fd, const struct sb_identity *identity)
{
    const struct sb_identity before = hold->index;
    CLEANUP(sb_freep) char *old = NULL;
    struct sb_look look;

    if (hold->file && strcmp(hold->file, hold->path) != 0)
        old = hold->file;
    sb_hold_adopt(hold, *fd, identity);
    *fd = -1;
    if (!old && hold->file)
        return SB_OK;
    TRY(sb_copy_text(&hold->file, hold->path));
    if (!old)
        return SB_OK;
    /* The index under its old name, which the hold has locked. */
    TRY(sb_look_at(old, &look));
    TRY(sb_sync_directory_of(hold->path));
    if (sb_is_identical(&look.identity, &before) && unlink(old))
        return sb_fail_errno(errno, "%s: cannot be removed", old);
    return SB_OK;
}

enum sb_code sb_new_index_place(struct sb_hold *hold, const char *from, int *fd,
                                const struct sb_identity *identity, bool *committed)
{
    bool replaces = hold->file && strcmp(hold->file, hold->path) == 0;
    bool is_part = strcmp(from + strlen(hold->path), SB_PART) == 0;
    enum sb_code code, after;

    *committed = false;
    TRY(sb_journal_refuse(hold->path));
    TRY(sb_note_confirm(&hold->note));
    TRY(check_made(from, from, identity));
    /* The names of the files that it refers to are on disk. */
    TRY(sb_sync_directory_of(hold->path));
    if (!replaces) {
        code = rename_first(hold, from, identity, committed);
    } else if (is_part) {
        /* The name of a part means that there is one to continue: no other index may have it. */
        code = rename_over(hold, from, committed);
    } else {
        code = replace(hold, from, identity, committed);
    }
    if (!*committed || code == SB_CHANGED)
        return code;
    after = take_over(hold, fd, identity);
    if (code == SB_OK && after == SB_OK && (!replaces || is_part))
        code = sb_sync_directory_of(hold->path);
    return code ? code : after;
}
