#include "archive/ddl.h"

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
