#!/usr/bin/env bats
# shardbox upgrade

load helper
load older

old=a.barecat-sqlite-index

# Everything that 0.3 keeps of an archive, in one order: describe_index FILE
describe_index() {
    sql "$1" "SELECT 'f', path, parent, shard, offset, size, crc32c, mode, uid, gid, mtime_ns
            FROM files ORDER BY path;
        SELECT 'd', path, parent, num_subdirs, num_files, num_files_tree, size_tree, mode, uid, gid,
            mtime_ns FROM dirs ORDER BY path;
        SELECT type, name FROM sqlite_schema WHERE name NOT LIKE 'sqlite_%' ORDER BY name"
}

# damage SQL: changes the index of a.barecat with the triggers off.
damage() {
    sql a.barecat "UPDATE config SET value_int = 0 WHERE key = 'use_triggers';
        $1;
        UPDATE config SET value_int = 1 WHERE key = 'use_triggers';"
}

@test "schema 0.2 becomes 0.3 under the archive's name, with nothing lost" {
    make_archive
    describe_index a.barecat >before
    make_schema_02
    run_ok sb verify a.barecat
    run_ok sb upgrade -v a.barecat
    output_is ''
    stderr_has 'a.barecat: built an index of schema 0.3 from one of 0.2'
    [[ ! -e $old && ! -e a.barecat.new ]] || fail 'left-overs'
    describe_index a.barecat | diff before -
    [[ $(sql a.barecat "SELECT key, value_int FROM config ORDER BY key") == \
'schema_version_major|0
schema_version_minor|3
shard_size_limit|123456789
use_triggers|1' ]] || fail 'config'
    run_ok sb verify --strict a.barecat
    output_is ''
    [[ $(sql a.barecat 'PRAGMA integrity_check; PRAGMA journal_mode') == $'ok\ndelete' ]]
}

@test "an index of 0.2 at the archive's own name is replaced in its place" {
    make_archive
    describe_index a.barecat >before
    make_schema_02
    mv $old a.barecat
    chmod 640 a.barecat
    run_ok sb upgrade a.barecat
    describe_index a.barecat | diff before -
    [[ $(stat -c %a a.barecat) == 640 ]] || fail 'mode'
    run_ok sb verify a.barecat
}

@test "statistics that the triggers of 0.2 counted wrongly are put right" {
    make_archive
    make_schema_02
    sql $old "DELETE FROM files WHERE path LIKE 'sub/dir/%'; DELETE FROM dirs WHERE path = 'sub/dir'"
    run_fail 1 sb verify a.barecat
    output_has 'statistics: sub: '
    run_ok sb upgrade -v a.barecat
    run_ok sb verify a.barecat
}

@test "the layout from before versions gets metadata columns, a configuration and checksums" {
    make_archive --shard-size=100K
    sql a.barecat "SELECT path, shard, offset, size, crc32c FROM files ORDER BY path" >before
    make_unversioned
    run_ok sb upgrade -v a.barecat
    stderr_has 'from the layout before versions'
    stderr_has 'computed 21 checksums'
    sql a.barecat "SELECT path, shard, offset, size, crc32c FROM files ORDER BY path" | diff before -
    run_ok sb verify --strict a.barecat
    output_is ''
    run_ok sb cat a.barecat sub/file
    output_is 'below sub'
}

@test "--keep-old: the old index stays beside the new one, as .old" {
    make_archive
    make_schema_02
    cp $old before
    run_ok sb upgrade -n --keep-old a.barecat
    output_has "would keep the old index, with '.old' after its name"
    [[ ! -e $old.old ]] || fail 'a dry run'
    run_ok sb upgrade -v --keep-old a.barecat
    stderr_has "a.barecat: kept the old index, with '.old' after its name"
    cmp before $old.old
    [[ ! -e $old && ! -e a.barecat.new ]] || fail 'left-overs'
    run_ok sb verify a.barecat
    rm a.barecat
    mv $old.old a.barecat
    run_ok sb upgrade --keep-old a.barecat
    cmp before a.barecat.old
    [[ $(stat -c %h a.barecat.old) == 1 ]] || fail 'another name of it is left'
    run_ok sb verify a.barecat
}

@test "--keep-old: a file of that name is refused before anything is done" {
    make_archive
    make_schema_02
    cp $old before
    echo "somebody else's" >$old.old
    for option in -n -q; do
        run_fail 2 sb upgrade $option --keep-old a.barecat
        stderr_has "$old.old: exists, so the old index cannot be kept as that; move it away, or leave out --keep-old"
    done
    cmp before $old
    [[ $(cat $old.old) == "somebody else's" && ! -e a.barecat && ! -e a.barecat.new-index ]] || fail 'touched'
}

@test "--keep-old: killed after the old index got its second name, and run again" {
    need_shim
    make_archive
    make_schema_02
    cp $old before
    status=0
    LD_PRELOAD=$FAULT_SHIM FAULT_HOW=kill FAULT_CALLS=rename FAULT_AT=1 \
        "$SHARDBOX" upgrade --keep-old a.barecat || status=$?
    ((status == 137))
    [[ $(stat -c %i $old) == $(stat -c %i $old.old) ]] || fail 'no second name'
    run_ok sb upgrade --keep-old a.barecat
    cmp before $old.old
    [[ ! -e $old ]] || fail 'the first name'
}

@test "--keep-old: an index of 0.3 changes in place, and that nothing is kept is said" {
    make_archive
    run_ok sb upgrade -v --keep-old a.barecat
    stderr_is 'shardbox upgrade: a.barecat: nothing to do'
    damage "DELETE FROM dirs WHERE path = 'sub/dir'"
    run_ok sb upgrade --keep-old a.barecat
    stderr_is 'shardbox upgrade: a.barecat: is of schema 0.3 and changes in place: --keep-old keeps nothing of it'
    [[ ! -e a.barecat.old ]] || fail 'kept'
}

@test "a user's indexes and SQLite's statistics are taken over" {
    make_archive
    make_schema_02
    sql $old "CREATE INDEX by_time ON files (mtime_ns, path); ANALYZE"
    run_ok sb upgrade a.barecat
    [[ $(sql a.barecat "SELECT sql FROM sqlite_schema WHERE name = 'by_time'") == \
        'CREATE INDEX by_time ON files (mtime_ns, path)' ]] || fail 'index'
    [[ $(sql a.barecat "SELECT count(*) > 0 FROM sqlite_stat1") == 1 ]] || fail 'statistics'
    run_ok sb upgrade -v a.barecat
    stderr_is 'shardbox upgrade: a.barecat: nothing to do'
}

@test "where both indexes stand, the archive's own counts, and the other is nobody's to remove" {
    make_archive
    cp a.barecat kept
    make_schema_02
    cp kept a.barecat
    sql $old "DELETE FROM files"
    cp $old other
    for option in -n -v; do
        run_ok sb upgrade $option a.barecat
        stderr_has "$old: an older index, does not count beside the archive's index; remove it if nobody needs it"
    done
    cmp other $old
    cmp kept a.barecat
}

@test "the old index goes once the new one stands, though the run was killed between" {
    need_shim
    make_archive
    make_schema_02
    status=0
    LD_PRELOAD=$FAULT_SHIM FAULT_HOW=kill FAULT_CALLS=unlink FAULT_AT=1 "$SHARDBOX" upgrade a.barecat ||
        status=$?
    ((status == 137))
    [[ -e $old && -e a.barecat && -s a.barecat.new ]]
    run_ok sb rm -f a.barecat nothing
    [[ ! -e $old && ! -e a.barecat.new ]]
    run_ok sb verify a.barecat
}

@test "an index of 0.3 under the old name takes the new one" {
    make_archive
    mv a.barecat $old
    run_ok sb upgrade -v a.barecat
    stderr_is "shardbox upgrade: a.barecat: named the index as the archive, without '-sqlite-index'"
    [[ ! -e $old ]] || fail 'still there'
    run_ok sb verify a.barecat
}

@test "0.3: nothing to do is said under -v, and the index stays as it is" {
    make_archive
    cp a.barecat before
    run_ok sb upgrade a.barecat
    output_is ''
    stderr_is ''
    run_ok sb upgrade -v --checksums a.barecat
    stderr_is 'shardbox upgrade: a.barecat: nothing to do'
    cmp before a.barecat
}

@test "0.3: statistics, missing rows, triggers, standard indexes are put right" {
    make_archive
    describe_index a.barecat >before
    # the metadata of a missing row cannot be known
    sed -i -E 's/^(d\|sub\/dir\|([^|]*\|){5}).*/\1|||/' before
    damage "UPDATE dirs SET num_files = 7, size_tree = -1 WHERE path IN ('', 'deep/d1');
        DELETE FROM dirs WHERE path = 'sub/dir';
        DROP INDEX idx_dirs_parent; DROP TRIGGER resize_dir;
        DELETE FROM config WHERE key = 'shard_size_limit'"
    sql a.barecat "UPDATE config SET value_int = 0 WHERE key = 'use_triggers'"
    run_ok sb upgrade -n a.barecat
    output_is "would make 2 missing standard indexes and triggers
would correct 2 directories' tree statistics
would add 1 missing directory row
would set config.use_triggers to 1
would set config.shard_size_limit to none"
    run_fail 1 sb verify a.barecat
    run_ok sb upgrade -v a.barecat
    stderr_has "corrected 2 directories' tree statistics"
    describe_index a.barecat | diff before -
    run_ok sb verify a.barecat
    output_is ''
}

@test "a root without a row, and statistics that are no numbers" {
    make_archive
    damage "DELETE FROM dirs WHERE path = ''; UPDATE dirs SET size_tree = 'x' WHERE path = 'sub'"
    run_ok sb upgrade a.barecat
    run_ok sb verify a.barecat
    [[ $(sql a.barecat "SELECT num_files_tree FROM dirs WHERE path = ''") == 21 ]]
}

# bats test_tags=threads
@test "--checksums: absent ones are computed, present ones kept" {
    make_archive
    sql a.barecat "SELECT path, crc32c FROM files ORDER BY path" >before
    damage "UPDATE files SET crc32c = NULL WHERE path IN ('numbers', 'empty', 'sub/file')"
    run_ok sb upgrade -v a.barecat
    stderr_is 'shardbox upgrade: a.barecat: nothing to do'
    run_ok sb upgrade -n --checksums a.barecat
    output_is 'would compute 3 checksums'
    run_ok sb upgrade -v --checksums -j 1 a.barecat
    stderr_is 'shardbox upgrade: a.barecat: computed 3 checksums'
    sql a.barecat "SELECT path, crc32c FROM files ORDER BY path" | diff before -
    damage "UPDATE files SET crc32c = 5 WHERE path = 'numbers'"
    run_ok sb upgrade --checksums a.barecat
    [[ $(sql a.barecat "SELECT crc32c FROM files WHERE path = 'numbers'") == 5 ]] || fail 'replaced'
}

@test "a file that cannot be read is named and left without a checksum, 1" {
    make_archive
    make_unversioned
    truncate -s -1 a.barecat-shard-00000
    run_fail 1 sb upgrade -v a.barecat
    stderr_has 'ünïcödé: gets no checksum'
    stderr_has 'computed 20 checksums'
    [[ $(sql a.barecat "SELECT count(*) FROM files WHERE crc32c IS NULL") == 1 ]] || fail 'count'
    run_ok sb upgrade -v a.barecat
    stderr_is 'shardbox upgrade: a.barecat: nothing to do'
}

@test "--dry-run leaves everything as it was" {
    make_archive
    make_schema_02
    sql $old "UPDATE files SET crc32c = NULL WHERE path = 'a.txt'"
    stat -c "%n %i %s %y" a.* >before
    run_ok sb upgrade -n a.barecat
    output_is "would build an index of schema 0.3 from one of 0.2
would name the index as the archive, without '-sqlite-index'
would compute 1 checksum"
    stat -c "%n %i %s %y" a.* | diff before -
}

@test "a row that cannot be used is kept and named, 1" {
    make_archive
    make_schema_02
    sql $old "UPDATE files SET size = 'x' WHERE path = 'a.txt'"
    run_fail 1 sb upgrade a.barecat
    stderr_has 'a.txt: its size is not a number of bytes'
    [[ $(sql a.barecat "SELECT size FROM files WHERE path = 'a.txt'") == x ]] || fail 'changed'
}

@test "killed at any instant: the old archive or the new one, and the next run finishes" {
    make_archive
    sql a.barecat "SELECT path, shard, offset, size, crc32c FROM files ORDER BY path" >wanted
    make_unversioned
    mkdir kept
    cp a.barecat* kept
    for delay in 0 1 2 3 4 5 6 8 10 12 15 20; do
        rm -f a.barecat*
        cp kept/* .
        "$SHARDBOX" upgrade a.barecat &
        sleep 0.0"$(printf %02d $delay)"
        kill -9 $! 2>/dev/null || true
        wait $! || true
        run_ok sb cat a.barecat sub/file
        run_ok sb upgrade a.barecat
        [[ ! -e $old && ! -e a.barecat.new ]] || fail "left-overs after $delay ms"
        sql a.barecat "SELECT path, shard, offset, size, crc32c FROM files ORDER BY path" |
            diff wanted -
        run_ok sb verify --strict a.barecat
    done
}

@test "what a killed run left beside the old index is built anew" {
    make_archive
    make_schema_02
    printf 'somebody else' >a.barecat.new
    run_fail 2 sb upgrade a.barecat
    stderr_has 'a.barecat.new: in the way, and not left by an interrupted run'
    [[ $(cat a.barecat.new) == 'somebody else' ]]
    rm a.barecat.new
    need_shim
    LD_PRELOAD=$FAULT_SHIM FAULT_HOW=kill FAULT_CALLS=write FAULT_AT=5 run sb upgrade a.barecat
    ((status == 137))
    [[ -s a.barecat.new && -e a.barecat.new-index ]]
    run_ok sb upgrade a.barecat
    [[ ! -e a.barecat.new && ! -e a.barecat.new-index ]] || fail 'still there'
    run_ok sb verify a.barecat
}

@test "a run that was killed before all checksums were there is finished by the next" {
    make_archive
    make_unversioned
    sb upgrade a.barecat
    sql a.barecat "UPDATE files SET crc32c = NULL WHERE path > 'n';
        INSERT INTO config (key, value_int) VALUES ('shardbox_checksums_due', 1)"
    run_ok sb upgrade a.barecat
    run_ok sb verify --strict a.barecat
    [[ $(sql a.barecat "SELECT count(*) FROM config WHERE key LIKE 'shardbox%'") == 0 ]]
}

@test "a writer in the way is waited for or named, and nothing is changed" {
    make_archive
    make_schema_02
    cp $old before
    mkfifo commands
    sqlite3 $old <commands &
    exec 5>commands
    echo 'BEGIN IMMEDIATE; SELECT 1;' >&5
    sleep 0.2
    run_fail 2 sb upgrade a.barecat
    stderr_has 'is writing this archive'
    echo 'ROLLBACK;' >&5
    exec 5>&-
    wait $!
    cmp before $old
    [[ ! -e a.barecat && ! -e a.barecat.new ]] || fail 'left-overs'
    run_ok sb upgrade a.barecat
}

@test "a journal where the new index would be is refused" {
    make_archive
    make_schema_02
    printf '\331\325\005\371' >a.barecat-journal
    run_fail 2 sb upgrade a.barecat
    stderr_has 'a.barecat-journal: a journal is where'
    [[ -e $old && ! -e a.barecat && ! -e a.barecat.new ]] || fail 'changed'
}

@test "newer schemas, links and what is no archive are refused, 2" {
    make_archive
    ln -s a.barecat link
    run_fail 2 sb upgrade link
    stderr_has 'a symbolic link'
    sql a.barecat "UPDATE config SET value_int = 4 WHERE key = 'schema_version_minor'"
    cp a.barecat before
    run_fail 2 sb upgrade a.barecat
    stderr_has 'schema 0.4 is newer than this program'
    cmp before a.barecat
    sql a.barecat "UPDATE config SET value_int = 1 WHERE key = 'schema_version_major'"
    run_fail 2 sb upgrade a.barecat
    printf 'no archive\n' >text
    run_fail 2 sb upgrade text
    run_fail 2 sb upgrade absent
    run_fail 2 sb upgrade
    stderr_has 'no archive given'
    run_fail 2 sb upgrade a.barecat text
    stderr_has 'only one archive'
}
