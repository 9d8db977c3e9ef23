#!/usr/bin/env bats
# shardbox verify

load helper

# damage SQL: changes the index of a.barecat with the triggers off.
damage() {
    sql a.barecat "UPDATE config SET value_int = 0 WHERE key = 'use_triggers';
        $1;
        UPDATE config SET value_int = 1 WHERE key = 'use_triggers';"
}

# Where the bytes of a file begin: offset_of NAME
offset_of() {
    sql a.barecat "SELECT offset FROM files WHERE path = '$1'"
}

shard=a.barecat-shard-00000

# bats test_tags=threads
@test "a sound archive is passed in silence" {
    make_archive
    run_ok sb verify a.barecat
    output_is ''
    stderr_is ''
    run_ok sb verify --strict -j 1 a.barecat
    output_is ''
}

@test "-v says what was checked" {
    make_archive
    run_ok sb verify -v a.barecat
    output_is ''
    stderr_is 'shardbox verify: a.barecat: sound; 21 files (341K) match their checksums, 28 directories'
}

@test "one flipped byte: exactly that file is named, and what follows is still checked" {
    make_archive
    flip_byte "$shard" "$(offset_of sub/file)"
    flip_byte "$shard" "$(offset_of with\ space/a\ b)"
    run_fail 1 sb verify a.barecat
    ((${#lines[@]} == 2)) || fail 'not two lines'
    [[ ${lines[0]} == 'checksum: sub/file: its 10 bytes at '* ]] || fail 'first line'
    [[ ${lines[1]} == 'checksum: with space/a b: its 6 bytes at '* ]] || fail 'second line'
    stderr_is "shardbox verify: a.barecat: 2 defects; copy the damaged shards again, or restore the files from another copy with --repair-from=COPY"
}

# bats test_tags=threads
@test "a flipped byte is found wherever it is in a large file, on any number of threads" {
    head -c 3000000 /dev/zero >zeros
    sb pack a.barecat zeros
    for at in 0 524287 524288 2999999; do
        flip_byte "$shard" $at
        for threads in 1 2 7; do
            run_fail 1 sb verify -j $threads a.barecat
            [[ $output == 'checksum: zeros: its 3000000 bytes at 0 '* ]] || fail "at $at"
        done
        flip_byte "$shard" $at
    done
    run_ok sb verify a.barecat
}

@test "--quick is the preflight alone, and says so" {
    make_archive
    flip_byte "$shard" 0
    run_ok sb verify --quick a.barecat
    [[ -z $output$stderr ]]
    run_ok sb verify -v --quick a.barecat
    output_is ''
    stderr_has 'the index is sound; --quick has read no file'
    run_ok sb verify -q -Q a.barecat
    stderr_is ''
    damage "UPDATE dirs SET num_files = 9 WHERE path = 'sub'"
    run_fail 1 sb verify --quick a.barecat
    output_has 'statistics: sub: '
    output_lacks 'checksum'
    stderr_has '(--quick)'
}

@test "--json: an object a line, with a stable kind" {
    make_archive
    mkdir raw
    make_raw_names raw
    sb pack --append -q a.barecat -C raw .
    flip_byte "$shard" "$(offset_of sub/file)"
    damage "UPDATE files SET size = 1000000 WHERE path = CAST(x'72e9702f66696c65' AS TEXT);
        UPDATE dirs SET size_tree = size_tree + 1000000 - 12
        WHERE path IN ('', CAST(x'72e970' AS TEXT))"
    run_fail 1 sb verify --json a.barecat
    ((${#lines[@]} == 2)) || fail 'not two lines'
    [[ ${lines[0]} == '{"kind":"bounds","path_base64":"culwL2ZpbGU=","shard":0,"offset":'*',"text":"'*'"}' ]] ||
        fail 'first line'
    [[ ${lines[1]} == '{"kind":"checksum","path":"sub/file","shard":0,"offset":'*',"text":"'*'"}' ]] ||
        fail 'second line'
    for line in "${lines[@]}"; do
        [[ $(sqlite3 :memory: "SELECT json_valid('${line//\'/\'\'}')") == 1 ]] || fail 'not JSON'
    done
}

@test "a file without a checksum is counted, and under --strict a defect" {
    make_archive
    damage "UPDATE files SET crc32c = NULL WHERE path IN ('a.txt', 'empty')"
    run_ok sb verify a.barecat
    output_is ''
    stderr_has '2 of 21 files have no checksum'
    stderr_has 'shardbox upgrade --checksums'
    run_fail 1 sb verify --strict a.barecat
    output_is $'unchecked: a.txt: has no checksum\nunchecked: empty: has no checksum'
    stderr_has "2 defects; 'shardbox upgrade --checksums' computes them"
}

@test "an empty file has the checksum of nothing" {
    make_archive
    damage "UPDATE files SET crc32c = 1 WHERE path = 'empty'"
    run_fail 1 sb verify a.barecat
    output_is 'checksum: empty: is empty, but its CRC32C in the index is 00000001'
}

@test "values of the wrong type, negative or out of range name their row" {
    local change text
    make_archive
    cp a.barecat good
    while IFS='|' read -r change text; do
        cp good a.barecat
        damage "UPDATE files SET $change WHERE path = 'a.txt'"
        run_fail 1 sb verify a.barecat
        output_has "row: a.txt: $text"
    done <<'END'
shard = 'abc'|shard is not an integer
shard = -1|shard is not a shard number
shard = 1000000000|shard is not a shard number
offset = 1.5|offset is not an integer
offset = -1|offset is negative
size = -5|size is negative
size = 9223372036854775807, offset = 1|offset and size exceed
crc32c = 4294967296|crc32c is not a 32-bit number
mode = 'x'|mode is not a file mode
mtime_ns = x'00'|mtime_ns is not an integer
END
}

@test "a file whose mode is wrong is named as that, and its bytes are not read" {
    make_archive
    damage "UPDATE files SET mode = -1, crc32c = crc32c + 1 WHERE path = 'sub/file';
        UPDATE files SET crc32c = crc32c + 1 WHERE path = 'one'"
    run_fail 1 sb verify a.barecat
    output_has 'row: sub/file: mode is not a file mode'
    output_has 'checksum: one: '
    output_lacks 'checksum: sub/file'
}

@test "a row whose name is no text is named, and the others are checked" {
    make_archive
    damage "UPDATE files SET path = CAST(path AS BLOB) WHERE path = 'a.txt'"
    flip_byte "$shard" "$(offset_of sub/file)"
    run_fail 1 sb verify a.barecat
    output_has 'row: a.txt: path is not text'
    output_has 'checksum: sub/file: '
}

@test "names that must not be unpacked are named, with control characters masked" {
    local long name
    make_archive
    long=$(printf '%065537d' 0)
    for name in ../x a/../../x /abs a//b ./a a/ "$long" a/./b; do
        cp a.barecat good
        damage "UPDATE files SET path = '$name' WHERE path = 'a.txt'"
        run_fail 1 sb verify a.barecat
        output_has "name: $name: name "
        cp good a.barecat
    done
    damage "UPDATE files SET path = '../' || char(27) || '[31m' WHERE path = 'a.txt'"
    run_fail 1 sb verify a.barecat
    output_has 'name: ../\033[31m: '
}

@test "a path both file and directory" {
    make_archive
    damage "INSERT INTO dirs (path) VALUES ('a.txt');
        UPDATE dirs SET num_subdirs = num_subdirs + 1 WHERE path = ''"
    run_fail 1 sb verify a.barecat
    output_is 'conflict: a.txt: is both a file and a directory'
}

@test "a missing directory row, and wrong statistics at every level" {
    make_archive
    damage "DELETE FROM dirs WHERE path = 'sub/dir'"
    run_fail 1 sb verify a.barecat
    output_is 'parent: sub/dir: the directory has no row in the index'
    stderr_has "'shardbox upgrade' puts this right"
    damage "UPDATE dirs SET size_tree = 1 WHERE path IN ('', 'deep/d1/d2', 'empty-dir/inner')"
    run_fail 1 sb verify a.barecat
    ((${#lines[@]} == 4)) || fail 'not four lines'
    output_has 'statistics: root directory: '
    output_has 'statistics: deep/d1/d2: '
    output_has 'statistics: empty-dir/inner: '
}

@test "the root without a row" {
    make_archive
    damage "DELETE FROM dirs WHERE path = ''"
    run_fail 1 sb verify a.barecat
    output_is 'parent: root directory: the directory has no row in the index'
}

@test "statistics that SQLite turned into a floating-point number" {
    make_archive
    damage "UPDATE dirs SET size_tree = 1e19 WHERE path = 'sub'"
    run_fail 1 sb verify a.barecat
    output_has 'row: sub: a tree statistic is not an integer'
}

@test "triggers left off, and standard indexes and triggers that are missing" {
    make_archive
    sql a.barecat "UPDATE config SET value_int = 0 WHERE key = 'use_triggers';
        DELETE FROM config WHERE key = 'shard_size_limit';
        DROP INDEX idx_files_shard_offset; DROP TRIGGER del_file"
    run_fail 1 sb verify a.barecat
    output_has 'triggers: config.use_triggers is not 1'
    output_has 'config: config.shard_size_limit is missing'
    output_has 'schema: the standard index idx_files_shard_offset is missing'
    output_has 'schema: the standard trigger del_file is missing'
    ((${#lines[@]} == 4)) || fail 'not four lines'
}

@test "an index that a user added, and SQLite's statistics, are no defect" {
    make_archive
    sql a.barecat "CREATE INDEX by_time ON files (mtime_ns); ANALYZE"
    run_ok sb verify a.barecat
    output_is ''
}

@test "a damaged index page is found, and the run goes on" {
    local page
    make_archive
    page=$(sql a.barecat "SELECT rootpage FROM sqlite_schema WHERE name = 'idx_files_parent'")
    flip_byte a.barecat $(((page - 1) * 4096 + 4090))
    flip_byte "$shard" "$(offset_of sub/file)"
    run_fail 1 sb verify a.barecat
    output_has 'integrity: '
    output_has 'checksum: sub/file: '
    stderr_has 'the index is damaged'
}

# behind INDEX SQL: changes rows while they have no such index, which then is put back as it was.
behind() {
    local take="ATTACH 'kept' AS kept; PRAGMA writable_schema = ON;"
    rm -f kept
    sql a.barecat "$take CREATE TABLE kept.object AS SELECT * FROM main.sqlite_schema WHERE name = '$1';
        DELETE FROM main.sqlite_schema WHERE name = '$1'"
    damage "$2"
    sql a.barecat "$take INSERT INTO main.sqlite_schema SELECT * FROM kept.object"
}

# What SQLite itself says of the index is what verify says of it, word for word.
as_sqlite_says() {
    local theirs
    theirs=$(sql a.barecat 'PRAGMA integrity_check(100)')
    [[ $theirs != ok ]] || fail "SQLite finds nothing: $*"
    run_fail 1 sb verify a.barecat
    # Other passes meet the damage, too, and say so in words of their own.
    [[ $(sed -n '/image is malformed$/d; s/^integrity: //p' <<<"$output") == "$theirs" ]] ||
        fail "$*: not $theirs"
}

@test "an index that does not have what its table has: as SQLite says it" {
    local index change
    make_archive
    cp a.barecat whole
    while read -r index change; do
        cp whole a.barecat
        behind "$index" "$change"
        as_sqlite_says "$index: $change"
    done <<'EOF'
idx_files_path DELETE FROM files WHERE path = 'sub/file'
idx_files_path UPDATE files SET path = 'sub/eile' WHERE path = 'sub/file'
idx_files_path INSERT INTO files (path, shard, offset, size) SELECT 'sub/more', shard, offset, size FROM files LIMIT 1
idx_files_parent DELETE FROM files WHERE path = 'sub/file'
idx_files_parent UPDATE files SET path = 'tub/file' WHERE path = 'sub/file'
idx_files_parent UPDATE files SET path = x'ff' || '/file' WHERE path = 'sub/file'
idx_files_shard_offset UPDATE files SET offset = offset + 1 WHERE path = 'sub/file'
idx_files_shard_offset UPDATE files SET shard = 1 - shard WHERE path = 'sub/file'
idx_files_shard_offset UPDATE files SET rowid = 1000 WHERE path = 'sub/file'
idx_files_shard_offset UPDATE files SET offset = offset + 0.5 WHERE path = 'sub/file'
idx_dirs_path UPDATE dirs SET path = 'tub' WHERE path = 'sub'
idx_dirs_parent UPDATE dirs SET path = 'with space/sub' WHERE path = 'sub'
idx_dirs_parent DELETE FROM dirs WHERE path = ''
EOF
}

@test "an index that a user added is compared with its table, too" {
    make_archive
    sql a.barecat "CREATE INDEX by_time ON files (mtime_ns, path)"
    behind by_time "UPDATE files SET mtime_ns = mtime_ns + 1 WHERE path = 'sub/file'"
    as_sqlite_says
}

@test "whichever byte of an index is wrong: what SQLite finds is found" {
    local index page at theirs line
    make_archive
    sql a.barecat 'VACUUM'
    cp a.barecat whole
    for index in idx_files_path idx_files_parent idx_files_shard_offset idx_dirs_path; do
        page=$(sql whole "SELECT rootpage FROM sqlite_schema WHERE name = '$index'")
        for at in 3 5 9 4095 4093 4090 4079 4064; do
            cp whole a.barecat
            flip_byte a.barecat $(((page - 1) * 4096 + at))
            theirs=$(sqlite3 a.barecat 'PRAGMA integrity_check(100)' 2>/dev/null || true)
            [[ $theirs != ok ]] || continue
            run_fail 1 sb verify a.barecat
            output_has 'integrity: '
            while read -r line; do
                [[ $output == *"$line"* ]] || fail "$index $at: $line"
            done <<<"$theirs"
        done
    done
}

@test "a cut shard: every file beyond its end is named, the others are checked" {
    make_archive
    truncate -s "$(offset_of sub/file)" "$shard"
    run_fail 1 sb verify a.barecat
    output_has "bounds: sub/file: its bytes $(offset_of sub/file) to "
    output_has 'bounds: ünïcödé: '
    output_lacks 'a.txt'
    output_lacks 'checksum'
}

@test "a shard that is not there is named once, and the files in it" {
    make_archive --shard-size=100K
    rm "$shard"
    run_fail 1 sb verify -v a.barecat
    output_has "shard: $PWD/$shard: is not there"
    output_has 'bounds: a.txt: its 6 bytes are in shard 0, which cannot be read'
    [[ $(grep -c '^shard:' <<<"$output") == 1 ]] || fail 'more than one shard line'
}

@test "a hole in the numbers of shards, though no file uses them" {
    make_archive
    damage "UPDATE files SET shard = 3"
    mv "$shard" a.barecat-shard-00003
    run_fail 1 sb verify a.barecat
    output_has 'shard: shards 0 to 2 are not there'
    ((${#lines[@]} == 1)) || fail 'not one line'
}

@test "a shard that is a FIFO, a device, a directory or a link to itself" {
    make_archive
    mv "$shard" kept
    mkfifo "$shard"
    run_fail 1 within 10 "$SHARDBOX" verify a.barecat
    output_has "shard: $PWD/$shard: "
    ln -sf /dev/zero "$shard"
    run_fail 1 within 10 "$SHARDBOX" verify a.barecat
    output_has "shard: $PWD/$shard: "
    rm "$shard"
    mkdir "$shard"
    run_fail 1 within 10 "$SHARDBOX" verify a.barecat
    output_has "shard: $PWD/$shard: "
    rmdir "$shard"
    ln -s "$shard" "$shard"
    run_fail 1 within 10 "$SHARDBOX" verify a.barecat
    output_has "shard: $PWD/$shard: "
}

@test "a shard that is a link to a file is followed; -v says where out of the directory it leads" {
    make_archive
    mv "$shard" kept
    ln -s kept "$shard"
    run_ok sb verify -v a.barecat
    output_is ''
    stderr_lacks 'link'
    mkdir elsewhere
    mv kept elsewhere
    ln -sf elsewhere/kept "$shard"
    run_ok sb verify -v a.barecat
    stderr_has "verify: $shard: is a link to $PWD/elsewhere/kept"
}

@test "overlapping extents: both are named" {
    make_archive
    damage "UPDATE files SET offset = offset - 1 WHERE path = 'sub/file'"
    run_fail 1 sb verify -Q a.barecat
    [[ $output =~ ^overlap:\ sub/file:\ shares\ bytes\ [0-9]+\ to\ [0-9]+\ of\ shard\ 0\ with\ sub/dir/file\.bin$ ]] ||
        fail 'the line'
    stderr_has 'unpack what is sound'
}

@test "an extent within another that is not its neighbour" {
    make_archive
    damage "UPDATE files SET offset = (SELECT offset FROM files WHERE path = 'numbers') + 1000
        WHERE path IN ('one', 'a.txt')"
    run_fail 1 sb verify --quick a.barecat
    output_has 'overlap: a.txt: shares bytes '
    output_has 'overlap: one: shares bytes '
}

@test "identical extents are lawful over linked shards only, with checksums that agree" {
    make_archive
    damage "UPDATE files SET (offset, size, crc32c) =
        (SELECT offset, size, crc32c FROM files WHERE path = 'sub/file') WHERE path = 'sub.d/file'"
    sb upgrade a.barecat
    run_fail 1 sb verify a.barecat
    output_has 'overlap: '
    mv "$shard" kept
    ln -s kept "$shard"
    run_ok sb verify -v a.barecat
    output_is ''
    stderr_has '1 file shares the bytes of another one'
    damage "UPDATE files SET crc32c = crc32c + 1 WHERE path = 'sub.d/file'"
    run_fail 1 sb verify a.barecat
    output_has 'overlap: '
    damage "UPDATE files SET crc32c = NULL WHERE path = 'sub.d/file'"
    run_ok sb verify a.barecat
}

@test "--present: shards that have arrived are checked, the others listed" {
    make_archive --shard-size=100K
    rm "$shard"
    truncate -s -1 a.barecat-shard-00001
    run_fail 1 sb verify --present a.barecat
    [[ ${lines[0]} == "missing: $PWD/$shard: has not arrived ("*' bytes)' ]] || fail 'first line'
    [[ ${lines[1]} == "missing: $PWD/a.barecat-shard-00001: only "*' bytes have arrived' ]] ||
        fail 'second line'
    stderr_has 'passed over'
    stderr_has 'fetch the missing shards'
}

@test "--present: damage in a shard that has arrived is found, all arrived is sound" {
    make_archive --shard-size=100K
    mv "$shard" kept
    flip_byte a.barecat-shard-00001 0
    run_fail 1 sb verify --present a.barecat
    output_has "missing: $PWD/$shard"
    output_has 'checksum: '
    flip_byte a.barecat-shard-00001 0
    mv kept "$shard"
    run_ok sb verify --present a.barecat
    output_is ''
}

@test "PATH and GLOB: only what they name is checked" {
    make_archive
    flip_byte "$shard" "$(offset_of sub/dir/file.bin)"
    run_ok sb verify a.barecat a.txt sub/file 'sub.*'
    output_is ''
    run_fail 1 sb verify a.barecat sub
    output_has 'checksum: sub/dir/file.bin: '
    run_fail 1 sb verify a.barecat '**/*.bin'
    output_has 'checksum: sub/dir/file.bin: '
    run_fail 1 sb verify a.barecat .
    output_has 'checksum: sub/dir/file.bin: '
}

@test "a PATH that is not there is named, and the rest is done" {
    make_archive
    run_fail 1 sb verify -v a.barecat nowhere sub
    stderr_has 'shardbox verify: nowhere: no such file or directory in the archive'
    stderr_has '3 files (26) match'
}

@test "an empty PATH is not the whole archive" {
    make_archive
    flip_byte "$shard" "$(offset_of sub/file)"
    run_fail 1 sb verify a.barecat ''
    output_is ''
    stderr_has "shardbox verify: '': no such file or directory in the archive"
}

@test "an archive of no files at all is sound" {
    mkdir empty
    sb pack a.barecat -C empty .
    run_ok sb verify --strict a.barecat
    output_is ''
}

@test "what is not an archive is an error, 2" {
    printf 'no archive\n' >text
    : >nothing
    sqlite3 other 'CREATE TABLE t (a)'
    run_fail 2 sb verify text
    run_fail 2 sb verify nothing
    run_fail 2 sb verify other
    run_fail 2 sb verify absent
    stderr_has 'absent'
    mkfifo pipe
    run_fail 2 within 10 "$SHARDBOX" verify pipe
    run_fail 2 sb verify
    stderr_has 'no archive given'
}

@test "an index too damaged to be opened is one defect, with advice" {
    mkdir many
    (cd many && seq 600 | split -l 1 -a 3 - f)
    sb pack m.barecat -C many .
    head -c 20000 m.barecat >cut.barecat
    cp m.barecat-shard-00000 cut.barecat-shard-00000
    run_fail 1 sb verify cut.barecat
    [[ ${#lines[@]} == 1 && $output == 'integrity: '*'malformed' ]] || fail 'not one defect'
    stderr_is 'shardbox verify: cut.barecat: 1 defect; the index is damaged: take it from another copy, or pack the files anew'
    run_fail 1 sb verify --json cut.barecat
    [[ $(jq -c 'keys - ["text"], .kind' <<<"$output") == $'["kind"]\n"integrity"' ]]
    stderr_has '1 defect'
    run_fail 1 sb verify --repair cut.barecat
    stderr_has '1 defect remains; the index is damaged: take it from another copy'
}

@test "a newer minor schema is read with a warning" {
    make_archive
    sql a.barecat "UPDATE config SET value_int = 4 WHERE key = 'schema_version_minor'"
    run_ok sb verify a.barecat
    stderr_has 'schema 0.4 is newer than this program'
    sql a.barecat "UPDATE config SET value_int = 1 WHERE key = 'schema_version_major'"
    run_fail 2 sb verify a.barecat
}

# many.barecat: 2000 files whose checksum is wrong, then `last`, of 10 MB.
make_damaged_many() {
    local i
    mkdir many
    for i in {1000..2999}; do
        printf x >many/"$i"
    done
    yes | head -c 10000000 >many/last
    sb pack a.barecat -C many .
    damage "UPDATE files SET crc32c = 1 WHERE size = 1"
}

# while_blocked COMMAND...: runs verify, whose output nobody reads, so that it stops soon after the
# first of many defects, all of which -v prints; then the command; then the rest of verify.
while_blocked() {
    mkfifo pipe
    "$SHARDBOX" verify -v -j 2 a.barecat >pipe &
    exec 5<pipe
    read -r -u 5
    "$@" >&2
    printf '%s\n' "$REPLY"
    cat <&5
    exec 5<&-
    wait $!
}

cut_the_shard() {
    truncate -s 5000 "$shard"
}

@test "a shard that shrinks while it is read" {
    make_damaged_many
    run_fail 1 while_blocked cut_the_shard
    output_has 'unreadable: last: '
    output_has 'checksum: 2999: '
}

move_last() {
    local size
    size=$(stat -c %s "$shard")
    tail -c 10000000 "$shard" >moved
    cat moved >>"$shard"
    head -c 10000000 /dev/zero | dd of="$shard" bs=1M oflag=seek_bytes seek=2000 conv=notrunc
    damage "UPDATE files SET offset = $size WHERE path = 'last'"
}

@test "bytes that are moved while they are verified are looked for in their new place" {
    make_damaged_many
    run_fail 1 while_blocked move_last
    output_has 'checksum: 1000: '
    output_lacks 'last'
}

replace_archive() {
    printf 'other\n' >other
    sb pack --force a.barecat other
}

@test "an archive replaced while it is verified is not called damaged any further" {
    make_damaged_many
    run_fail 1 while_blocked replace_archive
    output_lacks 'last'
    output_lacks 'checksum: 2999: '
    stderr_has 'replaced by another archive while it was read'
    run_ok sb verify a.barecat
}
