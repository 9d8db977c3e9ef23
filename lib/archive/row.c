/*
 * Queries on an archive's index, for each layout, their transactions, and rows as entries: every
 * type and range is checked here, once.
 */
#include "archive/database.h"
#include "archive/journal.h"
#include "archive/reader.h"
#include "archive/shards.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/*
 * Filled in are the columns, the table and the index. Indexes are named explicitly, so that neither
 * a user's index nor stored statistics mislead the planner.
 */
#define BY_INDEX "SELECT %s, rowid FROM main.%s INDEXED BY \"%w\" WHERE "
#define BY_ROW   "SELECT %s, rowid FROM main.%s NOT INDEXED WHERE "
#define RANGE    "path >= ?1 AND path < ?2 ORDER BY path"
#define NAMES    "SELECT %s FROM main.%s INDEXED BY \"%w\" WHERE " RANGE
#define SAME     BY_INDEX "shard = ?1 AND offset = ?2 AND rowid > ?3 ORDER BY rowid"
#define GREATER  BY_INDEX "(shard, offset) > (?1, ?2) ORDER BY shard, offset, rowid"

static const char *const formats[SB_STATEMENT_COUNT] = {
    [SB_BEGIN] = "BEGIN",
    [SB_COMMIT] = "COMMIT",
    [SB_FILE_ONE... SB_DIR_ONE] = BY_INDEX "path = ?1",
    [SB_FILE_ROW... SB_DIR_ROW] = BY_ROW "rowid = ?1",
    [SB_FILE_RANGE... SB_DIR_RANGE] = BY_INDEX RANGE,
    [SB_FILE_MODES... SB_DIR_NAMES] = NAMES,
    [SB_FILE_ODD... SB_DIR_ODD] = BY_ROW "rowid > ?1 AND typeof(path) != 'text' ORDER BY rowid",
    [SB_ADDRESS_SAME] = SAME,
    [SB_ADDRESS_GREATER] = GREATER,
    [SB_EXTENT_SAME] = SAME,
    [SB_EXTENT_GREATER] = GREATER,
    [SB_ADDRESS_ODD] = BY_ROW "rowid > ?1 AND (typeof(shard) != 'integer'"
                              " OR typeof(offset) != 'integer') ORDER BY rowid",
    [SB_ADDRESS_ROWS] = BY_ROW "rowid > ?1 ORDER BY rowid",
    [SB_ADDRESS_SORTED] = "SELECT %s, sorted.rowid FROM temp.shardbox_by_address sorted"
                          " CROSS JOIN main.%s ON files.rowid = sorted.file"
                          " WHERE sorted.rowid > ?1 ORDER BY sorted.rowid",
    [SB_FILE_BESIDE] = "SELECT 1 FROM main.files INDEXED BY idx_files_parent WHERE rowid >= ?1"
                       " AND parent = (SELECT parent FROM main.files WHERE rowid = ?1) LIMIT 1",
};

/* Those of sb_row_entry or of sb_row_name; the layout without versions lacks some. */
static const char *columns_of(enum sb_statement which, bool dirs, bool old)
{
    if (which == SB_FILE_NAMES || which == SB_DIR_NAMES)
        return "path, rowid";
    if (which == SB_FILE_MODES || which == SB_DIR_MODES)
        return old ? "path, rowid, NULL" : "path, rowid, mode";
    if (dirs)
        return old ? "path, 0, 0, total_file_count, total_size, NULL, NULL, NULL, NULL"
                   : "path, num_subdirs, num_files, num_files_tree, size_tree, mode, uid, gid,"
                     " mtime_ns";
    if (old)
        return "path, shard, offset, size, NULL, NULL, NULL, NULL, NULL";
    return which == SB_EXTENT_SAME || which == SB_EXTENT_GREATER
               ? "path, shard, offset, size, crc32c, NULL, NULL, NULL, NULL"
               : "path, shard, offset, size, crc32c, mode, uid, gid, mtime_ns";
}

static enum sb_code prepare(const struct sb_archive *archive, enum sb_statement which,
                            sqlite3_stmt **out)
{
    const struct sb_layout *layout = &archive->layout;
    bool old = layout->schema == SB_SCHEMA_OLD;
    /* Of files and of directories in turn. */
    bool by_path = which >= SB_FILE_ONE && which <= SB_DIR_ODD;
    bool dirs = by_path && (which - SB_FILE_ONE) % 2;
    const char *index = by_path ? layout->files_by_path.data : layout->files_by_address.data;
    const char *table = "files";

    if (dirs) {
        index = layout->dirs_by_path.data;
        table = old ? "directories" : "dirs";
    }
    if (which == SB_FILE_ENDS || which == SB_DIR_ENDS)
        return sb_database_prepare_format(
            archive->db, out,
            "SELECT coalesce((SELECT typeof(path) FROM main.%s INDEXED BY \"%w\""
            " ORDER BY path LIMIT 1), 'text') = 'text'"
            " AND coalesce((SELECT typeof(path) FROM main.%s INDEXED BY \"%w\""
            " ORDER BY path DESC LIMIT 1), 'text') = 'text'",
            table, index, table, index);
    if (which == SB_ADDRESS_ENDS)
        return sb_database_prepare_format(
            archive->db, out,
            "SELECT coalesce((SELECT typeof(shard) FROM main.files INDEXED BY \"%w\""
            " ORDER BY shard LIMIT 1), '') != 'null'",
            index);
    return sb_database_prepare_format(archive->db, out, formats[which],
                                      columns_of(which, dirs, old), table, index);
}

enum sb_code sb_archive_statement(struct sb_archive *archive, enum sb_statement which,
                                  sqlite3_stmt **out)
{
    *out = NULL;
    if (!archive->statements[which])
        TRY(prepare(archive, which, &archive->statements[which]));
    *out = archive->statements[which];
    return SB_OK;
}

int sb_bind_range(sqlite3_stmt *statement, const struct sb_buf *low, const struct sb_buf *high)
{
    int rc;

    rc = sqlite3_bind_text(statement, 1, low->data ? low->data : "", (int)low->size, SQLITE_STATIC);
    if (rc)
        return rc;
    if (high->size > 0)
        return sqlite3_bind_text(statement, 2, high->data, (int)high->size, SQLITE_STATIC);
    /* Every text sorts before every blob: an empty blob is the end of all texts. */
    return sqlite3_bind_zeroblob(statement, 2, 0);
}

/*
 * Read transactions. Without locks another process may write during one, and the rows may then be
 * of two states. The end of the transaction detects that, by the change counter, which the first
 * page has, and by the journal, which exists before any other page is written.
 */
static enum sb_code run(struct sb_archive *archive, enum sb_statement which)
{
    sqlite3_stmt *statement;

    TRY(sb_archive_statement(archive, which, &statement));
    return sb_database_step(statement);
}

enum sb_code sb_archive_begin(struct sb_archive *archive)
{
    if (archive->kept) {
        archive->kept = false;
        return SB_OK;
    }
    if (archive->transactions == 0 && archive->unlocked)
        archive->begun_at = sb_archive_generation(archive);
    if (archive->transactions == 0)
        TRY(run(archive, SB_BEGIN));
    if (archive->transactions++ == 0)
        archive->noticed = false;
    return SB_OK;
}

static bool was_written_meanwhile(const struct sb_archive *archive)
{
    return sb_archive_generation(archive) != archive->begun_at ||
           sb_journal_is_pending(archive->index_path);
}

enum sb_code sb_archive_end(struct sb_archive *archive, enum sb_code code)
{
    if (archive->transactions == 0 || --archive->transactions > 0)
        return code;
    archive->noticed = false;
    if (IGNORED(run(archive, SB_COMMIT)))
        sqlite3_exec(archive->db, "ROLLBACK", NULL, NULL, NULL);
    if (!archive->unlocked || !was_written_meanwhile(archive))
        return code;
    return sb_fail(SB_CHANGED,
                   "%s: was changed by another process while it was read, and locks, which would "
                   "have kept the two apart, do not work here; run again",
                   sb_archive_path(archive));
}

#define BATCH_ROWS_FIRST 16
#define BATCH_ROWS_MOST  1024
#define BATCH_BYTES      (512 * 1024)

enum column { PATH, SHARD, OFFSET, SIZE, CRC32C, MODE, UID, GID, MTIME_NS };
enum name_column { NAME_ROW = 1, NAME_MODE };
enum dir_column { NUM_SUBDIRS = 1, NUM_FILES, NUM_FILES_TREE, SIZE_TREE };

const char *sb_type_word(enum sb_type type)
{
    static const char *const words[] = {[SB_FILE] = "file", [SB_DIR] = "dir", [SB_LINK] = "link"};

    return words[type];
}

/* A value is taken from its row once: that takes longer than to look at it. */
static bool is_integer(sqlite3_value *value)
{
    return sqlite3_value_type(value) == SQLITE_INTEGER;
}

/* An integer within 0..high; or NULL, which leaves *known alone; false for anything else. */
static bool optional_number(sqlite3_stmt *row, int column, int64_t high, unsigned flag,
                            unsigned *known, int64_t *out)
{
    sqlite3_value *value = sqlite3_column_value(row, column);
    int type = sqlite3_value_type(value);

    *out = 0;
    if (type == SQLITE_NULL)
        return true;
    if (type != SQLITE_INTEGER)
        return false;
    *out = sqlite3_value_int64(value);
    if (*out < 0 || *out > high)
        return false;
    *known |= flag;
    return true;
}

/* The one after the last, -1 to the system, counts as NULL. */
static bool optional_id(sqlite3_stmt *row, int column, unsigned flag, unsigned *known, int64_t *out)
{
    bool usable = optional_number(row, column, SB_ID_MOST + 1, flag, known, out);

    if (*out > SB_ID_MOST)
        *known &= ~flag;
    return usable;
}

static const char *read_path(sqlite3_stmt *row, struct sb_entry *entry)
{
    sqlite3_value *path = sqlite3_column_value(row, PATH);
    bool is_text = sqlite3_value_type(path) == SQLITE_TEXT;

    entry->path = (const char *)sqlite3_value_text(path);
    entry->path_size = (size_t)sqlite3_value_bytes(path);
    if (!entry->path) {
        entry->path = "";
        entry->path_size = 0;
    }
    if (!is_text)
        return "path is not text";
    if (memchr(entry->path, '\0', entry->path_size))
        return "path has a NUL inside";
    return NULL;
}

static const char *read_mode(sqlite3_stmt *row, int column, struct sb_entry *entry, bool is_dir)
{
    int64_t mode;

    if (!optional_number(row, column, S_IFMT | 07777, SB_HAS_MODE, &entry->has, &mode))
        return "mode is not a file mode";
    entry->mode = (uint32_t)mode;
    switch (mode & S_IFMT) {
    case 0:
        return NULL;
    case S_IFDIR:
        return is_dir ? NULL : "mode is that of a directory";
    case S_IFREG:
        return is_dir ? "mode is not that of a directory" : NULL;
    case S_IFLNK:
        if (is_dir)
            return "mode is not that of a directory";
        entry->type = SB_LINK;
        return NULL;
    default:
        return "mode is that of a special file";
    }
}

static const char *read_metadata(sqlite3_stmt *row, struct sb_entry *entry, bool is_dir)
{
    const char *defect = read_mode(row, MODE, entry, is_dir);
    sqlite3_value *mtime = sqlite3_column_value(row, MTIME_NS);
    int type = sqlite3_value_type(mtime);

    if (defect)
        return defect;
    if (!optional_id(row, UID, SB_HAS_UID, &entry->has, &entry->uid))
        return "uid is not a user number";
    if (!optional_id(row, GID, SB_HAS_GID, &entry->has, &entry->gid))
        return "gid is not a group number";
    if (type != SQLITE_INTEGER && type != SQLITE_NULL)
        return "mtime_ns is not an integer";
    if (type == SQLITE_INTEGER)
        entry->has |= SB_HAS_MTIME;
    entry->mtime_ns = sqlite3_value_int64(mtime);
    return NULL;
}

static const char *read_extent(sqlite3_stmt *row, struct sb_entry *entry)
{
    sqlite3_value *number = sqlite3_column_value(row, SHARD);
    sqlite3_value *offset = sqlite3_column_value(row, OFFSET);
    sqlite3_value *size = sqlite3_column_value(row, SIZE);
    int64_t shard, end, crc;

    if (!is_integer(number))
        return "shard is not an integer";
    shard = sqlite3_value_int64(number);
    if (shard < 0 || shard > SB_SHARD_MAX)
        return "shard is not a shard number";
    if (!is_integer(offset))
        return "offset is not an integer";
    if (!is_integer(size))
        return "size is not an integer";
    entry->shard = (uint32_t)shard;
    entry->offset = sqlite3_value_int64(offset);
    entry->size = sqlite3_value_int64(size);
    if (entry->offset < 0)
        return "offset is negative";
    if (entry->size < 0)
        return "size is negative";
    if (__builtin_add_overflow(entry->offset, entry->size, &end))
        return "offset and size exceed the largest file";
    if (!optional_number(row, CRC32C, UINT32_MAX, SB_HAS_CRC, &entry->has, &crc))
        return "crc32c is not a 32-bit number";
    entry->crc32c = (uint32_t)crc;
    return NULL;
}

static const char *read_statistics(sqlite3_stmt *row, struct sb_entry *entry)
{
    int column;

    /* Beyond 2^63 SQLite itself turns a sum into a floating-point number. */
    for (column = NUM_SUBDIRS; column <= SIZE_TREE; column++) {
        sqlite3_value *value = sqlite3_column_value(row, column);
        if (!is_integer(value) && sqlite3_value_type(value) != SQLITE_NULL)
            return "a tree statistic is not an integer";
    }
    entry->num_subdirs = sqlite3_column_int64(row, NUM_SUBDIRS);
    entry->num_files = sqlite3_column_int64(row, NUM_FILES);
    entry->num_files_tree = sqlite3_column_int64(row, NUM_FILES_TREE);
    entry->size_tree = sqlite3_column_int64(row, SIZE_TREE);
    return NULL;
}

void sb_row_entry(sqlite3_stmt *row, bool is_dir, struct sb_entry *entry)
{
    *entry = (struct sb_entry){.type = is_dir ? SB_DIR : SB_FILE,
                               .row = sqlite3_column_int64(row, SB_ROW_NUMBER)};
    entry->defect = read_path(row, entry);
    if (!entry->defect)
        entry->defect = is_dir ? read_statistics(row, entry) : read_extent(row, entry);
    if (!entry->defect)
        entry->defect = read_metadata(row, entry, is_dir);
}

void sb_row_name(sqlite3_stmt *row, bool is_dir, bool with_mode, struct sb_entry *entry)
{
    *entry = (struct sb_entry){.type = is_dir ? SB_DIR : SB_FILE,
                               .row = sqlite3_column_int64(row, NAME_ROW)};
    entry->defect = read_path(row, entry);
    if (!entry->defect && with_mode)
        entry->defect = read_mode(row, NAME_MODE, entry, is_dir);
}

void sb_rows_release(struct sb_rows *batch)
{
    free(batch->rows);
    sb_buf_release(&batch->text);
    *batch = (struct sb_rows){0};
}

void sb_rows_begin(struct sb_rows *batch)
{
    batch->count = 0;
    batch->at = 0;
    sb_buf_clear(&batch->text);
    if (batch->limit == 0)
        batch->limit = BATCH_ROWS_FIRST;
    else if (batch->limit < BATCH_ROWS_MOST)
        batch->limit *= 2;
}

bool sb_rows_is_full(const struct sb_rows *batch)
{
    return batch->count >= batch->limit || batch->text.size >= BATCH_BYTES;
}

enum sb_code sb_rows_add(struct sb_rows *batch, const struct sb_entry *entry, bool implied)
{
    struct sb_row *row;

    TRY(sb_grow(&batch->rows, &batch->capacity, batch->count, sizeof(*row)));
    row = &batch->rows[batch->count];
    row->entry = *entry;
    row->entry.path = NULL;
    row->text = batch->text.size;
    row->implied = implied;
    /* Each path is followed by a NUL of its own. */
    TRY(sb_buf_add(&batch->text, entry->path, entry->path_size));
    TRY(sb_buf_add_char(&batch->text, '\0'));
    batch->count++;
    return SB_OK;
}
