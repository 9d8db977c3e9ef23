/*
 * Queries on an archive's index, for each layout, and their transactions.
 */
#include "archive/reader.h"

#include "archive/database.h"
#include "archive/journal.h"

/* The columns of sb_row_entry; the layout without versions lacks some. */
static const char *columns_of(const struct sb_archive *archive, bool dirs)
{
    bool old = archive->layout.schema == SB_SCHEMA_OLD;

    if (dirs)
        return old ? "path, 0, 0, total_file_count, total_size, NULL, NULL, NULL, NULL"
                   : "path, num_subdirs, num_files, num_files_tree, size_tree, mode, uid, gid,"
                     " mtime_ns";
    return old ? "path, shard, offset, size, NULL, NULL, NULL, NULL, NULL"
               : "path, shard, offset, size, crc32c, mode, uid, gid, mtime_ns";
}

/* more: further columns. */
static enum sb_code prepare_range(const struct sb_archive *archive, sqlite3_stmt **out,
                                  const char *columns, const char *more, const char *table,
                                  const char *index)
{
    return sb_database_prepare_format(archive->db, out,
                                      "SELECT %s%s FROM main.%s INDEXED BY \"%w\""
                                      " WHERE path >= ?1 AND path < ?2 ORDER BY path",
                                      columns, more, table, index);
}

/*
 * Indexes are named explicitly, so that neither a user's index nor stored statistics mislead the
 * planner.
 */
static enum sb_code prepare_by_path(const struct sb_archive *archive, enum sb_statement which,
                                    bool dirs, sqlite3_stmt **out)
{
    const char *columns = columns_of(archive, dirs);
    const char *index =
        dirs ? archive->layout.dirs_by_path.data : archive->layout.files_by_path.data;
    const char *table = "files";

    if (dirs)
        table = archive->layout.schema == SB_SCHEMA_OLD ? "directories" : "dirs";
    switch (which) {
    case SB_FILE_ONE:
    case SB_DIR_ONE:
        return sb_database_prepare_format(
            archive->db, out, "SELECT %s, rowid FROM main.%s INDEXED BY \"%w\" WHERE path = ?1",
            columns, table, index);
    case SB_FILE_ROW:
    case SB_DIR_ROW:
        return sb_database_prepare_format(
            archive->db, out, "SELECT %s, rowid FROM main.%s NOT INDEXED WHERE rowid = ?1", columns,
            table);
    case SB_FILE_RANGE:
    case SB_DIR_RANGE:
        return prepare_range(archive, out, columns, ", rowid", table, index);
    case SB_FILE_MODES:
    case SB_DIR_MODES:
        return prepare_range(archive, out, "path, rowid, ",
                             archive->layout.schema == SB_SCHEMA_OLD ? "NULL" : "mode", table,
                             index);
    case SB_FILE_NAMES:
    case SB_DIR_NAMES:
        return prepare_range(archive, out, "path, rowid", "", table, index);
    case SB_FILE_ENDS:
    case SB_DIR_ENDS:
        return sb_database_prepare_format(
            archive->db, out,
            "SELECT coalesce((SELECT typeof(path) FROM main.%s INDEXED BY \"%w\""
            " ORDER BY path LIMIT 1), 'text') = 'text'"
            " AND coalesce((SELECT typeof(path) FROM main.%s INDEXED BY \"%w\""
            " ORDER BY path DESC LIMIT 1), 'text') = 'text'",
            table, index, table, index);
    default:
        return sb_database_prepare_format(
            archive->db, out,
            "SELECT %s, rowid FROM main.%s NOT INDEXED"
            " WHERE rowid > ?1 AND typeof(path) != 'text' ORDER BY rowid",
            columns, table);
    }
}

static const char *extent_columns_of(const struct sb_archive *archive)
{
    return archive->layout.schema == SB_SCHEMA_OLD
               ? columns_of(archive, false)
               : "path, shard, offset, size, crc32c, NULL, NULL, NULL, NULL";
}

static enum sb_code prepare_by_address(const struct sb_archive *archive, enum sb_statement which,
                                       sqlite3_stmt **out)
{
    bool extents = which == SB_EXTENT_SAME || which == SB_EXTENT_GREATER;
    const char *columns = extents ? extent_columns_of(archive) : columns_of(archive, false);
    const char *index = archive->layout.files_by_address.data;

    switch (which) {
    case SB_ADDRESS_SAME:
    case SB_EXTENT_SAME:
        return sb_database_prepare_format(
            archive->db, out,
            "SELECT %s, rowid FROM main.files INDEXED BY \"%w\""
            " WHERE shard = ?1 AND offset = ?2 AND rowid > ?3 ORDER BY rowid",
            columns, index);
    case SB_ADDRESS_GREATER:
    case SB_EXTENT_GREATER:
        return sb_database_prepare_format(
            archive->db, out,
            "SELECT %s, rowid FROM main.files INDEXED BY \"%w\""
            " WHERE (shard, offset) > (?1, ?2) ORDER BY shard, offset, rowid",
            columns, index);
    case SB_ADDRESS_ENDS:
        return sb_database_prepare_format(
            archive->db, out,
            "SELECT coalesce((SELECT typeof(shard) FROM main.files"
            " INDEXED BY \"%w\" ORDER BY shard LIMIT 1), '') != 'null'",
            index);
    case SB_ADDRESS_ODD:
        return sb_database_prepare_format(
            archive->db, out,
            "SELECT %s, rowid FROM main.files NOT INDEXED WHERE rowid > ?1"
            " AND (typeof(shard) != 'integer' OR typeof(offset) != 'integer')"
            " ORDER BY rowid",
            columns);
    case SB_ADDRESS_ROWS:
        return sb_database_prepare_format(archive->db, out,
                                          "SELECT %s, rowid FROM main.files NOT INDEXED"
                                          " WHERE rowid > ?1 ORDER BY rowid",
                                          columns);
    default:
        return sb_database_prepare_format(
            archive->db, out,
            "SELECT %s, sorted.rowid FROM temp.shardbox_by_address sorted"
            " CROSS JOIN main.files ON files.rowid = sorted.file"
            " WHERE sorted.rowid > ?1 ORDER BY sorted.rowid",
            columns);
    }
}

static enum sb_code prepare(const struct sb_archive *archive, enum sb_statement which,
                            sqlite3_stmt **out)
{
    /* Of files and of directories in turn. */
    if (which >= SB_FILE_ONE && which <= SB_DIR_ODD)
        return prepare_by_path(archive, which, (which - SB_FILE_ONE) % 2, out);
    switch (which) {
    case SB_FILE_BESIDE:
        return sb_database_prepare_format(
            archive->db, out,
            "SELECT 1 FROM main.files INDEXED BY idx_files_parent WHERE rowid >= ?1"
            " AND parent = (SELECT parent FROM main.files WHERE rowid = ?1)"
            " LIMIT 1");
    case SB_BEGIN:
        return sb_database_prepare(archive->db, out, "BEGIN");
    case SB_COMMIT:
        return sb_database_prepare(archive->db, out, "COMMIT");
    default:
        return prepare_by_address(archive, which, out);
    }
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

enum sb_code sb_range_has_rows(struct sb_archive *archive, enum sb_statement names,
                               const struct sb_buf *low, const struct sb_buf *high, bool *out)
{
    sqlite3_stmt *statement;
    enum sb_code code = SB_OK;

    *out = false;
    TRY(sb_archive_statement(archive, names, &statement));
    if (sb_bind_range(statement, low, high))
        code = sb_database_fail(archive->db);
    *out = sb_database_row(statement, &code);
    sqlite3_reset(statement);
    return code;
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
