#!/usr/bin/env bats
# An index that is not what it says: every command refuses it before a query of ours runs.

load helper
load hostile

@test "a view called files" {
    make_good
    alter "ALTER TABLE files RENAME TO real; CREATE VIEW files AS SELECT * FROM real"
    all_refuse a.barecat
    stderr_has a.barecat
}

@test "messages have the name that was typed" {
    make_good
    alter "CREATE TABLE extra (x)"
    ln -s . here
    for name in a.barecat ./a.barecat here/a.barecat; do
        for command in cat ls verify; do
            run_fail 2 sb "$command" "$name"
            stderr_is "shardbox $command: $name: not a trustworthy archive: table 'extra' does not belong there"
        done
    done
}

@test "a view beside the tables" {
    make_good
    alter "CREATE VIEW extra AS SELECT * FROM files"
    all_refuse a.barecat
}

@test "a virtual table called dirs" {
    make_good
    rebuild dirs 'path' path
    alter "DROP TABLE dirs; CREATE VIRTUAL TABLE dirs USING fts5(path, parent, num_subdirs,
        num_files, num_files_tree, size_tree, mode, uid, gid, mtime_ns)"
    all_refuse a.barecat
}

@test "a virtual table beside the tables" {
    make_good
    alter "CREATE VIRTUAL TABLE extra USING fts5(path)"
    all_refuse a.barecat
}

@test "a trigger that does not belong there" {
    make_good
    alter "CREATE TRIGGER extra AFTER INSERT ON files BEGIN DELETE FROM files; END"
    all_refuse a.barecat
}

@test "a trigger that never ends, under a known name" {
    make_good
    alter "DROP TRIGGER add_file;
        CREATE TRIGGER add_file AFTER INSERT ON files BEGIN
            INSERT INTO config (key) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)
                SELECT 'x' || i FROM n;
        END"
    all_refuse a.barecat
}

@test "another body under the name of a trigger: never written to" {
    make_good
    alter "DROP TRIGGER add_file;
        CREATE TRIGGER add_file AFTER INSERT ON files BEGIN DELETE FROM config; END"
    cp a.barecat before
    each 2 a.barecat "${WRITERS[@]}"
    cmp a.barecat before
}

@test "a column is missing" {
    make_good
    for column in shard offset size crc32c mode uid gid mtime_ns; do
        columns=$(echo path parent shard offset size crc32c mode uid gid mtime_ns |
            sed "s/ *$column//; s/ /, /g")
        cp a.barecat whole
        rebuild files "$columns" "$columns"
        all_refuse a.barecat
        mv whole a.barecat
    done
}

@test "no table files" {
    make_good
    alter "DROP TABLE files"
    all_refuse a.barecat
}

@test "a size that is computed, at any cost" {
    make_good
    alter "UPDATE sqlite_schema SET sql = replace(sql, 'size INTEGER DEFAULT 0',
        'size INTEGER GENERATED ALWAYS AS (length(hex(zeroblob(400000000))))') WHERE name = 'files'"
    all_refuse a.barecat
}

@test "an index over an expression, or over a part of the rows" {
    make_good
    cp a.barecat whole
    alter "CREATE INDEX extra ON files (hex(zeroblob(size)))"
    all_refuse a.barecat
    mv whole a.barecat
    alter "CREATE INDEX extra ON files (mtime_ns) WHERE length(path) > 3"
    all_refuse a.barecat
}

@test "a plain index of a user's own is no harm" {
    make_good
    sql a.barecat "CREATE INDEX by_time ON files (mtime_ns); ANALYZE"
    each 0 a.barecat "${READERS[@]}" "${WRITERS[@]}"
    [[ $(sql a.barecat "SELECT count(*) FROM sqlite_schema WHERE name = 'by_time'") == 1 ]]
}

@test "a parent that is stored instead of computed, in a circle" {
    make_good
    rebuild dirs "path TEXT, parent TEXT, num_subdirs INTEGER, num_files INTEGER,
        num_files_tree INTEGER, size_tree INTEGER, mode INTEGER, uid INTEGER, gid INTEGER,
        mtime_ns INTEGER" \
        "path, CASE path WHEN '' THEN 'dir' ELSE '' END, num_subdirs, num_files, num_files_tree,
        size_tree, mode, uid, gid, mtime_ns"
    all_refuse a.barecat
}

@test "a FIFO" {
    make_good
    mkfifo fifo.barecat
    each 2 fifo.barecat "${READERS[@]}" "${WRITERS[@]}"
}

@test "a device, a directory, an empty file, a dangling link" {
    make_good
    mkdir dir.barecat
    : >empty.barecat
    ln -s nowhere dangling.barecat
    ln -s loop.barecat loop.barecat
    for path in /dev/zero /dev/null dir.barecat empty.barecat dangling.barecat loop.barecat; do
        each 2 "$path" "${READERS[@]}" "${WRITERS[@]}"
    done
    [[ ! -s empty.barecat ]]
}

@test "a name that SQLite would read as a URI is a name" {
    make_good
    each 2 'file:x?mode=memory' "${READERS[@]}" "${WRITERS[@]}"
    each 2 ':memory:' "${READERS[@]}" upgrade
    each 2 'file:a.barecat' "${READERS[@]}" upgrade
    [[ $(find . -name '*memory*' -o -name 'file:*') == "" ]]
    mv a.barecat 'file:a.barecat?mode=memory'
    mv a.barecat-shard-00000 'file:a.barecat?mode=memory-shard-00000'
    each 0 'file:a.barecat?mode=memory' "${READERS[@]}" "${WRITERS[@]}"
    run_ok on append ':memory:'
    [[ -s ./:memory: ]]
}

# leave_hot_journal ARCHIVE: in the middle of a transaction with its cache spilled, as a killed
# writer leaves it.
leave_hot_journal() {
    sqlite3 -batch "$1" <<-'EOF' || true
		PRAGMA cache_size = 1;
		BEGIN;
		UPDATE files SET size = 1;
		CREATE TABLE filler AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 99)
		    SELECT zeroblob(4000) FROM n;
		.system kill -9 $PPID
	EOF
    [[ -s $1-journal ]]
}

# leave_wal ARCHIVE: a committed change that stands in the write-ahead log alone.
leave_wal() {
    sqlite3 -batch "$1" <<-'EOF' || true
		PRAGMA journal_mode = WAL;
		UPDATE files SET uid = 4242 WHERE path = 'top';
		.system kill -9 $PPID
	EOF
    [[ -s $1-wal ]]
}

@test "a hot journal is rolled back" {
    for command in "${READERS[@]}" "${WRITERS[@]}"; do
        rm -rf ./*
        make_good
        leave_hot_journal a.barecat
        run_ok on "$command" a.barecat
        [[ ! -s a.barecat-journal ]]
        run_ok sb verify a.barecat
        run_ok sb cat a.barecat dir/file
        output_is first
    done
}

@test "a hot journal that cannot be rolled back is refused" {
    need_read_only
    make_good
    mkdir place
    mv a.barecat* place
    leave_hot_journal place/a.barecat
    for command in ls find du cat verify append upgrade; do
        command_line "$command" place/a.barecat
        run_fail 2 read_only place timeout -s KILL 10 "${command_line[@]}"
    done
}

@test "a write-ahead log that was left over is read" {
    for command in "${READERS[@]}" "${WRITERS[@]}"; do
        rm -rf ./*
        make_good
        leave_wal a.barecat
        run_ok on "$command" a.barecat
        run_ok sb find --json a.barecat top
        output_has '"uid":4242'
    done
}

@test "a write-ahead log that was left over in a read-only directory: its rows or 2, not old rows" {
    need_read_only
    make_good
    mkdir place
    mv a.barecat* place
    leave_wal place/a.barecat
    rm -f place/a.barecat-shm
    run --separate-stderr read_only place timeout -s KILL 10 "$SHARDBOX" find --json place/a.barecat top
    refuse_crash
    ((status == 2)) || output_has '"uid":4242'
    run_fail 2 read_only place timeout -s KILL 10 "$SHARDBOX" pack --append place/a.barecat -C more .
}

@test "an index in WAL mode, all of it checkpointed, in a read-only directory" {
    need_read_only
    make_good
    mkdir place
    mv a.barecat* place
    sql place/a.barecat "PRAGMA journal_mode = WAL; PRAGMA wal_checkpoint(TRUNCATE)"
    rm -f place/a.barecat-wal place/a.barecat-shm
    for command in ls find du cat verify; do
        command_line "$command" place/a.barecat
        run_ok read_only place timeout -s KILL 10 "${command_line[@]}"
    done
}
