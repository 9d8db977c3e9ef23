#include "archive/own/part.h"

#include "archive/database.h"
#include "archive/own/hold.h"
#include "archive/own/own_names.h"
#include "archive/own/state.h"
#include "archive/parity/note.h"
#include "core/io.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

char *sb_part_path(const char *archive)
{
    CLEANUP(sb_freep) char *path = sb_hold_path(archive);

    return path ? sb_own_name(path, SB_PART) : NULL;
}

enum sb_code sb_part_look(const char *part, bool *there, struct sb_progress *progress)
{
    struct stat st;
    enum sb_code code;

    *there = lstat(part, &st) == 0;
    if (!*there)
        return errno == ENOENT ? SB_OK : sb_fail_errno(errno, "%s", part);
    if (!S_ISREG(st.st_mode))
        return sb_note_fail_not_ours(part);
    code = sb_progress_read(part, progress);
    return code == SB_FORMAT || code == SB_NOENT ? sb_note_fail_not_ours(part) : code;
}

/*
 * Records on disk that it is being removed, before any file is: an incomplete part must not be
 * continued.
 */
static enum sb_code discard(struct sb_hold *hold, sqlite3 *db)
{
    CLEANUP(sb_progress_release) struct sb_progress progress = {0};
    enum sb_code code = sb_progress_load(db, &progress);

    if (code)
        return code == SB_NOENT ? sb_note_fail_not_ours(hold->path) : code;
    progress.state = SB_PROGRESS_DISCARDED;
    TRY(sb_progress_save(db, &progress));
    TRY(sb_database_run(db, "COMMIT"));
    return sb_hold_begin(hold, db);
}

static enum sb_code remove_file(const char *path)
{
    TRY(sb_protect_drop(path));
    return unlink(path) && errno != ENOENT ? sb_fail_errno(errno, "%s", path) : SB_OK;
}

/* The shards that its index counts, then the index. */
static enum sb_code remove_files(const struct sb_hold *hold, sqlite3 *db)
{
    uint32_t count;

    TRY(sb_shard_count_in_use(db, hold->path, &count));
    /* An archive without files has a shard too. */
    for (uint32_t i = count > 0 ? count : 1; i > 0; i--) {
        CLEANUP(sb_freep) char *path = sb_shard_name(hold->path, i - 1);

        TRY(path ? remove_file(path) : sb_error()->code);
    }
    TRY(sb_sync_directory_of(hold->path));
    TRY(remove_file(hold->file));
    return sb_sync_directory_of(hold->path);
}

enum sb_code sb_part_remove(const char *part)
{
    const struct sb_hold_options options = {.to_change = true};
    struct sb_hold hold;
    sqlite3 *db = NULL;
    enum sb_code code = sb_hold_find(&hold, part, false);

    if (code == SB_OK && !hold.file)
        code = sb_fail(SB_NOENT, "%s: no longer exists", part);
    if (code == SB_OK)
        code = sb_hold_take(&hold);
    if (code == SB_OK)
        code = sb_hold_open(&hold, &db, &options);
    if (code == SB_OK)
        code = sb_note_begin(&hold.note, SB_AIM_CHANGE, &hold.index);
    if (code == SB_OK)
        code = discard(&hold, db);
    if (code == SB_OK)
        code = remove_files(&hold, db);
    sb_database_close(db);
    sb_hold_drop(&hold, code != SB_OK);
    return code;
}
