#!/usr/bin/env bats
# A sample of what tests/faults does to an archive with two commands at once, with files that are moved
# about after a kill, and with three commands at random. Files of strangers, under near names, stand
# beside the archive all the while, and stay as they are.

load helper

setup() {
    need_shim
    cd "$BATS_TEST_TMPDIR" || return
}

# without_bad TOOL [ARGUMENT...]
without_bad() {
    TMPDIR=$BATS_TEST_TMPDIR run_ok "$PROJECT/tests/faults/$1" "${@:2}"
    output_has ' 0 bad'
}

@test "a writer holds its locks from its first change to its last" {
    without_bad held -k 61 -o 5
}

@test "of two commands at once one is refused, or both have done their work" {
    without_bad pairs -r -j 2 -k 150 -o 9 append defrag rm cat defrag verify
}

@test "what is moved about after a kill is finished, undone, or named, and a stranger's stays" {
    without_bad between -j 2 -k 70 -o 7 append
}

@test "three random commands at once, some killed: what they make of an archive, and no more" {
    without_bad sequences -b 3 -n 20 1
}
