#include "store/archive/index_rows.h"

#include "archive/checksum.h"
#include "archive/database.h"
#include "archive/shards.h"
#include "core/interrupt.h"
#include "core/name.h"
#include "core/number.h"
#include "store/archive/holdings.h"
#include "store/sinks.h"

#include <errno.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct sb_index_rows {
    sqlite3 *db;
    sqlite3_stmt *add_file;
    sqlite3_stmt *add_dir;
    sqlite3_stmt *add_parent;
    struct sb_buf parent; /* of the last file: it and those above it are in dirs */
    bool any_parent;
    bool any_link;
    bool summed;
    /*
     * Files that share an offset, which are empty but for one, are to keep the order of their ids:
     * all are written in that order, not in the one of their names, which is faster.
     */
    bool keeps_order;
    int64_t bytes;    /* of all extents */
    int64_t left_out; /* rows, which were reported */
};

static const char tables[] =
    "CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT, shard INTEGER, offset INTEGER,"
    " size INTEGER, crc32c INTEGER, mode INTEGER, uid INTEGER, gid INTEGER, mtime_ns INTEGER,"
    " link TEXT);"
    "CREATE TABLE dirs (path TEXT PRIMARY KEY, given INTEGER, mode INTEGER, uid INTEGER,"
    " gid INTEGER, mtime_ns INTEGER) WITHOUT ROWID;"
    "CREATE TABLE sums (id INTEGER PRIMARY KEY, crc32c INTEGER); BEGIN";

enum sb_code sb_index_rows_new(struct sb_index_rows **out, const char *beside)
{
    CLEANUP(sb_index_rows_freep) struct sb_index_rows *rows = NULL;

    *out = NULL;
    TRY(SB_NEW(&rows));
    TRY(SB_TABLES(&rows->db, beside, tables,
                  {&rows->add_file,
                   "INSERT INTO files VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)"},
                  {&rows->add_dir, "INSERT OR REPLACE INTO dirs VALUES (?1, 1, ?2, ?3, ?4, ?5)"},
                  {&rows->add_parent, "INSERT OR IGNORE INTO dirs (path) VALUES (?1)"}));
    *out = TAKE(rows);
    return SB_OK;
}

void sb_index_rows_free(struct sb_index_rows *rows)
{
    if (!rows)
        return;
    sb_database_finish(rows->db);
    sb_buf_release(&rows->parent);
    free(rows);
}

struct sqlite3 *sb_index_rows_database(struct sb_index_rows *rows)
{
    return rows->db;
}

/* Notes the directories above a name. Those of one that is there already are there as well. */
static enum sb_code add_parents(struct sb_index_rows *rows, const char *path, size_t size)
{
    size_t parent = sb_parent_size(path, size);

    if (rows->any_parent && rows->parent.size == parent &&
        memcmp(rows->parent.data, path, parent) == 0)
        return SB_OK;
    rows->any_parent = true;
    TRY(sb_buf_set(&rows->parent, path, parent));
    for (; parent > 0; parent = sb_parent_size(path, parent)) {
        sqlite3_bind_text(rows->add_parent, 1, path, (int)parent, SQLITE_STATIC);
        TRY(sb_database_step(rows->add_parent));
        if (sqlite3_changes(rows->db) == 0)
            return SB_OK;
    }
    return SB_OK;
}

enum sb_code sb_index_rows_add(struct sb_index_rows *rows, int64_t id, const struct sb_entry *entry,
                               const char *hard_link)
{
    sqlite3_stmt *add = rows->add_file;

    TRY(add_parents(rows, entry->path, entry->path_size));
    if (entry->type == SB_DIR) {
        sqlite3_bind_text(rows->add_dir, 1, entry->path, (int)entry->path_size, SQLITE_STATIC);
        sb_database_bind_metadata(rows->add_dir, 2, entry);
        return sb_database_step(rows->add_dir);
    }
    sqlite3_bind_int64(add, 1, id);
    sb_database_bind_file(add, 2, entry);
    sqlite3_bind_text(add, 11, hard_link, -1, SQLITE_STATIC);
    rows->any_link |= hard_link != NULL;
    /* Files may lie over each other, and come to more than the input has. */
    if (__builtin_add_overflow(rows->bytes, entry->size, &rows->bytes))
        return sb_fail(SB_LIMIT, "%.*s: with it, files are of more bytes than can be counted",
                       (int)entry->path_size, entry->path);
    return sb_database_step(add);
}

/* Bound: the hard link's id, and what it links to. Changes nothing when that is not there. */
static const char take_extent[] =
    "UPDATE files SET shard = t.shard, offset = t.offset, size = t.size, crc32c = t.crc32c,"
    " mode = t.mode, link = NULL FROM (SELECT shard, offset, size, crc32c, mode FROM files"
    " WHERE path = ?2 AND id < ?1 ORDER BY id DESC LIMIT 1) AS t WHERE id = ?1";

/* Gives hard links their extents; one without its file is reported as SB_PROBLEM ("missing"). */
static enum sb_code link_rows(struct sb_index_rows *rows, const struct sb_notify *notify)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *links = NULL, *take = NULL, *drop = NULL;
    enum sb_code code = SB_OK;

    if (!rows->any_link)
        return SB_OK;
    TRY(sb_database_run(rows->db, "CREATE INDEX by_path ON files (path, id)"));
    TRY(SB_PREPARE(rows->db,
                   {&links, "SELECT id, link, path FROM files WHERE link IS NOT NULL ORDER BY id"},
                   {&take, take_extent}, {&drop, "DELETE FROM files WHERE id = ?1"}));
    while (sb_database_row(links, &code)) {
        TRY(sb_database_bind_row(take, 1, links, 0, 2));
        TRY(sb_database_step(take));
        if (sqlite3_changes(rows->db) > 0)
            continue;
        rows->left_out++;
        sb_report(notify, SB_PROBLEM, "missing", (const char *)sqlite3_column_text(links, 2),
                  "a hard link to %s, which does not come before it; left out",
                  (const char *)sqlite3_column_text(links, 1));
        code = SB_RUN(drop, sqlite3_column_int64(links, 0));
    }
    return code;
}

struct summing {
    struct sb_index_rows *rows;
    const struct sb_index_sums *sums;
    sqlite3_stmt *extents;
    sqlite3_stmt *put;
    int64_t bytes;
    int64_t files;
};

/* The lowest bit of an extent's id: the row has a checksum of its own. */
static enum sb_code next_extent(void *context, struct sb_checksum_extent *extent)
{
    struct summing *summing = context;
    sqlite3_stmt *row = summing->extents;
    enum sb_code code = SB_OK;

    if (!sb_database_row(row, &code))
        return code ? code : SB_END;
    *extent = (struct sb_checksum_extent){
        .id = sqlite3_column_int64(row, 0) << 1 | (sqlite3_column_type(row, 5) != SQLITE_NULL),
        .name = (const char *)sqlite3_column_text(row, 1),
        .name_size = (size_t)sqlite3_column_bytes(row, 1),
        .shard = (uint32_t)sqlite3_column_int64(row, 2),
        .offset = sqlite3_column_int64(row, 3),
        .size = sqlite3_column_int64(row, 4),
        .expected = (uint32_t)sqlite3_column_int64(row, 5),
    };
    return extent->name ? SB_OK : sb_fail_memory();
}

static enum sb_code take_sum(void *context, const struct sb_checksum_extent *extent, uint32_t crc,
                             const struct sb_error *failure)
{
    struct summing *summing = context;

    if (failure) {
        *sb_error() = *failure;
        return sb_error()->code;
    }
    summing->files++;
    if (extent->id & 1) {
        if (crc != extent->expected)
            sb_report(summing->sums->notify, SB_PROBLEM, "checksum", extent->name,
                      "its bytes do not match its CRC32C");
        return SB_OK;
    }
    return SB_RUN(summing->put, extent->id >> 1, crc);
}

static void pass(void *context, int64_t size)
{
    struct summing *summing = context;
    const struct sb_index_sums *sums = summing->sums;

    sb_count_up(&summing->bytes, size);
    if (sums->progress)
        sums->progress(sums->context, summing->bytes, summing->rows->bytes, summing->files);
}

enum sb_code sb_index_rows_checksum(struct sb_index_rows *rows, const struct sb_index_sums *sums)
{
    static const struct sb_checksum_ops ops = {
        .next = next_extent, .done = take_sum, .passed = pass};
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *extents = NULL, *put = NULL;

    rows->summed = true;
    TRY(SB_PREPARE(rows->db,
                   {&extents, "SELECT id, path, shard, offset, size, crc32c FROM files"
                              " WHERE size > 0 ORDER BY shard, offset"},
                   {&put, "INSERT INTO sums VALUES (?1, ?2)"}));
    return sb_checksum(
        sums->shards, &ops,
        &(struct summing){.rows = rows, .sums = sums, .extents = extents, .put = put},
        sums->threads);
}

/* The statements of sb_index_rows_write, and the name written last. */
struct writing {
    sqlite3_stmt *files;
    sqlite3_stmt *find_dir;
    struct sb_buf last;
    bool any;
};

static void release_writing(struct writing *writing)
{
    sqlite3_finalize(writing->files);
    sqlite3_finalize(writing->find_dir);
    sb_buf_release(&writing->last);
}

/* SB_END: it is left out. */
static enum sb_code check_row(struct sb_index_rows *rows, struct writing *writing,
                              const struct sb_entry *entry, const struct sb_notify *notify,
                              struct sb_sink_counts *counts)
{
    enum sb_code code = SB_OK;
    bool found;

    if (writing->any && writing->last.size == entry->path_size &&
        memcmp(writing->last.data, entry->path, entry->path_size) == 0) {
        counts->superseded++;
        return SB_END;
    }
    writing->any = true;
    TRY(sb_buf_set(&writing->last, entry->path, entry->path_size));
    sqlite3_bind_text(writing->find_dir, 1, entry->path, (int)entry->path_size, SQLITE_STATIC);
    found = sb_database_row(writing->find_dir, &code);
    sqlite3_reset(writing->find_dir);
    if (!found)
        return code;
    rows->left_out++;
    sb_report(notify, SB_PROBLEM, "clash", entry->path,
              "is the name of a directory too; the file is left out");
    return SB_END;
}

/* Files that a later one of the same name replaced come after it, or not at all. */
static enum sb_code select_files(struct sb_index_rows *rows, struct writing *writing)
{
    const char *columns = rows->summed
                              ? "SELECT path, shard, offset, size,"
                                " coalesce(files.crc32c, sums.crc32c, iif(size = 0, 0, NULL)),"
                                " mode, uid, gid, mtime_ns FROM files LEFT JOIN sums USING (id)"
                              : "SELECT path, shard, offset, size, crc32c, mode, uid, gid, mtime_ns"
                                " FROM files";
    const char *order = rows->keeps_order
                            ? " WHERE id IN (SELECT max(id) FROM files GROUP BY path) ORDER BY id"
                            : " ORDER BY path, id DESC";

    return sb_database_prepare_format(rows->db, &writing->files, "%s%s", columns, order);
}

static enum sb_code write_files(struct sb_index_rows *rows, struct sb_writer *writer,
                                const struct sb_notify *notify, struct sb_sink_counts *counts)
{
    CLEANUP(release_writing) struct writing writing = {0};
    struct sb_entry entry;
    enum sb_code code = SB_OK;

    TRY(select_files(rows, &writing));
    TRY(sb_database_prepare(rows->db, &writing.find_dir, "SELECT 1 FROM dirs WHERE path = ?1"));
    while (sb_database_row(writing.files, &code)) {
        TRY(sb_database_take_file(writing.files, 0, &entry));
        code = check_row(rows, &writing, &entry, notify, counts);
        if (code == SB_OK) {
            counts->files++;
            sb_count_up(&counts->bytes, entry.size);
            code = sb_writer_add_file(writer, &entry);
        }
        if (code && code != SB_END)
            return code;
        code = sb_heed_interrupt();
    }
    return code;
}

static enum sb_code write_dirs(struct sb_index_rows *rows, struct sb_writer *writer,
                               struct sb_sink_counts *counts)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *row = NULL;
    enum sb_code code = sb_database_prepare(rows->db, &row,
                                            "SELECT path, mode, uid, gid, mtime_ns FROM dirs"
                                            " WHERE given ORDER BY path");

    while (sb_database_row(row, &code)) {
        struct sb_entry entry = {.type = SB_DIR};

        entry.path = (const char *)sqlite3_column_text(row, 0);
        entry.path_size = (size_t)sqlite3_column_bytes(row, 0);
        sb_database_take_metadata(row, 1, &entry);
        counts->dirs++;
        code = entry.path ? sb_writer_add_dir(writer, &entry) : sb_fail_memory();
    }
    return code;
}

enum sb_code sb_index_rows_write(struct sb_index_rows *rows, struct sb_writer *writer,
                                 const struct sb_notify *notify, struct sb_sink_counts *counts)
{
    int64_t superseded = 0;

    TRY(write_dirs(rows, writer, counts));
    /* The others are counted one by one. */
    if (rows->keeps_order)
        TRY(sb_database_integer(rows->db, "SELECT count(*) - count(DISTINCT path) FROM files", 0,
                                &superseded));
    counts->superseded += superseded;
    return write_files(rows, writer, notify, counts);
}

struct index_sink {
    struct sb_sink base;
    struct sb_index_sink_options options;
    struct sb_writer *writer;
    struct sb_index_rows *rows;
    uint32_t shard; /* that the members lie in, */
    int64_t size;   /* and how long it is */
    int64_t last;   /* where the last of them begins; -1: none has begun */
    int64_t count;  /* members so far */
};

static void free_sink(struct sb_sink *base)
{
    struct index_sink *sink = (struct index_sink *)base;

    sb_index_rows_free(sink->rows);
    sb_writer_free(sink->writer);
    free(sink);
}

/* Has it a place among the others? An empty one, too, where the source knows it. */
static bool has_place(const struct index_sink *sink, const struct sb_member *member)
{
    return member->located && !member->hard_link && member->entry.type != SB_DIR &&
           member->at >= 0 && member->at <= sink->size;
}

/* The bytes are where they are: the member needs a row, and nothing else. */
static enum sb_code accept(struct sb_sink *base, const struct sb_member *member,
                           struct sb_item *item)
{
    struct index_sink *sink = (struct index_sink *)base;
    struct sb_entry entry = member->entry;
    bool has_bytes = entry.type != SB_DIR && !member->hard_link && entry.size > 0;

    if (has_bytes && !member->located)
        return sb_fail(SB_INVALID,
                       "%s: is stored %s, so that no index can point at its bytes; convert without "
                       "--wrap, or leave it out with --exclude",
                       entry.path,
                       member->has & SB_KEEPS_SPARSE
                           ? "with holes"
                           : "compressed, in pieces, as bits or with a sum of its own");
    if (has_bytes && (member->at < 0 || member->at > sink->size - entry.size))
        return sb_fail(SB_DAMAGED, "%s: its bytes end after the end of the file", entry.path);
    entry.shard = sink->shard;
    if (member->hard_link)
        entry.size = 0;
    entry.offset = 0;
    if (has_place(sink, member)) {
        entry.offset = member->at;
        if (member->at == sink->last)
            sink->rows->keeps_order = true;
        sink->last = member->at;
    }
    item->member = *member;
    TRY(sb_holdings_name_owners(sink->writer, &item->member));
    return sb_index_rows_add(sink->rows, sink->count++, &entry, member->hard_link);
}

/* Nothing comes here: accept has taken it all. */
static enum sb_code store(struct sb_sink *base, struct sb_batch *batch, struct sb_pipeline *turns)
{
    (void)base, (void)batch, (void)turns;
    return SB_OK;
}

static enum sb_code drain(struct sb_sink *base, struct sb_batch *batch)
{
    (void)base, (void)batch;
    return SB_OK;
}

static enum sb_code read_checksums(struct index_sink *sink)
{
    CLEANUP(sb_shards_freep) struct sb_shards *shards = NULL;

    TRY(sb_writer_open_shards(sink->writer, &shards));
    return sb_index_rows_checksum(sink->rows, &(struct sb_index_sums){
                                                  .shards = shards,
                                                  .threads = sink->options.threads,
                                                  .notify = sink->options.notify,
                                                  .progress = sink->options.progress,
                                                  .context = sink->options.context,
                                              });
}

static enum sb_code commit(struct sb_sink *base)
{
    struct index_sink *sink = (struct index_sink *)base;
    const struct sb_notify *notify = sink->options.notify;

    TRY(link_rows(sink->rows, notify));
    if (sink->options.checksums)
        TRY(read_checksums(sink));
    TRY(sb_index_rows_write(sink->rows, sink->writer, notify, &base->counts));
    if (sink->options.writer.strict && sink->rows->left_out > 0)
        return sb_fail(SB_INVALID, "%s: not everything can be held; stopped because of --strict",
                       base->name);
    return sb_writer_commit(sink->writer);
}

enum sb_code sb_sink_open_index(struct sb_sink **out, const struct sb_index_sink_options *options)
{
    static const struct sb_sink_ops ops = {
        .free = free_sink, .accept = accept, .store = store, .drain = drain, .commit = commit};
    struct index_sink *sink;
    CLEANUP(sb_sink_freep) struct sb_sink *base = NULL;

    *out = NULL;
    TRY(SB_NEW(&sink));
    base = &sink->base;
    *base = (struct sb_sink){
        .ops = &ops, .name = options->path, .holds = SB_ARCHIVE_HOLDS, .unread = true};
    sink->options = *options;
    TRY(sb_writer_open(&sink->writer, options->path, &options->writer));
    TRY(sb_index_rows_new(&sink->rows, options->path));
    *out = TAKE(base);
    return SB_OK;
}

enum sb_code sb_sink_index_file(struct sb_sink *sink, const char *path)
{
    struct index_sink *self = (struct index_sink *)sink;
    struct stat st;
    enum sb_link_kind kind = *path == '/' ? SB_LINK_ABSOLUTE : SB_LINK_RELATIVE;

    TRY(sb_writer_link_shard(self->writer, kind, path, &self->shard));
    if (stat(path, &st))
        return sb_fail_errno(errno, "%s", path);
    self->size = st.st_size;
    self->last = -1;
    return SB_OK;
}
