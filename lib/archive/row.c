/*
 * Rows of an index as entries: every type and range is checked here, once.
 */
#include "archive/reader.h"
#include "archive/shards.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
    if (sb_buf_add(&batch->text, entry->path, entry->path_size) ||
        sb_buf_add_char(&batch->text, '\0'))
        return sb_fail_memory();
    batch->count++;
    return SB_OK;
}
