#include "task/verify/impl.h"

#include "archive/archive.h"
#include "archive/database.h"
#include "core/array.h"
#include "core/file_lock.h"
#include "core/io.h"
#include "core/time.h"

#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VERSION 1

struct table {
    const char *name, *sql;
};

/* The whole schema, as SQLite keeps it, in order of name: a file that differs is not a state. */
static const struct table tables[] = {
    {"about", "CREATE TABLE about(archive TEXT NOT NULL, generation INTEGER NOT NULL,"
              " opened INTEGER NOT NULL)"},
    {"defects", "CREATE TABLE defects(shard INTEGER NOT NULL, unit INTEGER NOT NULL,"
                " path TEXT NOT NULL, kind TEXT NOT NULL, text TEXT NOT NULL,"
                " first_found INTEGER NOT NULL, last_found INTEGER NOT NULL,"
                " PRIMARY KEY (shard, unit, path, kind)) WITHOUT ROWID"},
    {"shards", "CREATE TABLE shards(shard INTEGER PRIMARY KEY, size INTEGER NOT NULL,"
               " mtime_ns INTEGER NOT NULL, inode INTEGER NOT NULL)"},
    {"units", SB_VERIFY_STATE_UNITS},
};
#define TABLE_COUNT ARRAY_SIZE(tables)

static enum sb_code fail_foreign(const char *file)
{
    return sb_fail(SB_FORMAT, "%s: is no state of 'shardbox verify'; choose another name for it",
                   file);
}

static enum sb_code fail_damaged(const char *file)
{
    return sb_fail(SB_FORMAT,
                   "%s: the state is damaged; remove it, and all will count as never read", file);
}

enum sb_code sb_verify_state_failed(const struct sb_verify_state *state)
{
    if (sb_error()->code == SB_DAMAGED && state->file)
        return fail_damaged(state->file);
    return sb_error()->code;
}

/*
 * Takes a lock of the open file description, because SQLite has the same file open, and drops locks
 * of the process. It is on the first byte, where SQLite has none. made: the file is new, and
 * removed if locks do not work here.
 */
static enum sb_code lock(const struct sb_verify_state *state, const char *file, bool made)
{
    int error_number = sb_lock_first_byte(state->fd);

    if (error_number == 0)
        return SB_OK;
    if (error_number == EACCES || error_number == EAGAIN)
        return sb_fail(SB_LOCKED,
                       "%s: another run of verify has this state; wait for it, or give each run a "
                       "state of its own",
                       file);
    if (!sb_locks_are_missing(error_number))
        return sb_fail_errno(error_number, "%s: cannot be locked", file);
    if (made)
        unlink(state->file);
    return sb_fail(SB_SYSTEM,
                   "%s: locks do not work on this file system, so no state can be kept here; give "
                   "--state a file on another one, it is small",
                   file);
}

/* Opens the file, following links, and locks it before SQLite opens it, which would wait. */
static enum sb_code take(struct sb_verify_state *state, const char *file)
{
    struct stat st;
    bool exists = stat(file, &st) == 0, named;

    if (exists && !S_ISREG(st.st_mode))
        return sb_fail(SB_FORMAT, "%s: not a regular file", file);
    state->fd = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0644);
    if (state->fd < 0)
        return sb_fail_errno(errno, "%s", file);
    state->file = realpath(file, NULL);
    if (!state->file)
        return sb_fail_errno(errno, "%s", file);
    TRY(lock(state, file, !exists));
    TRY(sb_is_named(state->fd, state->file, &named));
    if (!named)
        return sb_fail(SB_CHANGED, "%s: was replaced while it was opened; run again", file);
    return SB_OK;
}

static bool is_text(sqlite3_stmt *row, int column, const char *wanted)
{
    const char *text = (const char *)sqlite3_column_text(row, column);

    return text && strcmp(text, wanted) == 0;
}

/* *is_new: it is empty. */
static enum sb_code vet_schema(struct sqlite3 *db, const char *file, bool *is_new)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    size_t count = 0;
    bool right = true;
    enum sb_code code = sb_database_prepare(
        db, &statement, "SELECT name, sql FROM main.sqlite_schema ORDER BY name");

    while (right && sb_database_row(statement, &code)) {
        right = count < TABLE_COUNT && is_text(statement, 0, tables[count].name) &&
                is_text(statement, 1, tables[count].sql);
        count++;
    }
    *is_new = count == 0;
    if (code)
        return code;
    return right && (count == 0 || count == TABLE_COUNT) ? SB_OK : fail_foreign(file);
}

static enum sb_code vet(struct sb_verify_state *state, const char *file, bool *is_new)
{
    int64_t id = 0, version = 0, right = 0;

    TRY(vet_schema(state->db, file, is_new));
    TRY(sb_database_integer(state->db, "PRAGMA application_id", 0, &id));
    TRY(sb_database_integer(state->db, "PRAGMA user_version", 0, &version));
    if (*is_new && id == 0 && version == 0)
        return SB_OK;
    if (*is_new || id != SB_VERIFY_STATE_ID || version != VERSION)
        return fail_foreign(file);
    TRY(sb_database_integer(state->db, "SELECT quick_check = 'ok' FROM pragma_quick_check(1)", 0,
                            &right));
    return right ? SB_OK : fail_damaged(file);
}

/* Notes the archive that the state is about; ?1 its index, ?2 a generation. */
static enum sb_code write_about(struct sb_verify_state *state, const char *sql,
                                struct sb_archive *archive, int64_t generation)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *statement = NULL;

    TRY(sb_database_prepare(state->db, &statement, sql));
    sqlite3_bind_text(statement, 1, sb_archive_index_path(archive), -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 2, generation);
    return sb_database_step(statement);
}

enum sb_code sb_verify_state_see_index(struct sb_verify_state *state, struct sb_archive *archive)
{
    return write_about(state, "UPDATE main.about SET archive = ?1, generation = ?2", archive,
                       sb_archive_generation(archive));
}

static enum sb_code make(struct sb_verify_state *state, struct sb_archive *archive)
{
    char pragmas[96];

    snprintf(pragmas, sizeof(pragmas), "PRAGMA application_id = %d; PRAGMA user_version = %d",
             SB_VERIFY_STATE_ID, VERSION);
    for (size_t i = 0; i < TABLE_COUNT; i++)
        TRY(sb_database_run(state->db, tables[i].sql));
    TRY(sb_database_run(state->db, pragmas));
    return write_about(state, "INSERT INTO main.about VALUES(?1, ?2, 0)", archive, 0);
}

/* Is it the state of this archive? */
static enum sb_code compare_archive(struct sb_verify_state *state, const char *file,
                                    struct sb_archive *archive)
{
    const char *index = sb_archive_index_path(archive);
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    enum sb_code code =
        sb_database_prepare(state->db, &statement, "SELECT archive, generation FROM main.about");

    if (!sb_database_row(statement, &code) || !sqlite3_column_text(statement, 0))
        return code ? code : fail_damaged(file);
    if (!is_text(statement, 0, index))
        return sb_fail(SB_INVALID,
                       "%s: is the state of %s, and this is %s; give each archive a state of its "
                       "own",
                       file, (const char *)sqlite3_column_text(statement, 0), index);
    state->generation = sqlite3_column_int64(statement, 1);
    return SB_OK;
}

static enum sb_code begin(struct sb_verify_state *state, const char *file,
                          struct sb_archive *archive)
{
    struct stat st;
    enum sb_code code;
    bool is_new;

    if (fstat(state->fd, &st))
        return sb_fail_errno(errno, "%s", file);
    code = sb_database_open(&state->db, state->file, st.st_size == 0 ? SB_DB_CREATE : SB_DB_WRITE);
    if (code)
        return code == SB_FORMAT ? fail_foreign(file) : code;
    TRY(sb_database_run(state->db, "BEGIN IMMEDIATE"));
    TRY(vet(state, file, &is_new));
    TRY(is_new ? make(state, archive) : compare_archive(state, file, archive));
    TRY(sb_database_run(state->db,
                        "UPDATE main.about SET opened = CAST(strftime('%s', 'now') AS INTEGER)"));
    return sb_database_run(state->db, "COMMIT");
}

enum sb_code sb_verify_state_open(struct sb_verify_state *state, const char *file,
                                  struct sb_archive *archive)
{
    enum sb_code code;

    *state = (struct sb_verify_state){.fd = -1};
    code = take(state, file);
    if (code == SB_OK)
        code = begin(state, file, archive);
    return code == SB_OK ? SB_OK : sb_verify_state_failed(state);
}

void sb_verify_state_close(struct sb_verify_state *state)
{
    sb_database_finish(state->db);
    if (state->fd >= 0)
        close(state->fd);
    free(state->file);
    *state = (struct sb_verify_state){.fd = -1};
}

/* *same: unchanged, or longer because of an append. A new shard has no units yet. */
static enum sb_code compare_shard(struct sb_verify_state *state, uint32_t shard,
                                  const struct stat *now, bool index_changed, bool *same)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    enum sb_code code = SB_OK;

    *same = false;
    TRY(sb_database_prepare(state->db, &statement,
                            "SELECT size, mtime_ns, inode FROM main.shards WHERE shard = ?1"));
    SB_BIND(statement, shard);
    if (sb_database_row(statement, &code)) {
        int64_t size = sqlite3_column_int64(statement, 0);
        bool untouched =
            size == now->st_size && sqlite3_column_int64(statement, 1) == sb_time_ns(now->st_mtim);
        bool appended = index_changed && now->st_size > size;

        *same =
            sqlite3_column_int64(statement, 2) == (int64_t)now->st_ino && (untouched || appended);
    }
    return code;
}

enum sb_code sb_verify_state_see_shard(struct sb_verify_state *state, uint32_t shard,
                                       const struct stat *now, bool index_changed)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *forget = NULL, *keep = NULL;
    bool same;

    TRY(compare_shard(state, shard, now, index_changed, &same));
    if (!same) {
        TRY(sb_database_prepare(state->db, &forget,
                                "UPDATE main.units SET checked = 0 WHERE shard = ?1"));
        TRY(SB_RUN(forget, shard));
    }
    TRY(sb_database_prepare(state->db, &keep,
                            "INSERT OR REPLACE INTO main.shards VALUES(?1, ?2, ?3, ?4)"));
    return SB_RUN(keep, shard, now->st_size, sb_time_ns(now->st_mtim), (int64_t)now->st_ino);
}
