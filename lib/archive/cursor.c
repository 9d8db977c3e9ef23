/*
 * Cursors: files and directories merged in order of path, or files in order of address.
 */
#include "archive/reader.h"

#include "archive/database.h"
#include "archive/writer/rowset.h"
#include "core/array.h"
#include "core/interrupt.h"

#include <stdlib.h>
#include <string.h>

/*
 * Half of the rows of the first batch. A caller that reads files usually needs all of them; one
 * that reads directories often needs only the next one.
 */
#define FIRST_OF_ALL  128
#define FIRST_OF_DIRS 4

/* Half of those of an address range, which has few. */
#define FIRST_OF_RANGE 256

/* Rows read in one read transaction, however few of them match. */
#define SCAN_MOST 16384

/*
 * After the rows in order follow, by row number: files that were moved meanwhile to positions
 * already scanned, and rows whose sort key has another type, which have no place in the order.
 */
enum phase { IN_ORDER, MOVED_FILES, ODD_FILES, ODD_DIRS, AT_END };

struct address_key {
    int64_t shard;
    int64_t offset;
    int64_t row;
};

struct sb_cursor {
    struct sb_archive *archive;
    enum sb_order order;
    bool shallow;
    bool files, dirs;
    bool everything; /* the whole archive: includes odd rows */
    enum phase phase;
    int64_t row; /* last row number, in the phases of odd rows and if sorted */
    struct sb_rows batch;
    size_t scanned; /* rows, for this batch */

    /* SB_BY_PATH */
    struct sb_stream streams[2]; /* files, dirs */
    struct sb_buf last_dir;      /* shallow: the directory delivered last */
    bool any_dir;

    /* SB_BY_ADDRESS */
    struct address_key key;
    bool odd_seen;
    bool extents;
    bool steady;
    bool begun;
    uint32_t generation; /* of the index, when the scan began */
    bool moved;          /* it has changed since */
    struct sb_rowset given;
    bool sorted; /* no index: a temporary table is used */
    bool all_shards;
    uint32_t shard_first, shard_last;
    bool ranged; /* offsets of one shard: moved files are not searched for */
    int64_t offset_end;
};

void sb_cursor_free(struct sb_cursor *cursor)
{
    if (!cursor)
        return;
    sb_stream_release(&cursor->streams[0]);
    sb_stream_release(&cursor->streams[1]);
    sb_rows_release(&cursor->batch);
    sb_buf_release(&cursor->last_dir);
    sb_rowset_release(&cursor->given);
    free(cursor);
}

/* The smallest text greater than all that begin with these bytes; empty if there is none. */
static enum sb_code end_of_prefix(struct sb_buf *out, const char *prefix)
{
    size_t size = strlen(prefix);

    while (size > 0 && (unsigned char)prefix[size - 1] == 0xff)
        size--;
    TRY(sb_buf_set(out, prefix, size));
    if (size > 0)
        out->data[size - 1] = (char)(prefix[size - 1] + 1);
    return SB_OK;
}

static enum sb_code set_range(struct sb_stream *stream, const struct sb_query *query)
{
    const char *under = query->under ? query->under : "";

    if (query->prefix) {
        TRY(sb_buf_add_text(&stream->low, query->prefix));
        return end_of_prefix(&stream->high, query->prefix);
    }
    if (*under) {
        TRY(sb_buf_add_format(&stream->prefix, "%s/", under));
        TRY(sb_buf_add_format(&stream->high, "%s%c", under, '/' + 1));
    }
    TRY(sb_buf_add(&stream->low, stream->prefix.data, stream->prefix.size));
    if (query->after) {
        stream->any_delivered = query->shallow;
        if (query->shallow)
            TRY(sb_buf_add_text(&stream->delivered, query->after));
        TRY(sb_buf_add_text(&stream->low, query->after));
        return sb_buf_add_char(&stream->low, '\0');
    }
    /* The root's own row is omitted: all after the empty text is all but that. */
    return !*under && stream->is_dir ? sb_buf_add_char(&stream->low, '\0') : SB_OK;
}

static enum sb_code open_streams(struct sb_cursor *cursor, const struct sb_query *query)
{
    struct sb_stream *files = &cursor->streams[0], *dirs = &cursor->streams[1];

    files->rows_wanted = query->files;
    dirs->rows_wanted = query->dirs;
    dirs->is_dir = true;
    for (struct sb_stream *stream = files; stream <= dirs; stream++) {
        stream->batch.limit = query->files ? FIRST_OF_ALL : FIRST_OF_DIRS;
        stream->archive = cursor->archive;
        stream->columns = query->columns;
        stream->implied_wanted = query->dirs && !query->recorded;
        TRY(set_range(stream, query));
    }
    /* Files are also scanned for directories if those without a row are included. */
    if (!query->files)
        files->columns = SB_NAMES;
    files->done = !query->files && !(query->shallow && files->implied_wanted);
    dirs->done = !query->dirs;
    cursor->everything = !query->shallow && !query->prefix && (!query->under || !*query->under);
    return SB_OK;
}

/* Sorts once, in temporary storage, in place of a missing index. */
static enum sb_code make_sorted(struct sb_archive *archive)
{
    enum sb_code code;

    if (archive->sorted_made)
        return SB_OK;
    code =
        sb_database_run(archive->db, "CREATE TEMP TABLE shardbox_by_address AS SELECT rowid AS file"
                                     " FROM main.files ORDER BY shard, offset, rowid");
    archive->sorted_made = !code;
    return code;
}

static enum sb_code open_addresses(struct sb_cursor *cursor, const struct sb_query *query)
{
    cursor->all_shards = query->all_shards;
    cursor->shard_first = query->shard_first;
    cursor->shard_last = query->shard_last;
    cursor->key.shard = query->all_shards ? INT64_MIN : query->shard_first;
    cursor->key.offset = INT64_MIN;
    cursor->key.row = INT64_MIN;
    cursor->everything = query->all_shards;
    cursor->steady = query->steady;
    cursor->extents = query->extents;
    if (query->offset_end > 0) {
        cursor->ranged = true;
        cursor->key.offset = query->offset_first;
        cursor->offset_end = query->offset_end;
        cursor->batch.limit = FIRST_OF_RANGE;
    }
    cursor->sorted = cursor->archive->layout.files_by_address.size == 0;
    return cursor->sorted ? make_sorted(cursor->archive) : SB_OK;
}

bool sb_archive_is_addressed(const struct sb_archive *archive)
{
    return archive->layout.files_by_address.size > 0;
}

enum sb_code sb_cursor_open(struct sb_cursor **out, struct sb_archive *archive,
                            const struct sb_query *query)
{
    CLEANUP(sb_cursor_freep) struct sb_cursor *cursor = NULL;

    *out = NULL;
    TRY(SB_NEW(&cursor));
    cursor->archive = archive;
    cursor->order = query->order;
    cursor->shallow = query->shallow;
    cursor->files = query->files;
    cursor->dirs = query->dirs;
    TRY(query->order == SB_BY_ADDRESS ? open_addresses(cursor, query)
                                      : open_streams(cursor, query));
    *out = TAKE(cursor);
    return SB_OK;
}

static bool is_used_up(const struct sb_stream *stream)
{
    return stream->batch.at == stream->batch.count && !stream->done;
}

/* The next row of the stream, NULL at its end. */
static struct sb_row *head_of(struct sb_cursor *cursor, int which)
{
    struct sb_rows *batch = &cursor->streams[which].batch;

    return batch->at < batch->count ? &batch->rows[batch->at] : NULL;
}

bool sb_cursor_is_ahead(struct sb_cursor *cursor)
{
    if (cursor->phase != IN_ORDER || cursor->order == SB_BY_ADDRESS)
        return cursor->batch.at < cursor->batch.count;
    return !is_used_up(&cursor->streams[0]) && !is_used_up(&cursor->streams[1]) &&
           (head_of(cursor, 0) || head_of(cursor, 1));
}

/* One transaction for both streams: its locks cost more than reading a small directory. */
static enum sb_code refill(struct sb_cursor *cursor)
{
    enum sb_code code = SB_OK;

    if (!is_used_up(&cursor->streams[0]) && !is_used_up(&cursor->streams[1]))
        return SB_OK;
    TRY(sb_archive_begin(cursor->archive));
    for (struct sb_stream *stream = cursor->streams; stream < cursor->streams + 2; stream++) {
        while (!code && is_used_up(stream)) {
            code = cursor->shallow ? sb_stream_fill_children(stream) : sb_stream_fill(stream);
            if (!code)
                code = sb_archive_notice(cursor->archive);
            stream->batch.generation = cursor->archive->generation;
        }
    }
    return sb_archive_end(cursor->archive, code);
}

static void deliver(struct sb_rows *batch, struct sb_row *row, struct sb_entry *entry)
{
    *entry = row->entry;
    entry->path = sb_row_path(batch, row);
    entry->generation = batch->generation;
    batch->at++;
}

/* Compares whole paths of both streams: within one directory that is the order of names too. */
static enum sb_code next_in_order(struct sb_cursor *cursor, struct sb_entry *entry)
{
    struct sb_row *heads[2];
    int i;

    for (;;) {
        TRY(refill(cursor));
        for (i = 0; i < 2; i++)
            heads[i] = head_of(cursor, i);
        if (!heads[0] && !heads[1])
            return SB_END;
        i = !heads[0] ||
            (heads[1] && sb_compare_bytes(sb_row_path(&cursor->streams[1].batch, heads[1]),
                                          heads[1]->entry.path_size,
                                          sb_row_path(&cursor->streams[0].batch, heads[0]),
                                          heads[0]->entry.path_size) <= 0);
        deliver(&cursor->streams[i].batch, heads[i], entry);
        if (!cursor->shallow || entry->type != SB_DIR)
            return SB_OK;
        /* An implied directory that was just delivered with its row is a duplicate. */
        if (heads[i]->implied && cursor->any_dir &&
            sb_compare_bytes(entry->path, entry->path_size, cursor->last_dir.data,
                             cursor->last_dir.size) == 0)
            continue;
        cursor->any_dir = true;
        return sb_buf_set(&cursor->last_dir, entry->path, entry->path_size);
    }
}

static bool has_address(sqlite3_stmt *row)
{
    return sqlite3_column_type(row, 1) == SQLITE_INTEGER &&
           sqlite3_column_type(row, 2) == SQLITE_INTEGER;
}

static bool is_enough(const struct sb_cursor *cursor)
{
    return sb_rows_is_full(&cursor->batch) || cursor->scanned >= SCAN_MOST;
}

static enum sb_code add_row(struct sb_cursor *cursor, sqlite3_stmt *row, bool is_dir)
{
    struct sb_entry entry;

    sb_row_entry(row, is_dir, &entry);
    return sb_rows_add(&cursor->batch, &entry, false);
}

/*
 * Called while a row, or the end, is current: rows read so far may be of another state of the
 * index. Then the cursor must know which files it has delivered.
 */
static enum sb_code see_state(struct sb_cursor *cursor)
{
    struct sb_archive *archive = cursor->archive;

    TRY(sb_archive_notice(archive));
    if (cursor->order != SB_BY_ADDRESS)
        return SB_OK;
    if (!cursor->begun)
        cursor->generation = archive->generation;
    cursor->begun = true;
    cursor->moved |= cursor->generation != archive->generation;
    if (!cursor->moved || (!cursor->steady && !cursor->given.partial))
        return SB_OK;
    return sb_fail(SB_CHANGED, "%s: was changed by another process while it was read; run again",
                   sb_archive_path(archive));
}

/* Adds a row with an address, unless it was delivered already. */
static enum sb_code add_once(struct sb_cursor *cursor, sqlite3_stmt *row)
{
    int64_t number = sqlite3_column_int64(row, SB_ROW_NUMBER);

    TRY(see_state(cursor));
    if (cursor->ranged)
        return add_row(cursor, row, false);
    if (cursor->moved && sb_rowset_has(&cursor->given, number))
        return SB_OK;
    TRY(sb_rowset_add(&cursor->given, number));
    return add_row(cursor, row, false);
}

static enum sb_code add_moved(struct sb_cursor *cursor, sqlite3_stmt *row)
{
    int64_t shard = sqlite3_column_int64(row, 1);

    if (!has_address(row)) {
        cursor->odd_seen = true;
        return SB_OK;
    }
    if (!cursor->all_shards && (shard < cursor->shard_first || shard > cursor->shard_last))
        return SB_OK;
    return add_once(cursor, row);
}

/* Rows in order of row number; skips those that the ordered scan did not exclude. */
static enum sb_code fill_by_row(struct sb_cursor *cursor, enum sb_statement which, bool is_dir)
{
    sqlite3_stmt *statement;
    enum sb_code code = SB_OK;
    int rc = SQLITE_DONE;

    TRY(sb_archive_statement(cursor->archive, which, &statement));
    sqlite3_bind_int64(statement, 1, cursor->row);
    while (!code && !is_enough(cursor) && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        if (sqlite3_column_int64(statement, SB_ROW_NUMBER) <= cursor->row) {
            code =
                sb_fail(SB_DAMAGED, "%s: its rows are not in order", cursor->archive->index_path);
            break;
        }
        cursor->row = sqlite3_column_int64(statement, SB_ROW_NUMBER);
        cursor->scanned++;
        code = which == SB_ADDRESS_ROWS ? add_moved(cursor, statement)
                                        : add_row(cursor, statement, is_dir);
    }
    if (!code && rc != SQLITE_ROW && rc != SQLITE_DONE)
        code = sb_database_fail(cursor->archive->db);
    sqlite3_reset(statement);
    return code;
}

/* A single boolean from a statement without parameters. */
static enum sb_code read_flag(struct sb_cursor *cursor, enum sb_statement which, bool *out)
{
    sqlite3_stmt *statement;
    enum sb_code code = SB_OK;

    TRY(sb_archive_statement(cursor->archive, which, &statement));
    *out = sb_database_row(statement, &code) && sqlite3_column_int(statement, 0);
    sqlite3_reset(statement);
    return code;
}

/* The phase after this one. A phase without rows is recognised by reading both ends of an index. */
static enum sb_code next_phase(struct sb_cursor *cursor)
{
    bool plain = true;

    cursor->row = INT64_MIN;
    while (plain && cursor->phase != AT_END) {
        cursor->phase++;
        plain = cursor->phase != AT_END;
        if (cursor->phase == MOVED_FILES)
            plain = !cursor->moved || cursor->sorted || cursor->ranged;
        else if (!cursor->everything || cursor->phase == AT_END)
            continue;
        else if (cursor->order == SB_BY_ADDRESS) {
            plain = cursor->phase != ODD_FILES || !cursor->odd_seen;
        } else if (cursor->phase == ODD_FILES) {
            if (cursor->files)
                TRY(read_flag(cursor, SB_FILE_ENDS, &plain));
        } else if (cursor->dirs) {
            TRY(read_flag(cursor, SB_DIR_ENDS, &plain));
        }
    }
    return SB_OK;
}

/* Fetches the next batch in one read transaction; an empty batch at the end. */
static enum sb_code fill_batch(struct sb_cursor *cursor, enum sb_code (*fill)(struct sb_cursor *))
{
    enum sb_code code = SB_OK;

    do {
        sb_rows_begin(&cursor->batch);
        cursor->scanned = 0;
        TRY(sb_archive_begin(cursor->archive));
        code = fill(cursor);
        if (!code)
            code = see_state(cursor);
        code = sb_archive_end(cursor->archive, code);
        cursor->batch.generation = cursor->archive->generation;
    } while (!code && cursor->batch.count == 0 && is_enough(cursor));
    return code;
}

static enum sb_code next_of_batch(struct sb_cursor *cursor, struct sb_entry *entry,
                                  enum sb_code (*fill)(struct sb_cursor *))
{
    if (cursor->batch.at == cursor->batch.count)
        TRY(fill_batch(cursor, fill));
    if (cursor->batch.at == cursor->batch.count)
        return SB_END;
    deliver(&cursor->batch, &cursor->batch.rows[cursor->batch.at], entry);
    return SB_OK;
}

static enum sb_code fill_odd(struct sb_cursor *cursor)
{
    bool is_dir = cursor->phase == ODD_DIRS;
    enum sb_statement which = is_dir ? SB_DIR_ODD : SB_FILE_ODD;

    if (cursor->order == SB_BY_ADDRESS)
        which = cursor->phase == MOVED_FILES ? SB_ADDRESS_ROWS : SB_ADDRESS_ODD;
    return fill_by_row(cursor, which, is_dir);
}

static int compare_keys(const struct address_key *a, const struct address_key *b)
{
    if (a->shard != b->shard)
        return COMPARE(a->shard, b->shard);
    if (a->offset != b->offset)
        return COMPARE(a->offset, b->offset);
    return COMPARE(a->row, b->row);
}

static bool is_past(const struct sb_cursor *cursor, const struct address_key *key)
{
    return key->shard > cursor->shard_last || (cursor->ranged && key->offset >= cursor->offset_end);
}

/* *past is set after the last address in range. */
static enum sb_code take_address(struct sb_cursor *cursor, sqlite3_stmt *row, bool *past)
{
    struct address_key key = {
        .shard = sqlite3_column_int64(row, 1),
        .offset = sqlite3_column_int64(row, 2),
        .row = sqlite3_column_int64(row, SB_ROW_NUMBER),
    };

    if (!has_address(row)) {
        cursor->odd_seen = true;
        return SB_OK;
    }
    if (!cursor->all_shards && is_past(cursor, &key)) {
        *past = true;
        return SB_OK;
    }
    if (compare_keys(&key, &cursor->key) <= 0)
        return sb_fail(SB_DAMAGED, "%s: index '%s' is damaged, it is not in order",
                       cursor->archive->index_path, cursor->archive->layout.files_by_address.data);
    cursor->key = key;
    cursor->scanned++;
    return add_once(cursor, row);
}

/* Rows at the key's address with a greater row number, or rows at greater addresses. */
static enum sb_code scan_addresses(struct sb_cursor *cursor, enum sb_statement which, bool *ended)
{
    sqlite3_stmt *statement;
    enum sb_code code = SB_OK;
    int rc = SQLITE_DONE;
    bool past = false;

    TRY(sb_archive_statement(cursor->archive, which, &statement));
    SB_BIND(statement, cursor->key.shard, cursor->key.offset);
    if (which == SB_ADDRESS_SAME || which == SB_EXTENT_SAME)
        sqlite3_bind_int64(statement, 3, cursor->key.row);
    while (!code && !past && !is_enough(cursor) && (rc = sqlite3_step(statement)) == SQLITE_ROW)
        code = take_address(cursor, statement, &past);
    if (!code && rc != SQLITE_ROW && rc != SQLITE_DONE)
        code = sb_database_fail(cursor->archive->db);
    *ended = past || rc == SQLITE_DONE;
    sqlite3_reset(statement);
    return code;
}

static enum sb_code fill_by_address(struct sb_cursor *cursor)
{
    bool ended = false, first_known = true;

    if (cursor->sorted)
        return fill_by_row(cursor, SB_ADDRESS_SORTED, false);
    /* NULL sorts before every number, so the scan begins after it. */
    if (cursor->all_shards && cursor->key.shard == INT64_MIN) {
        TRY(read_flag(cursor, SB_ADDRESS_ENDS, &first_known));
        cursor->odd_seen = !first_known;
    }
    TRY(scan_addresses(cursor, cursor->extents ? SB_EXTENT_SAME : SB_ADDRESS_SAME, &ended));
    if (!ended)
        return SB_OK;
    return scan_addresses(cursor, cursor->extents ? SB_EXTENT_GREATER : SB_ADDRESS_GREATER, &ended);
}

static enum sb_code next_by_address(struct sb_cursor *cursor, struct sb_entry *entry)
{
    enum sb_code code;

    do {
        code = next_of_batch(cursor, entry, fill_by_address);
        /* The table that replaces the index is not limited by shard. */
    } while (!code && cursor->sorted && !cursor->all_shards &&
             (entry->shard < cursor->shard_first || entry->shard > cursor->shard_last));
    return code;
}

enum sb_code sb_cursor_next(struct sb_cursor *cursor, struct sb_entry *entry)
{
    enum sb_code code = SB_END;

    TRY(sb_heed_interrupt());
    while (cursor->phase != AT_END) {
        if (cursor->phase != IN_ORDER)
            code = next_of_batch(cursor, entry, fill_odd);
        else if (cursor->order == SB_BY_ADDRESS)
            code = next_by_address(cursor, entry);
        else
            code = next_in_order(cursor, entry);
        if (code != SB_END)
            return code;
        TRY(next_phase(cursor));
        code = SB_END;
    }
    return code;
}

enum sb_code sb_archive_has_below(struct sb_archive *archive, const char *dir, bool *found)
{
    const struct sb_query below = {
        .order = SB_BY_PATH, .files = true, .dirs = true, .under = dir, .columns = SB_NAMES};
    CLEANUP(sb_cursor_freep) struct sb_cursor *cursor = NULL;
    struct sb_entry entry;
    enum sb_code code;

    *found = false;
    TRY(sb_cursor_open(&cursor, archive, &below));
    code = sb_cursor_next(cursor, &entry);
    *found = code == SB_OK;
    return code == SB_END ? SB_OK : code;
}
