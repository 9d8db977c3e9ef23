#include "archive/archive.h"

#include "archive/config.h"
#include "archive/database.h"
#include "archive/index_file.h"
#include "archive/own/state.h"
#include "archive/reader.h"
#include "archive/schema.h"
#include "archive/shards.h"
#include "core/context.h"
#include "core/io.h"
#include "core/kept_open.h"
#include "core/name.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* How often an archive may be replaced while it is being opened. */
#define REPLACED_MOST 10

bool sb_begins_like_index(const char *path)
{
    static const char magic[] = "SQLite format 3";
    char head[sizeof(magic)];
    struct stat st;
    bool same;
    int fd;

    /* A pipe is not opened: its writer would see a reader, and lose what it writes. */
    if (stat(path, &st) || !S_ISREG(st.st_mode))
        return false;
    fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    same = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
           read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
           memcmp(head, magic, sizeof(magic)) == 0;
    sb_close_kept(fd, NULL);
    return same;
}

bool sb_archive_looks_like(const char *path)
{
    CLEANUP(sb_freep) char *index = IGNORED(sb_index_file(path));

    return index && sb_begins_like_index(index);
}

/* After SB_NOENT, whose words stay unless left-over files of the archive's name say more. */
static enum sb_code explain_missing(const struct sb_archive *archive)
{
    CLEANUP(sb_freep) char *part = sb_own_name(archive->path, SB_PART);
    CLEANUP(sb_freep) char *unfinished = sb_own_name(archive->path, SB_NEW_SUFFIX);

    if (!part || !unfinished)
        return sb_fail_memory();
    if (sb_begins_like_index(part))
        return sb_fail(
            SB_NOENT,
            "%s: no such archive, but '%s' is there: a run with --checkpoint is at work, or was "
            "interrupted and goes on with --resume",
            archive->path, part);
    if (access(unfinished, F_OK) == 0)
        return sb_fail(
            SB_NOENT,
            "%s: no such archive, but '%s' is there: a pack is at work, or was interrupted and "
            "must be run again",
            archive->path, unfinished);
    return SB_NOENT;
}

static enum sb_code read_placing(struct sb_archive *archive)
{
    CLEANUP(sb_config_release) struct sb_config_row row = {0};
    const char *base = sb_base_name(archive->index_path), *suffix = NULL;
    size_t size = sb_index_base_size(base);

    if (archive->layout.schema != SB_SCHEMA_OLD) {
        TRY(sb_config_get(archive->db, SB_CONFIG_SHARD_PREFIX, &row));
        /*
         * While shards wait for their final names, the row holds the base of their temporary names.
         * Any other value would refer to files elsewhere.
         */
        suffix = sb_pending_suffix(row.text, base, size);
        if (row.there && !suffix)
            return sb_fail(SB_FORMAT, "%s: not a trustworthy archive: config.%s is not '%.*s.new'",
                           archive->index_path, SB_CONFIG_SHARD_PREFIX, (int)size, base);
        TRY(sb_remade_read(archive->db, &archive->remade));
    }
    sb_places_set(archive->places, archive->generation, suffix);
    return SB_OK;
}

int64_t sb_archive_remade(const struct sb_archive *archive)
{
    return archive->remade;
}

uint32_t sb_archive_generation(const struct sb_archive *archive)
{
    return sb_database_counter_in(archive->file);
}

enum sb_code sb_archive_notice(struct sb_archive *archive)
{
    uint32_t now;

    if (!archive->file || archive->noticed || archive->whole)
        return SB_OK;
    archive->noticed = archive->transactions > 0;
    now = sb_database_change_counter(archive->db);
    if (now == archive->generation)
        return SB_OK;
    archive->generation = now;
    return read_placing(archive);
}

/*
 * Uses SQLite's own descriptor: closing a second one would drop all locks that this process has on
 * the index. Verifies that the file that was found before the opening still has that name.
 */
static enum sb_code open_header(struct sb_archive *archive)
{
    archive->file = sb_database_file(archive->db);
    if (stat(archive->index_path, &archive->opened))
        return sb_fail_errno(errno, "%s", archive->index_path);
    if (sb_database_has_moved(archive->db) || !sb_is_kept_open(&archive->opened))
        return sb_fail(SB_CHANGED, "%s: was replaced by another archive just now; run again",
                       archive->index_path);
    return SB_OK;
}

/*
 * Reads all that does not change with the rows, and ends the transaction, unless it is kept: not
 * where a warning may have to wait for a terminal.
 */
static enum sb_code inspect(struct sb_archive *archive, bool once)
{
    enum sb_code code = sb_schema_inspect(archive->db, &archive->layout, false);

    archive->generation = sb_database_change_counter(archive->db);
    if (!code)
        code = read_placing(archive);
    archive->kept = once && !code && archive->layout.schema != SB_SCHEMA_NEWER;
    return archive->kept ? SB_OK : sb_archive_end(archive, code);
}

/* Opens the database at index_path. */
static enum sb_code connect(struct sb_archive *archive)
{
    TRY(sb_database_open(&archive->db, archive->index_path, SB_DB_READ));
    archive->unlocked = sb_database_is_unlocked(archive->db);
    if (!archive->is_twin)
        TRY(open_header(archive));
    TRY(sb_archive_begin(archive));
    return inspect(archive, false);
}

static enum sb_code open_once(struct sb_archive **out, const char *path)
{
    CLEANUP(sb_archive_freep) struct sb_archive *archive = NULL;

    *out = NULL;
    TRY(SB_NEW(&archive));
    TRY(sb_copy_text(&archive->path, path));
    archive->index_path = sb_index_file(path);
    if (!archive->index_path)
        return sb_error()->code == SB_NOENT ? explain_missing(archive) : sb_error()->code;
    TRY(sb_places_new(&archive->places));
    TRY(connect(archive));
    *out = TAKE(archive);
    return SB_OK;
}

enum sb_code sb_archive_open(struct sb_archive **out, const char *path)
{
    enum sb_code code = open_once(out, path);

    for (int i = 0; code == SB_CHANGED && i < REPLACED_MOST; i++)
        code = open_once(out, path);
    return code;
}

/* The path of a descriptor, as the kernel knows it: absolute, without links. */
static char *path_of(const struct sb_file *file)
{
    char link[32], path[PATH_MAX];
    ssize_t size;

    snprintf(link, sizeof(link), "/proc/self/fd/%d", file->fd);
    size = readlink(link, path, sizeof(path));
    return size > 0 && size < (ssize_t)sizeof(path) && *path == '/' ? strndup(path, (size_t)size)
                                                                    : NULL;
}

static enum sb_code open_found(struct sb_archive **out, const char *path,
                               const struct sb_index_found *found, bool once)
{
    CLEANUP(sb_archive_freep) struct sb_archive *archive = NULL;

    *out = NULL;
    TRY(SB_NEW(&archive));
    TRY(sb_copy_text(&archive->path, path));
    archive->index_path = path_of(found->file);
    if (!archive->index_path)
        return SB_CHANGED;
    TRY(sb_places_new(&archive->places));
    sb_context_resolves(path, archive->index_path);
    TRY(sb_database_open_found(&archive->db, archive->index_path, found));
    archive->file = sb_database_file(archive->db);
    archive->opened = found->file->st;
    archive->transactions = 1;
    TRY(inspect(archive, once));
    *out = TAKE(archive);
    return SB_OK;
}

enum sb_code sb_archive_open_found(struct sb_archive **out, const char *path,
                                   const struct sb_index_found *found, bool once)
{
    enum sb_code code = found ? open_found(out, path, found, once) : SB_CHANGED;

    return code == SB_CHANGED ? sb_archive_open(out, path) : code;
}

enum sb_code sb_archive_open_twin(struct sb_archive **out, const struct sb_archive *archive)
{
    CLEANUP(sb_archive_freep) struct sb_archive *twin = NULL;

    *out = NULL;
    TRY(SB_NEW(&twin));
    twin->is_twin = true;
    twin->file = archive->file;
    twin->opened = archive->opened;
    twin->places = sb_places_ref(archive->places);
    TRY(sb_copy_text(&twin->path, archive->path));
    TRY(sb_copy_text(&twin->index_path, archive->index_path));
    TRY(connect(twin));
    TRY(sb_archive_still_current(twin));
    *out = TAKE(twin);
    return SB_OK;
}

/* For a connection that was not opened here. */
static enum sb_code name_adopted(struct sb_archive *archive, const char *path,
                                 const char *index_path)
{
    struct sb_layout *layout = &archive->layout;

    layout->schema = SB_SCHEMA_03;
    layout->minor = SB_SCHEMA_MINOR;
    TRY(sb_copy_text(&archive->path, path));
    TRY(sb_copy_text(&archive->index_path, index_path));
    TRY(sb_buf_add_text(&layout->files_by_path, SB_ADOPTED_FILES));
    return sb_buf_add_text(&layout->dirs_by_path, SB_ADOPTED_DIRS);
}

enum sb_code sb_archive_adopt(struct sb_archive **out, struct sqlite3 *db, const char *name,
                              struct sb_bytes *bytes)
{
    CLEANUP(sb_archive_freep) struct sb_archive *archive = NULL;

    *out = NULL;
    if (SB_NEW(&archive)) {
        sb_database_close(db);
        bytes->ops->free(bytes);
        return SB_NOMEM;
    }
    archive->db = db;
    archive->bytes = bytes;
    TRY(name_adopted(archive, name, name));
    if (bytes->ops->stat(bytes, 0, &archive->opened))
        archive->opened = (struct stat){0};
    *out = TAKE(archive);
    return SB_OK;
}

enum sb_code sb_archive_derive(struct sb_archive **out, struct sqlite3 *db,
                               struct sb_archive *whole, uint32_t generation)
{
    CLEANUP(sb_archive_freep) struct sb_archive *archive = NULL;

    *out = NULL;
    if (SB_NEW(&archive)) {
        sb_database_close(db);
        return SB_NOMEM;
    }
    archive->is_twin = true;
    archive->whole = whole;
    archive->file = whole->file;
    archive->opened = whole->opened;
    archive->generation = generation;
    archive->places = whole->places ? sb_places_ref(whole->places) : NULL;
    archive->bytes = whole->bytes;
    archive->db = db;
    TRY(name_adopted(archive, whole->path, whole->index_path));
    *out = TAKE(archive);
    return SB_OK;
}

bool sb_archive_is_adopted(const struct sb_archive *archive)
{
    return archive->bytes != NULL;
}

void sb_archive_free(struct sb_archive *archive)
{
    if (!archive)
        return;
    for (size_t i = 0; i < SB_STATEMENT_COUNT; i++)
        sqlite3_finalize(archive->statements[i]);
    sb_database_close(archive->db);
    sb_places_unref(archive->places);
    if (archive->bytes && !archive->is_twin)
        archive->bytes->ops->free(archive->bytes);
    sb_layout_release(&archive->layout);
    sb_buf_release(&archive->found);
    free(archive->index_path);
    free(archive->path);
    free(archive);
}

const char *sb_archive_path(const struct sb_archive *archive)
{
    return archive->path;
}

const char *sb_archive_index_path(const struct sb_archive *archive)
{
    return archive->index_path;
}

const struct stat *sb_archive_index_stat(const struct sb_archive *archive)
{
    return &archive->opened;
}

enum sb_schema sb_archive_schema(const struct sb_archive *archive)
{
    return archive->layout.schema;
}

void sb_archive_version(const struct sb_archive *archive, int *major, int *minor)
{
    *major = archive->layout.major;
    *minor = archive->layout.minor;
}

bool sb_archive_is_unlocked(const struct sb_archive *archive)
{
    return archive->unlocked;
}

struct sqlite3 *sb_archive_database(struct sb_archive *archive)
{
    return archive->db;
}

enum sb_code sb_archive_still_current(struct sb_archive *archive)
{
    struct stat now;

    if (archive->bytes)
        return SB_OK;
    if (stat(archive->index_path, &now) == 0 && sb_is_same_file(&now, &archive->opened))
        return SB_OK;
    return sb_fail(SB_CHANGED, "%s: replaced by another archive while it was read; run again",
                   archive->index_path);
}

bool sb_archive_has_moved(const struct sb_archive *archive, uint32_t generation)
{
    struct stat now;

    if (sb_archive_generation(archive) != generation)
        return true;
    return !archive->bytes &&
           (stat(archive->index_path, &now) != 0 || !sb_is_same_file(&now, &archive->opened));
}

/* The row that the statement, with its parameter bound, yields; keeps its path. */
static enum sb_code take_row(struct sb_archive *archive, sqlite3_stmt *statement, bool dir,
                             struct sb_entry *entry)
{
    int rc = sqlite3_step(statement);
    enum sb_code code = rc == SQLITE_DONE ? SB_NOENT : SB_OK;

    if (rc == SQLITE_ROW) {
        sb_row_entry(statement, dir, entry);
        code = sb_buf_set(&archive->found, entry->path, entry->path_size);
        if (!code)
            code = sb_archive_notice(archive);
        entry->generation = archive->generation;
        entry->path = archive->found.data;
    } else if (rc != SQLITE_DONE) {
        code = sb_database_fail(archive->db);
    }
    sqlite3_reset(statement);
    return code;
}

static enum sb_code look_up_name(struct sb_archive *archive, bool dir, const char *path,
                                 size_t size, struct sb_entry *entry)
{
    sqlite3_stmt *statement;

    TRY(sb_archive_statement(archive, dir ? SB_DIR_ONE : SB_FILE_ONE, &statement));
    if (sqlite3_bind_text(statement, 1, path, (int)size, SQLITE_STATIC))
        return sb_database_fail(archive->db);
    return take_row(archive, statement, dir, entry);
}

static enum sb_code look_up_row(struct sb_archive *archive, bool dir, int64_t row,
                                struct sb_entry *entry)
{
    sqlite3_stmt *statement;

    *entry = (struct sb_entry){0};
    sb_error()->code = SB_NOENT;
    sb_error()->text[0] = '\0';
    TRY(sb_archive_statement(archive, dir ? SB_DIR_ROW : SB_FILE_ROW, &statement));
    sqlite3_bind_int64(statement, 1, row);
    return take_row(archive, statement, dir, entry);
}

enum sb_code sb_first_row_below(struct sb_archive *archive, bool dir, const char *name, size_t size,
                                struct sb_entry *entry)
{
    CLEANUP(sb_buf_release) struct sb_buf low = {0};
    CLEANUP(sb_buf_release) struct sb_buf high = {0};
    sqlite3_stmt *statement;
    enum sb_code code = SB_OK;

    TRY(sb_buf_set(&low, name, size));
    TRY(sb_buf_set(&high, name, size));
    if (size > 0) {
        TRY(sb_buf_add_char(&low, '/'));
        TRY(sb_buf_add_char(&high, '/' + 1));
    }
    TRY(sb_archive_statement(archive, dir ? SB_DIR_NAMES : SB_FILE_NAMES, &statement));
    if (sb_bind_range(statement, &low, &high))
        code = sb_database_fail(archive->db);
    else if (!sb_database_row(statement, &code) && !code)
        code = SB_NOENT;
    if (!code && entry) {
        sb_row_name(statement, dir, false, entry);
        code = sb_buf_set(&archive->found, entry->path, entry->path_size);
        entry->path = archive->found.data;
    }
    sqlite3_reset(statement);
    return code;
}

static enum sb_code first_below(struct sb_archive *archive, const char *dir, size_t size,
                                struct sb_entry *entry)
{
    enum sb_code code = sb_first_row_below(archive, false, dir, size, entry);

    return code == SB_NOENT ? sb_first_row_below(archive, true, dir, size, entry) : code;
}

/* A directory without a row, known only from what is below it. */
static enum sb_code look_up_implied(struct sb_archive *archive, const char *path, size_t size,
                                    struct sb_entry *entry)
{
    enum sb_code code = size == 0 ? SB_OK : first_below(archive, path, size, entry);

    if (!code)
        code = sb_buf_set(&archive->found, path, size);
    *entry = (struct sb_entry){.type = SB_DIR, .path = archive->found.data, .path_size = size};
    return code;
}

static enum sb_code look_up(struct sb_archive *archive, const char *path, size_t size,
                            struct sb_entry *entry)
{
    enum sb_code code = SB_NOENT;

    *entry = (struct sb_entry){0};
    sb_error()->code = SB_NOENT;
    sb_error()->text[0] = '\0';
    if (size > 0)
        code = look_up_name(archive, false, path, size, entry);
    if (code == SB_NOENT)
        code = look_up_name(archive, true, path, size, entry);
    if (code == SB_NOENT)
        code = look_up_implied(archive, path, size, entry);
    return code;
}

/* Must a look-up be in a transaction? */
static bool needs_begin(const struct sb_archive *archive)
{
    return archive->kept || (archive->unlocked && archive->transactions == 0);
}

enum sb_code sb_archive_lookup(struct sb_archive *archive, const char *path, size_t size,
                               struct sb_entry *entry)
{
    if (!needs_begin(archive))
        return look_up(archive, path, size, entry);
    TRY(sb_archive_begin(archive));
    return sb_archive_end(archive, look_up(archive, path, size, entry));
}

enum sb_code sb_archive_lookup_row(struct sb_archive *archive, bool is_dir, int64_t row,
                                   struct sb_entry *entry)
{
    if (!needs_begin(archive))
        return look_up_row(archive, is_dir, row, entry);
    TRY(sb_archive_begin(archive));
    return sb_archive_end(archive, look_up_row(archive, is_dir, row, entry));
}

enum sb_code sb_archive_first_below(struct sb_archive *archive, const char *dir, size_t size,
                                    struct sb_entry *entry)
{
    *entry = (struct sb_entry){0};
    if (!needs_begin(archive))
        return first_below(archive, dir, size, entry);
    TRY(sb_archive_begin(archive));
    return sb_archive_end(archive, first_below(archive, dir, size, entry));
}

enum sb_code sb_archive_shard_count(struct sb_archive *archive, uint32_t *out)
{
    const char *index = archive->layout.files_by_address.data;
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *row = NULL;
    int64_t last = -1, stated = -1;
    enum sb_code code;

    *out = 0;
    code = sb_database_prepare_format(
        archive->db, &row,
        "SELECT shard FROM main.files %s \"%w\" WHERE shard BETWEEN 0 AND %d"
        " AND typeof(shard) = 'integer' ORDER BY shard DESC LIMIT 1",
        index ? "INDEXED BY" : "AS", index ? index : "files", SB_SHARD_MAX);
    if (sb_database_row(row, &code))
        last = sqlite3_column_int64(row, 0);
    TRY(code);
    /* verify reports a row that makes no sense. */
    if (!sb_archive_is_adopted(archive) &&
        IGNORED(sb_shard_count_stated(archive->db, archive->path, &stated)))
        stated = -1;
    *out = (uint32_t)(stated > last + 1 ? stated : last + 1);
    return SB_OK;
}
