#include "archive/own/hold.h"

#include "archive/database.h"
#include "archive/journal.h"
#include "archive/mover/renumber.h"
#include "archive/own/own_names.h"
#include "archive/own/settle.h"
#include "archive/parity/pieces.h"
#include "archive/remote.h"
#include "archive/schema.h"
#include "core/array.h"
#include "core/context.h"
#include "core/file_lock.h"
#include "core/interrupt.h"
#include "core/io.h"
#include "core/kept_open.h"
#include "core/name.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* How long a commit waits for readers to release the index, and how often it tries. */
#define COMMIT_WAIT_MILLISECONDS 60000
#define RETRY_MILLISECONDS       50

#define BUSY_MILLISECONDS 10000

static bool ends_in(const char *name, const char *suffix)
{
    size_t size = strlen(name), end = strlen(suffix);

    return size > end && strcmp(name + size - end, suffix) == 0;
}

/* Names of other archives' files, which no archive may have. */
static enum sb_code refuse_name(const char *archive, const char *base)
{
    static const char *const sqlites[] = {"-journal", "-wal", "-shm"};

    if (!*base || strcmp(base, ".") == 0 || strcmp(base, "..") == 0)
        return sb_fail(SB_INVALID, "%s: a directory's name; an archive needs a file name", archive);
    if (ends_in(base, SB_NEW_SUFFIX))
        return sb_fail(SB_INVALID,
                       "%s: names in .new are for archives that are being made; choose another",
                       archive);
    if (ends_in(base, SB_OLD_INDEX))
        return sb_fail(SB_INVALID,
                       "%s: the name of an index; give that of its archive, without '" SB_OLD_INDEX
                       "'",
                       archive);
    for (size_t i = 0; i < ARRAY_SIZE(sqlites); i++) {
        if (ends_in(base, sqlites[i]))
            return sb_fail(SB_INVALID, "%s: names in %s are for SQLite's journals; choose another",
                           archive, sqlites[i]);
    }
    return SB_OK;
}

char *sb_hold_path(const char *archive)
{
    if (refuse_name(archive, sb_base_name(archive)) ||
        sb_remote_refuse(archive, SB_REMOTE_FILES, ""))
        return NULL;
    return sb_resolve_directory_of(archive);
}

static enum sb_code fail_links(const char *name, uint32_t links)
{
    return sb_fail(SB_INVALID,
                   "%s: has %u hard links, and would change under all these names; copy it, and "
                   "rename the copy to this name",
                   name, links);
}

enum sb_code sb_hold_refuse_links(const struct sb_hold *hold)
{
    struct sb_look look;

    TRY(sb_look_at(hold->file, &look));
    return look.links < 2 ? SB_OK : fail_links(hold->file, look.links);
}

/* All names of an index but one must be temporary ones that a run of ours gives it. */
static enum sb_code look_at_links(struct sb_hold *hold, uint32_t links)
{
    static const char *const suffixes[] = {SB_NEW_INDEX, SB_PART, SB_OLD_INDEX};
    uint32_t half = 0;

    for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
        CLEANUP(sb_named_release) struct sb_named name = {0};

        TRY(sb_look_at_own(&name, hold->path, suffixes[i]));
        if (strcmp(name.path, hold->file) != 0)
            half += sb_is_identical(&name.look.identity, &hold->index);
    }
    hold->half_named = half > 0;
    return links == half + 1 ? SB_OK : fail_links(hold->file, links);
}

/* SB_END: no index has this name, but perhaps a directory. */
static enum sb_code look_at_index(struct sb_hold *hold, bool follow, bool *directory)
{
    const char *name = hold->file;
    struct sb_look look;

    TRY(sb_look_at(name, &look));
    *directory = S_ISDIR(look.mode);
    if (!look.there || *directory)
        return SB_END;
    if (S_ISLNK(look.mode))
        return sb_fail(SB_INVALID,
                       "%s: a symbolic link; give the name of the archive itself to write to it",
                       name);
    if (!S_ISREG(look.mode))
        return sb_fail(SB_FORMAT, "%s: not a regular file", name);
    hold->index = look.identity;
    return look.links > 1 && !follow ? look_at_links(hold, look.links) : SB_OK;
}

/* Barecat may have written an archive of exactly that name. */
static enum sb_code refuse_own_archive(const struct sb_hold *hold)
{
    CLEANUP(sb_named_release) struct sb_named own = {0};
    CLEANUP(sb_named_release) struct sb_named ours = {0};

    TRY(sb_look_at_shard(&own, hold->file, "", 0));
    if (!own.look.there)
        return SB_OK;
    TRY(sb_look_at_shard(&ours, hold->path, "", 0));
    if (ours.look.there)
        return SB_OK;
    return sb_fail(SB_EXISTS,
                   "%s: an archive with shards of its own, and not the index of %s; rename one of "
                   "them",
                   hold->file, hold->path);
}

/* SB_END: none, or a dangling link, which is in nobody's way. */
static enum sb_code look_at_old_index(struct sb_hold *hold, bool follow)
{
    bool directory;

    free(hold->file);
    hold->file = sb_own_name(hold->path, SB_OLD_INDEX);
    if (!hold->file)
        return sb_error()->code;
    if (access(hold->file, F_OK) && errno == ENOENT)
        return SB_END;
    TRY(look_at_index(hold, follow, &directory));
    return refuse_own_archive(hold);
}

enum sb_code sb_hold_find(struct sb_hold *hold, const char *archive, bool follow)
{
    bool directory = false;
    enum sb_code code;

    *hold = SB_HOLD_NONE;
    hold->follow = follow;
    hold->path = sb_hold_path(archive);
    hold->file = hold->path ? strdup(hold->path) : NULL;
    if (!hold->file)
        return hold->path ? sb_fail_memory() : sb_error()->code;
    code = look_at_index(hold, follow, &directory);
    if (code != SB_END)
        return code;
    code = look_at_old_index(hold, follow);
    if (code != SB_END)
        return code;
    free(hold->file);
    hold->file = NULL;
    return directory ? sb_fail(SB_FORMAT, "%s: is a directory, not an archive", hold->path) : SB_OK;
}

static enum sb_code fail_locked(const struct sb_hold *hold)
{
    struct flock lock = {.l_type = F_WRLCK,
                         .l_whence = SEEK_SET,
                         .l_start = SB_SQLITE_PENDING,
                         .l_len = SB_SQLITE_RESERVED + 1 - SB_SQLITE_PENDING};
    CLEANUP(sb_freep) char *note = NULL;

    /* Of SQLite's locks: that of a process on this machine. */
    if (fcntl(hold->fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0)
        return sb_fail(SB_LOCKED,
                       "%s: process %ld is writing this archive; wait for it, or give --wait",
                       hold->file, (long)lock.l_pid);
    note = sb_own_name(hold->path, SB_NEW_SUFFIX);
    return note ? sb_note_fail_locked(note, hold->file) : sb_error()->code;
}

static enum sb_code fail_replaced(const struct sb_hold *hold)
{
    return sb_fail(SB_LOCKED, "%s: was replaced by another process just now; try again",
                   hold->file);
}

static enum sb_code lock_index(struct sb_hold *hold)
{
    struct sb_look look;
    struct stat st;
    int error_number;
    enum sb_code code;

    hold->fd = open(hold->file, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (hold->fd < 0)
        return sb_fail_errno(errno, "%s", hold->file);
    if (fstat(hold->fd, &st))
        return sb_fail_errno(errno, "%s", hold->file);
    TRY(sb_keep_open(hold, &st));
    TRY(sb_look_into(hold->fd, hold->file, &look));
    if (!sb_is_identical(&look.identity, &hold->index))
        return fail_replaced(hold);
    do {
        error_number = sb_lock_first_byte(hold->fd);
        code = error_number == EACCES || error_number == EAGAIN ? fail_locked(hold) : SB_OK;
    } while (sb_lock_await(&code, &hold->waited));
    if (code || error_number == 0)
        return code;
    return sb_fail_to_lock(error_number, hold->file);
}

/* With both locks: has the index still this name or, if there was none, is there still none? */
static enum sb_code look_again(const struct sb_hold *hold)
{
    struct sb_look look;

    TRY(sb_look_at(hold->file ? hold->file : hold->path, &look));
    if (hold->file ? !sb_is_identical(&look.identity, &hold->index)
                   : look.there && !S_ISDIR(look.mode))
        return sb_fail(SB_LOCKED, "%s: was %s by another process just now; try again", hold->path,
                       hold->file ? "replaced" : "made");
    return SB_OK;
}

static enum sb_code take(struct sb_hold *hold)
{
    if (hold->file)
        TRY(lock_index(hold));
    TRY(sb_note_take(&hold->note, hold->path));
    return look_again(hold);
}

/* Whoever was waited for has put another index in the place of the one that was found. */
static enum sb_code find_again(struct sb_hold *hold)
{
    struct sb_hold former;
    unsigned waited = hold->waited;
    enum sb_code code;

    sb_hold_move(&former, hold);
    code = sb_hold_find(hold, former.path, former.follow);
    hold->waited = waited;
    sb_hold_drop(&former, true);
    if (code || hold->file)
        return code;
    return sb_fail(SB_LOCKED, "%s: was removed by another process just now; try again", hold->path);
}

enum sb_code sb_hold_take(struct sb_hold *hold)
{
    enum sb_code code = take(hold);

    while (code == SB_LOCKED && hold->file && hold->waited > 0) {
        /* Of an index that is still the same one the time is up. */
        if (IGNORED(look_again(hold)) != SB_LOCKED)
            return code;
        code = find_again(hold);
        if (code == SB_OK)
            code = take(hold);
    }
    return code;
}

enum sb_code sb_hold_take_index(struct sb_hold *hold, const struct sb_identity *index)
{
    hold->index = *index;
    hold->file = strdup(hold->path);
    return hold->file ? lock_index(hold) : sb_fail_memory();
}

void sb_hold_adopt(struct sb_hold *hold, int fd, const struct sb_identity *index)
{
    struct stat st;

    if (hold->fd >= 0) {
        sb_unlock_first_byte(hold->fd);
        sb_keep_no_longer(hold);
        sb_close_kept(hold->fd, NULL);
    }
    hold->fd = fd;
    hold->index = *index;
    /* Without memory for it, closing the file elsewhere may drop SQLite's lock, but not ours. */
    if (fstat(fd, &st) == 0)
        (void)!IGNORED(sb_keep_open(hold, &st));
}

/* Before the transaction changes anything: the bridge's read lock would block it. */
static void end_bridge(struct sb_hold *hold)
{
    sb_database_close(hold->bridge);
    hold->bridge = NULL;
}

void sb_hold_move(struct sb_hold *to, struct sb_hold *from)
{
    struct stat st;

    *to = *from;
    /* Without memory for it, see sb_hold_adopt. */
    if (to->fd >= 0 && fstat(to->fd, &st) == 0)
        (void)!IGNORED(sb_keep_open(to, &st));
    sb_keep_no_longer(from);
    *from = SB_HOLD_NONE;
}

void sb_hold_drop(struct sb_hold *hold, bool keep)
{
    end_bridge(hold);
    /* The note identifies the journal, if this run began to change the index. */
    hold->note.was_left |= keep && hold->note.text.aim == SB_AIM_CHANGE && hold->file &&
                           sb_journal_is_pending(hold->file);
    sb_note_drop(&hold->note, keep);
    if (hold->fd >= 0)
        sb_unlock_first_byte(hold->fd);
    sb_keep_no_longer(hold);
    if (hold->fd >= 0)
        sb_close_kept(hold->fd, NULL);
    free(hold->file);
    free(hold->path);
    *hold = SB_HOLD_NONE;
}

enum sb_code sb_hold_vet(struct sqlite3 *db, const char *path, const char *file)
{
    enum sb_schema schema;
    int major, minor;

    TRY(sb_schema_vet(db, &schema, &major, &minor, true));
    if (schema == SB_SCHEMA_03)
        return SB_OK;
    if (schema == SB_SCHEMA_NEWER)
        return sb_fail(SB_FORMAT,
                       "%s: schema %d.%d is newer than this program, which can only read it", file,
                       major, minor);
    return sb_fail(SB_FORMAT, "%s: an older schema; run 'shardbox upgrade %s' first", file, path);
}

/*
 * SQLite unlocks the whole file when its last connection in this process does, so a reading one
 * stays open; it does not mind that the process already has the lock.
 */
enum sb_code sb_hold_bridge(struct sb_hold *hold, const char *from, int fd)
{
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = SB_SQLITE_RESERVED, .l_len = 1};

    TRY(sb_database_open(&hold->bridge, from, SB_DB_READ));
    TRY(sb_database_run(hold->bridge, "BEGIN; SELECT count(*) FROM sqlite_schema"));
    if (fcntl(fd, F_SETLK, &lock))
        return sb_fail_errno(errno, "%s: cannot be locked", from);
    return SB_OK;
}

enum sb_code sb_hold_begin(struct sb_hold *hold, struct sqlite3 *db)
{
    enum sb_code code;

    sqlite3_busy_timeout(db, 0);
    do {
        code = sb_database_run(db, "BEGIN IMMEDIATE");
        if (code == SB_LOCKED)
            code = fail_locked(hold);
    } while (sb_lock_await(&code, &hold->waited));
    sqlite3_busy_timeout(db, sb_lock_wait(BUSY_MILLISECONDS));
    end_bridge(hold);
    if (code)
        return code;
    if (!sb_database_has_moved(db))
        return SB_OK;
    sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
    return fail_replaced(hold);
}

enum sb_code sb_hold_open(struct sb_hold *hold, struct sqlite3 **db,
                          const struct sb_hold_options *options)
{
    enum sb_schema schema = SB_SCHEMA_03;
    int major, minor;

    TRY(sb_database_open(db, hold->file, SB_DB_WRITE));
    TRY(options->to_change ? sb_hold_vet(*db, hold->path, hold->file)
                           : sb_schema_vet(*db, &schema, &major, &minor, false));
    /*
     * EXTRA syncs the directory after a commit too: bytes of a shard may be overwritten after it.
     */
    TRY(sb_database_run(*db, options->keeps_mode
                                 ? "PRAGMA synchronous=EXTRA"
                                 : "PRAGMA journal_mode=DELETE; PRAGMA synchronous=EXTRA"));
    TRY(sb_hold_begin(hold, *db));
    /* SQLite found it by name. */
    TRY(look_again(hold));
    if (sb_context_now->protects)
        TRY(sb_pieces_prove(*db, hold->file));
    TRY(schema == SB_SCHEMA_OLD ? sb_settle_note(hold, SB_SHARD_MAX + 1) : sb_settle(hold, *db));
    return schema == SB_SCHEMA_03 ? sb_renumbering_part_names(hold, *db) : SB_OK;
}

enum sb_code sb_hold_existing(struct sb_hold *hold, struct sqlite3 **db, const char *archive)
{
    *db = NULL;
    TRY(sb_hold_find(hold, archive, false));
    if (!hold->file)
        return sb_fail(SB_NOENT, "%s: no such archive", hold->path);
    TRY(sb_hold_take(hold));
    return sb_hold_open(hold, db, &(struct sb_hold_options){.to_change = true});
}

enum sb_code sb_hold_settle(const char *archive)
{
    struct sqlite3 *db;
    struct sb_hold hold;
    enum sb_code code = sb_hold_existing(&hold, &db, archive);

    sb_database_close(db);
    sb_hold_drop(&hold, code != SB_OK);
    return code;
}

static int make_file(const char *path)
{
    return open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

enum sb_code sb_hold_make_file(const char *path, int *fd)
{
    struct sb_look look;

    *fd = make_file(path);
    if (*fd < 0 && errno == EEXIST) {
        TRY(sb_look_at(path, &look));
        if (look.there && !sb_is_empty_file(&look))
            return sb_note_fail_not_ours(path);
        if (look.there && unlink(path))
            return sb_fail_errno(errno, "%s", path);
        *fd = make_file(path);
    }
    return *fd < 0 ? sb_fail_errno(errno, "%s", path) : SB_OK;
}

/*
 * Takes the lock directly, not through the pager: the pager knows only its own lock and releases
 * both. Writing a page early to get it would leave a journal after an error.
 */
enum sb_code sb_exclude_readers(struct sqlite3 *db, const char *file)
{
    const int wait = sb_lock_wait(COMMIT_WAIT_MILLISECONDS);
    sqlite3_file *handle = NULL;
    int rc, error_number = 0;

    sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &handle);
    for (int waited = 0;; waited += RETRY_MILLISECONDS) {
        rc = handle->pMethods->xLock(handle, SQLITE_LOCK_EXCLUSIVE);
        if (rc == SQLITE_OK)
            return SB_OK;
        if (rc != SQLITE_BUSY)
            break;
        TRY(sb_heed_interrupt());
        if (waited >= wait)
            return sb_fail(SB_LOCKED,
                           "%s: readers kept it open for %d seconds, so it was not changed; try "
                           "again",
                           file, wait / 1000);
        usleep(RETRY_MILLISECONDS * 1000);
    }
    sqlite3_file_control(db, "main", SQLITE_FCNTL_LAST_ERRNO, &error_number);
    if (sb_locks_are_missing(error_number))
        return sb_fail_without_locks(file);
    return sb_fail(SB_SYSTEM, "%s: %s", file, sqlite3_errstr(rc));
}
