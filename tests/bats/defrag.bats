# shardbox defrag: gaps are closed, and nothing is lost on the way.

load helper
load kept

gaps() {
    sb ls --shards --json a.barecat | jq -s 'map(.gaps) | add'
}

in_order() {
    sql a.barecat "SELECT path, shard FROM files WHERE size > 0 ORDER BY shard, offset"
}

damage() {
    sql a.barecat "UPDATE config SET value_int = 0 WHERE key = 'use_triggers';
        $1; UPDATE config SET value_int = 1 WHERE key = 'use_triggers'"
}

# bats test_tags=threads
@test "each shard is closed up by itself, in the order of addresses" {
    make_files 300 1000 --shard-size=50K
    remove_where "rowid % 7 = 2 OR rowid < 10"
    in_order >before
    count=$(sizes | wc -l)
    run_ok sb defrag a.barecat
    output_is ""
    stderr_is ""
    in_order | diff before -
    [[ $(gaps) == 0 && $(sizes | wc -l) == "$count" ]]
    is_whole
}

@test "shards without gaps keep bytes, names and times; an archive without gaps is not changed" {
    make_files 300 1000 --shard-size=50K
    remove_where "shard = 2 AND rowid % 3 = 0"
    touch -d 2001-01-01 a.barecat-shard-*
    md5sum a.barecat-shard-* >sums
    stat -c '%n %i %Y %s' a.barecat-shard-* >states
    run_ok sb defrag a.barecat
    stat -c '%n %i %Y %s' a.barecat-shard-* | diff states - >changed || true
    [[ $(grep -c '^>' changed) == 1 && $(grep '^>' changed) == '> a.barecat-shard-00002 '* ]]
    [[ $(md5sum -c sums 2>/dev/null | grep -v ': OK') == 'a.barecat-shard-00002: FAILED' ]]
    is_whole
    stat -c '%n %i %y %s' a.barecat* >states
    run_ok sb defrag a.barecat
    stat -c '%n %i %y %s' a.barecat* | diff states -
}

@test "emptied last shards go, other emptied ones stay with 0 bytes" {
    make_files 300 1000 --shard-size=50K
    last=$(sql a.barecat "SELECT max(shard) FROM files")
    remove_where "shard = 1 OR shard >= $last - 1"
    run_ok sb defrag -v a.barecat
    stderr_has "removed 2 shards"
    [[ $(stat -c %s a.barecat-shard-00001) == 0 ]]
    [[ $(sizes | wc -l) == $((last - 1)) ]]
    is_whole
    remove_where "1"
    run_ok sb defrag a.barecat
    [[ $(sizes) == 0 ]]
    is_whole
}

@test "files that are larger than any gap, or than a batch, move too" {
    mkdir t
    for i in 1 2 3 4; do seq $((i * 100000)) $((i * 200000)) >t/$i; done
    truncate -s 70M t/large
    seq 100 >t/z
    settle
    sb pack a.barecat -C t .
    remove_where "path = '1'"
    run_ok sb defrag a.barecat
    [[ $(gaps) == 0 ]]
    is_whole
    remove_where "path = '3'"
    truncate -s +5M a.barecat-shard-00000
    run_ok sb defrag a.barecat
    [[ $(gaps) == 0 ]]
    is_whole
}

@test "empty files get an address within the shard" {
    make_files 20 100
    touch t/f/a t/f/zz
    settle
    sb pack --force a.barecat -C t .
    damage "UPDATE files SET offset = 5000 + rowid WHERE size = 0"
    remove_where "path IN ('f/1', 'f/9')"
    run_ok sb defrag a.barecat
    [[ $(sql a.barecat "SELECT max(offset) FROM files") -le $(sizes) ]]
    is_whole
}

@test "--dry-run shows what each shard would give back, and changes nothing" {
    make_files 200 1000 --shard-size=50K
    remove_where "shard = 1 AND rowid % 2 = 0 OR shard = 3"
    before=$(md5sum a.barecat*)
    run_ok sb defrag -n --json a.barecat
    [[ $(md5sum a.barecat*) == "$before" && ! -e a.barecat.new ]]
    told=$output
    [[ $(jq -s -c 'map(.shard)' <<<"$told") == '[1,3,null]' ]]
    run_ok sb defrag --dry-run a.barecat
    [[ ${lines[0]} == shard*before*after*back && ${lines[3]} == all* ]]
    run_ok sb defrag --json a.barecat
    [[ $output == "$told" ]]
    [[ $(jq -s '.[-1].after' <<<"$output") == $(($(sizes | paste -sd+))) ]]
    is_whole
}

@test "--dry-run needs no leave to write, and is not in a writer's way" {
    need_read_only
    mkdir d
    make_files 30 1000
    remove_where "rowid = 3"
    mv a.barecat* d
    run_ok read_only d "$SHARDBOX" defrag -n d/a.barecat
    output_has " 1004"
}

@test "--shards closes up only those" {
    make_files 300 1000 --shard-size=50K
    remove_where "rowid % 3 = 1"
    before=$(sizes)
    run_fail 2 sb defrag --shards=1234 a.barecat
    stderr_has "a.barecat: there is no shard 01234; shards, counted from 0: "
    run_ok sb defrag --shards=1-2 a.barecat
    [[ $(diff <(echo "$before") <(sizes) | grep -c '^>') == 2 ]]
    run_ok sb defrag --shards=4- a.barecat
    run_ok sb defrag --shards 0 a.barecat
    run_ok sb defrag -v --json --shards=0-2 a.barecat
    [[ ${#lines[@]} == 1 ]]
    [[ $(gaps) != 0 ]]
    is_whole
}

@test "files that share bytes are refused, and named" {
    make_files 10 100
    remove_where "path = 'f/1'"
    cp a.barecat kept
    damage "UPDATE files SET offset = offset - 1 WHERE path = 'f/5'"
    before=$(md5sum a.barecat*)
    run_fail 1 sb defrag a.barecat
    stderr_has "a.barecat: f/4 and f/5 share bytes of shard 00000 from"
    run_fail 1 sb defrag -n a.barecat
    [[ $(md5sum a.barecat*) == "$before" && ! -e a.barecat.new ]]

    cp kept a.barecat
    damage "UPDATE files SET (offset, size, crc32c) =
        (SELECT offset, size, crc32c FROM files WHERE path = 'f/4') WHERE path = 'f/5'"
    run_fail 2 sb defrag a.barecat
    stderr_has "f/4 and f/5 are the same bytes of shard 00000, as hard links of a wrapped tar are"
}

@test "a row that cannot be used, and an index that does not fit its table, are refused" {
    make_files 10 100
    remove_where "path = 'f/1'"
    cp a.barecat kept
    damage "UPDATE files SET size = 100000 WHERE path = 'f/5'"
    run_fail 1 sb defrag a.barecat
    stderr_has "a.barecat: f/5: is past the end of its shard, so nothing is moved"

    # The index is left as it is while the table changes.
    cp kept a.barecat
    page=$(sql a.barecat "SELECT rootpage FROM sqlite_schema WHERE name = 'idx_files_shard_offset'")
    text=$(sql a.barecat "SELECT sql FROM sqlite_schema WHERE name = 'idx_files_shard_offset'")
    sql a.barecat ".dbconfig defensive off" \
        "PRAGMA writable_schema = ON;" >/dev/null
    sqlite3 a.barecat ".dbconfig defensive off" "PRAGMA writable_schema = ON" \
        "DELETE FROM sqlite_schema WHERE name = 'idx_files_shard_offset'"
    damage "DELETE FROM files WHERE path = 'f/4'"
    sqlite3 a.barecat ".dbconfig defensive off" "PRAGMA writable_schema = ON" \
        "INSERT INTO sqlite_schema VALUES
            ('index', 'idx_files_shard_offset', 'files', $page, '$text')"
    run_fail 1 sb defrag a.barecat
    [[ ! -e a.barecat.new ]]
}

@test "links are not written into without --follow, and nothing is begun" {
    make_files 200 1000 --shard-size=50K
    remove_where "rowid % 5 = 1"
    ln a.barecat-shard-00001 backup
    mv a.barecat-shard-00003 elsewhere
    ln -s elsewhere a.barecat-shard-00003
    before=$(md5sum a.barecat*)
    run_fail 2 sb defrag a.barecat
    stderr_has "a.barecat-shard-00001: has 2 hard links, by which other archives may use it"
    rm backup
    run_fail 2 sb defrag a.barecat
    stderr_has "a.barecat-shard-00003: a symbolic link, whose file other archives may use"
    [[ $(md5sum a.barecat*) == "$before" ]]
    run_ok sb defrag --shards=0-2 a.barecat
    run_ok sb defrag --follow a.barecat
    [[ -L a.barecat-shard-00003 && $(gaps) == 0 ]]
    is_whole
}

@test "a link that is emptied gives way, and what it led to stays" {
    make_files 200 1000 --shard-size=50K
    remove_where "shard IN (1, 3)"
    for i in 1 3; do
        mv a.barecat-shard-0000$i elsewhere$i
        ln -s elsewhere$i a.barecat-shard-0000$i
    done
    md5sum elsewhere* >sums
    run_ok sb defrag a.barecat
    [[ ! -L a.barecat-shard-00001 && $(stat -c %s a.barecat-shard-00001) == 0 ]]
    [[ ! -e a.barecat-shard-00003 ]]
    md5sum -c sums
    is_whole
}

@test "shards that only Barecat knows to be empty go with --force" {
    make_files 200 1000 --shard-size=50K
    remove_where "shard >= 2"
    damage "DELETE FROM config WHERE key = 'shardbox_shard_count'"
    run_fail 2 sb defrag a.barecat
    stderr_has "run 'shardbox defrag --force"
    run_ok sb defrag --force a.barecat
    [[ $(sizes | wc -l) == 2 ]]
    is_whole
}

@test "a damaged file is named, and stays where it is, with what comes after it" {
    make_files 30 1000
    remove_where "path = 'f/1'"
    flip_byte a.barecat-shard-00000 $(($(sql a.barecat "SELECT offset FROM files WHERE path = 'f/9'") + 5))
    run_fail 1 sb defrag a.barecat
    stderr_is "shardbox defrag: f/9: its bytes do not match its checksum, and no parity file makes them; it stays where it is
shardbox defrag: a.barecat: ended at a damaged file, which is not moved; bring it back with 'shardbox verify --repair' or --repair-from, or remove it, and run this again"
    [[ $(gaps) != 0 ]]
    run_fail 1 sb verify a.barecat
    [[ ${#lines[@]} == 1 ]]
    output_has "checksum: f/9: "
    run_ok sb rm a.barecat f/9
    run_ok sb defrag a.barecat
    [[ $(gaps) == 0 ]]
    run_ok sb verify a.barecat
}

# hold: a reader that keeps commits of the index waiting; let_go ends it.
hold() {
    mkfifo hold
    sqlite3 a.barecat <hold >held &
    reader=$!
    exec 9>hold
    echo 'BEGIN; SELECT count(*) FROM files;' >&9
    until [[ -s held ]]; do sleep 0.01; done
}

let_go() {
    exec 9>&-
    wait "$reader"
}

@test "an interrupt leaves the archive whole, and the next run goes on" {
    make_files 30 1000
    remove_where "path IN ('f/1', 'f/2')"
    hold
    "$SHARDBOX" defrag a.barecat 2>said 9>&- &
    pid=$!
    until [[ -e a.barecat.new ]]; do sleep 0.01; done
    kill -TERM "$pid"
    status=0
    wait "$pid" || status=$?
    ((status == 143))
    [[ $(<said) == "shardbox defrag: interrupted
shardbox defrag: a.barecat: is whole; run the same command again to go on" ]]
    let_go
    is_whole
    run_ok sb defrag a.barecat
    [[ $(gaps) == 0 ]]
    is_whole
}

@test "what a killed run leaves is in nobody's way" {
    make_files 30 1000
    remove_where "path IN ('f/1', 'f/2')"
    : >a.barecat.new
    echo 1 >t/new
    settle
    run_ok sb pack --append a.barecat -C t new
    [[ ! -e a.barecat.new ]]
    : >a.barecat.new
    : >a.barecat-shard-00001
    echo garbage >>a.barecat-shard-00000
    run_ok sb defrag a.barecat
    [[ ! -e a.barecat-shard-00001 && $(gaps) == 0 ]]
    is_whole
}

@test "killed at any call, every file is there, and the next run finishes" {
    every_third_day
    need_shim
    make_files 200 9000 --shard-size=500K
    remove_where "rowid % 4 = 1 OR shard = 3"
    mkdir kept
    cp -p a.barecat* kept
    for ((at = 1;; at += 5)); do
        rm -f a.barecat* mark
        cp -p kept/* .
        status=0
        LD_PRELOAD=$FAULT_SHIM FAULT_CALLS=write,sync,truncate,create,unlink FAULT_AT=$at \
            FAULT_HOW=torn FAULT_MARK=mark "$SHARDBOX" defrag a.barecat || status=$?
        [[ -e mark ]] || break
        ((status == 137)) || fail "not killed at call $at"
        run_ok sb verify --strict a.barecat
        sb diff -C t a.barecat || fail "call $at"
        run_ok sb defrag a.barecat
        [[ $(gaps) == 0 ]] || fail "call $at"
        is_whole
    done
    ((at > 60 && status == 0))
}

# bats test_tags=threads
@test "readers read the right bytes while it runs" {
    make_files 600 9000
    remove_where "rowid % 10 = 4"
    for ((round = 0; round < 5; round++)); do
        (cd t && find . -type f -printf '%P\n' | sort) >list
        (cd t && xargs cat <../list) | md5sum >wanted
        "$SHARDBOX" defrag a.barecat &
        pid=$!
        while kill -0 "$pid" 2>/dev/null; do
            "$SHARDBOX" cat -T list a.barecat | md5sum | diff wanted - || fail "wrong bytes"
        done
        wait "$pid"
        remove_where "path = (SELECT path FROM files ORDER BY offset LIMIT 1)"
    done
    is_whole
}

@test "no more free space is needed than 64 MiB and the largest file" {
    unshare -Urm sh -c 'mount -t tmpfs -o size=1M tmpfs /mnt' 2>/dev/null || skip "cannot mount here"
    mkdir t
    for ((i = 0; i < 150; i++)); do truncate -s 1M t/$i; done
    settle
    sb pack a.barecat -C t .
    remove_where "path IN ('0', '77')"
    mkdir small
    unshare -Urm sh -ec 'mount -t tmpfs -o size=$((150 + 64 + 1))M tmpfs small
        cp --sparse=never a.barecat* small
        "$0" defrag small/a.barecat
        "$0" verify --strict small/a.barecat
        cp small/a.barecat* .' "$SHARDBOX"
    [[ $(gaps) == 0 ]]
    is_whole
}

@test "--quick takes files from the end into gaps, and keeps shards that are to be kept" {
    make_files 300 1000 --shard-size=50K
    remove_where "rowid % 4 = 1"
    sizes >before
    run_ok sb defrag --quick --keep-through=3 a.barecat
    head -4 before | diff - <(sizes | head -4)
    run_ok sb defrag --quick --max-time=1m a.barecat
    (($(sizes | wc -l) < $(wc -l <before)))
    is_whole
}

@test "usage" {
    run_fail 2 sb defrag
    stderr_has "no archive given"
    run_fail 2 sb defrag a b
    stderr_has "b: only one archive"
    run_fail 2 sb defrag --max-time=5 a
    stderr_has "--max-time and --keep-through need --quick"
    run_fail 2 sb defrag --quick --shards=1 a
    for time in '' 5x -1 m 99999999999999999999 9999999999999999h 1.5; do
        run_fail 2 sb defrag --quick --max-time="$time" a
        stderr_has "--max-time: '$time' is no time, such as 90s, 5m, 2h or 1d"
    done
    for shards in '' x 3-2 -4 1-x 100000; do
        run_fail 2 sb defrag --shards="$shards" a
        stderr_has "--shards: '$shards' is not like 3, 3-7 or 3-"
    done
    run_fail 2 sb defrag nothing.barecat
    stderr_has "nothing.barecat: No such file"
    echo hello >text
    run_fail 2 sb defrag text
}
