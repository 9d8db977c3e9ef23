#include "task/convert/convert.h"

#include "archive/database.h"
#include "archive/shards.h"
#include "core/base64.h"
#include "core/buf.h"
#include "core/list.h"
#include "core/name.h"
#include "core/number.h"
#include "store/archive/index_rows.h"

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
    int64_t sized; /* the shard whose size is known, and its size; -1: none */
    int64_t size;
};

/* The lines of the list: extents.h says what they are. */
struct line_parser {
    sqlite3 *db;
    sqlite3_stmt *parse;
    struct sb_buf text; /* the table's line, or a decoded path */
};

/* In the order of the statement's columns. */
enum {
    COLUMN_PATH,
    COLUMN_PATH_BASE64,
    COLUMN_TYPE,
    COLUMN_DEFECT,
    COLUMN_SHARD,
    COLUMN_OFFSET,
    COLUMN_SIZE,
    COLUMN_CRC32C,
    COLUMN_MODE,
    COLUMN_UID,
    COLUMN_GID,
    COLUMN_MTIME,
};

static const char parse_json[] =
    "SELECT json_extract(?1, '$.path'), json_extract(?1, '$.path_base64'),"
    " json_extract(?1, '$.type'), json_extract(?1, '$.defect'), json_extract(?1, '$.shard'),"
    " json_extract(?1, '$.offset'), json_extract(?1, '$.size'), json_extract(?1, '$.crc32c'),"
    " json_extract(?1, '$.mode'), json_extract(?1, '$.uid'), json_extract(?1, '$.gid'),"
    " json_extract(?1, '$.mtime_ns')";

static void release_parser(struct line_parser *parser)
{
    sqlite3_finalize(parser->parse);
    sqlite3_close(parser->db);
    sb_buf_release(&parser->text);
}

static enum sb_code decode_base64(struct sb_buf *out, const char *text, size_t size)
{
    struct sb_base64 state = {0};
    size_t made, rest;

    sb_buf_clear(out);
    TRY(sb_buf_reserve(out, SB_BASE64_BYTES_CAPACITY(size)));
    if (!sb_base64_decode(&state, text, size, out->data, &made) ||
        !sb_base64_decode_end(&state, out->data + made, &rest))
        return sb_fail(SB_INVALID, "path_base64 is no base64");
    out->size = made + rest;
    out->data[out->size] = '\0';
    return SB_OK;
}

static enum sb_code take_path(struct line_parser *parser, struct sb_entry *entry)
{
    sqlite3_stmt *row = parser->parse;
    int column =
        sqlite3_column_type(row, COLUMN_PATH) != SQLITE_NULL ? COLUMN_PATH : COLUMN_PATH_BASE64;

    if (sqlite3_column_type(row, column) != SQLITE_TEXT)
        return sb_fail(SB_INVALID, "has no path");
    entry->path = (const char *)sqlite3_column_text(row, column);
    entry->path_size = (size_t)sqlite3_column_bytes(row, column);
    if (!entry->path)
        return sb_fail_memory();
    if (column == COLUMN_PATH)
        return SB_OK;
    TRY(decode_base64(&parser->text, entry->path, entry->path_size));
    entry->path = parser->text.data;
    entry->path_size = parser->text.size;
    return SB_OK;
}

static enum sb_code take_type(struct line_parser *parser, struct sb_entry *entry)
{
    const char *type = (const char *)sqlite3_column_text(parser->parse, COLUMN_TYPE);

    if (!type)
        return SB_OK;
    for (entry->type = SB_FILE; entry->type <= SB_LINK; entry->type++) {
        if (strcmp(type, sb_type_word(entry->type)) == 0)
            return SB_OK;
    }
    return sb_fail(SB_INVALID, "type is none of file, dir and link");
}

/* A whole number within low to high; or, if it may be missing (bit > 0), null or nothing. */
static enum sb_code take_number(struct line_parser *parser, int column, const char *key,
                                int64_t low, int64_t high, unsigned bit, struct sb_entry *entry,
                                int64_t *value)
{
    int type = sqlite3_column_type(parser->parse, column);

    *value = 0;
    if (type == SQLITE_NULL && bit)
        return SB_OK;
    if (type == SQLITE_NULL)
        return sb_fail(SB_INVALID, "has no %s", key);
    *value = sqlite3_column_int64(parser->parse, column);
    if (type != SQLITE_INTEGER || *value < low || *value > high)
        return sb_fail(SB_INVALID, "its %s is no number that can be", key);
    entry->has |= bit;
    return SB_OK;
}

static enum sb_code take_extent(struct line_parser *parser, struct sb_entry *entry)
{
    int64_t shard, crc;

    TRY(take_number(parser, COLUMN_SHARD, "shard", 0, SB_SHARD_MAX, 0, entry, &shard));
    TRY(take_number(parser, COLUMN_OFFSET, "offset", 0, INT64_MAX, 0, entry, &entry->offset));
    TRY(take_number(parser, COLUMN_SIZE, "size", 0, INT64_MAX, 0, entry, &entry->size));
    TRY(take_number(parser, COLUMN_CRC32C, "crc32c", 0, UINT32_MAX, SB_HAS_CRC, entry, &crc));
    entry->shard = (uint32_t)shard;
    entry->crc32c = (uint32_t)crc;
    return SB_OK;
}

static enum sb_code take_metadata(struct line_parser *parser, struct sb_entry *entry)
{
    int64_t mode;

    TRY(take_number(parser, COLUMN_MODE, "mode", 0, 0177777, SB_HAS_MODE, entry, &mode));
    TRY(take_number(parser, COLUMN_UID, "uid", 0, SB_ID_MOST, SB_HAS_UID, entry, &entry->uid));
    TRY(take_number(parser, COLUMN_GID, "gid", 0, SB_ID_MOST, SB_HAS_GID, entry, &entry->gid));
    TRY(take_number(parser, COLUMN_MTIME, "mtime_ns", INT64_MIN, INT64_MAX, SB_HAS_MTIME, entry,
                    &entry->mtime_ns));
    entry->mode = (uint32_t)mode;
    return SB_OK;
}

/* SQLite would end the string at a NUL, and make it another name. */
static bool escapes_nul(const char *line)
{
    for (const char *at = strchr(line, '\\'); at && at[1]; at = strchr(at + 2, '\\')) {
        if (strncmp(at + 1, "u0000", 5) == 0)
            return true;
    }
    return false;
}

static enum sb_code take_json(struct line_parser *parser, const char *line, size_t size,
                              struct sb_entry *entry)
{
    int rc;

    sqlite3_reset(parser->parse);
    if (sqlite3_bind_text64(parser->parse, 1, line, size, SQLITE_STATIC, SQLITE_UTF8))
        return sb_fail_memory();
    rc = sqlite3_step(parser->parse);
    if (rc == SQLITE_NOMEM)
        return sb_fail_memory();
    if (rc != SQLITE_ROW)
        return sb_fail(SB_INVALID, "is no JSON object");
    if (sqlite3_column_type(parser->parse, COLUMN_DEFECT) != SQLITE_NULL)
        return sb_fail(SB_INVALID, "is of an entry that had a defect");
    TRY(take_path(parser, entry));
    TRY(take_type(parser, entry));
    TRY(take_metadata(parser, entry));
    if (entry->type != SB_DIR)
        TRY(take_extent(parser, entry));
    return SB_OK;
}

/* Cuts the last column off the line; NULL if there is none. */
static const char *cut_column(char *line)
{
    char *tab = strrchr(line, '\t');

    if (!tab)
        return NULL;
    *tab = '\0';
    return tab + 1;
}

static enum sb_code take_table(struct line_parser *parser, const char *line, size_t size,
                               struct sb_entry *entry)
{
    const char *shard_text, *offset_text, *size_text;
    int64_t shard;

    TRY(sb_buf_set(&parser->text, line, size));
    size_text = cut_column(parser->text.data);
    offset_text = size_text ? cut_column(parser->text.data) : NULL;
    shard_text = offset_text ? cut_column(parser->text.data) : NULL;
    if (!shard_text || !sb_parse_integer(shard_text, 0, SB_SHARD_MAX, &shard) ||
        !sb_parse_integer(offset_text, 0, INT64_MAX, &entry->offset) ||
        !sb_parse_integer(size_text, 0, INT64_MAX, &entry->size))
        return sb_fail(SB_INVALID,
                       "is neither JSON nor path, shard, offset and size with tabs between them");
    entry->shard = (uint32_t)shard;
    entry->path = parser->text.data;
    entry->path_size = strlen(parser->text.data);
    return SB_OK;
}

static enum sb_code complete(struct sb_entry *entry)
{
    static const mode_t formats[] = {[SB_FILE] = S_IFREG, [SB_DIR] = S_IFDIR, [SB_LINK] = S_IFLNK};
    bool is_root = entry->type == SB_DIR && entry->path_size == 0;
    const char *problem = is_root ? NULL : sb_name_problem(entry->path, entry->path_size);

    if (problem)
        return sb_fail(SB_INVALID, "its path %s", problem);
    if (entry->size > INT64_MAX - entry->offset)
        return sb_fail(SB_INVALID, "its extent ends beyond 2^63 bytes");
    if (entry->type == SB_LINK && !(entry->has & SB_HAS_MODE)) {
        entry->mode = 0777;
        entry->has |= SB_HAS_MODE;
    }
    if (entry->has & SB_HAS_MODE)
        entry->mode = (entry->mode & 07777) | formats[entry->type];
    return SB_OK;
}

/* Its mode is a whole st_mode if known. Its path is a name that may be stored (only a directory's
 * may be the root's), and lives until the next call. SB_INVALID: what is wrong with the line. */
static enum sb_code parse_line(struct line_parser *parser, const char *line, size_t size,
                               struct sb_entry *entry)
{
    bool is_json = size >= 2 && line[0] == '{' && line[size - 1] == '}';

    *entry = (struct sb_entry){.type = SB_FILE};
    if (memchr(line, '\0', size) || (is_json && escapes_nul(line)))
        return sb_fail(SB_INVALID, "has a NUL");
    TRY(is_json ? take_json(parser, line, size, entry) : take_table(parser, line, size, entry));
    return complete(entry);
}

static enum sb_code check_bounds(struct extents *extents, const struct sb_entry *entry)
{
    struct stat st;

    if (entry->type == SB_DIR)
        return SB_OK;
    if (extents->sized != entry->shard) {
        if (entry->shard >= extents->shard_count)
            return sb_fail(SB_DAMAGED, "there is no shard %" PRIu32 "; shards end at %" PRIu32,
                           entry->shard, extents->shard_count - 1);
        TRY(sb_shards_stat(extents->shards, entry->shard, &st));
        extents->sized = entry->shard;
        extents->size = st.st_size;
    }
    if (entry->offset + entry->size <= extents->size)
        return SB_OK;
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
    CLEANUP(release_parser) struct line_parser parser = {0};
    CLEANUP(sb_list_freep) struct sb_list *list = NULL;
    struct sb_entry entry;
    const char *line;
    size_t size;
    enum sb_code code;

    TRY(sb_database_open_private(&parser.db, "."));
    TRY(sb_database_prepare(parser.db, &parser.parse, parse_json));
    TRY(sb_list_open(&list, extents->options->list, '\n'));
    if (extents->options->force)
        sb_list_must_name(list);
    for (int64_t number = 1; (code = sb_list_next(list, &line, &size)) == SB_OK; number++) {
        if (size == 0)
            continue;
        code = parse_line(&parser, line, size, &entry);
        if (!code)
            code = check_bounds(extents, &entry);
        if (code)
            return blame_line(extents, number);
        TRY(sb_index_rows_add(extents->rows, number, &entry, NULL));
    }
    return code == SB_END ? SB_OK : code;
}

/* Runs a query that returns a row (an id, a path and another id) if something is wrong. */
static enum sb_code refuse_any(struct extents *extents, const char *query, const char *what)
{
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *row = NULL;
    enum sb_code code = SB_OK;

    TRY(sb_database_prepare(sb_index_rows_database(extents->rows), &row, query));
    if (sb_database_row(row, &code))
        return sb_fail(SB_INVALID, "%s: line %lld: %s %s %lld", extents->list_name,
                       (long long)sqlite3_column_int64(row, 0),
                       (const char *)sqlite3_column_text(row, 1), what,
                       (long long)sqlite3_column_int64(row, 2));
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
    CLEANUP(sb_buf_release) struct sb_buf path = {0};
    struct stat st;

    return sb_shards_path(extents->shards, shard, &path) == SB_OK && lstat(path.data, &st) == 0 &&
           S_ISLNK(st.st_mode);
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
    struct reach last = {.shard = -1};
    CLEANUP(sqlite3_finalizep) sqlite3_stmt *row = NULL;
    enum sb_code code = SB_OK;

    TRY(sb_database_prepare(sb_index_rows_database(extents->rows), &row,
                            "SELECT id, path, shard, offset, size, crc32c"
                            " FROM files WHERE size > 0"
                            " ORDER BY shard, offset, size, id"));
    while (sb_database_row(row, &code))
        code = check_overlap(extents, row, &last);
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

static void release(struct extents *extents)
{
    sb_index_rows_free(extents->rows);
    sb_shards_free(extents->shards);
    sb_writer_free(extents->writer);
}

enum sb_code sb_extents_index(const struct sb_extents_options *options,
                              struct sb_sink_counts *counts)
{
    bool is_stdin = strcmp(options->list, "-") == 0;
    CLEANUP(release)
    struct extents extents = {
        .options = options, .list_name = is_stdin ? "standard input" : options->list, .sized = -1};
    const struct sb_notify *notify = &extents.counter.notify;

    sb_count_problems(&extents.counter, options->notify, &extents.problems);
    TRY(open_ends(&extents));
    TRY(read_list(&extents));
    TRY(check_names(&extents));
    TRY(check_overlaps(&extents));
    if (options->checksums)
        TRY(read_checksums(&extents));
    TRY(sb_index_rows_write(extents.rows, extents.writer, notify, counts));
    if (!options->dry_run)
        return sb_writer_commit(extents.writer);
    sb_report(options->notify, SB_NOTE, "would-store", options->archive, "would be made");
    return SB_OK;
}
