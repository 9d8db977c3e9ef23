#include "archive/part.h"

#include "archive/database.h"
#include "archive/lock.h"
#include "archive/pending.h"
#include "archive/standing.h"
#include "core/io.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

char *sb_part_path(const char *archive, struct sb_error *err)
{
    char *path = sb_standing_path(archive, err), *part = NULL;

    if (path && asprintf(&part, "%s.part", path) < 0) {
        part = NULL;
        sb_fail_memory(err);
    }
    free(path);
    return part;
}

static enum sb_code refuse_stranger(const char *part, struct sb_error *err)
{
    return sb_fail(err, SB_EXISTS,
                   "%s: in the way, and nothing that an interrupted run left; move it, or choose "
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
        return refuse_stranger(part, err);
    code = sb_progress_read(part, progress, err);
    return code == SB_FORMAT || code == SB_NOENT ? refuse_stranger(part, err) : code;
}

/* That it goes is on disk before any of it does: half of it is not to be gone on with. */
static enum sb_code discard(sqlite3 *db, const char *part, struct sb_error *err)
{
    struct sb_progress progress = {0};
    enum sb_code code = sb_progress_load(db, &progress, err);

    progress.state = SB_PROGRESS_DISCARDED;
    if (code == SB_NOENT)
        code = refuse_stranger(part, err);
    if (code == SB_OK)
        code = sb_progress_save(db, &progress, err);
    if (code == SB_OK)
        code = sb_database_run(db, "COMMIT", err);
    sb_progress_release(&progress);
    return code == SB_OK ? sb_lock_index(db, part, err) : code;
}

static enum sb_code remove_files(const char *part, struct sb_error *err)
{
    enum sb_code code = sb_pending_remove_shards(part, err);

    if (code == SB_OK)
        code = sb_pending_remove_from(part, 0, err);
    if (code == SB_OK)
        code = sb_sync_directory_of(part, err);
    if (code == SB_OK && unlink(part))
        code = sb_fail_errno(err, errno, "%s", part);
    return code == SB_OK ? sb_sync_directory_of(part, err) : code;
}

enum sb_code sb_part_remove(const char *part, struct sb_error *err)
{
    struct sb_new_lock lock = {.fd = -1};
    sqlite3 *db = NULL;
    char *new_path;
    enum sb_code code;

    if (asprintf(&new_path, "%s.new", part) < 0)
        return sb_fail_memory(err);
    code = sb_standing_open(&db, part, part, true, err);
    if (code == SB_OK)
        code = sb_new_lock_take(&lock, new_path, err);
    if (code == SB_OK)
        code = discard(db, part, err);
    if (code == SB_OK)
        code = remove_files(part, err);
    sb_database_close(db);
    if (lock.fd >= 0)
        unlink(new_path);
    sb_new_lock_drop(&lock);
    free(new_path);
    return code;
}
