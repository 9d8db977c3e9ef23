#!/usr/bin/env bats
# What a command says when calls fail, and a small sample of `make test-faults`, of which CI runs a larger
# one: calls that fail or kill the program at regular points, and spoiled indexes.

load helper

# without_bad TOOL [ARGUMENT...]: of tests/faults. Sanitizers have an allocator and a start-up of their
# own, so such faults go into the release build.
without_bad() {
    need_shim
    TMPDIR=$BATS_TEST_TMPDIR run_ok "$PROJECT/tests/faults/$1" "${@:2}"
    output_has ' 0 bad'
}

@test "calls that fail, or kill the program: the old archive or the new one" {
    without_bad run -s 97 -o 4 pack append rm
}

@test "power failures: what a disk may hold then is the old archive or the new one" {
    without_bad run -s 199 -o 3 -p strict append
}

@test "allocations that fail: exit status 2" {
    without_bad run -s 2001 -o 3 malloc-pack malloc-readers
}

@test "a mount whose calls fail: right bytes or an error, and no trace of it" {
    without_bad mounted -s 801 -o 5 archive
    [[ $output != *skipped* ]] || skip "$output"
}

@test "random commands one after the other, some killed: what they make of an archive, and no more" {
    without_bad sequences -a -n 20 1
}

# faulty CALLS HOW AT [VARIABLE=VALUE...] -- ARGS...: shardbox ARGS..., whose call number AT of these fails.
faulty() {
    local -a settings=("FAULT_CALLS=$1" "FAULT_HOW=$2" "FAULT_AT=$3")
    shift 3
    while [[ $1 != -- ]]; do
        settings+=("$1")
        shift
    done
    timeout -s KILL 60 env "${settings[@]}" LD_PRELOAD="$FAULT_SHIM" "$RELEASE_SHARDBOX" "${@:2}"
}

@test "where threads cannot be started, or only some, every command goes on with those there are" {
    need_shim
    mkdir tree
    head -c 60000 /dev/urandom >tree/large
    sb pack -q a.barecat -C tree .
    tar cf t.tar -C tree large
    xz -0k --threads=2 --block-size=16KiB t.tar
    split -b 16K t.tar part.
    for part in part.*; do
        gzip -c "$part" >>t.tar.gz
        zstd -qc "$part" >>t.tar.zst
    done
    bzip2 -k t.tar
    for at in 1 2 4; do
        for input in t.tar.xz t.tar.gz t.tar.zst t.tar.bz2; do
            run_ok faulty start EAGAIN $at FAULT_ONWARD=1 -- unpack -q -j 4 -C "out-$at-$input" $input
            stderr_is ''
            cmp tree/large "out-$at-$input/large"
        done
        for kind in xz gz zst; do
            run_ok faulty start EAGAIN $at FAULT_ONWARD=1 -- convert -q --force t.tar "out.tar.$kind"
            sb cat "out.tar.$kind" large | cmp - tree/large
        done
        run_ok faulty start EAGAIN $at FAULT_ONWARD=1 -- verify a.barecat
        run_ok faulty start EAGAIN $at FAULT_ONWARD=1 -- pack -q --force b.barecat -C tree .
        run_ok faulty start EAGAIN $at -- convert -q --force -j 4 t.tar.xz out.tar
        cmp t.tar out.tar || cmp <(sb cat out.tar large) tree/large
    done
}

@test "a read of the index that fails once is made again" {
    need_shim
    make_archive
    rm -f mark
    for command in 'ls a.barecat' 'find a.barecat' 'verify a.barecat a.txt' 'verify --quick a.barecat'; do
        for at in 1 2 3 4; do
            # shellcheck disable=SC2086 # words
            run_ok faulty read EIO $at FAULT_MARK=mark -- $command
            [[ -e mark ]] || fail "no fault: $command"
            rm mark
        done
    done
}

@test "an index that cannot be read is not called damaged: the words are the system's, and status 2" {
    need_shim
    make_archive
    for command in 'ls a.barecat' 'find a.barecat' 'verify a.barecat' 'verify --quick a.barecat' 'rm a.barecat a.txt'; do
        for at in 2 4 6; do
            # shellcheck disable=SC2086 # words
            run_fail 2 faulty read EIO $at FAULT_ONWARD=1 -- $command
            stderr_is "shardbox ${command%% *}: a.barecat: cannot be read or written: Input/output error; check the disk, or the network, that it lies on, and run again"
            output_is ''
        done
    done
    run_fail 2 faulty read EIO 2 FAULT_ONWARD=1 -- verify --report=r.jsonl a.barecat
    [[ $(jq -r 'select(.kind == "summary") | .failure' r.jsonl) == unreadable ]]
}

# In `here`: an archive and nothing else.
begin_here() {
    rm -rf here
    mkdir here
    cp -p kept/a.barecat* here
}

# write_fails CALLS HOW WORDS COMMAND...: each such call of it in turn; nothing is left, and the archive is as before.
write_fails() {
    local calls=$1 how=$2 words=$3 at
    shift 3
    begin_here
    for at in 1 2 4 7 11 16 22 29; do
        rm -f mark
        capture faulty "$calls" "$how" $at "FAULT_MARK=$PWD/mark" -- "$@"
        refuse_crash "$@" || return
        [[ -e mark ]] || break
        # The last syncs come when all is in its place.
        if ((status == 0)) || [[ $stderr == *'cannot sync the directory'* ]]; then
            begin_here
            continue
        fi
        ((status == 2)) || fail "$calls $at: $*"
        [[ $stderr == *": $words" ]] || fail "$calls $at: $*"
        [[ $(ls -A here) == "$(ls -A kept)" ]] || fail "$calls $at: $* left $(ls -A here)"
        sb verify here/a.barecat
    done
}

@test "what a write says is what the system says, of index, journal, shards and outputs; nothing is left" {
    need_shim
    mkdir tree more kept
    echo one >tree/one
    for i in {1..9}; do head -c 3000 /dev/urandom >"more/$i"; done
    tar cf more.tar more
    "$SHARDBOX" pack --shard-size=6K kept/a.barecat tree
    write_fails write ESTALE 'Stale file handle' pack -q --append here/a.barecat more
    write_fails write EDQUOT 'Disk quota exceeded' sync -q more here/a.barecat
    write_fails write ENOSPC 'No space left on device' convert -q --append more.tar here/a.barecat
    write_fails write EFBIG 'File too large' convert -q more.tar here/new.tar
    write_fails sync EDQUOT 'Disk quota exceeded' pack -q --append here/a.barecat more
    write_fails sync ENOSPC 'No space left on device' merge -q --append -o here/a.barecat more
    write_fails sync ESTALE 'Stale file handle' rm here/a.barecat tree/one
    write_fails create EDQUOT 'Disk quota exceeded' rm here/a.barecat tree/one
    write_fails create ENOSPC 'No space left on device' convert -q more.tar here/new.tar
}

@test "output to a full device is an error" {
    make_archive
    for command in "cat a.barecat numbers" "ls -lR a.barecat" "find a.barecat" "du -a a.barecat" \
        "find --json a.barecat" "--list" "--help" "pack --help"; do
        run_fail 2 bash -c '"$SHARDBOX" $0 >/dev/full' "$command"
        stderr_has 'No space left on device'
    done
}

@test "a reader that goes away ends the program quietly" {
    make_archive
    for command in "cat a.barecat numbers numbers numbers" "find a.barecat" "ls -lR a.barecat"; do
        run_ok bash -c '"$SHARDBOX" $0 | head -c 1 >/dev/null; ((PIPESTATUS[0] == 0 || PIPESTATUS[0] == 141))' \
            "$command"
        stderr_is ''
    done
}

@test "a file size limit is a failing write, and leaves nothing" {
    make_tree tree
    run_fail 2 bash -c 'ulimit -f 100; "$SHARDBOX" pack a.barecat -C tree .'
    stderr_has 'File too large'
    [[ -z $(find . -name 'a.barecat*') ]]
}

@test "a second writer says who is in the way; a reader reads on" {
    make_archive
    mkfifo pipe
    "$SHARDBOX" pack --append --stdin-name=piped a.barecat - <pipe &
    writer=$!
    exec 7>pipe
    echo begun >&7
    mkdir more
    echo more >more/added
    for _ in {1..50}; do
        run --separate-stderr within 10 "$SHARDBOX" pack --append --update a.barecat -C more .
        # One that is only about to write cannot be named yet.
        ((status == 0)) || [[ $stderr != *"$writer"* ]] || break
        sleep 0.1
    done
    refuse_crash
    ((status == 2)) || fail "a second writer was not refused"
    stderr_has "$writer"
    run_ok sb cat a.barecat a.txt
    output_is hello
    run_ok sb verify a.barecat
    exec 7>&-
    wait "$writer"
    run_ok sb cat a.barecat piped
    output_is begun
    run_ok sb verify a.barecat
}

@test "a source that changes, vanishes or cannot be read is named, and the rest is packed" {
    make_tree tree
    mkfifo tree/fifo
    ln -s missing tree/gone
    run_fail 1 sb pack --dereference a.barecat -C tree .
    stderr_has gone
    stderr_has fifo
    run_ok sb verify a.barecat
    run_ok sb cat a.barecat a.txt
    output_is hello

    run_fail 1 sb pack b.barecat -C tree a.txt not-there one
    stderr_has not-there
    run_ok sb cat b.barecat a.txt one
    run_ok sb verify b.barecat
}

@test "an index with flipped bits, cut off, or overwritten in places" {
    run_ok "$PROJECT/tests/faults/noise" -n 3 -s "$(date +%s)"
    output_has ' 0 bad'
}

@test "a protected archive that a disk has damaged: every byte is as before, or named" {
    run_ok "$PROJECT/tests/faults/damage" -n 5 -s "$(date +%s)"
    output_has ' 0 bad'
}

@test "trees and archives that lie in each other and become each other: no own file is touched" {
    every_third_day
    need_shim
    run_ok "$PROJECT/tests/faults/trees" -n 15 -s "$(date +%s)"
    output_has ' 0 bad'
}

@test "damage with new times: what has a checksum is healed all the same, and the rest named" {
    every_third_day
    run_ok "$PROJECT/tests/faults/damage" -n 20 -t 1 -s "$(date +%s)"
    output_has ' 0 bad'
}

@test "copies, indexes of before, lost files, writers and repair in any order: every file is there, or named" {
    run_ok "$PROJECT/tests/faults/restored" -n 3 -s "$(date +%s)"
    output_has ' 0 bad'
}

@test "readers beside a writer that appends and replaces: old bytes or new ones, never others" {
    make_archive
    mkdir more
    (
        for i in {1..12}; do
            printf '%s\n' "$i" >more/added
            "$SHARDBOX" pack --append --update a.barecat -C more . || exit
            "$SHARDBOX" pack --force a.barecat -C tree . || exit
        done
    ) &
    writer=$!
    reads=0
    while kill -0 "$writer" 2>/dev/null; do
        run --separate-stderr sb cat a.barecat a.txt sub/file
        refuse_crash cat
        ((status == 0)) || [[ $stderr == *locked* || $stderr == *replaced* ]] || fail "cat"
        ((status != 0)) || output_is $'hello\nbelow sub'
        run --separate-stderr sb verify a.barecat
        refuse_crash verify
        ((status == 0)) || [[ $stderr == *locked* || $stderr == *replaced* ]] || fail "verify"
        reads=$((reads + 1))
    done
    wait "$writer"
    ((reads > 0))
    run_ok sb verify a.barecat
}

# cut_off CALL STATUS COMMAND...: each such call of the command ends as a signal would cut it off.
cut_off() {
    # Leaks cannot be looked for under strace.
    ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 run_fail "$2" within 20 strace -f -o /dev/null \
        -e inject="$1":error=EINTR "$SHARDBOX" "${@:3}"
}

# A call that is cut off by a signal is made again; one that does nothing else is an error.
@test "calls that are cut off for ever end in an error, and nothing is there" {
    need_strace
    mkdir tree
    echo x >tree/file
    sb pack a.barecat tree
    cut_off fsync 2 pack b.barecat tree
    stderr_has 'Interrupted system call'
    [[ ! -e b.barecat ]]
    cut_off getdents64 1 pack b.barecat tree
    stderr_has 'tree: cannot be read, its contents are left out: Interrupted system call'
    cut_off write 2 convert a.barecat a.tar
    [[ ! -e a.tar ]]
}
