#!/usr/bin/env bats
# --bwlimit. Only that a run is slow enough can be tested without a clock of one's own; that no byte
# counts twice is what tests/unit/core/throttle.c is about.

load helper

# takes MILLISECONDS COMMAND...: at least so long
takes() {
    local least=$1 begin=${EPOCHREALTIME/[.,]/} took
    shift
    run_ok "$@"
    took=$(((${EPOCHREALTIME/[.,]/} - begin) / 1000))
    ((took >= least)) || fail "took $took ms, not $least"
}

to_nowhere() {
    "$@" >/dev/null
}

# from_pipe FILE COMMAND...
from_pipe() {
    tail -c +1 "$1" | "${@:2}"
}

# 300,000 bytes in 30 files, d and d.barecat
make_input() {
    mkdir d u
    for i in {10..39}; do
        head -c 10000 /dev/urandom >"d/$i"
    done
    sb pack d.barecat d
}

@test "what reads or writes 300,000 bytes at 4 MB/s takes a fourteenth of a second" {
    make_input
    takes 70 sb pack --bwlimit=4MB a.barecat d
    takes 70 sb pack --bwlimit=4MB/s --stdin-name=x b.barecat - <d.barecat-shard-00000
    takes 70 sb unpack --bwlimit=4MB -C u d.barecat
    takes 70 to_nowhere sb cat --bwlimit=4MB d.barecat d/{10..39}
    takes 70 to_nowhere sb cat --bwlimit=4MB --no-check d.barecat d/{10..39}
    takes 70 sb verify --bwlimit=4MB d.barecat
    takes 70 sb diff --bwlimit=4MB -C u d.barecat
    cmp d.barecat-shard-00000 a.barecat-shard-00000
}

@test "also from and to other containers, also through a pipe" {
    make_input
    takes 70 sb convert --bwlimit=4MB d.barecat d.tar
    takes 70 sb convert --bwlimit=4MB d.barecat d.zip
    takes 70 sb convert --bwlimit=4MB d.barecat d.bag
    takes 70 sb verify --bwlimit=4MB d.tar
    takes 70 sb verify --bwlimit=4MB d.zip
    takes 70 sb verify --bwlimit=4MB d.bag
    takes 70 to_nowhere sb cat --bwlimit=4MB d.bag :
    takes 70 from_pipe d.tar sb ls --bwlimit=4MB -
    takes 70 sb find --bwlimit=4MB d.tar
    takes 70 sb du --bwlimit=4MB d.tar
    takes 70 from_pipe d.tar sb convert --from=tar --bwlimit=4MB - e.barecat
    cmp d.barecat-shard-00000 e.barecat-shard-00000
}

@test "also what changes archives" {
    make_input
    takes 70 sb merge --bwlimit=4MB -o m.barecat d.barecat
    takes 70 sb split --bwlimit=4MB --ratio=a=1 -o 's-%s.barecat' d.barecat
    sb rm m.barecat d/10
    takes 70 sb defrag --bwlimit=4MB m.barecat
    sql m.barecat "UPDATE files SET crc32c = NULL"
    takes 70 sb upgrade --checksums --bwlimit=4MB m.barecat
    run_ok sb verify m.barecat
}

@test "a signal ends a run that waits" {
    make_input
    "$SHARDBOX" verify --bwlimit=1 d.barecat &
    local pid=$!
    until readlink /proc/$pid/fd/* | grep -q shard-00000; do :; done
    kill -TERM $pid
    wait $pid || (($? == 143))
}

@test "a rate is a size, with or without /s; 0 is none" {
    make_input
    run_ok sb verify --bwlimit=0 d.barecat
    run_ok sb verify --bwlimit=1.5GiB/s d.barecat
    for rate in fast -1 50M/h /s ''; do
        run_fail 2 sb verify --bwlimit="$rate" d.barecat
        stderr_is "shardbox verify: --bwlimit: '$rate' is no rate, such as 50M or 50M/s; try 'shardbox verify --help'"
    done
}
