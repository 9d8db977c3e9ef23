#include "archive/own/part.h"

#include "archive/database.h"
#include "archive/own/hold.h"
#include "archive/own/own_names.h"
#include "archive/own/shardcount.h"
#include "archive/parity/note.h"
#include "core/io.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

char *sb_part_path(const char *archive, struct sb_error *err)
{
    char *path = sb_hold_path(archive, err);
    char *part = path ? sb_own_name(path, SB_PART, err) : NULL;

    free(path);
    return part;
}

static enum sb_code refuse_not_ours(const char *part, struct sb_error *err)
{
    return sb_fail(err, SB_EXISTS,
                   "%s: in the way, and not left by an interrupted run; move it, or choose "
                   "another name for the archive",
                   part);
}

enum sb_code sb_part_look(const char *part, bool *there, struct sb_progress *progress,
                          struct sb_error *err)
{
    struct stat st;
    enum sb_code code;

    *there = lstat(part, &st) == 0;
    if (!*there)
        return errno == ENOENT ? SB_OK : sb_fail_errno(err, errno, "%s", part);
    if (!S_ISREG(st.st_mode))
        return refuse_not_ours(part, err);
    code = sb_progress_read(part, progress, err);
    return code == SB_FORMAT || code == SB_NOENT ? refuse_not_ours(part, err) : code;
}

/*
 * Records on disk that it is being removed, before any file is: an incomplete part must not be
 * continued.
 */
static enum sb_code discard(struct sb_hold *hold, sqlite3 *db, struct sb_error *err)
{
    struct sb_progress progress = {0};
    enum sb_code code = sb_progress_load(db, &progress, err);

    progress.state = SB_PROGRESS_DISCARDED;
    if (code == SB_NOENT)
        code = refuse_not_ours(hold->path, err);
    if (code == SB_OK)
        code = sb_progress_save(db, &progress, err);
    if (code == SB_OK)
        code = sb_database_run(db, "COMMIT", err);
    sb_progress_release(&progress);
    return code ? code : sb_hold_begin(hold, db, err);
}

static enum sb_code remove_file(const char *path, struct sb_error *err)
{
    if (sb_protect_drop(path, err))
        return err->code;
    return unlink(path) && errno != ENOENT ? sb_fail_errno(err, errno, "%s", path) : SB_OK;
}

/* The shards that its index counts, then the index. */
static enum sb_code remove_files(const struct sb_hold *hold, sqlite3 *db, struct sb_error *err)
{
    uint32_t count;
    enum sb_code code = sb_shard_count_in_use(db, hold->path, &count, err);

    /* An archive without files has a shard too. */
    for (uint32_t i = count > 0 ? count : 1; code == SB_OK && i > 0; i--) {
        char *path = sb_shard_name(hold->path, i - 1, err);

        code = path ? remove_file(path, err) : err->code;
        free(path);
    }
    if (code == SB_OK)
        code = sb_sync_directory_of(hold->path, err);
    if (code == SB_OK)
        code = remove_file(hold->file, err);
    return code ? code : sb_sync_directory_of(hold->path, err);
}

enum sb_code sb_part_remove(const char *part, struct sb_error *err)
{
    static const struct sb_hold_options options = {.to_change = true};
    struct sb_hold hold;
    sqlite3 *db = NULL;
    enum sb_code code = sb_hold_find(&hold, part, false, err);

    if (code == SB_OK && !hold.file)
        code = sb_fail(err, SB_NOENT, "%s: no longer exists", part);
    if (code == SB_OK)
        code = sb_hold_take(&hold, err);
    if (code == SB_OK)
        code = sb_hold_open(&hold, &db, &options, err);
    if (code == SB_OK)
        code = sb_note_begin(&hold.note, SB_AIM_CHANGE, &hold.index, err);
    if (code == SB_OK)
        code = discard(&hold, db, err);
    if (code == SB_OK)
        code = remove_files(&hold, db, err);
    sb_database_close(db);
    sb_hold_drop(&hold, code != SB_OK);
    return code;
}
