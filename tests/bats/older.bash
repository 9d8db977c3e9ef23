# Archives of older schemas, each made from a.barecat of schema 0.3 by the SQL that is shown. The
# index is then a.barecat-sqlite-index, as the programs of that time named it.

# Schema 0.2: paths are primary keys, and the triggers count the files of a subdirectory that goes
# or moves as the parent's own.
make_schema_02() {
    sqlite3 -batch -bail a.barecat-sqlite-index <<'SQL'
CREATE TABLE files (
    path TEXT PRIMARY KEY NOT NULL,
    parent TEXT GENERATED ALWAYS AS (rtrim(rtrim(path, replace(path, '/', '')), '/')) VIRTUAL
        NOT NULL REFERENCES dirs (path) ON DELETE RESTRICT,
    shard INTEGER NOT NULL, offset INTEGER NOT NULL, size INTEGER DEFAULT 0,
    crc32c INTEGER DEFAULT NULL, mode INTEGER DEFAULT NULL, uid INTEGER DEFAULT NULL,
    gid INTEGER DEFAULT NULL, mtime_ns INTEGER DEFAULT NULL);
CREATE TABLE dirs (
    path TEXT PRIMARY KEY,
    parent TEXT GENERATED ALWAYS AS (CASE WHEN path = '' THEN NULL
        ELSE rtrim(rtrim(path, replace(path, '/', '')), '/') END) VIRTUAL
        REFERENCES dirs (path) ON DELETE RESTRICT,
    num_subdirs INTEGER DEFAULT 0, num_files INTEGER DEFAULT 0,
    num_files_tree INTEGER DEFAULT 0, size_tree INTEGER DEFAULT 0,
    mode INTEGER DEFAULT NULL, uid INTEGER DEFAULT NULL, gid INTEGER DEFAULT NULL,
    mtime_ns INTEGER DEFAULT NULL);
CREATE TABLE config (key TEXT PRIMARY KEY, value_text TEXT DEFAULT NULL,
    value_int INTEGER DEFAULT NULL) WITHOUT ROWID;
ATTACH 'a.barecat' AS new;
INSERT INTO files (path, shard, offset, size, crc32c, mode, uid, gid, mtime_ns)
    SELECT path, shard, offset, size, crc32c, mode, uid, gid, mtime_ns FROM new.files;
INSERT INTO dirs (path, num_subdirs, num_files, num_files_tree, size_tree, mode, uid, gid, mtime_ns)
    SELECT path, num_subdirs, num_files, num_files_tree, size_tree, mode, uid, gid, mtime_ns
    FROM new.dirs;
INSERT INTO config (key, value_int) VALUES ('schema_version_major', 0), ('schema_version_minor', 2),
    ('shard_size_limit', 123456789), ('use_triggers', 1);
DETACH new;
CREATE INDEX idx_files_parent ON files (parent);
CREATE INDEX idx_dirs_parent ON dirs (parent);
CREATE INDEX idx_files_shard_offset ON files (shard, offset);
CREATE TRIGGER del_subdir AFTER DELETE ON dirs
    WHEN (SELECT value_int FROM config WHERE key = 'use_triggers') = 1
BEGIN
    UPDATE dirs SET num_subdirs = num_subdirs - 1, num_files = num_files - OLD.num_files,
        size_tree = size_tree - OLD.size_tree,
        num_files_tree = num_files_tree - OLD.num_files_tree,
        mtime_ns = CAST((julianday('now') - 2440587.5) * 86400.0 * 1e9 AS INTEGER)
    WHERE path = OLD.parent;
END;
SQL
    rm a.barecat
}

# The layout from before versions: no checksums, no metadata, no configuration.
make_unversioned() {
    sqlite3 -batch -bail a.barecat-sqlite-index <<'SQL'
CREATE TABLE files (path TEXT PRIMARY KEY, parent TEXT, shard INTEGER, offset INTEGER, size INTEGER);
CREATE TABLE directories (path TEXT PRIMARY KEY, parent TEXT, total_size INTEGER,
    total_file_count INTEGER);
ATTACH 'a.barecat' AS new;
INSERT INTO files SELECT path, parent, shard, offset, size FROM new.files;
INSERT INTO directories SELECT path, parent, size_tree, num_files_tree FROM new.dirs;
SQL
    rm a.barecat
}
