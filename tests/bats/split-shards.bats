# shardbox split --shard-size ARCHIVE: an archive's files in shards of another size, in place.

load helper
load kept

# split SIZE [OPTION...]: -v says how many files were moved.
split() {
    run_ok sb split --shard-size="$1" -v "${@:2}" a.barecat
}

# Whole, and no shard has a second name.
is_done() {
    is_whole
    [[ -z $(find . -maxdepth 1 -name 'a.barecat*' -links +1) ]]
}

# What a shard is: bytes, inode, time.
shard() {
    stat -c '%i %y' a.barecat-shard-"$1"
    md5sum <a.barecat-shard-"$1"
}

in_order() {
    sql a.barecat "SELECT path FROM files WHERE size > 0 ORDER BY shard, offset"
}

# As many shards as are needed, no gap in any, none larger than SIZE, and room in none for the first
# file of the next.
suits() {
    sb ls --shards --json a.barecat | jq -se --argjson limit "$1" '
        map(.gaps == 0 and .size > 0 and .size <= $limit) | all' >/dev/null ||
        fail "a shard has gaps, is empty or larger than $1"
    [[ $(sql a.barecat "SELECT count(*) FROM files a JOIN files b
        ON b.shard = a.shard + 1 AND b.offset = 0 AND b.size > 0
        WHERE a.offset + a.size = (SELECT max(offset + size) FROM files WHERE shard = a.shard)
        AND a.offset + a.size + b.size <= $1") == 0 ]] || fail "a shard ends too soon"
    [[ $(sql a.barecat "SELECT value_int FROM config WHERE key = 'shard_size_limit'") == "$1" ]]
    [[ -z $(sql a.barecat "SELECT * FROM config WHERE key LIKE 'shardbox%'") ]]
}

@test "files are cut into shards of that size, in the order of their addresses" {
    make_files 300 1000
    in_order >before
    split 20000
    stderr_is "shardbox split: a.barecat: shards: 16, were: 1; moved files: 281 (276K)"
    suits 20000
    in_order | diff before -
    is_done
    split 7000
    suits 7000
    in_order | diff before -
    is_done
}

@test "shards are joined" {
    make_files 300 1000 --shard-size=5000
    in_order >before
    split 50000
    suits 50000
    in_order | diff before -
    is_done
    split 1G
    [[ $(sizes | wc -l) == 1 ]]
    in_order | diff before -
    is_done
    split 7000
    split 0
    [[ $(sizes | wc -l) == 1 ]]
    [[ $(sql a.barecat "SELECT value_int FROM config WHERE key = 'shard_size_limit'") == 9223372036854775807 ]]
    is_done
}

@test "leading shards that suit are not touched" {
    make_files 100 1000 --shard-size=20000
    remove_where "shard = 2 AND offset > 5000 AND offset < 9000"
    shard 00000 >0
    shard 00001 >1
    cp a.barecat-shard-00002 2
    split 20000
    shard 00000 | diff 0 -
    shard 00001 | diff 1 -
    run ! cmp 2 a.barecat-shard-00002
    suits 20000
    is_done
}

@test "the front of a large shard stays where it is" {
    make_files 100 1000
    head -c 9000 a.barecat-shard-00000 >front
    inode=$(stat -c %i a.barecat-shard-00000)
    split 10000
    [[ $(stat -c %i a.barecat-shard-00000) == "$inode" ]]
    cmp -n 9000 front a.barecat-shard-00000
    is_done
}

@test "an archive that suits is not changed" {
    make_files 100 1000 --shard-size=20000
    stat -c '%n %i %s %y %z' a.barecat* >before
    split 20000
    stderr_is "shardbox split: a.barecat: shards: 6, were: 6; moved files: 0 (0)"
    stat -c '%n %i %s %y %z' a.barecat* | diff before -
}

@test "the size is kept for later appends" {
    make_files 100 1000
    split 20000
    count=$(sizes | wc -l)
    mkdir n
    head -c 15000 /dev/zero >n/1
    cp n/1 n/2
    cp -p n/* t
    settle
    run_ok sb pack --append a.barecat -C t 1 2
    [[ $(sizes | wc -l) == $((count + 2)) ]]
    stat -c '%n %i %s %y' a.barecat-shard-* >before
    split 20000
    stat -c '%n %i %s %y' a.barecat-shard-* | diff before -
    sb convert --shard-size=1M a.barecat b.barecat
    run_ok sb split --shard-size=20000 b.barecat
    [[ $(stat -c %s b.barecat-shard-*) == "$(sizes)" ]]
}

@test "new shards are for those who may use the first one" {
    make_files 100 1000
    chmod 640 a.barecat-shard-00000
    split 20000
    [[ $(stat -c %a a.barecat-shard-* | sort -u) == 640 ]]
    split 30000
    [[ $(stat -c %a a.barecat-shard-* | sort -u) == 640 ]]
}

@test "a larger file has a shard to itself" {
    mkdir -p t/f
    head -c 50000 /dev/urandom >t/f/105
    make_files 120 1000
    head -c 60000 /dev/urandom >t/f/large
    settle
    sb pack -f a.barecat -C t .
    split 10000
    [[ $(sizes | sort -n | tail -1) == 60000 ]]
    [[ $(sql a.barecat "SELECT count(*) FROM files WHERE shard =
        (SELECT shard FROM files WHERE path = 'f/large')") == 1 ]]
    is_done
}

@test "empty files go along, wherever their addresses are" {
    make_files 60 1000 --shard-size=10000
    for ((i = 0; i < 20; i++)); do : >"t/f/1$i-empty"; done
    settle
    sb pack -f --shard-size=10000 a.barecat -C t .
    sql a.barecat "UPDATE files SET shard = 5, offset = 9999999 WHERE path = 'f/13-empty';
        UPDATE files SET shard = 3, offset = 0 WHERE path = 'f/14-empty';
        UPDATE files SET offset = 1 WHERE path = 'f/15-empty'"
    for size in 3000 40000 10000; do
        split $size
        suits $size
        is_done
    done
    rm t/f/*
    settle
    sql a.barecat "SELECT path FROM files WHERE size > 0" >names
    sb rm -T names a.barecat
    split 20000
    [[ $(sizes) == 0 ]]
    run_ok sb verify --strict a.barecat
    [[ $(sql a.barecat "SELECT count(*) FROM files") == 20 ]]
}

@test "an archive without files has one empty shard" {
    mkdir t
    settle
    sb pack a.barecat -C t .
    split 1K
    [[ $(sizes) == 0 ]]
    is_done
}

@test "shards that removed files left go" {
    make_files 100 1000 --shard-size=20000
    remove_where "shard >= 3"
    split 20000
    stderr_has "shards: 3, were: 6"
    suits 20000
    is_done
}

@test "--dry-run says what would be moved, and changes nothing" {
    make_files 100 1000 --shard-size=20000
    chmod a-w a.barecat*
    stat -c '%n %i %s %y %z' a.barecat* >before
    run_ok sb split -n --shard-size=50000 a.barecat
    output_is "shards: 6, would be: 3; files to move: 100 (98K)"
    stat -c '%n %i %s %y %z' a.barecat* | diff before -
    [[ ! -e a.barecat.new ]]
}

@test "linked shards are refused where they would change, and let alone where not" {
    make_files 100 1000 --shard-size=20000
    mv a.barecat-shard-00001 kept
    ln -s kept a.barecat-shard-00001
    ln a.barecat-shard-00004 backup
    run_ok sb split --shard-size=20000 a.barecat
    md5sum a.barecat* >before
    run_fail 2 sb split --shard-size=10000 a.barecat
    stderr_has "a.barecat-shard-00001: a symbolic link"
    rm a.barecat-shard-00001
    mv kept a.barecat-shard-00001
    run_fail 2 sb split --shard-size=10000 a.barecat
    stderr_has "a.barecat-shard-00004: has 2 hard links"
    md5sum a.barecat* | diff before -
    cp backup before
    split 10000 --follow
    suits 10000
    is_done
}

@test "a damaged file is named, and not moved" {
    make_files 100 1000
    flip_byte a.barecat-shard-00000 50000
    run_fail 1 sb verify a.barecat
    damage=$stderr
    run_fail 1 sb split --shard-size=20000 a.barecat
    stderr_has "its bytes do not match its checksum"
    run_fail 1 sb verify a.barecat
    [[ $stderr == "$damage" ]] || fail "other damage than before: $damage"
    run_ok sb rm a.barecat f/53
    run_ok sb split --shard-size=20000 a.barecat
    run_ok sb verify a.barecat
}

@test "files that share bytes are refused" {
    make_files 10 1000
    sql a.barecat "UPDATE files SET offset = offset - 1 WHERE path = 'f/5'"
    md5sum a.barecat* >before
    run_fail 1 sb split --shard-size=5000 a.barecat
    stderr_has "share bytes of shard 00000"
    md5sum a.barecat* | diff before -
}

@test "Barecat's removal of the last files leaves a shard that --force takes for the archive's" {
    make_files 100 1000 --shard-size=20000
    cp a.barecat-shard-00005 a.barecat-shard-00006
    run_fail 2 sb split --shard-size=50000 a.barecat
    stderr_has "no index says what is in a.barecat-shard-00006"
    split 50000 --force
    suits 50000
    is_done
}

# killed HOW CALLS AT SIZE: runs split until that call; the file mark says that it came.
killed() {
    local status=0
    rm -f mark
    LD_PRELOAD=$FAULT_SHIM FAULT_HOW=$1 FAULT_CALLS=$2 FAULT_AT=$3 FAULT_MARK=mark \
        "$SHARDBOX" split --shard-size="$4" a.barecat || status=$?
    [[ ! -e mark ]] || ((status == 137)) || fail "not killed at call $3"
}

# keep: what stands now comes back with restore.
keep() {
    mkdir kept
    cp -p a.barecat* kept
}

restore() {
    rm -f a.barecat*
    cp -p kept/* .
}

@test "killed at any call, every file is there, and the next run ends as an undisturbed one" {
    every_third_day
    need_shim
    make_files 100 1000 --shard-size=40000
    remove_where "rowid % 5 = 1 AND shard > 0"
    in_order >order
    keep
    split 12000
    md5sum a.barecat-shard-* >wanted
    for ((at = 1;; at += 9)); do
        restore
        killed torn write,sync,rename,truncate,create,unlink $at 12000
        [[ -e mark ]] || break
        run_ok sb verify --strict a.barecat
        sb diff -C t a.barecat || fail "call $at"
        in_order | diff order - || fail "call $at"
        split 12000
        md5sum a.barecat-shard-* | diff wanted - || fail "call $at"
        suits 12000
        is_done
    done
    ((at > 100))
}

@test "names that cannot be removed cost nothing" {
    need_shim
    make_files 100
    in_order >order
    keep
    for ((at = 1;; at++)); do
        restore
        rm -f mark
        LD_PRELOAD=$FAULT_SHIM FAULT_HOW=EIO FAULT_CALLS=unlink FAULT_AT=$at FAULT_MARK=mark \
            run sb split --shard-size=12000 a.barecat
        [[ -e mark ]] || break
        ((status == 0 || status == 2)) || fail "call $at: $status"
        run_ok sb verify --strict a.barecat
        in_order | diff order - || fail "call $at"
        split 12000
        is_whole
    done
    ((at > 2))
}

@test "shards that a killed run made and did not record are recorded before they hold anything" {
    every_third_day
    need_shim
    make_files 20 1000 --shard-size=40000
    keep
    for ((at = 1; at < 50; at++)); do
        restore
        killed kill sync $at 8000
        [[ ! -e a.barecat-shard-00001 ]] || break
    done
    [[ -z $(sql a.barecat "SELECT 1 FROM config WHERE key = 'shardbox_shard_count'") ]]
    rm -r kept
    keep
    for ((at = 1;; at += 3)); do
        restore
        killed kill write,sync,rename,truncate,create,unlink $at 8000
        [[ -e mark ]] || break
        run_ok sb verify --strict a.barecat
        split 8000
        suits 8000
        is_done
    done
    ((at > 30))
}

# Six files of which a batch takes only one.
make_large() {
    mkdir t
    for i in 1 2 3 4 5 6; do head -c 33M /dev/zero >t/$i; done
    settle
    sb pack a.barecat -C t .
}

@test "a killed run goes on where it was" {
    need_shim
    make_large
    killed kill truncate 3 80M
    run_ok sb verify --strict a.barecat
    run_ok sb split -n --shard-size=80M a.barecat
    output_is "shards: 5, would be: 3; files to move: 1 (33M)"
    split 80M
    stderr_has "moved files: 1 (33M)"
    suits $((80 << 20))
    is_done
}

@test "after a killed run files may be removed and added, and any size is right" {
    need_shim
    make_large
    killed kill truncate 3 80M
    keep
    echo new >t/7
    settle
    run_ok sb pack --append a.barecat -C t 7
    split 80M
    stderr_has "moved files: 1 (33M)"
    suits $((80 << 20))
    is_done

    restore
    rm t/6 t/7
    settle
    run_ok sb rm a.barecat 6
    split 80M
    stderr_has "moved files: 1 (33M)"
    is_done
    [[ $(sizes | wc -l) == 3 ]]

    restore
    rm t/2
    settle
    run_ok sb rm a.barecat 2 6
    split 80M
    suits $((80 << 20))
    is_done

    restore
    run_ok sb rm a.barecat 2 6
    split 200M
    suits $((200 << 20))
    is_done
}

# first_with_two_numbers: first is the rename after which a killed split leaves a shard under two.
first_with_two_numbers() {
    for ((first = 1; ; first++)); do
        restore
        killed kill rename $first 9000
        [[ -e mark ]] || fail 'no shard has two numbers'
        [[ -z $(find . -maxdepth 1 -name 'a.barecat-shard-*' -links +1) ]] || return 0
    done
}

@test "a shard that a killed run left under two numbers is not emptied through one of them" {
    need_shim
    make_files 100 1000 --shard-size=40000
    keep
    first_with_two_numbers
    for at in $first $((first + 3)) $((first + 7)); do
        restore
        killed kill rename "$at" 9000
        [[ -n $(find . -maxdepth 1 -name 'a.barecat-shard-*' -links +1) ]]
        run_ok sb defrag --follow a.barecat
        is_done
        split 9000
        suits 9000
        is_done
    done
}

@test "while a run is at work other writers leave its shards alone, also between its commits" {
    need_shim
    make_files 100 1000 --shard-size=40000
    keep
    first_with_two_numbers
    find . -maxdepth 1 -name 'a.barecat-shard-*' -links 2 >before
    [[ -s before ]]
    mkfifo fifo
    # The lock that the run holds throughout, as the index's is not.
    python3 -c '
import fcntl, struct, sys
new = open("a.barecat.new", "r+b")
fcntl.fcntl(new, 37, struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 1, 0))
print("held", flush=True)
sys.stdin.read()' <fifo >lock 3>&- &
    pid=$!
    exec 5>fifo
    until [[ -s lock ]]; do kill -0 $pid; done
    for command in "rm a.barecat f/1" "pack --append a.barecat -C t f" "defrag a.barecat" \
        "split --shard-size=9000 a.barecat" "upgrade a.barecat"; do
        # shellcheck disable=SC2086 # several words
        run_fail 2 sb $command
        stderr_has "is writing this archive"
    done
    exec 5>&-
    wait $pid
    find . -maxdepth 1 -name 'a.barecat-shard-*' -links 2 | diff before -
    split 9000
    is_done
}

@test "a row of config about shards under way that makes no sense counts as none" {
    make_files 100 1000 --shard-size=40000
    keep
    for row in "NULL, NULL" "'x', 5" "'7', 3" "'1', 2" "'0', 99999"; do
        restore
        ln -f a.barecat-shard-00001 a.barecat-shard-00002
        cp --remove-destination kept/a.barecat-shard-00002 .
        sql a.barecat "INSERT INTO config VALUES ('shardbox_renumber', $row)"
        run_ok sb verify --strict a.barecat
        split 9000
        suits 9000
        is_done
    done
}

@test "an interrupt leaves the archive whole" {
    make_large
    "$SHARDBOX" split --shard-size=50M a.barecat 2>stderr &
    pid=$!
    kill -INT $pid
    status=0
    wait $pid || status=$?
    ((status == 0 || status == 130)) || fail "exit status $status"
    is_done
    split 50M
    is_done
}

@test "readers read the right bytes while it runs" {
    make_files 600 1000
    (cd t && find . -type f -printf '%P\n' | sort) >list
    (cd t && xargs cat <../list) | md5sum >wanted
    for size in 30000 5000 1G; do
        "$SHARDBOX" split --shard-size=$size a.barecat &
        pid=$!
        while kill -0 "$pid" 2>/dev/null; do
            "$SHARDBOX" cat -T list a.barecat | md5sum | diff wanted - || fail "wrong bytes"
            capture sb verify --strict a.barecat
            ((status == 0)) || stderr_is 'shardbox verify: a.barecat: was changed while it was being verified; verify it again'
        done
        wait "$pid"
    done
    is_done
}

@test "no more free space is needed than 64 MiB and the largest file" {
    unshare -Urm sh -c 'mount -t tmpfs -o size=1M tmpfs /mnt' 2>/dev/null || skip "cannot mount here"
    mkdir t
    for ((i = 0; i < 150; i++)); do truncate -s 1M t/$i; done
    settle
    sb pack a.barecat -C t .
    mkdir small
    for size in 10M 100M; do
        unshare -Urm sh -ec 'mount -t tmpfs -o size=$((150 + 64 + 1))M tmpfs small
            cp --sparse=never a.barecat* small
            "$0" split --shard-size="$1" small/a.barecat
            "$0" verify --strict small/a.barecat
            rm a.barecat*
            cp small/a.barecat* .' "$SHARDBOX" "$size"
        is_done
    done
}

@test "where the file system makes no hard links nothing is begun" {
    need_shim
    make_files 100 1000
    md5sum a.barecat* >before
    run_fail 2 env LD_PRELOAD="$FAULT_SHIM" FAULT_CALLS=create FAULT_AT=2 FAULT_HOW=EIO \
        "$SHARDBOX" split --shard-size=9000 a.barecat
    stderr_has "shards get their numbers by hard links, which cannot be made here"
    md5sum a.barecat* | diff before -
}

@test "where space runs out the last line says how to go on" {
    need_shim
    make_files 300 1000
    run_fail 2 env LD_PRELOAD="$FAULT_SHIM" FAULT_CALLS=write FAULT_AT=80 FAULT_HOW=ENOSPC \
        "$SHARDBOX" split --shard-size=20000 a.barecat
    stderr_has "No space left on device"
    stderr_has "a.barecat: is whole; run the same command again to go on"
    is_done
    split 20000
    suits 20000
}
