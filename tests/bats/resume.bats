# pack and convert --checkpoint --resume: an interrupted run is not lost. Kills are at chosen calls,
# by tests/faults/shim.c, so that nothing depends on time.

load helper

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    mkdir -p t/a t/b t/c/d
    for i in {1..40}; do
        fill $((i * 97)) $((i % 10)) >"t/a/$i"
        printf '%s\n' "$i" >"t/b/$i"
    done
    seq 9000 >t/c/d/large
    : >t/c/empty
    ln -s d/large t/c/link
    find t -depth -exec touch -h -d '2001-02-03 04:05:06.123456789Z' {} +
}

# killed_at N ARGUMENT...: the program with one thread, killed before its Nth call that changes the
# disk.
killed_at() {
    local at=$1
    shift
    need_shim
    (
        export FAULT_CALLS=write,sync,rename,truncate,create,unlink FAULT_AT=$at FAULT_HOW=kill
        export LD_PRELOAD=$FAULT_SHIM
        exec "$SHARDBOX" "$1" --threads=1 "${@:2}"
    )
}

# interrupt ARGUMENT...: killed where something is committed, and not all.
interrupt() {
    local status
    killed_at 60 "$@" && status=0 || status=$?
    ((status == 137)) || fail "was not killed: $status: $*"
    [[ -e a.barecat.part ]] || fail "nothing was committed: $*"
}

# What an archive holds, in an order of its own; where the bytes are only with `places`.
rows() {
    local places=
    [[ ${2-} != places ]] || places=shard,offset,
    sql "$1" "SELECT path, $places size, crc32c, mode, uid, gid, mtime_ns FROM files ORDER BY path;
        SELECT * FROM dirs ORDER BY path; SELECT * FROM config ORDER BY key"
}

# same_archive A B [places]
same_archive() {
    diff <(rows "$1" "${3-}") <(rows "$2" "${3-}") || return
    run_ok sb verify --strict "$2"
}

# same_bytes A B: shard for shard.
same_bytes() {
    local shard
    same_archive "$1" "$2" places || return
    for shard in "$1"-shard-*; do
        cmp "$shard" "${shard/"$1"/"$2"}" || return
    done
}

# Nothing but the archive and its shards.
tidy() {
    [[ -z $(find . -maxdepth 1 -name 'a.barecat*' ! -name a.barecat \
        ! -name 'a.barecat-shard-[0-9][0-9][0-9][0-9][0-9]') ]]
}

@test "with checkpoints the archive is the same, and stands alone" {
    sb pack --shard-size=30k whole.barecat -C t .
    run_ok sb pack --checkpoint=10k --shard-size=30k a.barecat -C t .
    stderr_is ''
    same_bytes whole.barecat a.barecat
    tidy
}

@test "what was committed is an archive that commands read" {
    interrupt pack --checkpoint=10k a.barecat -C t .
    run_ok sb verify a.barecat.part
    run_ok sb cat a.barecat.part a/1
    output_is 1111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111111
    run_fail 2 sb ls a.barecat
    stderr_is "shardbox ls: a.barecat: no such archive, but 'a.barecat.part' is there: a run with --checkpoint is at work, or was interrupted and goes on with --resume"
}

@test "--resume goes on, and ends with what a run in one piece makes" {
    sb pack --shard-size=30k whole.barecat -C t .
    interrupt pack --checkpoint=10k --shard-size=30k a.barecat -C t .
    cp a.barecat.part-shard-00000 before
    size=$(sql a.barecat.part "SELECT max(offset + size) FROM files WHERE shard = 0")
    run_ok sb pack -v --resume --shard-size=30k a.barecat -C t .
    stderr_has "a.barecat.part: goes on after '"
    same_bytes whole.barecat a.barecat
    cmp -n "$size" before a.barecat-shard-00000
    tidy
}

@test "a part goes on, by its number or by what the scheduler says, and only as a part" {
    local status
    sb pack --part=1/2 whole.barecat -C t .
    killed_at 60 pack --part=1/2 --checkpoint=5k a.barecat -C t . && status=0 || status=$?
    ((status == 137))
    run_fail 2 sb pack --resume a-00000-of-00002.barecat -C t .
    stderr_has "--part=1/2"
    run_ok env PMI_RANK=0 PMI_SIZE=2 "$SHARDBOX" pack --resume --part=auto a.barecat -C t .
    same_bytes whole-00000-of-00002.barecat a-00000-of-00002.barecat
}

@test "what was stored is not opened again" {
    interrupt pack --checkpoint=10k a.barecat -C t .
    stored=$(sql a.barecat.part "SELECT path FROM files WHERE size > 0 LIMIT 1")
    was=$(sb cat a.barecat.part "$stored")
    echo changed >"t/$stored"
    echo new >t/z-new
    run_ok sb pack --resume a.barecat -C t .
    [[ $(sb cat a.barecat "$stored") == "$was" ]]
    [[ $(sb cat a.barecat z-new) == new ]]
    run_ok sb verify a.barecat
}

@test "killed again and again, it comes to the same end" {
    sb pack --shard-size=30k whole.barecat -C t .
    kills=0
    at=20
    until [[ -e a.barecat ]]; do
        killed_at "$at" pack --checkpoint=5k --resume --shard-size=30k a.barecat -C t . &&
            status=0 || status=$?
        ((status == 0 || status == 137)) || fail "status $status after $kills kills"
        ((status == 0)) || kills=$((kills + 1))
        [[ ! -e a.barecat.part ]] || sb verify -q a.barecat.part || fail "the part is damaged"
        at=$((at + 9))
    done
    ((kills >= 3)) || fail "only $kills kills"
    run_ok sb pack --resume a.barecat --shard-size=30k -C t .
    same_bytes whole.barecat a.barecat
    tidy
}

@test "killed at any of a dozen points, one more run completes it" {
    sb pack --shard-size=30k whole.barecat -C t .
    for at in 3 11 27 44 58 73 91 104 118 131 149 167; do
        killed_at "$at" pack --checkpoint=8k --shard-size=30k a.barecat -C t . &&
            status=0 || status=$?
        ((status == 0 || status == 137)) || fail "status $status at $at"
        run_ok sb pack --checkpoint=8k --resume --shard-size=30k a.barecat -C t .
        same_bytes whole.barecat a.barecat || fail "killed at $at"
        tidy || fail "killed at $at: $(ls)"
        rm a.barecat*
    done
}

@test "a job script can always say --resume" {
    run_ok sb pack --checkpoint=10k --resume a.barecat -C t .
    run_ok sb verify a.barecat
    cp a.barecat before
    run_ok sb pack --checkpoint=10k --resume a.barecat -C t .
    stderr_is "shardbox pack: a.barecat: is there already, and no interrupted run to go on with; nothing was done"
    cmp before a.barecat
    run_ok sb pack --resume b.barecat -C t .
    run_ok sb verify b.barecat
}

@test "without --resume an interrupted run is in the way, and --force starts over" {
    interrupt pack --checkpoint=10k a.barecat -C t .
    for how in "" --checkpoint=10k; do
        run_fail 2 sb pack $how a.barecat -C t .
        stderr_has "a.barecat.part: an interrupted run left it; go on with --resume, or start over with --force"
    done
    run_fail 2 sb convert t a.barecat
    stderr_has "go on with --resume"
    run_fail 2 sb pack --append a.barecat -C t b
    stderr_has "complete it first, with --resume in place of --append"
    run_ok sb pack --force a.barecat -C t b
    tidy
    run_fail 1 sb ls a.barecat a
    run_ok sb verify a.barecat
}

@test "an archive that is to be replaced stands until all is there" {
    sb pack --shard-size=2k a.barecat -C t b
    cp a.barecat old
    sb pack whole.barecat -C t .
    interrupt pack --force --checkpoint=10k a.barecat -C t .
    cmp old a.barecat
    run_ok sb verify a.barecat
    run_fail 2 sb pack --resume a.barecat -C t .
    stderr_has "there is an archive already"
    run_ok sb pack --force --resume a.barecat -C t .
    same_bytes whole.barecat a.barecat
    tidy
}

@test "killed between its last commit and its last rename, it is completed" {
    sb pack whole.barecat -C t .
    at=60
    while :; do
        killed_at "$at" pack --checkpoint=40k a.barecat -C t . && break
        if [[ -e a.barecat ]]; then
            run_ok sb verify a.barecat
            run_ok sb pack --resume a.barecat -C t .
        else
            run_ok sb pack --checkpoint=40k --resume a.barecat -C t .
        fi
        same_bytes whole.barecat a.barecat || fail "killed at $at"
        tidy || fail "killed at $at: $(ls)"
        rm a.barecat*
        at=$((at + 1))
    done
}

@test "shards that wait for their renames are not taken from another archive" {
    at=60
    until [[ -e a.barecat ]]; do
        rm -f a.barecat*
        killed_at "$at" pack --checkpoint=40k a.barecat -C t . || true
        at=$((at + 1))
    done
    [[ -e a.barecat.part-shard-00000 ]]
    run_ok sb verify a.barecat
    cp a.barecat a.barecat.part
    run_fail 2 sb pack --append a.barecat -C t b
    stderr_has "have names that are those of"
    rm a.barecat.part
    run_ok sb pack --append a.barecat -C t b
    run_ok sb verify a.barecat
    [[ -e a.barecat-shard-00000 && ! -e a.barecat.part-shard-00000 ]]
}

@test "other arguments than those of the interrupted run are refused, and named" {
    interrupt pack --checkpoint=10k --exclude='*.tmp' a.barecat -C t a b c
    differs() {
        local what=$1
        shift
        run_fail 2 sb pack --resume "$@"
        stderr_has "a.barecat.part: $what"
        stderr_has "go on with the same arguments, or start over with --force instead of --resume"
    }
    differs "was begun with '--exclude=*.tmp'" a.barecat -C t a b c
    differs "was begun with 'c'" --exclude='*.tmp' a.barecat -C t a b
    differs "was begun without 'd'" --exclude='*.tmp' a.barecat -C t a b c d
    differs "was begun without '--prefix=p'" --exclude='*.tmp' --prefix=p a.barecat -C t a b c
    run_fail 2 sb pack --resume --exclude='*.tmp' a.barecat -C t a c b
    stderr_has "was begun with the same arguments in another order"
    run_ok sb pack --resume -q -j 1 --checkpoint=1M --exclude='*.tmp' a.barecat -C t a b c
    run_ok sb verify a.barecat
}

@test "a record that makes no sense is not gone on with" {
    interrupt pack --checkpoint=10k a.barecat -C t .
    cp a.barecat.part good
    for change in "SET value_int = -1 WHERE key = 'shardbox_progress_members'" \
        "SET value_int = 'many' WHERE key = 'shardbox_progress_input'" \
        "SET value_int = 7 WHERE key = 'shardbox_progress_state'" \
        "SET value_int = 0 WHERE key = 'shardbox_progress_checkpoint'" \
        "SET value_text = NULL WHERE key = 'shardbox_progress_asked'" \
        "SET key = 'gone' WHERE key = 'shardbox_progress_last'"; do
        sql a.barecat.part "UPDATE config $change"
        run_fail 2 sb pack --resume a.barecat -C t .
        stderr_has "makes no sense"
        cp good a.barecat.part
    done
    sql a.barecat.part "UPDATE config SET value_text = 'x' WHERE key = 'shardbox_progress_asked'"
    run_fail 2 sb pack --resume a.barecat -C t .
    stderr_has "was begun with 'x'"
    cp good a.barecat.part
    run_ok sb pack --resume a.barecat -C t .
    run_ok sb verify a.barecat
}

@test "somebody's own ARCHIVE.part is never touched" {
    sb pack a.barecat.part -C t b
    cp a.barecat.part before
    run_fail 2 sb pack --checkpoint=10k --resume --force a.barecat -C t .
    stderr_has "a.barecat.part: in the way, and not left by an interrupted run"
    run_ok sb pack --force a.barecat -C t .
    cmp before a.barecat.part
    run_ok sb verify a.barecat.part
}

@test "problems of an interrupted run are not forgotten" {
    mkfifo t/a/0fifo
    interrupt convert --checkpoint=10k t a.barecat
    run_fail 1 sb convert --resume t a.barecat
    stderr_has "problems that the interrupted run reported: 1"
    run_ok sb verify a.barecat
}

@test "what could not be read is tried again" {
    ln -s missing t/a/0gone
    sb pack --dereference whole.barecat -C t . || true
    interrupt pack --dereference --checkpoint=10k a.barecat -C t .
    echo here >t/a/missing
    run_fail 1 sb pack --dereference --resume a.barecat -C t .
    [[ $(sb cat a.barecat a/0gone) == here ]]
}

@test "SIGTERM keeps what was committed, and says so" {
    tar cf t.tar --sort=name t
    mkfifo pipe
    "$SHARDBOX" convert --checkpoint=10k - a.barecat <pipe 2>log &
    writer=$!
    exec 7>pipe
    head -c 100000 t.tar >&7
    until [[ -e a.barecat.part ]]; do sleep 0.05; done
    kill -TERM "$writer"
    wait "$writer" && status=0 || status=$?
    exec 7>&-
    ((status == 143))
    [[ $(tail -1 log) == "shardbox convert: a.barecat.part: keeps what was committed; go on with --resume" ]]
    run_ok sb verify a.barecat.part
    run_ok sb convert -q --resume - a.barecat <t.tar
    run_ok sb verify a.barecat
    tidy
}

@test "--append commits into the archive itself" {
    sb pack a.barecat -C t b
    cp -a a.barecat start
    cp -a a.barecat-shard-00000 start-shard-00000
    sb pack --append start -C t a c
    at=20
    files=40
    until ((files > 40)); do
        killed_at "$at" pack --append --checkpoint=10k a.barecat -C t a c && fail "was not killed"
        run_ok sb verify a.barecat
        files=$(sql a.barecat "SELECT count(*) FROM files")
        at=$((at + 5))
    done
    ((files < 83))
    run_ok sb pack --append --resume a.barecat -C t a c
    same_bytes start a.barecat
    tidy
}

@test "--append: what was there before is told from what the run stored" {
    sb pack a.barecat -C t a/1 a/2 a/40
    echo other >t/a/1
    killed_at 60 pack --append --checkpoint=10k a.barecat -C t . 2>log || true
    grep -q "a/1: is in the archive already" log
    run_fail 1 sb pack --append --resume a.barecat -C t .
    stderr_lacks "a/3: is in"
    run_ok sb verify a.barecat
    [[ $(sql a.barecat "SELECT count(*) FROM files") == 83 ]]
}

@test "--append: what another command stored meanwhile is not replaced without a word" {
    sb pack a.barecat -C t b
    killed_at 60 pack --append --checkpoint=10k a.barecat -C t a c || true
    files=$(sql a.barecat "SELECT count(*) FROM files")
    ((files > 40)) && ((files < 83))
    [[ $(sql a.barecat "SELECT count(*) FROM config WHERE key = 'shardbox_progress_commit'") == 1 ]]
    mkdir -p n/c
    last=$(cd t && ls c | tail -1)
    echo mine >"n/c/$last"
    run_ok sb pack --append a.barecat -C n "c/$last"
    run_fail 1 sb pack --append --resume a.barecat -C t a c
    stderr_has "c/$last: is in the archive already"
    [[ $(sb cat a.barecat "c/$last") == mine ]]
    [[ $(sql a.barecat "SELECT count(*) FROM files") == 83 ]]
    run_ok sb verify a.barecat
}

@test "--append --seal: one new shard, and the old ones are left alone" {
    sb pack a.barecat -C t b
    cp a.barecat-shard-00000 before
    run_ok sb pack --append --seal --checkpoint=10k a.barecat -C t a c
    [[ $(echo a.barecat-shard-*) == "a.barecat-shard-00000 a.barecat-shard-00001" ]]
    cmp before a.barecat-shard-00000
    run_ok sb verify a.barecat
}

# A tar with what is hard to get right in several steps: names that come again, hard links to
# earlier members, one whose target comes again later, a name that is a file's and a directory's.
make_tar() {
    mkdir -p x/z
    tar cf m.tar -C t .
    echo again >x/again
    tar rf m.tar --transform='s,again,./a/1,' -C x again
    ln x/again x/other
    tar rf m.tar --transform='s,^again$,first,;s,^other$,second,' -C x again other
    echo later >x/later
    tar rf m.tar --transform='s,later,first,' -C x later
    tar rf m.tar --transform='s,later,z,' -C x later
    for i in {1..30}; do
        head -c $((i * 101)) /dev/zero >"x/z/$i"
    done
    tar rf m.tar -C x z
    tar rf m.tar --transform='s,later,b,' -C x later
}

@test "a tar: in steps it becomes what it becomes at once" {
    make_tar
    run_fail 1 sb convert m.tar whole.barecat
    run_fail 1 sb convert --checkpoint=10k m.tar a.barecat
    stderr_has "z: is a directory as well; the file was left out"
    stderr_has "b: is a directory as well; the file was left out"
    same_archive whole.barecat a.barecat
    [[ $(sb cat a.barecat a/1 first second) == $'again\nlater\nagain' ]]
    tidy
}

@test "a tar is gone on with, plain, compressed, or given again on a pipe" {
    make_tar
    gzip -k m.tar
    sb convert -q m.tar whole.barecat || true
    for input in m.tar m.tar.gz -; do
        for at in 40 75 110 150; do
            from=/dev/null
            [[ $input != - ]] || from=m.tar
            killed_at "$at" convert -q --checkpoint=10k "$input" a.barecat <$from ||
                fail "not killed at $at" || true
            run_fail 1 sb convert -q --checkpoint=10k --resume "$input" a.barecat <$from
            same_archive whole.barecat a.barecat || fail "$input, killed at $at"
            tidy
            rm a.barecat*
        done
    done
}

@test "members of a plain tar are passed over without reading their bytes" {
    tar cf m.tar -C t .
    sb convert -q m.tar whole.barecat
    interrupt convert -q --checkpoint=10k m.tar a.barecat
    # What was stored stays as it was, whatever has become of its bytes in the tar.
    stored=$(sql a.barecat.part "SELECT path FROM files WHERE size > 0 AND mode & 61440 = 32768 ORDER BY offset LIMIT 1")
    header=$(LC_ALL=C grep -obUaP "\\Q./$stored\\E\\x00" m.tar | head -1 | cut -d: -f1)
    flip_byte m.tar $((header + 512))
    run_ok sb convert -q --resume m.tar a.barecat
    same_archive whole.barecat a.barecat
}

@test "an input that is not the one that was read is refused" {
    tar cf m.tar -C t a c
    interrupt convert -q --checkpoint=10k m.tar a.barecat
    cp m.tar right.tar
    tar cf m.tar -C t c a
    run_fail 2 sb convert -q --resume m.tar a.barecat
    stderr_has "m.tar: not the input that the interrupted run read"
    run_ok sb verify a.barecat.part
    mv right.tar m.tar
    run_ok sb convert -q --resume m.tar a.barecat
    run_ok sb verify a.barecat
}

@test "several inputs: those that were done are not read again" {
    tar cf m.tar -C t a
    (cd t && zip -qr ../m.zip b)
    sb pack other.barecat -C t c
    cp -a t u
    echo late >u/a/1
    for rule in "" --duplicates=first --duplicates=error; do
        sb convert -q $rule m.tar m.zip other.barecat u whole.barecat 2>/dev/null || true
        for at in 50 100 130; do
            killed_at "$at" convert -q $rule --checkpoint=10k m.tar m.zip other.barecat u \
                a.barecat 2>/dev/null || true
            done=$(sql a.barecat.part "SELECT value_int FROM config
                WHERE key = 'shardbox_progress_input'" 2>/dev/null || echo 0)
            mv m.tar away
            ((done > 0)) || mv away m.tar
            [[ -e m.tar ]] || : >m.tar
            run --separate-stderr sb convert -q $rule --checkpoint=10k --resume m.tar m.zip \
                other.barecat u a.barecat
            refuse_crash
            [[ $rule != *first ]] || ((status == 0)) || fail "killed at $at"
            [[ ! -e away ]] || mv away m.tar
            same_archive whole.barecat a.barecat || fail "$rule killed at $at"
            tidy
            rm a.barecat*
        done
        rm whole.barecat*
    done
}

@test "what has no steps says why" {
    run_fail 2 sb pack --checkpoint=1M --stdin-name=x a.barecat -
    stderr_has "standard input cannot be gone on with"
    run_fail 2 sb pack --resume -n a.barecat t
    stderr_has "--dry-run commits nothing"
    tar cf m.tar -C t .
    run_fail 2 sb convert --checkpoint=1M --wrap m.tar a.barecat
    stderr_has "an index over other files is made at once"
    run_fail 2 sb convert --resume m.tar a.zip
    stderr_has "--checkpoint and --resume are for an archive"
    run_fail 2 sb convert --resume m.tar dir/
    stderr_has "--checkpoint and --resume are for an archive"
    run_fail 2 sb convert --from=extents --checkpoint=1M m.tar a.barecat
    stderr_has "an index over other files is made at once"
    run_fail 2 sb convert --append --strict --checkpoint=1M m.tar a.barecat
    stderr_has "--strict with --append adds everything or nothing"
}

@test "files with holes are the same, wherever the run was killed" {
    local at=0 i input status
    mkdir s
    for i in {1..6}; do
        truncate -s $((i * 50000)) "s/$i"
        seq "$i" 300 | dd of="s/$i" bs=1 seek=$((i * 20011)) conv=notrunc status=none
        truncate -s $((i % 2 * 100000 + $(stat -c %s "s/$i"))) "s/$i"
    done
    touch -d @1700000000 s/*
    tar -S --format=posix -cf s.tar -C s .
    for input in s s.tar; do
        for ((at = 10; at < 200; at += 13)); do
            rm -rf a.barecat* out
            killed_at "$at" convert -q --checkpoint=60k "$input" a.barecat && status=0 || status=$?
            run_ok sb convert -q --checkpoint=60k --resume "$input" a.barecat
            run_ok sb verify --strict a.barecat
            killed_at $((at / 3)) unpack -C out a.barecat && status=0 || status=$?
            run_ok sb unpack --existing=skip -C out a.barecat
            diff -r s out
            rm -r out
        done
    done
}
