/*
 * Names that were added more than once, and names that are both a file and a directory. Rows are
 * added without a check; failure to make the unique index shows that there are such names.
 */
#include "archive/writer/private.h"

#include "archive/database.h"
#include "archive/ddl.h"
#include "core/buf.h"

#include <string.h>

/* One by one: SQLite would hold the numbers of all rows of one statement in memory. */
static enum sb_code delete_marked(sqlite3 *db)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *rows = NULL;
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *remove = NULL;
    enum sb_code code = SB_OK;

    TRY(SB_PREPARE(db, {&rows, "SELECT row FROM temp.going"},
                   {&remove, "DELETE FROM main.files WHERE rowid = ?1"}));
    while (sb_database_row(rows, &code))
        code = SB_RUN(remove, sqlite3_column_int64(rows, 0));
    return code;
}

/* An added file. */
struct added {
    int64_t row;
    int64_t size;
    struct sb_buf path;
};

/* Marks the file before this one if it has the same name, and remembers this one. */
static enum sb_code compare(struct sb_writer *writer, struct added *before, sqlite3_stmt *row,
                            sqlite3_stmt *mark)
{
    const char *path = (const char *)sqlite3_column_text(row, 1);
    size_t size = (size_t)sqlite3_column_bytes(row, 1);

    if (before->path.data && size == before->path.size &&
        memcmp(path, before->path.data, size) == 0) {
        TRY(SB_RUN(mark, before->row));
        TRY(sb_writer_uncount(writer, path, size, before->size));
        writer->counts.superseded++;
    }
    before->row = sqlite3_column_int64(row, 0);
    before->size = sqlite3_column_int64(row, 2);
    return sb_buf_set(&before->path, path, size);
}

static enum sb_code mark_superseded(struct sb_writer *writer, sqlite3_stmt *mark)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *rows = NULL;
    struct added before = {0};
    enum sb_code code;

    code = sb_database_prepare(writer->rows, &rows,
                               "SELECT rowid, path, size FROM main.files ORDER BY path, rowid");
    while (sb_database_row(rows, &code))
        code = compare(writer, &before, rows, mark);
    sb_buf_release(&before.path);
    return code;
}

struct clashes {
    sqlite3_stmt *find;
    sqlite3_stmt *mark;
};

/* Marks the file that has the name of this directory, if there is one. */
static enum sb_code find_clash(void *context, const char *path, size_t size)
{
    struct clashes *clashes = context;
    enum sb_code code = SB_OK;

    if (size == 0)
        return SB_OK;
    sqlite3_bind_text(clashes->find, 1, path, (int)size, SQLITE_STATIC);
    if (sb_database_row(clashes->find, &code))
        code = SB_RUN(clashes->mark, sqlite3_column_int64(clashes->find, 0));
    sqlite3_reset(clashes->find);
    return code;
}

static enum sb_code mark_clashes(struct sb_writer *writer, sqlite3_stmt *mark)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *find = NULL;
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *rows = NULL;
    struct clashes clashes = {.mark = mark};
    enum sb_code code = SB_OK;

    TRY(sb_database_prepare(writer->rows, &find, "SELECT rowid FROM main.files WHERE path = ?1"));
    clashes.find = find;
    TRY(sb_tally_each_dir(writer->tally, find_clash, &clashes));
    TRY(sb_database_prepare(writer->rows, &rows,
                            "SELECT path, size FROM temp.going JOIN main.files"
                            " ON files.rowid = going.row ORDER BY path"));
    while (sb_database_row(rows, &code)) {
        const char *path = (const char *)sqlite3_column_text(rows, 0);
        size_t size = (size_t)sqlite3_column_bytes(rows, 0);

        writer->left_out = true;
        sb_report(writer->notify, SB_PROBLEM, "clash", path,
                  "is a directory as well; the file was left out");
        code = sb_writer_uncount(writer, path, size, sqlite3_column_int64(rows, 1));
    }
    return code;
}

/* Deletes the rows that `find` marks: all are found before any is deleted. */
static enum sb_code take_out(struct sb_writer *writer,
                             enum sb_code (*find)(struct sb_writer *writer, sqlite3_stmt *mark))
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *mark = NULL;

    TRY(sb_database_run(writer->rows, "CREATE TEMP TABLE going (row INTEGER PRIMARY KEY)"));
    TRY(sb_database_prepare(writer->rows, &mark, "INSERT OR IGNORE INTO temp.going VALUES (?1)"));
    TRY(find(writer, mark));
    TRY(delete_marked(writer->rows));
    return sb_database_run(writer->rows, "DROP TABLE temp.going");
}

enum sb_code sb_writer_index_names(struct sb_writer *writer)
{
    const char *make_index = sb_ddl_indexes[0].sql;

    if (sqlite3_exec(writer->rows, make_index, NULL, NULL, NULL)) {
        if (!writer->names_repeat ||
            sqlite3_extended_errcode(writer->rows) != SQLITE_CONSTRAINT_UNIQUE)
            return sb_database_fail(writer->rows);
        TRY(take_out(writer, mark_superseded));
        /*
         * Pages that are freed in the same transaction would stay in SQLite's memory when the index
         * reuses them.
         */
        TRY(sb_database_run(writer->rows, "COMMIT; BEGIN"));
        TRY(sb_database_run(writer->rows, make_index));
    }
    if (writer->names_repeat)
        TRY(take_out(writer, mark_clashes));
    return SB_OK;
}
