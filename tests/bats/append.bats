# shardbox pack --append: additions to an archive, while others read it.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir -p t/d
    echo one >t/d/1
    echo two >t/d/2
    touch -d '2020-01-01' t/d/1 t/d/2
    "$SHARDBOX" pack a.barecat -C t .
}

# killed CALLS AT COMMAND...: kills the command before that call, of those kinds.
killed() {
    local status=0
    LD_PRELOAD=$FAULT_SHIM FAULT_HOW=kill FAULT_CALLS=$1 FAULT_AT=$2 \
        "$SHARDBOX" "${@:3}" || status=$?
    ((status == 137)) || fail "not killed at call $2 of $1: ${*:3}"
}

paths() {
    sql a.barecat "SELECT path FROM files ORDER BY path"
}

@test "new files are added behind the old ones, and the statistics grow" {
    mkdir -p n/d/e n/f
    echo three >n/d/3
    echo four >n/d/e/4
    cp a.barecat-shard-00000 before
    run_ok sb pack --append a.barecat -C n .
    run_ok sb verify --strict a.barecat
    [[ $(paths) == $'d/1\nd/2\nd/3\nd/e/4' ]]
    cmp -n 8 before a.barecat-shard-00000
    run_ok sql a.barecat "SELECT path, num_subdirs, num_files, num_files_tree, size_tree FROM dirs
        ORDER BY path"
    output_is "|2|0|4|19
d|1|3|4|19
d/e|0|1|1|5
f|0|0|0|0"
}

@test "a name that is there already with other bytes is named, the rest is added" {
    echo new >t/d/3
    run_ok sb pack --append -v a.barecat -C t .
    stderr_is "shardbox pack: a.barecat: stored 1 files (4) and 1 directories"
    sb rm a.barecat d/3
    echo ONE >t/d/1
    echo longer >t/d/2
    run_fail 1 sb pack --append a.barecat -C t .
    stderr_has "d/1: is in the archive already; left out (see --update and --duplicates)"
    stderr_has "d/2: is in the archive already"
    [[ $(paths) == $'d/1\nd/2\nd/3' ]]
    run_ok sb verify a.barecat
}

@test "--update replaces what is newer or of another size, and nothing else" {
    echo ONE >t/d/1
    touch -d '2020-01-02' t/d/1
    printf 'two, longer' >t/d/2
    touch -d '2019-01-01' t/d/2
    run_ok sb pack --append --update a.barecat -C t .
    [[ $(sb cat a.barecat d/1 d/2) == $'ONE\ntwo, longer' ]]
    run_ok sb verify a.barecat
    size=$(stat -c %s a.barecat-shard-00000)
    run_ok sb pack --append --update a.barecat -C t .
    [[ $(stat -c %s a.barecat-shard-00000) == "$size" ]]
}

@test "names are met in whatever order they come" {
    mkdir -p n/{a,b/c}
    for i in {1..40}; do
        echo "$i" | tee "n/$i" "n/a/$i" "n/a-$i" >"n/b/c/$i"
    done
    sb pack half.barecat -C n --exclude='*[13579]' .
    (cd n && find . -type f) >sorted
    sort -r sorted >reversed
    shuf --random-source=sorted sorted >shuffled
    LC_ALL=C sort -o sorted sorted
    for order in sorted reversed shuffled; do
        tar -C n -cf "$order.tar" -T "$order"
        sb convert half.barecat "$order.barecat"
        run_ok sb convert --append --duplicates=first "$order.tar" "$order.barecat"
        run_ok sb diff -C n "$order.barecat"
        size=$(stat -c %s "$order.barecat-shard-00000")
        run_ok sb convert --append "$order.tar" "$order.barecat"
        [[ $(stat -c %s "$order.barecat-shard-00000") == "$size" ]]
    done
}

# The state of the archive's files on disk, but for what reading changes.
on_disk() {
    stat -c '%n %i %s %Y %y %h' a.barecat*
    md5sum a.barecat*
}

@test "--update brings modes and times up to date in the index alone, of files and directories" {
    seq 600000 >t/d/large
    sb pack --append a.barecat -C t . 2>/dev/null || true
    chmod 600 t/d/1
    touch -d '2010-01-01' t/d/2
    touch -d '2030-01-01' t/d/large
    chmod 700 t/d
    local size
    size=$(stat -c %s a.barecat-shard-00000)
    touch -d 2001-02-03 a.barecat-shard-00000
    run_ok sb pack --append --update -n a.barecat -C t .
    [[ $(sort <<<"$output") == $'d\nd/1\nd/2\nd/large' ]] || fail "listed"
    run_ok sb pack --append --update -v a.barecat -C t .
    stderr_is "shardbox pack: a.barecat: stored 0 files (0) and 1 directories
shardbox pack: a.barecat: files that changed in mode, owner or time alone: 3"
    [[ $(stat -c '%s %Y' a.barecat-shard-00000) == "$size $(date -d 2001-02-03 +%s)" ]]
    run_ok sb diff -C t a.barecat
    run_ok sb verify --strict a.barecat
}

@test "--update looks at bytes where the time is another, whichever is newer" {
    echo ONE >t/d/1
    touch -d '2010-01-01' t/d/1
    run_ok sb pack --append --update a.barecat -C t .
    [[ $(sb cat a.barecat d/1) == ONE ]]
    run_ok sb diff -C t a.barecat
    run_ok sb verify a.barecat
}

@test "--checksum finds other bytes of the same size and time, large files too" {
    seq 600000 >t/d/large
    touch -d 2020-01-01 t/d/large
    sb pack --force a.barecat -C t .
    echo ONE >t/d/1
    echo 2 | dd of=t/d/large bs=1 conv=notrunc status=none
    touch -d 2020-01-01 t/d/1 t/d/large
    run_ok sb pack --append --update -n -v a.barecat -C t .
    output_is ""
    on_disk >before
    run_ok sb pack --append --update --checksum -n a.barecat -C t .
    [[ $(sort <<<"$output") == $'d/1\nd/large' ]] || fail "listed"
    on_disk | cmp - before
    run_ok sb pack --append --update --checksum -v a.barecat -C t .
    stderr_is "shardbox pack: a.barecat: stored 2 files (3.9M) and 0 directories"
    run_ok sb diff -C t a.barecat
    run_ok sb pack --append --update --checksum -n -v a.barecat -C t .
    output_is ""
    stderr_is ""
    run_fail 2 sb pack --append --checksum a.barecat -C t .
    stderr_has "--checksum needs --update"
}

@test "after a night without changes --update is silent and changes no shard, also with -n -v and -v" {
    make_tree tree
    sb pack -q b.barecat -C tree .
    for options in '-n -v' -v '-n -v --checksum' '-v --checksum' "-n -v --compress=gz"; do
        [[ $options != *gz ]] || sb pack -q --force --compress=gz b.barecat -C tree .
        touch -d 2001-02-03 b.barecat-shard-00000
        # shellcheck disable=SC2086 # words
        run_ok sb pack --append --update $options b.barecat -C tree .
        output_is ""
        stderr_is ""
        [[ $(stat -c %Y b.barecat-shard-00000) == $(date -d 2001-02-03 +%s) ]]
    done
}

@test "--update with --compress goes by times, and compares what is stored" {
    sb pack --force --compress=gz a.barecat -C t .
    size=$(stat -c %s a.barecat-shard-00000)
    touch -d 2022-01-01 t/d/1
    run_ok sb pack --append --update --compress=gz a.barecat -C t .
    [[ $(stat -c %s a.barecat-shard-00000) == "$size" ]]
    [[ $(sql a.barecat "SELECT mtime_ns / 1000000000 FROM files WHERE path = 'd/1.gz'") == \
        $(date -d 2022-01-01 +%s) ]]
    echo ONE >t/d/1
    run_ok sb pack --append --update --compress=gz a.barecat -C t .
    [[ $(sb cat --decompress a.barecat d/1.gz) == ONE ]]
    run_ok sb verify a.barecat
}

@test "--update: a directory takes the place of a file, a file that of an empty directory, a link either's" {
    mkdir t/empty
    sb pack --force a.barecat -C t .
    rm t/d/1
    mkdir -p t/d/1/sub
    echo x >t/d/1/sub/x
    rmdir t/empty
    echo e >t/empty
    rm t/d/2
    ln -s 1/sub/x t/d/2
    run_ok sb pack --append --update -n a.barecat -C t .
    [[ $(sort <<<"$output") == $'.\nd\nd/1\nd/1/sub\nd/1/sub/x\nd/2\nempty' ]] || fail "listed"
    run_ok sb pack --append --update a.barecat -C t .
    stderr_is ""
    run_ok sb diff -C t a.barecat
    run_ok sb verify --strict a.barecat
}

@test "--update does not drop files for a file that has their directory's name: it says what to do" {
    rm -r t/d
    echo flat >t/d
    echo new >t/new
    run_fail 1 sb pack --append --update a.barecat -C t .
    stderr_has "d: is a directory in the archive; left out; 'shardbox rm -r' removes it with all that is below it"
    [[ $(paths) == $'d/1\nd/2\nnew' ]]
    run_ok sb verify a.barecat
    run_ok sb rm -r a.barecat d
    run_ok sb pack --append --update a.barecat -C t .
    run_ok sb diff -C t a.barecat
    run_ok sb verify a.barecat
}

@test "--duplicates=first and last settle it without a word" {
    echo ONE >t/d/1
    run_ok sb pack --append --duplicates=first a.barecat -C t .
    stderr_is ""
    [[ $(sb cat a.barecat d/1) == one ]]
    run_ok sb pack --append --duplicates=last a.barecat -C t .
    [[ $(sb cat a.barecat d/1) == ONE ]]
    run_ok sb verify a.barecat
    run_ok sb diff -C t a.barecat
}

@test "a file cannot take a directory's name, nor the other way round" {
    mkdir -p n/d/1
    echo x >n/d/1/x
    run_fail 1 sb pack --append a.barecat -C n .
    stderr_has "d/1: is a file in the archive; left out"
    stderr_has "d/1/x: a name above it is a file in the archive; left out"
    rm -r n/d
    echo x >n/d
    run_fail 1 sb pack --append a.barecat -C n .
    stderr_has "d: is a directory in the archive; left out"
    [[ $(paths) == $'d/1\nd/2' ]]
    run_ok sb verify a.barecat
}

@test "a shard that gets no bytes keeps its time" {
    mkdir -p n/empty-dir
    : >n/empty-file
    touch -d 2001-02-03 a.barecat-shard-00000
    run_ok sb pack --append -C n a.barecat .
    [[ $(stat -c %Y a.barecat-shard-00000) == $(date -d 2001-02-03 +%s) ]]
    run_ok sb verify a.barecat
}

@test "--seal opens a new shard and changes no existing one" {
    before=$(md5sum a.barecat-shard-00000; stat -c %y a.barecat-shard-00000)
    echo 3 >3
    run_ok sb pack --append --seal a.barecat 3
    [[ $(md5sum a.barecat-shard-00000; stat -c %y a.barecat-shard-00000) == "$before" ]]
    [[ $(cat a.barecat-shard-00001) == 3 ]]
    [[ $(sql a.barecat "SELECT count(*) FROM config") == 4 ]]
    run_ok sb verify a.barecat
}

@test "the shard size that was kept is obeyed" {
    sb pack --force --shard-size=10 a.barecat -C t .
    echo three >3
    run_ok sb pack --append a.barecat 3
    [[ $(stat -c %s a.barecat-shard-*) == $'8\n6' ]]
    run_ok sb pack --append --shard-size=1K a.barecat -C t --prefix=again .
    [[ $(stat -c %s a.barecat-shard-*) == $'8\n14' ]]
    [[ $(sql a.barecat "SELECT value_int FROM config WHERE key = 'shard_size_limit'") == 1024 ]]
}

@test "shards behind links are never written to" {
    ln a.barecat-shard-00000 backup
    echo 3 >3
    run_ok sb pack --append a.barecat 3
    [[ $(cat backup) == $'one\ntwo' ]]
    [[ $(cat a.barecat-shard-00001) == 3 ]]
    mv a.barecat-shard-00001 elsewhere
    ln -s elsewhere a.barecat-shard-00001
    echo 4 >4
    run_ok sb pack --append a.barecat 4
    [[ $(cat elsewhere) == 3 ]]
    run_ok sb verify a.barecat
}

@test "what a killed run has added to a shard is cut off" {
    need_shim
    head -c 100000 /dev/urandom >large
    killed sync 1 pack --append a.barecat large
    [[ $(stat -c %s a.barecat-shard-00000) == 100008 ]] || fail "$(stat -c %s a.barecat-shard-00000)"
    echo 3 >3
    run_ok sb pack --append a.barecat 3
    [[ $(cat a.barecat-shard-00000) == $'one\ntwo\n3' ]]
    run_ok sb verify a.barecat
}

@test "where the index of a killed run is lost, the next one says how to get it back" {
    need_shim
    run_ok sb protect a.barecat
    echo 3 >3
    killed sync 1 pack --append a.barecat 3
    rm a.barecat
    run_fail 2 sb pack --append a.barecat 3
    stderr_has "a.barecat: the index is missing, and an interrupted change left a.barecat.new; bring the index back"
    run_fail 1 sb verify --repair a.barecat
    stderr_has "its index was lost, and is one of before"
    run_ok sb pack --append a.barecat 3
    [[ $(sb cat a.barecat 3) == 3 ]]
}

@test "what a killed run has committed stays, also beside an index of before that was put back by cp" {
    need_shim
    cp a.barecat before
    head -c 5000 /dev/urandom >new
    # The journal took the place of the note: before it is removed, all is done.
    killed unlink 1 pack --append a.barecat new
    [[ ! -e a.barecat-journal && $(head -c 8 a.barecat.new | xxd -p) == d9d505f920a163d7 ]]
    cp a.barecat after
    cp before a.barecat
    echo 3 >3
    run_ok sb pack --append a.barecat 3
    run_ok sb verify a.barecat
    [[ $(echo a.barecat*) == 'a.barecat a.barecat-shard-00000' ]]
    cp after a.barecat
    sb cat a.barecat new | cmp - new
}

@test "so does a whole shard" {
    need_shim
    cp a.barecat before
    echo 3 >3
    killed unlink 1 pack --append --seal a.barecat 3
    cp a.barecat after
    cp before a.barecat
    run_fail 2 sb pack --append a.barecat 3
    stderr_has "no index says what is in a.barecat-shard-00001"
    cp after a.barecat
    run_ok sb verify a.barecat
}

@test "a commit that a reader has rolled back is none: its bytes and shards go" {
    need_shim
    head -c 5000 /dev/urandom >new
    echo 3 >3
    for seal in '' --seal; do
        killed rename $((${#seal} ? 2 : 1)) pack --append $seal a.barecat new
        [[ -s a.barecat-journal ]]
        run_fail 1 sb cat a.barecat new
        [[ ! -e a.barecat-journal && -s a.barecat.new ]]
        run_ok sb pack --append a.barecat 3
        [[ $(cat a.barecat-shard-*) == $'one\ntwo\n3' ]]
        sb rm a.barecat 3
        sb defrag a.barecat
    done
}

@test "other bytes after the last file stay, since an older index need not know of them" {
    need_shim
    echo 3 >3
    killed rename 1 pack --append --seal a.barecat 3
    [[ -s a.barecat.new && -s a.barecat.new-shard-00001 ]]
    printf 'orphan bytes' >>a.barecat-shard-00000
    run_ok sb pack --append a.barecat 3
    [[ $(cat a.barecat-shard-00000) == $'one\ntwo\norphan bytes3' ]]
    [[ $(echo a.barecat*) == 'a.barecat a.barecat-shard-00000' ]]
    run_ok sb verify a.barecat
}

@test "a shard that is shorter than the index says is not appended to" {
    truncate -s 5 a.barecat-shard-00000
    echo 3 >3
    run_fail 2 sb pack --append a.barecat 3
    stderr_has "shard 00000 is shorter than the index says"
    [[ $(stat -c %s a.barecat-shard-00000) == 5 ]]
    rm a.barecat-shard-00000
    run_fail 2 sb pack --append a.barecat 3
    stderr_has "a.barecat-shard-00000: No such file or directory"
}

@test "a shard that no file is in is named and refused, unless it is empty" {
    sb pack --append --seal --prefix=x a.barecat -C t .
    sql a.barecat "PRAGMA recursive_triggers = ON; DELETE FROM files WHERE shard = 1"
    echo 3 >3
    run_fail 2 sb pack --append a.barecat 3
    stderr_has "no index says what is in a.barecat-shard-00001"
    [[ $(cat a.barecat-shard-00001) == $'one\ntwo' ]]
    : >a.barecat-shard-00001
    run_ok sb pack --append a.barecat 3
    [[ $(cat a.barecat-shard-00001) == 3 ]]
    run_ok sb verify a.barecat
}

# emptied COUNT: an archive of two shards, the second of which no file is in any more, and the row
# that says how many are its own.
emptied() {
    sb pack --append --seal --prefix=x a.barecat -C t .
    sql a.barecat "PRAGMA recursive_triggers = ON; DELETE FROM files WHERE shard = 1;
        DELETE FROM dirs WHERE path = 'x/d'; DELETE FROM dirs WHERE path = 'x';
        INSERT INTO config (key, value_int) VALUES ('shardbox_shard_count', $1)"
}

shard_count() {
    sql a.barecat "SELECT value_int FROM config WHERE key = 'shardbox_shard_count'"
}

@test "a shard whose files were all removed is the archive's when the index says so: append goes on in it" {
    emptied 2
    run_ok sb verify a.barecat
    echo 3 >3
    run_ok sb pack --append a.barecat 3
    [[ $(cat a.barecat-shard-00001) == *3 ]]
    [[ -z $(shard_count) ]] || fail "the row is not needed any more"
    run_ok sb verify a.barecat
}

@test "an append that adds nothing keeps the number of shards" {
    emptied 2
    run_ok sb pack --append --duplicates=first a.barecat -C t .
    [[ $(shard_count) == 2 ]]
    run_ok sb verify a.barecat
}

@test "a shard behind those that the index counts is a stranger's" {
    emptied 2
    echo data >a.barecat-shard-00002
    echo 3 >3
    for how in --append --force; do
        run_fail 2 sb pack "$how" a.barecat 3
        stderr_has "no index says what is in a.barecat-shard-00002, and it may be data; move it away, or, if it was this archive's, run 'shardbox defrag --force "
        [[ $(cat a.barecat-shard-00002) == data ]]
    done
}

@test "shards that the index counts, but another program has removed, are not missed" {
    emptied 4
    rm a.barecat-shard-00001
    run_ok sb verify a.barecat
    run_ok sb defrag a.barecat
    sb pack --append --seal --prefix=y a.barecat -C t .
    run_ok sb rm -r a.barecat y
    rm a.barecat-shard-00001
    echo 3 >3
    run_ok sb pack --append a.barecat 3
    [[ $(stat -c %s a.barecat-shard-*) == 10 ]]
    [[ -z $(shard_count) ]]
    run_ok sb verify a.barecat
}

@test "--force replaces shards that no file is in any more" {
    emptied 2
    echo 3 >3
    run_ok sb pack --force a.barecat 3
    [[ $(ls a.barecat*) == $'a.barecat\na.barecat-shard-00000' ]]
    [[ -z $(shard_count) ]]
    run_ok sb verify a.barecat
}

@test "a number of shards that makes no sense is damage, and costs no file" {
    for count in -1 100001 "'two'" NULL; do
        sb pack --force a.barecat -C t .
        emptied "$count"
        echo 3 >3
        for how in --append --force; do
            run_fail 2 sb pack "$how" a.barecat 3
            stderr_has "the config row shardbox_shard_count makes no sense; run 'shardbox upgrade'"
        done
        [[ $(cat a.barecat-shard-00001) == $'one\ntwo' ]]
        run_fail 1 sb verify a.barecat
        output_has "config.shardbox_shard_count is not a number of shards"
        run_ok sb upgrade a.barecat
        run_ok sb verify a.barecat
        run_fail 2 sb pack --append a.barecat 3
        stderr_has "no index says what is in a.barecat-shard-00001"
        rm a.barecat-shard-00001
    done
}

@test "renames that an interrupted run left are finished by the next writer, and read through before" {
    sb pack --append --seal --prefix=x a.barecat -C t .
    mv a.barecat-shard-00001 a.barecat.new-shard-00001
    sql a.barecat "INSERT INTO config VALUES ('shardbox_shard_prefix', 'a.barecat.new', 2)"
    run_ok sb verify a.barecat
    [[ $(sb cat a.barecat x/d/2) == two ]]
    echo 3 >3
    run_ok sb pack --append a.barecat 3
    [[ ! -e a.barecat.new-shard-00001 ]]
    [[ $(sql a.barecat "SELECT count(*) FROM config") == 4 ]]
    run_ok sb verify a.barecat
}

@test "a shard that has both names, the one before the rename and the one after it" {
    ln a.barecat-shard-00000 a.barecat.new-shard-00000
    sql a.barecat "INSERT INTO config VALUES ('shardbox_shard_prefix', 'a.barecat.new', 1)"
    echo 3 >3
    run_ok within 10 "$SHARDBOX" pack --append a.barecat 3
    [[ ! -e a.barecat.new-shard-00000 && $(stat -c %h a.barecat-shard-00000) == 1 ]]
    run_ok sb verify a.barecat
}

@test "a row about renames that makes no sense costs nothing" {
    for row in "'a.barecat.new', 0" "'../x.new', 1" "'a.barecat.new', 999999999" "NULL, NULL"; do
        sql a.barecat "INSERT OR REPLACE INTO config VALUES ('shardbox_shard_prefix', $row)"
        echo 3 >3
        run_fail 2 sb pack --append a.barecat 3
        [[ $(cat a.barecat-shard-00000) == $'one\ntwo' ]]
    done
}

@test "an index with several hard links is not replaced while it says where shards stand" {
    mv a.barecat-shard-00000 a.barecat.new-shard-00000
    sql a.barecat "INSERT INTO config VALUES ('shardbox_shard_prefix', 'a.barecat.new', 1)"
    mkdir backup
    cp -al a.barecat* backup
    run_fail 2 sb pack --force a.barecat t
    stderr_has "a.barecat: has 2 hard links"
    run_ok sb verify backup/a.barecat
    run_ok sb verify a.barecat
}

@test "a journal that says nothing, of a run that was killed, is in nobody's way" {
    for bytes in 0 512; do
        for command in 'pack --force a.barecat t' 'pack --force --checkpoint=1k a.barecat t' \
            'convert --force t a.barecat'; do
            truncate -s "$bytes" a.barecat-journal
            # shellcheck disable=SC2086 # words
            run_ok sb $command
            run_ok sb verify a.barecat
            rm -f a.barecat-journal
        done
    done
}

@test "nothing is written into an empty shard that the index does not count before the commit" {
    : >a.barecat-shard-00001
    echo 3 >3
    need_shim
    for ((at = 1; at < 30; at++)); do
        LD_PRELOAD=$FAULT_SHIM FAULT_HOW=kill FAULT_CALLS=write,sync,rename,unlink FAULT_AT=$at \
            run sb pack --append --duplicates=last a.barecat 3
        run_ok sb defrag a.barecat
    done
    run_ok sb pack --append --duplicates=last a.barecat 3
    [[ $(sb cat a.barecat 3) == 3 ]]
}

@test "a foreign file that took the place of the note during the run is kept" {
    need_shim
    echo 3 >3
    for option in --no-progress --seal; do
        for ((at = 1; at < 30; at++)); do
            rm -f a.barecat.new moved mark
            LD_PRELOAD=$FAULT_SHIM FAULT_HOW=run FAULT_CALLS=sync FAULT_AT=$at FAULT_MARK=$PWD/mark \
                FAULT_RUN='[ ! -e a.barecat.new ] || { mv a.barecat.new moved; echo mine >a.barecat.new; }' \
                capture sb pack --append $option --duplicates=last a.barecat 3
            [[ -e mark ]] || break
            [[ ! -e moved || $(cat a.barecat.new) == mine ]] || fail "$option: removed at $at"
            mv -f a.barecat.new mine
            mv -f moved a.barecat.new
            run_ok sb pack --append --duplicates=last a.barecat 3
            run_ok sb verify a.barecat
        done
        ((at > 3 && at < 30))
    done
}

@test "an interrupted first pack is completed by --append" {
    need_shim
    echo 3 >3
    for at in 1 2; do
        rm -f b.barecat*
        killed rename $at pack b.barecat t
        run_fail 2 sb ls b.barecat
        stderr_has "b.barecat.new"
        run_ok sb pack --append b.barecat 3
        [[ $(sb find --type=f b.barecat) == $'3\nt/d/1\nt/d/2' ]]
        [[ $(echo b.barecat*) == 'b.barecat b.barecat-shard-00000' ]]
        run_ok sb verify b.barecat
    done
}

@test "an interrupted first pack is started over by pack, shards renamed already too" {
    need_shim
    for at in 1 2; do
        killed rename $at pack b.barecat t
        run_ok sb pack b.barecat t/d/1
        [[ $(sb find --type=f b.barecat) == t/d/1 ]]
        [[ $(echo b.barecat*) == 'b.barecat b.barecat-shard-00000' ]]
        rm b.barecat*
    done
}

@test "a half-made archive is cleared up when nobody is at it, and nothing else" {
    need_shim
    killed write 4 pack b.barecat t
    [[ -e b.barecat.new && -e b.barecat.new-index ]]
    echo mine >b.barecat.new-shard-00007
    echo mine >b.barecat.new.bak
    run_ok sb pack b.barecat t
    [[ $(echo b.barecat*) == 'b.barecat b.barecat-shard-00000 b.barecat.new-shard-00007 b.barecat.new.bak' ]]
    [[ $(cat b.barecat.new*) == $'mine\nmine' ]]
    : >c.barecat.new
    run_ok sb pack c.barecat t
    run_ok sb verify c.barecat
}

@test "an index under its old name is read through renames too" {
    mv a.barecat a.barecat-sqlite-index
    run_ok sb pack --append --seal --prefix=x a.barecat -C t .
    mv a.barecat-shard-00001 a.barecat.new-shard-00001
    sql a.barecat-sqlite-index \
        "INSERT INTO config VALUES ('shardbox_shard_prefix', 'a.barecat.new', 2)"
    run_ok sb cat a.barecat x/d/2
    output_is two
    run_ok sb verify a.barecat
}

@test "a schema that is not 0.3 is not written" {
    sql a.barecat "UPDATE config SET value_int = 2 WHERE key = 'schema_version_minor'"
    echo 3 >3
    run_fail 2 sb pack --append a.barecat 3
    stderr_has "an older schema; run 'shardbox upgrade"
    sql a.barecat "UPDATE config SET value_int = 4 WHERE key = 'schema_version_minor'"
    run_fail 2 sb pack --append a.barecat 3
    stderr_has "schema 0.4 is newer than this program, which can only read it"
}

@test "appending to what is not there makes it; to a link is an error" {
    mkdir in
    echo x >in/x
    run_ok sb pack --append --update --seal -v made.barecat -C in .
    stderr_has "shardbox pack: made.barecat: is not there, and is made"
    for command in convert merge; do
        run_ok sb $command --append -v -o $command.barecat in
        stderr_has "$command.barecat: is not there, and is made"
        run_ok sb diff made.barecat $command.barecat
    done
    run_ok sb merge-symlink --append -o view.barecat made.barecat
    run_ok sb convert --append -o made.bag in
    run_ok sb convert --append -q -o made.bag in --prefix=more
    [[ $(sb cat made.bag) == $'x\nx' ]]
    # What is left of an archive is told from nothing.
    rm made.barecat
    run_fail 2 sb pack --append made.barecat in
    stderr_has "made.barecat: no such archive"
    run_fail 2 sb pack --append none.tar in
    stderr_has "none.tar: is called as a tar"
    [[ ! -e none.tar ]]
    rm -r in convert.* merge.* view.* made.*
    ln -s a.barecat link.barecat
    run_fail 2 sb pack --append link.barecat t
    stderr_has "a symbolic link; give the name of the archive itself"
}

@test "a further index of a user's is kept" {
    sql a.barecat "CREATE INDEX by_time ON files (mtime_ns); ANALYZE"
    echo 3 >3
    run_ok sb pack --append a.barecat 3
    run_ok sql a.barecat "PRAGMA integrity_check; SELECT path FROM files INDEXED BY by_time
        WHERE mtime_ns > 0 ORDER BY mtime_ns DESC LIMIT 1"
    output_is "ok
3"
}

@test "a second writer is told who is in the way, and readers go on" {
    mkfifo pipe
    "$SHARDBOX" pack --append --stdin-name=x a.barecat - <pipe &
    pid=$!
    exec 9>pipe
    for ((i = 0; i < 200; i++)); do
        [[ $(sqlite3 -cmd '.timeout 0' a.barecat 'BEGIN IMMEDIATE' 2>&1) == *locked* ]] && break
        sleep 0.02
    done
    run_fail 2 sb pack --append a.barecat t/d/1
    stderr_has "process $pid is writing this archive; wait for it"
    run_ok sb verify a.barecat
    [[ $(sb cat a.barecat d/1) == one ]]
    echo data >&9
    exec 9>&-
    wait "$pid"
    [[ $(sb cat a.barecat x) == data ]]
    run_ok sb verify a.barecat
}

@test "dry run: what would be added, replaced and refused, and no lock or change" {
    echo 3 >t/d/3
    echo ONE >t/d/1
    before=$(md5sum a.barecat*)
    run_fail 1 sb pack --append -n a.barecat -C t .
    stderr_has "d/1: is in the archive already"
    output_is $'d\nd/3'
    [[ $(md5sum a.barecat*) == "$before" ]]
}

@test "a reader that does not let go keeps an append waiting, and nothing is lost when it is interrupted" {
    mkfifo hold
    sqlite3 a.barecat <hold >/dev/null &
    reader=$!
    exec 9>hold
    echo 'BEGIN; SELECT count(*) FROM files;' >&9
    sleep 0.3
    echo 3 >3
    "$SHARDBOX" pack --append a.barecat 3 9>&- &
    pid=$!
    sleep 0.5
    kill -TERM "$pid"
    status=0
    wait "$pid" || status=$?
    ((status == 143))
    "$SHARDBOX" pack --append a.barecat 3 9>&- &
    pid=$!
    sleep 0.3
    exec 9>&-
    wait "$reader"
    wait "$pid"
    [[ $(paths) == $'3\nd/1\nd/2' ]]
    run_ok sb verify a.barecat
}

# restart ARCHIVE COPY: a copy to begin anew with.
restart() {
    rm -f "$2" "$2"-shard-*
    cp "$1" "$2"
    cp "$1-shard-00000" "$2-shard-00000"
}

# hard_links TAR NAME...: the first name is a file of YYYY, the others are hard links to it.
hard_links() {
    local tar=$1 first=$2
    shift 2
    mkdir -p links
    echo YYYY >"links/$first"
    for name in "$@"; do
        ln -f "links/$first" "links/$name"
    done
    tar cf "$tar" -C links "$first" "$@"
    rm -r links
}

@test "--update with --checkpoint: a file takes the place of an empty directory" {
    mkdir t/empty
    sb pack --append --update a.barecat -C t .
    rmdir t/empty
    echo file >t/empty
    run_ok sb pack --append --update --checkpoint=1 a.barecat -C t .
    [[ $(sb cat a.barecat empty) == file ]]
    run_ok sb verify a.barecat
}

@test "a hard link never gets the bytes that the archive has under the name of its target" {
    echo XXXX >a
    echo XXXX >b
    sb pack start a b
    hard_links two.tar a b
    hard_links three.tar a b c
    for how in --duplicates=error --duplicates=last; do
        restart start x
        run_fail 1 sb convert -n --append "$how" --include=b --exclude='*' two.tar x
        run_fail 1 sb convert --append "$how" --include=b --exclude='*' two.tar x
        stderr_has "b: "
        [[ $(sb cat x b) == XXXX ]]
    done
    for how in --include=? --duplicates=first --exclude=a; do
        restart start x
        run_fail 1 sb convert -n --append "$how" three.tar x
        grep -q "c: hard link to '*a'*, which \(is not stored\|was left out\); left out" <<<"$stderr"
        run_fail 1 sb convert --append "$how" three.tar x
        grep -q "c: hard link to '*a'*, which \(is not stored\|was left out\); left out" <<<"$stderr"
        run_fail 1 sb cat x c
        run_ok sb verify x
    done
    restart start x
    run_fail 1 sb convert --append --duplicates=error three.tar x
    stderr_has "a: is in the archive already"
    stderr_has "b: is in the archive already"
    run_ok sb convert --append --duplicates=last three.tar x
    [[ $(sb cat x a b c) == $'YYYY\nYYYY\nYYYY' ]]
    run_ok sb verify x
}

@test "a hard link to what the archive has already, with the same bytes, gets them" {
    echo YYYY >a
    sb pack start a
    hard_links two.tar a b
    for option in --threads=2 --checkpoint=1 --threads=1; do
        restart start x
        run_ok sb convert -q --append "$option" two.tar x
        run_ok sb convert -q --append "$option" two.tar x
        [[ $(sb cat x b) == YYYY ]]
        run_ok sb verify x
    done
}

@test "a hard link to nothing does not cost the file whose name it has" {
    echo XXXX >b
    sb pack x b
    python3 - <<'PYTHON'
import tarfile
with tarfile.open("a.tar", "w") as tar:
    member = tarfile.TarInfo("b")
    member.type, member.linkname = tarfile.LNKTYPE, "gone"
    tar.addfile(member)
PYTHON
    run_fail 1 sb convert -q --append --duplicates=last a.tar x
    stderr_has "b: hard link to 'gone', which is not there; left out"
    [[ $(sb cat x b) == XXXX ]]
    run_ok sb verify --strict x
}
