#!/usr/bin/env bats
# Shards that are short, changed, missing, or something else than a file.

load helper
load hostile

SHARD=a.barecat-shard-00000

@test "a flipped byte: exactly that file is named, and the others are whole" {
    make_good
    flip_byte $SHARD "$(sql a.barecat "SELECT offset FROM files WHERE path = 'dir/other'")"
    run_fail 1 on verify a.barecat
    [[ $output$stderr == *dir/other* && $output$stderr != *dir/file* && $output$stderr != *top* ]]
    run_fail 1 on unpack a.barecat
    stderr_has dir/other
    cmp out/dir/file tree/dir/file
    cmp out/top tree/top
    run_fail 1 on diff a.barecat
    run_fail 1 sb cat a.barecat dir/other
    run_ok sb cat a.barecat dir/file top
}

@test "an extent past the end of its shard" {
    make_good
    truncate -s -1 $SHARD
    last=$(sql a.barecat "SELECT path FROM files ORDER BY offset DESC LIMIT 1")
    run_fail 1 on verify a.barecat
    [[ $output$stderr == *"$last"* ]]
    run_fail 1 sb verify --quick a.barecat
    run_fail 1 sb cat a.barecat "$last"
    run_fail 1 on unpack a.barecat
    [[ ! -e out/$last ]]
    run_ok on ls a.barecat
    run_ok on find a.barecat
}

@test "a shard that is not there: the index alone still lists" {
    make_good
    rm $SHARD
    run_ok on ls a.barecat
    run_ok on find a.barecat
    run_ok on du a.barecat
    run_fail 1 on verify a.barecat
    [[ $output$stderr == *$SHARD* ]]
    run --separate-stderr on cat a.barecat
    refuse_crash cat
    ((status == 1 || status == 2))
    [[ $stderr == *$SHARD* || $stderr == *dir/file* ]]
}

# odd_shard: the shard is something else; nothing hangs.
odd_shard() {
    run_fail 1 on verify a.barecat
    [[ $output$stderr == *$SHARD* ]] || fail "verify does not name the shard"
    run_fail 2 on cat a.barecat
    stderr_has $SHARD
    run --separate-stderr on unpack a.barecat
    refuse_crash unpack
    ((status != 0)) || fail "unpacked"
    run --separate-stderr on diff a.barecat
    refuse_crash diff
    ((status != 0)) || fail "the same"
    run_ok on find a.barecat
    run --separate-stderr on append a.barecat
    refuse_crash append
}

@test "a shard that is a FIFO" {
    make_good
    rm $SHARD
    mkfifo $SHARD
    odd_shard
}

@test "a shard that is a directory" {
    make_good
    rm $SHARD
    mkdir $SHARD
    odd_shard
}

@test "a shard that is a device" {
    make_good
    ln -sf /dev/zero $SHARD
    odd_shard
}

@test "a shard that is a loop of links" {
    make_good
    rm $SHARD
    ln -s $SHARD $SHARD
    odd_shard
}

@test "a shard that is a link to a file is read, and named under -v when it leads elsewhere" {
    make_good
    mkdir elsewhere
    mv $SHARD elsewhere/bytes
    ln -s elsewhere/bytes $SHARD
    run_ok on verify a.barecat
    run_ok on cat a.barecat
    output_is first
    run_ok sb verify -v a.barecat
    stderr_has elsewhere/bytes
}

@test "a shard that shrinks while it is read" {
    mkdir tree
    head -c 100000000 /dev/zero >tree/zeros
    sb pack a.barecat -C tree .
    shrink() {
        "$SHARDBOX" cat a.barecat zeros | {
            head -c 1000000 >/dev/null
            truncate -s 100 $SHARD
            cat >/dev/null
        }
        return "${PIPESTATUS[0]}"
    }
    run_fail 1 shrink
    stderr_has zeros
}

@test "more shards than descriptors" {
    mkdir tree
    (cd tree && seq 300 | split -l 1 -a 3 -d)
    sb pack --shard-size=4 a.barecat -C tree .
    [[ $(find . -name 'a.barecat-shard-*' | wc -l) -gt 250 ]]
    run_ok bash -c 'ulimit -n 40; "$SHARDBOX" verify a.barecat'
    run_ok bash -c 'ulimit -n 40; "$SHARDBOX" unpack -C out a.barecat'
    same_tree tree out
}
