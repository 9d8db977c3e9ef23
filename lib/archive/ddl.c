#include "archive/schema.h"

#include "archive/database.h"

#include <sqlite3.h>
#include <stdbool.h>
#include <string.h>

/*
 * The part of a path before its last '/': trims from the right all that is not '/', then the '/'.
 */
#define PARENT "rtrim(rtrim(path, replace(path, '/', '')), '/')"

#define METADATA                                                                                   \
    "mode INTEGER DEFAULT NULL, uid INTEGER DEFAULT NULL,"                                         \
    " gid INTEGER DEFAULT NULL, mtime_ns INTEGER DEFAULT NULL"

const char sb_ddl_tables[] =
    "CREATE TABLE dirs (path TEXT NOT NULL,"
    " parent TEXT GENERATED ALWAYS AS (CASE WHEN path = '' THEN NULL ELSE " PARENT " END) VIRTUAL"
    " REFERENCES dirs (path) ON DELETE RESTRICT,"
    " num_subdirs INTEGER DEFAULT 0, num_files INTEGER DEFAULT 0,"
    " num_files_tree INTEGER DEFAULT 0, size_tree INTEGER DEFAULT 0, " METADATA ");"

    "CREATE TABLE files (path TEXT NOT NULL,"
    " parent TEXT GENERATED ALWAYS AS (" PARENT ") VIRTUAL NOT NULL"
    " REFERENCES dirs (path) ON DELETE RESTRICT,"
    " shard INTEGER NOT NULL, offset INTEGER NOT NULL, size INTEGER DEFAULT 0,"
    " crc32c INTEGER DEFAULT NULL, " METADATA ");"

    "CREATE TABLE config (key TEXT PRIMARY KEY, value_text TEXT DEFAULT NULL,"
    " value_int INTEGER DEFAULT NULL) WITHOUT ROWID;"

    "INSERT INTO config (key, value_int) VALUES ('use_triggers', 1),"
    " ('shard_size_limit', 9223372036854775807),"
    " ('schema_version_major', 0), ('schema_version_minor', 3);";

const struct sb_ddl_object sb_ddl_indexes[] = {
    {"idx_files_path", "CREATE UNIQUE INDEX idx_files_path ON files (path)"},
    {"idx_dirs_path", "CREATE UNIQUE INDEX idx_dirs_path ON dirs (path)"},
    {"idx_files_parent", "CREATE INDEX idx_files_parent ON files (parent)"},
    {"idx_dirs_parent", "CREATE INDEX idx_dirs_parent ON dirs (parent)"},
    {"idx_files_shard_offset", "CREATE INDEX idx_files_shard_offset ON files (shard, offset)"},
    {0},
};

#define ENABLED "(SELECT value_int FROM config WHERE key = 'use_triggers') = 1"
#define NOW     "CAST((julianday('now') - 2440587.5) * 86400.0 * 1e9 AS INTEGER)"

/* Adds to the counts of one directory, and touches it. */
#define COUNT_FILE(sign, row, directory)                                                           \
    " UPDATE dirs SET num_files = num_files " sign " 1,"                                           \
    " num_files_tree = num_files_tree " sign " 1, size_tree = size_tree " sign " " row ".size,"    \
    " mtime_ns = " NOW " WHERE path = " directory ";"
#define COUNT_DIR(sign, row, directory)                                                            \
    " UPDATE dirs SET num_subdirs = num_subdirs " sign " 1,"                                       \
    " num_files_tree = num_files_tree " sign " " row ".num_files_tree,"                            \
    " size_tree = size_tree " sign " " row ".size_tree,"                                           \
    " mtime_ns = " NOW " WHERE path = " directory ";"

const struct sb_ddl_object sb_ddl_triggers[] = {
    {"add_file", "CREATE TRIGGER add_file AFTER INSERT ON files WHEN " ENABLED " BEGIN"
                 " INSERT INTO dirs (path, num_files, num_files_tree, size_tree, mtime_ns)"
                 " VALUES (NEW.parent, 1, 1, NEW.size, " NOW ")"
                 " ON CONFLICT (path) DO UPDATE SET num_files = num_files + 1,"
                 " num_files_tree = num_files_tree + 1, size_tree = size_tree + excluded.size_tree,"
                 " mtime_ns = excluded.mtime_ns; END"},
    {"del_file", "CREATE TRIGGER del_file AFTER DELETE ON files WHEN " ENABLED
                 " BEGIN" COUNT_FILE("-", "OLD", "OLD.parent") " END"},
    {"move_file", "CREATE TRIGGER move_file AFTER UPDATE OF path ON files"
                  " WHEN NEW.parent != OLD.parent AND " ENABLED " BEGIN" COUNT_FILE(
                      "+", "NEW", "NEW.parent") COUNT_FILE("-", "OLD", "OLD.parent") " END"},
    {"resize_file",
     "CREATE TRIGGER resize_file AFTER UPDATE OF size ON files"
     " WHEN NEW.parent = OLD.parent AND " ENABLED " BEGIN"
     " UPDATE dirs SET size_tree = size_tree + NEW.size - OLD.size WHERE path = OLD.parent; END"},
    {"add_subdir",
     "CREATE TRIGGER add_subdir AFTER INSERT ON dirs WHEN " ENABLED " BEGIN"
     " INSERT INTO dirs (path, num_subdirs, num_files_tree, size_tree, mtime_ns)"
     " VALUES (NEW.parent, 1, NEW.num_files_tree, NEW.size_tree, " NOW ")"
     " ON CONFLICT (path) DO UPDATE SET num_subdirs = num_subdirs + 1,"
     " num_files_tree = num_files_tree + excluded.num_files_tree,"
     " size_tree = size_tree + excluded.size_tree, mtime_ns = excluded.mtime_ns; END"},
    {"del_subdir", "CREATE TRIGGER del_subdir AFTER DELETE ON dirs WHEN " ENABLED
                   " BEGIN" COUNT_DIR("-", "OLD", "OLD.parent") " END"},
    {"move_subdir", "CREATE TRIGGER move_subdir AFTER UPDATE OF path ON dirs"
                    " WHEN NEW.parent != OLD.parent AND " ENABLED " BEGIN" COUNT_DIR(
                        "-", "OLD", "OLD.parent") COUNT_DIR("+", "NEW", "NEW.parent") " END"},
    {"resize_dir",
     "CREATE TRIGGER resize_dir AFTER UPDATE OF size_tree, num_files_tree ON dirs"
     " WHEN NEW.parent = OLD.parent"
     " AND (NEW.size_tree != OLD.size_tree OR NEW.num_files_tree != OLD.num_files_tree)"
     " AND " ENABLED " BEGIN"
     " UPDATE dirs SET size_tree = size_tree + NEW.size_tree - OLD.size_tree,"
     " num_files_tree = num_files_tree + NEW.num_files_tree - OLD.num_files_tree"
     " WHERE path = OLD.parent; END"},
    {"prevent_file_as_dir",
     "CREATE TRIGGER prevent_file_as_dir BEFORE INSERT ON files WHEN " ENABLED " BEGIN"
     " SELECT RAISE(ABORT, 'Path already exists as directory')"
     " WHERE EXISTS (SELECT 1 FROM dirs WHERE path = NEW.path); END"},
    {"prevent_dir_as_file",
     "CREATE TRIGGER prevent_dir_as_file BEFORE INSERT ON dirs WHEN " ENABLED " BEGIN"
     " SELECT RAISE(ABORT, 'Path already exists as file')"
     " WHERE EXISTS (SELECT 1 FROM files WHERE path = NEW.path); END"},
    {0},
};

/*
 * Size of one character as SQLite steps over it: a byte from 0xC0 up includes the continuation
 * bytes.
 */
static size_t character_size(const unsigned char *text)
{
    size_t size = 1;

    if (text[0] < 0xC0)
        return 1;
    while ((text[size] & 0xC0) == 0x80)
        size++;
    return size;
}

/*
 * The bytes of a text as they are in the row: sqlite3_value_text would copy them to add a NUL.
 * Other values are converted, as the built-in functions do. NULL for NULL.
 */
static const unsigned char *text_of(sqlite3_value *value, size_t *size)
{
    const unsigned char *text = sqlite3_value_type(value) == SQLITE_TEXT
                                    ? sqlite3_value_blob(value)
                                    : sqlite3_value_text(value);

    *size = (size_t)sqlite3_value_bytes(value);
    if (!text && *size == 0 && sqlite3_value_type(value) == SQLITE_TEXT)
        return (const unsigned char *)"";
    return text;
}
/* Does text[0..size) end with one of the characters of the NUL-terminated set? Its size, or 0. */
static size_t last_in_set(const unsigned char *text, size_t size, const unsigned char *set)
{
    size_t step;

    for (; *set; set += step) {
        step = character_size(set);
        if (step <= size && memcmp(text + size - step, set, step) == 0)
            return step;
    }
    return 0;
}

/* False if the set has bytes beyond ASCII: then characters, not bytes, are trimmed. */
static bool ascii_set(const unsigned char *set, size_t size, bool in_set[256])
{
    memset(in_set, 0, 256 * sizeof(bool));
    for (size_t i = 0; i < size && set[i]; i++) {
        if (set[i] >= 0x80)
            return false;
        in_set[set[i]] = true;
    }
    return true;
}

static void fast_rtrim(sqlite3_context *context, int count, sqlite3_value **values)
{
    const unsigned char *text, *set;
    bool in_set[256];
    size_t size, set_size, step;

    (void)count;
    text = text_of(values[0], &size);
    set = text_of(values[1], &set_size);
    if (!text || !set)
        return;
    if (ascii_set(set, set_size, in_set)) {
        while (size && in_set[text[size - 1]])
            size--;
    } else {
        set = sqlite3_value_text(values[1]);
        while (size && (step = last_in_set(text, size, set)))
            size -= step;
    }
    sqlite3_result_text(context, (const char *)text, (int)size, SQLITE_TRANSIENT);
}

/* Only replace(X, one byte, '') is made fast: the form that the schema has. */
static void fast_replace(sqlite3_context *context, int count, sqlite3_value **values)
{
    const unsigned char *text, *pattern;
    char on_stack[512], *result = on_stack;
    size_t size, pattern_size, kept = 0;

    (void)count;
    text = text_of(values[0], &size);
    pattern = text_of(values[1], &pattern_size);
    if (!text || !pattern || sqlite3_value_type(values[2]) == SQLITE_NULL)
        return;
    if (pattern_size != 1 || sqlite3_value_bytes(values[2]) != 0) {
        sqlite3_result_error(context, "replace() here takes one character and the empty text", -1);
        return;
    }
    if (size > sizeof(on_stack))
        result = sqlite3_malloc64(size);
    if (!result) {
        sqlite3_result_error_nomem(context);
        return;
    }
    for (size_t i = 0; i < size; i++) {
        result[kept] = (char)text[i];
        kept += text[i] != pattern[0];
    }
    sqlite3_result_text(context, result, (int)kept,
                        result == on_stack ? SQLITE_TRANSIENT : sqlite3_free);
}

enum sb_code sb_register_parent_functions(struct sqlite3 *db)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;

    if (sqlite3_create_function_v2(db, "rtrim", 2, flags, NULL, fast_rtrim, NULL, NULL, NULL) ||
        sqlite3_create_function_v2(db, "replace", 3, flags, NULL, fast_replace, NULL, NULL, NULL))
        return sb_database_fail(db);
    return SB_OK;
}
