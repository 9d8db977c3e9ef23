#include "task/convert/extents.h"

#include "archive/database.h"
#include "archive/shards.h"
#include "core/buf.h"
#include "core/list.h"
#include "store/archive/index_rows.h"
#include "task/convert/extents_line.h"

#include <inttypes.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>

struct extents {
    const struct sb_extents_options *options;
    const char *list_name;
    struct sb_problem_counter counter;
    int64_t problems;
    struct sb_writer *writer;
    struct sb_shards *shards;
    struct sb_index_rows *rows;
    uint32_t shard_count;
    bool any_size;
    uint32_t sized; /* the shard whose size is known, and its size */
    int64_t size;
};

static enum sb_code size_shard(struct extents *extents, uint32_t shard)
{
    struct stat st;
    enum sb_code code;

    if (extents->any_size && extents->sized == shard)
        return SB_OK;
    if (shard >= extents->shard_count)
        return sb_fail(SB_DAMAGED, "there is no shard %" PRIu32 "; shards end at %" PRIu32, shard,
                       extents->shard_count - 1);
    code = sb_shards_stat(extents->shards, shard, &st);
    extents->any_size = code == SB_OK;
    extents->sized = shard;
    extents->size = code == SB_OK ? st.st_size : 0;
    return code;
}

static enum sb_code check_bounds(struct extents *extents, const struct sb_entry *entry)
{
    enum sb_code code;

    if (entry->type == SB_DIR)
        return SB_OK;
    code = size_shard(extents, entry->shard);
    if (code || entry->offset + entry->size <= extents->size)
        return code;
    return sb_fail(SB_DAMAGED,
                   "%s: ends at %" PRId64 ", and shard %" PRIu32 " has %" PRId64 " bytes",
                   entry->path, entry->offset + entry->size, entry->shard, extents->size);
}

/* Puts the line number before the error. */
static enum sb_code blame_line(const struct extents *extents, int64_t number)
{
    struct sb_error inner = *sb_error();

    if (inner.code != SB_INVALID && inner.code != SB_DAMAGED)
        return inner.code;
    return sb_fail(inner.code, "%s: line %" PRId64 ": %s", extents->list_name, number, inner.text);
}

static enum sb_code read_list(struct extents *extents)
{
    struct sb_line_parser *parser = NULL;
    struct sb_list *list = NULL;
    struct sb_entry entry;
    const char *line;
    size_t size;
    enum sb_code code = sb_line_parser_new(&parser);

    if (!code)
        code = sb_list_open(&list, extents->options->list, '\n');
    if (!code && extents->options->force)
        sb_list_must_name(list);
    for (int64_t number = 1; !code; number++) {
        code = sb_list_next(list, &line, &size);
        if (code || size == 0)
            continue;
        code = sb_line_parse(parser, line, size, &entry);
        if (!code)
            code = check_bounds(extents, &entry);
        if (code)
            code = blame_line(extents, number);
        if (!code)
            code = sb_index_rows_add(extents->rows, number, &entry, NULL);
    }
    sb_list_free(list);
    sb_line_parser_free(parser);
    return code == SB_END ? SB_OK : code;
}

/* Runs a query that returns a row (an id, a path and another id) if something is wrong. */
static enum sb_code refuse_any(struct extents *extents, const char *query, const char *what)
{
    sqlite3 *db = sb_index_rows_database(extents->rows);
    sqlite3_stmt *row;
    enum sb_code code = sb_database_prepare(db, &row, query);

    if (sb_database_row(row, &code))
        code = sb_fail(SB_INVALID, "%s: line %lld: %s %s %lld", extents->list_name,
                       (long long)sqlite3_column_int64(row, 0),
                       (const char *)sqlite3_column_text(row, 1), what,
                       (long long)sqlite3_column_int64(row, 2));
    sqlite3_finalize(row);
    return code;
}

static enum sb_code check_names(struct extents *extents)
{
    TRY(refuse_any(extents,
                   "SELECT max(id), path, min(id) FROM files GROUP BY path"
                   " HAVING count(*) > 1 LIMIT 1",
                   "has the name of line"));
    return refuse_any(extents,
                      "SELECT id, path, id FROM files WHERE path IN (SELECT path FROM dirs)"
                      " LIMIT 1",
                      "is the name of a directory too; see line");
}

static bool is_link(struct extents *extents, uint32_t shard)
{
    struct sb_buf path = {0};
    struct stat st;
    bool link = sb_shards_path(extents->shards, shard, &path) == SB_OK &&
                lstat(path.data, &st) == 0 && S_ISLNK(st.st_mode);

    sb_buf_release(&path);
    return link;
}

/* Columns of the query below. */
enum { EXTENT_ID, EXTENT_PATH, EXTENT_SHARD, EXTENT_OFFSET, EXTENT_SIZE, EXTENT_CRC };

/* The extent that ends last among those before in its shard. */
struct reach {
    int64_t id;
    int64_t shard;
    int64_t offset;
    int64_t size;
    int64_t crc; /* -1: unknown */
};

static enum sb_code check_overlap(struct extents *extents, sqlite3_stmt *row, struct reach *last)
{
    struct reach this = {
        .id = sqlite3_column_int64(row, EXTENT_ID),
        .shard = sqlite3_column_int64(row, EXTENT_SHARD),
        .offset = sqlite3_column_int64(row, EXTENT_OFFSET),
        .size = sqlite3_column_int64(row, EXTENT_SIZE),
        .crc = sqlite3_column_type(row, EXTENT_CRC) == SQLITE_NULL
                   ? -1
                   : sqlite3_column_int64(row, EXTENT_CRC),
    };
    bool overlaps = this.shard == last->shard && this.offset < last->offset + last->size;
    bool shares = this.offset == last->offset && this.size == last->size && this.crc == last->crc;

    if (overlaps && !(shares && is_link(extents, (uint32_t)this.shard)))
        return sb_fail(SB_DAMAGED, "%s: line %" PRId64 ": %s shares bytes with line %" PRId64,
                       extents->list_name, this.id,
                       (const char *)sqlite3_column_text(row, EXTENT_PATH), last->id);
    *last = this;
    return SB_OK;
}

static enum sb_code check_overlaps(struct extents *extents)
{
    sqlite3 *db = sb_index_rows_database(extents->rows);
    struct reach last = {.shard = -1};
    sqlite3_stmt *row;
    enum sb_code code = sb_database_prepare(db, &row,
                                            "SELECT id, path, shard, offset, size, crc32c"
                                            " FROM files WHERE size > 0"
                                            " ORDER BY shard, offset, size, id");

    while (sb_database_row(row, &code))
        code = check_overlap(extents, row, &last);
    sqlite3_finalize(row);
    return code;
}

static enum sb_code open_ends(struct extents *extents)
{
    const struct sb_extents_options *options = extents->options;
    struct sb_writer_options writer = {.mode = options->force ? SB_REPLACE : SB_CREATE,
                                       .in_place = true};

    TRY(sb_writer_open(&extents->writer, options->archive, &writer));
    TRY(sb_writer_open_shards(extents->writer, &extents->shards));
    TRY(sb_index_rows_new(&extents->rows, options->archive));
    extents->shard_count = sb_writer_shard_count(extents->writer);
    return SB_OK;
}

static enum sb_code read_checksums(struct extents *extents)
{
    const struct sb_extents_options *options = extents->options;
    struct sb_index_sums sums = {
        .shards = extents->shards,
        .threads = options->threads,
        .notify = &extents->counter.notify,
        .progress = options->progress,
        .context = options->context,
    };

    TRY(sb_index_rows_checksum(extents->rows, &sums));
    if (options->strict && extents->problems > 0)
        return sb_fail(SB_INVALID, "%s: bytes do not match; given up because of --strict",
                       options->archive);
    return SB_OK;
}

enum sb_code sb_extents_index(const struct sb_extents_options *options,
                              struct sb_sink_counts *counts)
{
    bool is_stdin = strcmp(options->list, "-") == 0;
    struct extents extents = {.options = options,
                              .list_name = is_stdin ? "standard input" : options->list};
    enum sb_code code;

    sb_count_problems(&extents.counter, options->notify, &extents.problems);
    code = open_ends(&extents);
    if (!code)
        code = read_list(&extents);
    if (!code)
        code = check_names(&extents);
    if (!code)
        code = check_overlaps(&extents);
    if (!code && options->checksums)
        code = read_checksums(&extents);
    if (!code)
        code = sb_index_rows_write(extents.rows, extents.writer, &extents.counter.notify, counts);
    if (!code && options->dry_run)
        sb_report(options->notify, SB_NOTE, "would-store", options->archive, "would be made");
    else if (!code)
        code = sb_writer_commit(extents.writer);
    sb_index_rows_free(extents.rows);
    sb_shards_free(extents.shards);
    sb_writer_free(extents.writer);
    return code;
}
