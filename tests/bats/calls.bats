#!/usr/bin/env bats
# How many calls commands need, for file systems where each takes its time: nothing is looked at
# that need not be, and nothing twice. tests/faults/slow.c counts them.

load helper
load syrah

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_slow
    mkdir tree data
    for d in tree/{a,b,c}/{d,e}; do
        mkdir -p "$d"
        for f in "$d"/{1..20}; do
            echo "$f" >"$f"
        done
    done
}

# counted DIRECTORY COMMAND...: keeps the calls for what is below it in the file calls.
counted() {
    rm -f calls
    run_ok env LD_PRELOAD="$SLOW_SHIM" SLOW_ROOT="$PWD/$1" SLOW_MICROSECONDS=0 \
        SLOW_LOG="$PWD/calls" "$SHARDBOX" "${@:2}"
    [[ -s calls ]] || fail "no calls were counted"
}

# calls_are COUNT KIND REGEX: so many calls for paths that end so.
calls_are() {
    local found
    found=$(grep -cE "^$2 .*/($3)\$" calls || true)
    ((found == $1)) || fail "$2 of $3: $found calls, not $1"
}

# The same, at most.
calls_at_most() {
    local found
    found=$(grep -cE "^$2 .*/($3)\$" calls || true)
    ((found <= $1)) || fail "$2 of $3: $found calls, more than $1"
}

# 120 files, seven directories, the start, and the directory that it is in.
a_tree_is_read_by_few_calls() {
    calls_are 120 open '[0-9]+'
    calls_are 120 stat '[0-9]+'
    calls_are 120 read '[0-9]+'
    calls_are 9 open '[abcde]'
    calls_are 9 stat '[abcde]'
}

@test "pack opens, looks at and reads each file once, with any number of threads" {
    for threads in 1 8; do
        counted tree pack -f -j "$threads" a.barecat tree
        a_tree_is_read_by_few_calls
    done
}

@test "a list of paths costs a look at each, ahead of the reading" {
    find tree -type f | shuf --random-source=<(yes) >list
    for threads in 1 8; do
        counted tree pack -f -j "$threads" -T list a.barecat
        calls_are 120 open '.*'
        calls_are 240 stat '.*'
        calls_are 120 read '.*'
    done
}

@test "convert opens, looks at and reads each file once" {
    for threads in 1 8; do
        counted tree convert --force -j "$threads" tree a.tar
        a_tree_is_read_by_few_calls
    done
}

@test "unpack makes a file and sets its time, and looks at one of a kind" {
    run_ok sb pack a.barecat tree
    for threads in 1 8; do
        rm -rf out && mkdir out
        counted out unpack --no-same-owner -j "$threads" -C out a.barecat
        calls_are 120 open '[0-9]+'
        calls_are 120 meta '[0-9]+'
        calls_at_most 60 stat '[0-9]+'
        calls_are 0 name '.*'
        calls_are 10 make '[a-e]|tree'
    done
}

@test "unpack as root sets owners where a new file has another" {
    ((EUID == 0)) || skip "needs root"
    run_ok sb pack a.barecat tree
    rm -rf out && mkdir out
    counted out unpack -j 1 -C out a.barecat
    calls_at_most 140 meta '[0-9]+'
    calls_at_most 60 stat '[0-9]+'
}

@test "cat opens each shard once, and looks at nothing for each name" {
    run_ok sb pack --shard-size=500 data/a.barecat tree
    find tree -type f | shuf --random-source=<(yes) >names
    for threads in 1 8; do
        counted data cat -j "$threads" -T names data/a.barecat
        for shard in data/a.barecat-shard-*; do
            calls_are 1 open "$(basename "$shard")"
            calls_at_most 2 stat "$(basename "$shard")"
        done
        calls_at_most 120 read '.*-shard-[0-9]+'
        calls_at_most $((40 * threads)) stat 'a.barecat.*' # each thread opens the index
    done
}

# One name needs: the index opened, looked at and read to know what it is; its locks, those of
# SQLite; the look for a journal and a WAL; its pages; its path verified; and the shard.
@test "cat of one name takes 15 calls, four of which lock" {
    run_ok sb pack data/a.barecat tree
    counted data cat data/a.barecat tree/a/d/7
    output_is tree/a/d/7
    calls_are 1 open a.barecat
    calls_are 2 read a.barecat
    calls_are 2 stat a.barecat
    calls_are 4 lock a.barecat
    calls_are 1 stat a.barecat-journal
    calls_are 1 stat a.barecat-wal
    calls_are 1 open a.barecat-shard-00000
    calls_are 2 stat a.barecat-shard-00000
    calls_are 1 read a.barecat-shard-00000
    calls_are 15 '[a-z]+' '.*'
}

# Its size, which one read of 64 KiB does not show, and pages that are not among the first.
@test "cat of one name of a large archive takes few calls more" {
    seq 0 19999 | sed 's,.*,tree/a/&.txt,' | xargs touch
    run_ok sb pack data/a.barecat tree
    counted data cat data/a.barecat tree/a/d/7
    output_is tree/a/d/7
    calls_are 1 open a.barecat
    calls_at_most 7 read a.barecat
    calls_are 3 stat a.barecat
    calls_are 4 lock a.barecat
}

@test "verify opens each shard once, and looks at nothing for each file" {
    local looks
    run_ok sb pack --exclude='[1-9]' data/few.barecat tree
    counted data verify data/few.barecat
    looks=$(grep -c ^stat calls)
    run_ok sb pack data/all.barecat tree
    counted data verify data/all.barecat
    # Rows come in a few transactions, each of which looks at the index and for its journals.
    calls_at_most $((looks + 9)) stat '.*'

    run_ok sb pack --shard-size=500 data/a.barecat tree
    for threads in 1 8; do
        counted data verify -j "$threads" data/a.barecat
        for shard in data/a.barecat-shard-*; do
            calls_are 1 open "$(basename "$shard")"
            calls_at_most 6 stat "$(basename "$shard")"
        done
    done
}

@test "cat opens each file of a bag once, and looks at nothing for each record" {
    run_ok sb convert -q tree data/a@4.bagz
    seq 0 119 | shuf --random-source=<(yes) >numbers
    for threads in 1 8; do
        counted data cat -j "$threads" -T numbers data/a@4.bagz
        for shard in data/a-*.bagz; do
            calls_are 1 open "$(basename "$shard")"
            calls_at_most 10 stat "$(basename "$shard")"
        done
    done
}

@test "an item of a Syrah file: a look at the header, and its arrays at once, however many items there are" {
    for items in 200 20000; do
        make_syrah data/a.syr "{'x': ('uint8',) + (b'1',) * $items, 'n': ('uint8',) + (b'3',) * $items}"
        counted data cat data/a.syr 1
        output_is 13
        calls_are 2 'p?read' a.syr
    done
}

@test "cat opens a container once, whatever it is, and looks at its path at most once" {
    echo bytes >data/x
    tar cf data/t.tar -C data x
    tar czf data/t.tgz -C data x
    (cd data && echo x | cpio --quiet -o >t.cpio)
    run_ok sb convert -q data/t.tar data/t.zip
    make_syrah data/t.syr "{'x': ('uint8', b'1')}"
    for container in t.tar t.tgz t.cpio t.zip; do
        counted data cat "data/$container" x
        output_is bytes
        calls_are 1 open "$container"
        calls_at_most 1 stat "$container"
    done
    counted data cat data/t.syr 0
    calls_are 1 open t.syr
    calls_at_most 3 stat t.syr # one more where its metadata are mapped
    run_ok sb convert -q data/t.tar data/t.bag
    counted data cat data/t.bag 0
    output_is bytes
    calls_are 1 open t.bag
    calls_at_most 4 stat t.bag # an append may begin while limits are read
}

@test "before an append parity files of shards that nobody has written to are not opened" {
    mkdir d
    sb pack -q --shard-size=200 d/a -C tree .
    sb protect -q d/a
    echo 1 >1
    # The one time is that of the update at the end.
    counted d pack --append --protect d/a 1
    calls_are 1 open 'a-shard-00000-parity'
    touch d/a-shard-00000
    echo 2 >2
    counted d pack --append --protect d/a 2
    calls_are 2 open 'a-shard-00000-parity'
}
