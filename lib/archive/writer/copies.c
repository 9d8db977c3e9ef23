/*
 * What the commit settles among the files that were added.
 *
 * Files with the bytes of another: hard links, which no archive can hold, become files of their
 * own. A row without bytes keeps the copy's place in the order of rows; the commit looks up the
 * link's target, and copies its bytes.
 *
 * Names that were added more than once, and names that are both a file and a directory. Rows are
 * added without a check; failure to make the unique index shows that there are such names.
 */
#include "archive/database.h"
#include "archive/schema.h"
#include "archive/shards.h"
#include "archive/writer/private.h"
#include "core/buf.h"
#include "core/crc32c.h"
#include "core/number.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

static enum sb_code prepare_copies(struct sb_writer *writer)
{
    TRY(sb_database_run(
        writer->rows,
        "CREATE TEMP TABLE copies (row INTEGER PRIMARY KEY, target TEXT, of_archive INTEGER);"
        "CREATE TEMP TABLE lost (path TEXT PRIMARY KEY) WITHOUT ROWID"));
    return sb_database_prepare(writer->rows, &writer->add_copy,
                               "INSERT INTO temp.copies VALUES (?1, ?2, ?3)");
}

enum sb_code sb_writer_add_copy(struct sb_writer *writer, const struct sb_entry *entry,
                                const char *target, size_t target_size, bool of_archive)
{
    struct sb_entry empty = *entry;

    if (!writer->add_copy)
        TRY(prepare_copies(writer));
    empty.has &= ~(unsigned)SB_HAS_CRC;
    empty.shard = 0;
    empty.offset = 0;
    empty.size = 0;
    TRY(sb_writer_add_file(writer, &empty));
    sqlite3_bind_int64(writer->add_copy, 1, sqlite3_last_insert_rowid(writer->rows));
    sqlite3_bind_text(writer->add_copy, 2, target, (int)target_size, SQLITE_STATIC);
    sqlite3_bind_int(writer->add_copy, 3, of_archive);
    return sb_database_step(writer->add_copy);
}

/* The state of making the copies. */
struct copier {
    struct sb_writer *writer;
    struct sb_shards *old; /* those of the archive that is appended to; opened on first use */
    struct sb_shards *made;
    sqlite3_stmt *copies;
    sqlite3_stmt *find;
    sqlite3_stmt *update;
    sqlite3_stmt *remove;
    sqlite3_stmt *lose;
};

/* The rows whose names are link targets: looked up once, for there is no index yet. */
static const char find_targets[] =
    "CREATE TEMP TABLE targets (path TEXT, row INTEGER, PRIMARY KEY (path, row)) WITHOUT ROWID;"
    "INSERT INTO temp.targets SELECT path, rowid FROM main.files"
    " WHERE path IN (SELECT target FROM temp.copies)";

static enum sb_code prepare_copier(struct copier *copier)
{
    sqlite3 *rows = copier->writer->rows;

    TRY(sb_database_run(rows, find_targets));
    TRY(sb_database_prepare(rows, &copier->copies,
                            "SELECT row, path, mode, target, of_archive FROM temp.copies"
                            " JOIN main.files ON files.rowid = row ORDER BY row"));
    /* Among the rows of that name the last one before the copy. */
    return SB_PREPARE(rows,
                      {&copier->find,
                       "SELECT files.path, shard, offset, size, crc32c, mode, uid, gid, mtime_ns"
                       " FROM temp.targets"
                       " JOIN main.files ON files.rowid = row"
                       " WHERE targets.path = ?1 AND row < ?2 ORDER BY row DESC LIMIT 1"},
                      {&copier->update, "UPDATE main.files SET shard = ?2, offset = ?3, size = ?4,"
                                        " crc32c = ?5, mode = ?6 WHERE rowid = ?1"},
                      {&copier->remove, "DELETE FROM main.files WHERE rowid = ?1"},
                      {&copier->lose, "INSERT OR IGNORE INTO temp.lost VALUES (?1)"});
}

static void release_copier(struct copier *copier)
{
    sqlite3_finalize(copier->copies);
    sqlite3_finalize(copier->find);
    sqlite3_finalize(copier->update);
    sqlite3_finalize(copier->remove);
    sqlite3_finalize(copier->lose);
    sb_shards_free(copier->old);
    sb_shards_free(copier->made);
}

/*
 * The file whose bytes the current copy gets: one that this run added, else one of the archive.
 * *others: only the archive has one, whose bytes are not the copy's.
 */
static enum sb_code find_target(struct copier *copier, const char *name, size_t size,
                                struct sb_entry *target, bool *others)
{
    bool of_archive = sqlite3_column_int(copier->copies, 4);
    enum sb_code code = SB_OK;
    bool found;

    *target = (struct sb_entry){.type = SB_FILE};
    sqlite3_bind_text(copier->find, 1, name, (int)size, SQLITE_STATIC);
    sqlite3_bind_int64(copier->find, 2, sqlite3_column_int64(copier->copies, 0));
    found = sb_database_row(copier->find, &code);
    if (found)
        code = sb_database_take_file(copier->find, 0, target);
    sqlite3_reset(copier->find);
    *others = false;
    if (code || found)
        return code;
    TRY(sb_writer_lookup(copier->writer, name, size, target));
    *others = target->type != SB_DIR && !of_archive;
    return target->type == SB_DIR || *others ? SB_NOENT : SB_OK;
}

static enum sb_code shards_of(struct copier *copier, uint32_t number, struct sb_shards **out)
{
    const struct sb_writer *writer = copier->writer;
    uint32_t first = sb_shard_out_count(writer->shards) - sb_shard_out_made(writer->shards);
    struct sb_shards **shards = number < first ? &copier->old : &copier->made;

    TRY(sb_shard_out_reach(writer->shards, number));
    if (!*shards)
        TRY(sb_shards_open_at(shards, number < first ? writer->hold.path : writer->hold.note.path));
    *out = *shards;
    return SB_OK;
}

/* Passes bytes from one extent to another. */
struct flow {
    struct sb_writer *writer;
    const struct sb_entry *to;
    int64_t done;
    uint32_t crc32c;
    bool write_failed;
};

static enum sb_code write_block(void *context, const void *data, size_t size)
{
    struct flow *flow = context;
    const struct sb_entry *to = flow->to;
    enum sb_code code =
        data ? sb_writer_write(flow->writer, to->shard, to->offset + flow->done, data, size)
             : sb_writer_skip(flow->writer, to->shard, (int64_t)size);

    flow->write_failed = code != SB_OK;
    flow->done += (int64_t)size;
    if (!(to->has & SB_HAS_CRC))
        flow->crc32c = sb_crc32c_block(flow->crc32c, data, size);
    return code;
}

/* SB_END: the target's bytes cannot be used, and the last failure says why. */
static enum sb_code copy_bytes(struct copier *copier, const struct sb_entry *target,
                               struct sb_entry *copy)
{
    bool known = target->has & SB_HAS_CRC;
    struct flow flow = {.writer = copier->writer, .to = copy};
    struct sb_shards *shards;
    struct sb_error failure;
    enum sb_code code;

    if (target->size < 0 || target->offset < 0) {
        sb_fail(SB_DAMAGED, "its row makes no sense");
        return SB_END;
    }
    TRY(shards_of(copier, target->shard, &shards));
    *copy = *target;
    TRY(sb_writer_place(copier->writer, copy->size, &copy->shard, &copy->offset));
    code = sb_shards_stream(shards, target->shard, target->offset, target->size,
                            known ? &target->crc32c : NULL, write_block, &flow);
    if (code && (flow.write_failed || sb_ends_work(sb_error())))
        return code;
    if (code) {
        failure = *sb_error();
        TRY(sb_writer_skip(copier->writer, copy->shard, copy->size - flow.done));
        *sb_error() = failure;
        return SB_END;
    }
    if (!known)
        copy->crc32c = flow.crc32c;
    return SB_OK;
}

/* Gives the current copy its bytes and file type. */
static enum sb_code keep(struct copier *copier, const struct sb_entry *copy)
{
    sqlite3_stmt *row = copier->copies;
    struct sb_writer *writer = copier->writer;
    bool has_mode = sqlite3_column_type(row, 2) != SQLITE_NULL;
    uint32_t mode = has_mode ? (uint32_t)sqlite3_column_int64(row, 2) & ~(uint32_t)S_IFMT
                             : copy->mode & ~(uint32_t)S_IFMT;

    SB_BIND(copier->update, sqlite3_column_int64(row, 0), copy->shard, copy->offset, copy->size,
            copy->crc32c);
    if (has_mode || (copy->has & SB_HAS_MODE))
        sqlite3_bind_int64(copier->update, 6,
                           mode | (copy->has & SB_HAS_MODE ? copy->mode & S_IFMT : S_IFREG));
    else
        sqlite3_bind_null(copier->update, 6);
    TRY(sb_database_step(copier->update));
    sb_count_up(&writer->counts.bytes, copy->size);
    return sb_tally_file(writer->tally, (const char *)sqlite3_column_text(row, 1),
                         (size_t)sqlite3_column_bytes(row, 1), 0, copy->size);
}

static enum sb_code leave_out(struct copier *copier)
{
    sqlite3_stmt *row = copier->copies;

    copier->writer->left_out = true;
    TRY(SB_RUN(copier->remove, sqlite3_column_int64(row, 0)));
    TRY(sb_database_bind_row(copier->lose, 1, row, 1, 1));
    TRY(sb_database_step(copier->lose));
    return sb_writer_uncount(copier->writer, (const char *)sqlite3_column_text(row, 1),
                             (size_t)sqlite3_column_bytes(row, 1), 0);
}

static enum sb_code make_copy(struct copier *copier)
{
    const struct sb_notify *notify = copier->writer->options.notify;
    const char *name = (const char *)sqlite3_column_text(copier->copies, 1);
    const char *target_name = (const char *)sqlite3_column_text(copier->copies, 3);
    size_t target_size = (size_t)sqlite3_column_bytes(copier->copies, 3);
    struct sb_entry target, copy;
    bool others;
    enum sb_code code = find_target(copier, target_name, target_size, &target, &others);

    if (code == SB_NOENT) {
        sb_report(notify, SB_PROBLEM, "missing", name,
                  "hard link to '%s', which is not %s; left out", target_name,
                  others ? "stored" : "there");
        return leave_out(copier);
    }
    if (code == SB_OK)
        code = copy_bytes(copier, &target, &copy);
    if (code == SB_END) {
        sb_report(notify, SB_PROBLEM, "damaged", name, "hard link to '%s': %s; left out",
                  target_name, sb_error()->text);
        return leave_out(copier);
    }
    return code ? code : keep(copier, &copy);
}

/* Files of the archive that only a copy that was left out would have replaced are not dropped. */
static enum sb_code keep_dropped(struct sb_writer *writer)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *lost = NULL;
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *keep = NULL;
    enum sb_code code = SB_OK;
    struct sb_entry old;

    TRY(SB_PREPARE(writer->rows,
                   {&lost,
                    "SELECT path FROM temp.lost WHERE path IN (SELECT path FROM main.dropped)"
                    " AND path NOT IN (SELECT path FROM main.files)"},
                   {&keep, "DELETE FROM main.dropped WHERE path = ?1"}));
    while (sb_database_row(lost, &code)) {
        TRY(sb_writer_lookup(writer, (const char *)sqlite3_column_text(lost, 0),
                             (size_t)sqlite3_column_bytes(lost, 0), &old));
        TRY(sb_database_bind_row(keep, 1, lost, 0, 1));
        TRY(sb_database_step(keep));
        TRY(sb_tally_file(writer->tally, old.path, old.path_size, 1, old.size));
        writer->counts.dropped--;
        writer->counts.dropped_bytes -= old.size;
    }
    return code;
}

enum sb_code sb_writer_make_copies(struct sb_writer *writer)
{
    CLEANUP(release_copier) struct copier copier = {.writer = writer};
    enum sb_code code = SB_OK;

    if (!writer->add_copy)
        return SB_OK;
    TRY(prepare_copier(&copier));
    while (sb_database_row(copier.copies, &code))
        TRY(make_copy(&copier));
    return code || !writer->staging ? code : keep_dropped(writer);
}

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
        sb_report(writer->options.notify, SB_PROBLEM, "clash", path,
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
        if (!writer->options.names_repeat ||
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
    if (writer->options.names_repeat)
        TRY(take_out(writer, mark_clashes));
    return SB_OK;
}
