#!/usr/bin/env bats
# A sample of `make test-faults`: calls that fail or kill the program at regular points, and spoiled
# indexes. The offset differs from scenario to scenario, so that the samples fall on other calls.

load helper

setup() {
    # Sanitizers keep an allocator and a start-up of their own: faults go into the plain program.
    if [[ $(basename "$(dirname "$SHARDBOX")") == @(sanitize|thread) ]]; then
        skip "not under a sanitizer; make test-faults has the allocation faults under one"
    fi
    cd "$BATS_TEST_TMPDIR" || return
}

faults() {
    "$PROJECT/tests/faults/run" "$@"
}

@test "pack: nothing or the new archive" {
    run_ok faults -s 23 -o 4 pack
    output_has ' 0 bad'
}

@test "pack --force: the old archive or the new one" {
    run_ok faults -s 23 -o 9 force
    output_has ' 0 bad'
}

@test "pack --append: the old archive or the new one" {
    run_ok faults -s 23 -o 14 append
    output_has ' 0 bad'
}

@test "upgrade: the archive or the better one" {
    run_ok faults -s 23 -o 2 upgrade
    output_has ' 0 bad'
}

@test "unpack: a tree that the next run completes" {
    run_ok faults -s 23 -o 7 unpack
    output_has ' 0 bad'
}

@test "allocations that fail: exit status 2" {
    run_ok faults -s 61 -o 3 malloc
    output_has ' 0 bad'
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
        ((status == 0)) || break
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
