/*
 * Shared by the files that read an archive: the open archive, its statements, rows in batches. Only
 * for lib/archive.
 */
#ifndef SB_ARCHIVE_READER_H
#define SB_ARCHIVE_READER_H

#include "archive/archive.h"
#include "archive/schema.h"
#include "core/buf.h"

#include <sqlite3.h>
#include <sys/stat.h>

/*
 * Statements are prepared on first use, kept, and reset after every use, so that all cursors of an
 * archive share them. Every one that returns rows has the columns of sb_row_entry.
 */
enum sb_statement {
    SB_BEGIN,
    SB_COMMIT,
    SB_FILE_ONE, /* ?1 path; from here to SB_DIR_ODD, of files and of directories in turn */
    SB_DIR_ONE,
    SB_FILE_ROW,   /* ?1 row number */
    SB_DIR_ROW,    /* ?1 row number */
    SB_FILE_RANGE, /* ?1 <= path < ?2, in order; as the next five */
    SB_DIR_RANGE,
    SB_FILE_MODES, /* only paths and modes */
    SB_DIR_MODES,
    SB_FILE_NAMES, /* only paths */
    SB_DIR_NAMES,
    SB_FILE_ENDS, /* one integer: are the first and the last path text? As the next */
    SB_DIR_ENDS,
    SB_FILE_ODD, /* path is not text, row number > ?1, in order of row number; as the next */
    SB_DIR_ODD,
    SB_ADDRESS_SAME,    /* shard ?1, offset ?2, row number > ?3 */
    SB_ADDRESS_GREATER, /* (shard, offset) > (?1, ?2) */
    SB_EXTENT_SAME,     /* the same without mode, owner and time; as the next */
    SB_EXTENT_GREATER,
    SB_ADDRESS_ENDS,   /* one integer: is the first shard number not NULL? */
    SB_ADDRESS_ODD,    /* shard or offset is not an integer, row number > ?1 */
    SB_ADDRESS_ROWS,   /* every file, row number > ?1, in order of row number */
    SB_ADDRESS_SORTED, /* from the temporary table that replaces a missing index, > ?1 */
    SB_FILE_BESIDE,    /* is there a file of the same directory, as row ?1 has it, from it on? */
    SB_STATEMENT_COUNT,
};

struct sb_archive {
    char *path;
    char *index_path;
    sqlite3 *db;
    struct sb_layout layout;
    struct stat opened;       /* the index file, when it was opened */
    sqlite3_file *file;       /* SQLite's, for its header; NULL: an adopted archive */
    bool is_twin;             /* file and bytes are another archive's */
    struct sb_archive *whole; /* the archive that the rows are from, as of this generation */
    uint32_t generation;      /* of the index when it was last read */
    struct sb_places *places; /* NULL: an adopted archive */
    int64_t remade;           /* sb_archive_remade */
    struct sb_bytes *bytes;   /* of an adopted archive; NULL: shard files */
    bool sorted_made;         /* the temporary table of SB_ADDRESS_SORTED */
    bool unlocked;            /* read without locks */
    uint32_t begun_at;        /* if so, the generation when the transaction began */
    int transactions;
    bool kept;    /* that of the opening has not ended: the next one takes it over */
    bool noticed; /* sb_archive_notice was called in this transaction */
    sqlite3_stmt *statements[SB_STATEMENT_COUNT];
    struct sb_buf found; /* the path of the last look-up */
};

/*
 * shards.c: the file names of an archive's shards, by the latest known config: shared by an
 * archive, its twins and its struct sb_shards, since it may change while they are in use.
 * Thread-safe.
 */
struct sb_places;
enum sb_code sb_places_new(struct sb_places **out) SB_CHECKED;
struct sb_places *sb_places_ref(struct sb_places *places);
void sb_places_unref(struct sb_places *places); /* NULL is allowed */

/*
 * What the index says at this generation: suffix is that of sb_pending_suffix, NULL without its
 * row. Ignored if a later generation is known already.
 */
void sb_places_set(struct sb_places *places, uint32_t generation, const char *suffix);

enum sb_code sb_archive_statement(struct sb_archive *archive, enum sb_statement which,
                                  sqlite3_stmt **out) SB_CHECKED;

/*
 * Called in a read transaction after a first read: sets archive->generation to that of the rows
 * that it sees and, if it has changed, updates the names of the shards.
 */
enum sb_code sb_archive_notice(struct sb_archive *archive) SB_CHECKED;

/* Column of the row number in statements that are ordered by it, or by address. */
#define SB_ROW_NUMBER 9

/*
 * The current row of the statement; entry->path is SQLite's and lives until the next step. All of
 * it but the path is checked and set; the caller checks that the path is a proper name.
 */
void sb_row_entry(sqlite3_stmt *row, bool is_dir, struct sb_entry *entry);

/* The same for the statements that return names, or names and modes. */
void sb_row_name(sqlite3_stmt *row, bool is_dir, bool with_mode, struct sb_entry *entry);

/* archive.c: the first row below `name`, of one table; entry NULL: is there one? SB_NOENT. */
enum sb_code sb_first_row_below(struct sb_archive *archive, bool dir, const char *name, size_t size,
                                struct sb_entry *entry) SB_CHECKED;

/*
 * Binds ?1 and ?2; an empty `high` means no upper end. The bytes must live until the reset. Returns
 * SQLite's code.
 */
int sb_bind_range(sqlite3_stmt *statement, const struct sb_buf *low, const struct sb_buf *high);

/* Rows fetched at once, with their paths. {0} is an empty batch. */
struct sb_row {
    struct sb_entry entry; /* path is set on delivery: the text may move */
    size_t text;           /* position of its path */
    bool implied;          /* no row: a directory that is known from what is below it */
};

struct sb_rows {
    struct sb_row *rows;
    size_t count, capacity;
    size_t at;           /* the next to deliver */
    size_t limit;        /* rows to fetch; grows from batch to batch */
    uint32_t generation; /* of the index that they were fetched from */
    struct sb_buf text;
};

void sb_rows_release(struct sb_rows *batch);

/* Empties it, and raises its limit. */
void sb_rows_begin(struct sb_rows *batch);
bool sb_rows_is_full(const struct sb_rows *batch);
enum sb_code sb_rows_add(struct sb_rows *batch, const struct sb_entry *entry,
                         bool implied) SB_CHECKED;

/* The path of a row whose entry.path is not set yet. */
static inline const char *sb_row_path(const struct sb_rows *batch, const struct sb_row *row)
{
    return batch->text.data + row->text;
}

/* One table, files or dirs, in order of path, fetched by key. */
struct sb_stream {
    struct sb_archive *archive;
    bool is_dir;
    enum sb_columns columns;
    bool done;
    struct sb_buf low;  /* the smallest path not fetched yet, ... */
    bool lags;          /* ... but for the last row of the batch, and what is before that */
    struct sb_buf high; /* the first path after the range; empty: no end */
    struct sb_rows batch;

    /* For the children of one directory */
    struct sb_buf prefix;   /* its path and '/'; empty for the root */
    bool rows_wanted;       /* else only directories without a row, implied by what is below them */
    bool implied_wanted;    /* also implied directories */
    struct sb_buf position; /* the last name that the scan has reached */
    struct sb_buf delivered; /* the greatest name of earlier batches */
    bool any_delivered;
};

void sb_stream_release(struct sb_stream *stream);

/*
 * The next batch, in order of path. SB_DAMAGED if the index is not in order, which could make a
 * scan loop forever.
 */
enum sb_code sb_stream_fill(struct sb_stream *stream) SB_CHECKED;

/* The next batch of children, in order of name; it may be empty before the end. */
enum sb_code sb_stream_fill_children(struct sb_stream *stream) SB_CHECKED;

#endif
