#include "archive/database.h"

#include "archive/entry.h"
#include "archive/index_file.h"
#include "archive/journal.h"
#include "archive/own/own_names.h"
#include "core/context.h"
#include "core/file_lock.h"
#include "core/io.h"
#include "core/kept_open.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* No row of ours comes near this; a hostile one must not make SQLite allocate more. */
#define MAX_VALUE_BYTES (1 << 20)

#define BUSY_MILLISECONDS 10000

/* In the header of an SQLite file: a big-endian number that changes with every commit. */
#define CHANGE_COUNTER 24

static enum sb_code code_of(int sqlite_code)
{
    switch (sqlite_code & 0xff) {
    case SQLITE_NOMEM:
        return SB_NOMEM;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        return SB_LOCKED;
    case SQLITE_NOTADB:
        return SB_FORMAT;
    case SQLITE_CORRUPT:
    case SQLITE_MISMATCH:
    case SQLITE_TOOBIG:
        return SB_DAMAGED;
    case SQLITE_CONSTRAINT:
        return SB_EXISTS;
    default:
        return SB_SYSTEM;
    }
}

/* A reader has met a journal: of the index that has this name now, or of a writer that died. */
static enum sb_code fail_rollback(sqlite3 *db, const char *file)
{
    if (sb_database_has_moved(db))
        return sb_fail(SB_CHANGED, "%s: replaced by another archive while it was read; run again",
                       file);
    return sb_fail(SB_LOCKED,
                   "%s: a change was interrupted while it was read; run again, which rolls it back",
                   file);
}

/* errno of the call that has failed; 0: none has. SQLite only knows the last one of its own. */
static int system_error(sqlite3 *db, int sqlite_code)
{
    int noted = sb_index_file_failure();

    if ((sqlite_code & 0xff) == SQLITE_FULL)
        return ENOSPC;
    return noted || !db ? noted : sqlite3_system_errno(db);
}

/* The system's own words. */
static enum sb_code fail_system(const char *file, int error_number)
{
    char reason[128];

    if (error_number != EIO)
        return sb_fail_errno(error_number, "%s", file);
    sb_fail(SB_SYSTEM,
            "%s: cannot be read or written: %s; check the disk, or the network, that it lies on, "
            "and run again",
            file, strerror_r(error_number, reason, sizeof(reason)));
    sb_error()->sys_errno = error_number;
    return SB_SYSTEM;
}

static const char *file_of(sqlite3 *db)
{
    const char *file = sqlite3_db_filename(db, "main");

    return file && *file ? file : "temporary file";
}

enum sb_code sb_database_fail_errno(struct sqlite3 *db, int error_number)
{
    return fail_system(file_of(db), error_number);
}

enum sb_code sb_database_fail(struct sqlite3 *db)
{
    int extended = sqlite3_extended_errcode(db);
    enum sb_code code = code_of(extended);
    const char *file = file_of(db);
    int error_number = system_error(db, extended);

    if (code == SB_NOMEM)
        return sb_fail_memory();
    if (code == SB_LOCKED)
        return sb_fail(code, "%s: locked by another process; try again when it has finished", file);
    if (sb_journal_is_cause(db))
        return sb_journal_fail(file);
    if (extended == SQLITE_READONLY_ROLLBACK)
        return fail_rollback(db, file);
    if (sb_locks_are_cause(db) && sqlite3_db_readonly(db, "main") != 1)
        return sb_fail_without_locks(file);
    if (code == SB_SYSTEM && error_number)
        return fail_system(file, error_number);
    return sb_fail(code, "%s: %s", file, sqlite3_errmsg(db));
}

struct sqlite3_file *sb_database_file(struct sqlite3 *db)
{
    sqlite3_file *file = NULL;

    sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    return file;
}

uint32_t sb_database_counter_in(sqlite3_file *file)
{
    uint32_t counter;

    if (!file || sb_index_file_read(file, &counter, sizeof(counter), CHANGE_COUNTER))
        return 0;
    return be32toh(counter);
}

uint32_t sb_database_change_counter(sqlite3 *db)
{
    sqlite3_file *file = sb_database_file(db);
    uint32_t counter;

    if (!file || file->pMethods->xRead(file, &counter, sizeof(counter), CHANGE_COUNTER))
        return 0;
    return be32toh(counter);
}

bool sb_database_has_moved(struct sqlite3 *db)
{
    int moved = 0;

    sqlite3_file_control(db, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
    return moved != 0;
}

enum sb_code sb_database_run(struct sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
        return sb_database_fail(db);
    return SB_OK;
}

enum sb_code sb_database_prepare(struct sqlite3 *db, struct sqlite3_stmt **out, const char *sql)
{
    *out = NULL;
    if (sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, out, NULL) != SQLITE_OK)
        return sb_database_fail(db);
    return SB_OK;
}

enum sb_code sb_database_prepare_format(struct sqlite3 *db, struct sqlite3_stmt **out,
                                        const char *format, ...)
{
    enum sb_code code;
    va_list args;
    char *sql;

    *out = NULL;
    va_start(args, format);
    sql = sqlite3_vmprintf(format, args);
    va_end(args);
    code = sql ? sb_database_prepare(db, out, sql) : sb_fail_memory();
    sqlite3_free(sql);
    return code;
}

enum sb_code sb_database_prepare_all(struct sqlite3 *db, const struct sb_to_prepare *statements)
{
    for (; statements->out; statements++)
        TRY(sb_database_prepare(db, statements->out, statements->sql));
    return SB_OK;
}

enum sb_code sb_database_open_tables(sqlite3 **out, const char *beside, const char *tables,
                                     const struct sb_to_prepare *statements)
{
    TRY(sb_database_open_private(out, beside));
    TRY(sb_database_run(*out, tables));
    return sb_database_prepare_all(*out, statements);
}

bool sb_database_row(sqlite3_stmt *statement, enum sb_code *code)
{
    int rc;

    if (*code)
        return false;
    rc = sqlite3_step(statement);
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        *code = sb_database_fail(sqlite3_db_handle(statement));
    return rc == SQLITE_ROW;
}

void sb_database_bind_known(struct sqlite3_stmt *statement, int column, bool known, int64_t value)
{
    if (known)
        sqlite3_bind_int64(statement, column, value);
    else
        sqlite3_bind_null(statement, column);
}

enum sb_code sb_database_bind_row(struct sqlite3_stmt *statement, int first,
                                  struct sqlite3_stmt *row, int column, int count)
{
    for (int i = 0; i < count; i++) {
        if (sqlite3_bind_value(statement, first + i, sqlite3_column_value(row, column + i)))
            return sb_database_fail(sqlite3_db_handle(statement));
    }
    return SB_OK;
}

void sb_database_bind_metadata(struct sqlite3_stmt *statement, int column,
                               const struct sb_entry *entry)
{
    sb_database_bind_known(statement, column, entry->has & SB_HAS_MODE, entry->mode);
    sb_database_bind_known(statement, column + 1, entry->has & SB_HAS_UID, entry->uid);
    sb_database_bind_known(statement, column + 2, entry->has & SB_HAS_GID, entry->gid);
    sb_database_bind_known(statement, column + 3, entry->has & SB_HAS_MTIME, entry->mtime_ns);
}

void sb_database_bind_file(struct sqlite3_stmt *statement, int column, const struct sb_entry *entry)
{
    sqlite3_bind_text(statement, column, entry->path, (int)entry->path_size, SQLITE_STATIC);
    sqlite3_bind_int64(statement, column + 1, entry->shard);
    sqlite3_bind_int64(statement, column + 2, entry->offset);
    sqlite3_bind_int64(statement, column + 3, entry->size);
    sb_database_bind_known(statement, column + 4, entry->has & SB_HAS_CRC, entry->crc32c);
    sb_database_bind_metadata(statement, column + 5, entry);
}

static int64_t take_known(struct sqlite3_stmt *row, int column, unsigned bit, unsigned *has)
{
    if (sqlite3_column_type(row, column) != SQLITE_INTEGER)
        return 0;
    *has |= bit;
    return sqlite3_column_int64(row, column);
}

void sb_database_take_metadata(struct sqlite3_stmt *row, int column, struct sb_entry *entry)
{
    entry->mode = (uint32_t)take_known(row, column, SB_HAS_MODE, &entry->has);
    entry->uid = take_known(row, column + 1, SB_HAS_UID, &entry->has);
    entry->gid = take_known(row, column + 2, SB_HAS_GID, &entry->has);
    entry->mtime_ns = take_known(row, column + 3, SB_HAS_MTIME, &entry->has);
}

enum sb_code sb_database_take_file(struct sqlite3_stmt *row, int column, struct sb_entry *entry)
{
    *entry = (struct sb_entry){0};
    entry->path = (const char *)sqlite3_column_text(row, column);
    entry->path_size = (size_t)sqlite3_column_bytes(row, column);
    entry->shard = (uint32_t)sqlite3_column_int64(row, column + 1);
    entry->offset = sqlite3_column_int64(row, column + 2);
    entry->size = sqlite3_column_int64(row, column + 3);
    entry->crc32c = (uint32_t)take_known(row, column + 4, SB_HAS_CRC, &entry->has);
    sb_database_take_metadata(row, column + 5, entry);
    entry->type = S_ISLNK(entry->mode) ? SB_LINK : SB_FILE;
    return entry->path ? SB_OK : sb_fail_memory();
}

void sb_database_bind(sqlite3_stmt *statement, const int64_t *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        sqlite3_bind_int64(statement, (int)i + 1, values[i]);
}

enum sb_code sb_database_step(struct sqlite3_stmt *statement)
{
    int rc = sqlite3_step(statement);

    sqlite3_reset(statement);
    return rc == SQLITE_DONE ? SB_OK : sb_database_fail(sqlite3_db_handle(statement));
}

enum sb_code sb_database_integer(struct sqlite3 *db, const char *sql, int64_t absent, int64_t *out)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *statement = NULL;
    int rc;

    *out = absent;
    TRY(sb_database_prepare(db, &statement, sql));
    rc = sqlite3_step(statement);
    if (rc == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
        *out = sqlite3_column_int64(statement, 0);
    else if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return sb_database_fail(db);
    return SB_OK;
}

/*
 * Sorts that outgrow memory use this directory; SQLite itself prefers TMPDIR if that is set. SQLite
 * has one such directory per process: that of the first caller.
 */
static void choose_temp_directory(const char *file)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    char *directory;

    if (getenv("SQLITE_TMPDIR") || getenv("TMPDIR"))
        return;
    pthread_mutex_lock(&mutex);
    directory = sqlite3_temp_directory ? NULL : sb_temp_directory(file);
    if (directory)
        sqlite3_temp_directory = sqlite3_mprintf("%s", directory);
    pthread_mutex_unlock(&mutex);
    free(directory);
}

static int harden(sqlite3 *db, enum sb_database_mode mode)
{
    int rc = SQLITE_OK;

    sqlite3_extended_result_codes(db, 1);
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, MAX_VALUE_BYTES);
    sqlite3_limit(db, SQLITE_LIMIT_EXPR_DEPTH, 100);
    sqlite3_limit(db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 1000);
    sqlite3_limit(db, SQLITE_LIMIT_TRIGGER_DEPTH, 1);
    sqlite3_busy_timeout(db, sb_lock_wait(BUSY_MILLISECONDS));
    rc |= sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
    rc |= sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_VIEW, 0, NULL);
    rc |= sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    rc |= sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    rc |= sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
    /* Defensive mode forbids journal_mode=OFF, which an unpublished new index uses. */
    if (mode != SB_DB_CREATE)
        rc |= sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    return rc;
}

/*
 * The first statements that read the file: a bad header, a hot journal or a lock shows here. That
 * for the version begins the transaction in which the schema is loaded, too.
 */
static int first_read(sqlite3 *db, bool goes_on)
{
    int rc = sqlite3_exec(db,
                          "PRAGMA mmap_size=0; PRAGMA temp_store=FILE; PRAGMA cell_size_check=ON;"
                          "BEGIN; PRAGMA schema_version; SELECT count(*) FROM sqlite_schema",
                          NULL, NULL, NULL);

    if (!rc && !goes_on)
        rc = sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    return rc ? rc : sqlite3_exec(db, "PRAGMA cache_size=-40960", NULL, NULL, NULL);
}

static int open_raw(sqlite3 **out, const char *name, int flags, const char *vfs,
                    enum sb_database_mode mode)
{
    int rc;

    sb_journal_opens(name);
    rc = sqlite3_open_v2(name, out, flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW, vfs);
    sb_journal_opens(NULL);
    if (rc)
        return rc;
    rc = harden(*out, mode);
    return rc ? rc : first_read(*out, false);
}

/* For reading, in place of a connection that could not be used, or of NULL. */
static int open_again(sqlite3 **out, const char *file, int flags, const char *vfs)
{
    sb_database_close(*out);
    *out = NULL;
    return open_raw(out, file, flags, vfs, SB_DB_READ);
}

/* `file:` URI of an absolute path, with every special byte escaped. */
static char *immutable_uri(const char *file)
{
    char *uri = malloc(3 * strlen(file) + 32);
    char *end;

    if (!uri)
        return NULL;
    end = uri + sprintf(uri, "file:");
    for (; *file; file++) {
        if (*file == '/')
            *end++ = '/';
        else
            end += sprintf(end, "%%%02X", (unsigned char)*file);
    }
    sprintf(end, "?immutable=1");
    return uri;
}

/*
 * An index in WAL mode cannot be opened where -shm cannot be made. Without a WAL the file is
 * complete and nobody can write here, so it may be read as it is.
 */
static int open_immutable(sqlite3 **out, const char *file)
{
    CLEANUP(sb_freep) char *uri = NULL;

    if (sb_journal_is_pending(file))
        return SQLITE_CANTOPEN;
    uri = immutable_uri(file);
    if (!uri)
        return SQLITE_NOMEM;
    return open_again(out, uri, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, NULL);
}

enum sb_code sb_database_open_as_it_is(sqlite3 **out, const char *file)
{
    CLEANUP(sb_database_closep) sqlite3 *db = NULL;

    *out = NULL;
    if (open_immutable(&db, file))
        return sb_fail(SB_DAMAGED, "%s: %s", file, db ? sqlite3_errmsg(db) : "cannot be opened");
    *out = TAKE(db);
    return SB_OK;
}

bool sb_database_is_damaged(const char *file, bool whole)
{
    const char *check = whole ? "PRAGMA integrity_check(1)" : "PRAGMA quick_check(1)";
    CLEANUP(sb_database_closep) sqlite3 *db = NULL;
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *row = NULL;
    int rc = open_immutable(&db, file);

    if (rc == SQLITE_OK)
        rc = sqlite3_prepare_v2(db, check, -1, &row, NULL);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(row);
    if (rc == SQLITE_ROW)
        return strcmp((const char *)sqlite3_column_text(row, 0), "ok") != 0;
    /* What else fails, as for want of a collation, says nothing about the file. */
    return (rc & 0xff) == SQLITE_CORRUPT || (rc & 0xff) == SQLITE_NOTADB;
}

/* Rolls back the journal of a writer that died, by opening for writing once. */
static int open_after_rollback(sqlite3 **out, const char *file)
{
    int rc;

    if (IGNORED(sb_journal_vet(file)))
        return SQLITE_READONLY_ROLLBACK;
    rc = open_again(out, file, SQLITE_OPEN_READWRITE, NULL);
    return rc ? rc : open_again(out, file, SQLITE_OPEN_READONLY, NULL);
}

static int open_for_reading(sqlite3 **out, const char *file)
{
    int rc = open_raw(out, file, SQLITE_OPEN_READONLY, NULL, SB_DB_READ);

    if (sb_locks_are_cause(*out))
        rc = open_again(out, file, SQLITE_OPEN_READONLY, SB_UNLOCKED_VFS);
    else if (rc == SQLITE_READONLY_ROLLBACK || rc == SQLITE_READONLY_RECOVERY)
        return open_after_rollback(out, file);
    if ((rc & 0xff) == SQLITE_CANTOPEN || (rc & 0xff) == SQLITE_READONLY)
        return open_immutable(out, file);
    return rc;
}

static enum sb_code fail_open(sqlite3 *db, const char *file, int rc)
{
    int error_number = system_error(db, rc);

    if (code_of(rc) == SB_LOCKED)
        return sb_fail(SB_LOCKED, "%s: locked by another process; try again when it has finished",
                       file);
    if (sb_journal_is_cause(db))
        return sb_journal_fail(file);
    if (rc == SQLITE_NOTADB)
        return sb_fail(SB_FORMAT, "%s: not a Barecat archive (no SQLite index)", file);
    if (sb_locks_are_cause(db))
        return sb_fail_without_locks(file);
    if (sb_database_is_unlocked(db) && sb_journal_is_pending(file))
        return sb_fail(
            SB_SYSTEM,
            "%s: another process is changing it, or was interrupted, which cannot be "
            "distinguished where locks do not work; wait for it, or open it once where they "
            "do",
            file);
    TRY(sb_journal_vet(file));
    if (sb_journal_is_pending(file))
        return sb_fail(SB_SYSTEM,
                       "%s: an interrupted change must be rolled back first, and that cannot be "
                       "done here (%s); open it once where it can be written",
                       file, sqlite3_errstr(rc));
    if (error_number && code_of(rc) == SB_SYSTEM)
        return fail_system(file, error_number);
    return sb_fail(code_of(rc), "%s: %s", file, sqlite3_errstr(rc));
}

static void configure_once(void)
{
    /*
     * Otherwise SQLite counts each of its allocations under a lock that all threads share. Has no
     * effect in a program that uses SQLite already.
     */
    (void)sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sb_index_file_prepare();
    sb_journal_prepare();
}

/* Before the first connection. */
static void configure(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, configure_once);
}

enum sb_code sb_database_open(struct sqlite3 **out, const char *file, enum sb_database_mode mode)
{
    CLEANUP(sb_database_closep) sqlite3 *db = NULL;
    struct stat st;
    int rc;

    *out = NULL;
    /* Before SQLite sees it: a FIFO would hang it, and /dev/zero reads as an empty database. */
    if (stat(file, &st))
        return sb_fail_errno(errno, "%s", file);
    if (S_ISDIR(st.st_mode))
        return sb_fail(SB_FORMAT, "%s: is a directory, not an archive", file);
    if (!S_ISREG(st.st_mode))
        return sb_fail(SB_FORMAT, "%s: not a regular file", file);
    if (st.st_size == 0 && mode != SB_DB_CREATE)
        return sb_fail(SB_FORMAT, "%s: an empty file, not an archive", file);

    if (mode == SB_DB_WRITE)
        TRY(sb_journal_vet(file));
    configure();
    choose_temp_directory(file);
    sb_index_file_failure();
    if (mode == SB_DB_READ)
        rc = open_for_reading(&db, file);
    else
        rc = open_raw(&db, file, SQLITE_OPEN_READWRITE, NULL, mode);
    if (rc != SQLITE_OK && mode == SB_DB_READ && access(file, R_OK))
        return sb_fail_errno(errno, "%s", file);
    if (rc == SQLITE_OK && mode == SB_DB_WRITE && sqlite3_db_readonly(db, "main") == 1)
        return sb_fail_errno(EACCES, "%s", file);
    TRY(rc == SQLITE_OK ? sb_keep_open(db, &st) : fail_open(db, file, rc));
    *out = TAKE(db);
    return SB_OK;
}

static int open_found(sqlite3 **out, const char *file, const struct sb_index_found *found)
{
    int rc;

    sb_journal_opens(file);
    sb_index_file_opens(found);
    rc = sqlite3_open_v2(file, out, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, SB_INDEX_FILE_VFS);
    sb_index_file_opens(NULL);
    sb_journal_opens(NULL);
    if (!rc)
        rc = harden(*out, SB_DB_READ);
    /* Closing looks at the path before a checkpoint, which a reader cannot make. */
    if (!rc)
        rc = sqlite3_db_config(*out, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
    return rc ? rc : first_read(*out, true);
}

enum sb_code sb_database_open_unnamed(struct sqlite3 **out, const struct sb_file *file)
{
    CLEANUP(sb_database_closep) sqlite3 *db = NULL;
    unsigned char start[SB_INDEX_START_BYTES];
    struct sb_index_found found = {.path = "/", .file = file, .start = start};

    *out = NULL;
    configure();
    TRY(sb_file_read(file, start, sizeof(start), 0, &found.start_size));
    if (!sb_index_file_can(&found) || open_found(&db, found.path, &found))
        return sb_fail(SB_DAMAGED, "%s: not an index that can be read", file->name);
    *out = TAKE(db);
    return SB_OK;
}

static enum sb_code open_verified(sqlite3 **out, const char *file,
                                  const struct sb_index_found *found)
{
    const struct stat *st = &found->file->st;
    struct stat now;
    int rc = open_found(out, file, found);

    if (code_of(rc) == SB_LOCKED)
        return fail_open(*out, file, rc);
    /*
     * The journal was looked for under the name that the file had when it was looked up: it may
     * have been put aside by then, with a name that its shards do not have.
     */
    if (rc || stat(found->path, &now) || !sb_is_same_file(&now, st))
        return SB_CHANGED;
    return sb_keep_open(*out, st);
}

enum sb_code sb_database_open_found(struct sqlite3 **out, const char *file,
                                    const struct sb_index_found *found)
{
    enum sb_code code;

    *out = NULL;
    if (!sb_index_file_can(found))
        return SB_CHANGED;
    configure();
    choose_temp_directory(file);
    /* Already while it is opened: the lock of its first read stays. */
    TRY(sb_keep_open(found, &found->file->st));
    code = open_verified(out, file, found);
    if (code) {
        sb_database_close(*out);
        *out = NULL;
    }
    sb_keep_no_longer(found);
    return code;
}

enum sb_code sb_database_open_private(struct sqlite3 **out, const char *beside)
{
    int rc;

    configure();
    choose_temp_directory(beside);
    /* The empty name is a temporary file, unlinked from the start. */
    rc = sqlite3_open_v2("", out, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
                         NULL);
    if (rc == SQLITE_OK)
        return sb_database_run(*out, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
                                     "PRAGMA cache_size=-24576; PRAGMA temp_store=FILE");
    sb_database_close(*out);
    *out = NULL;
    return sb_fail(code_of(rc), "temporary file: %s", sqlite3_errstr(rc));
}

void sb_database_shrink(struct sqlite3 *db)
{
    sqlite3_db_cacheflush(db);
    sqlite3_db_release_memory(db);
}

void sb_database_finish(struct sqlite3 *db)
{
    sqlite3_stmt *statement;

    while (db && (statement = sqlite3_next_stmt(db, NULL)))
        sqlite3_finalize(statement);
    sb_database_close(db);
}

void sb_database_close(struct sqlite3 *db)
{
    sqlite3_close_v2(db);
    if (db)
        sb_keep_no_longer(db);
}

/* Absolute and without links. For messages it is `archive`; known: errno of a look at that, or 0.
 */
static char *resolve(const char *file, const char *archive, int known)
{
    char *resolved = realpath(file, NULL);

    if (resolved)
        sb_context_resolves(file, resolved);
    else
        sb_fail_errno(known ? known : errno, "%s", archive);
    return resolved;
}

char *sb_index_file(const char *archive)
{
    CLEANUP(sb_freep) char *old = NULL;
    struct stat st;
    int reason = stat(archive, &st) ? errno : S_ISDIR(st.st_mode) ? EISDIR : 0;

    if (!reason)
        return resolve(archive, archive, 0);
    old = sb_own_name(archive, SB_OLD_INDEX);
    return old ? resolve(old, archive, reason) : NULL;
}

size_t sb_index_base_size(const char *name)
{
    size_t size = strlen(name), end = strlen(SB_OLD_INDEX);

    return size > end && strcmp(name + size - end, SB_OLD_INDEX) == 0 ? size - end : size;
}
