#!/usr/bin/env bats
# Writers of archives and other outputs beside shardbox protect: what belongs to nothing goes, and
# --protect brings parity up to date.

load helper

# make_archive: a protected archive a of several shards, and files that are nobody's.
make_archive() {
    mkdir tree
    for i in 1 2 3 4 5 6; do
        seq "$i" 6000 >"tree/$i"
    done
    run_ok sb pack --shard-size=60K a -C tree .
    run_ok sb protect a
    echo foreign >a-shard-00009-parity
    seq 5000 >foreign
}

# parity_of_nothing: parity files whose file is gone.
parity_of_nothing() {
    local parity
    for parity in *-parity; do
        [[ -e ${parity%-parity} || $parity == a-shard-00009-parity ]] || echo "$parity"
    done
    [[ $(<a-shard-00009-parity) == foreign ]] || echo 'a foreign file was touched'
}

nothing_is_left() {
    local left
    left=$(parity_of_nothing)
    [[ -z $left ]] || fail "$left"
}

@test "defrag removes the parity files of shards that it removes, and of no others" {
    make_archive
    run_ok sb rm a 3 4 5 6
    for how in --quick -v; do
        run_ok sb defrag "$how" a
        nothing_is_left
    done
    [[ -e a-parity && -e a-shard-00000-parity ]]
    run_ok sb protect --update a
    run_ok sb protect --check a
}

@test "what replaces an archive takes its parity files away, and a foreign file of such a name stays" {
    make_archive
    rm a-shard-00001-parity
    echo foreign >a-shard-00001-parity
    run_ok sb pack --force --shard-size=200K a foreign
    [[ $(echo a*-parity) == 'a-shard-00001-parity a-shard-00009-parity' ]]
    [[ $(<a-shard-00001-parity) == foreign ]]
    rm a-shard-00001-parity
    run_ok sb protect a
    run_ok sb convert --force --to=archive tree a
    [[ $(echo a*-parity) == 'a-shard-00009-parity' ]]
    nothing_is_left
}

@test "split of an archive into other shards takes parity files of shards away that are others then" {
    make_archive
    run_ok sb split --shard-size=200K a
    nothing_is_left
    run_ok sb protect --update a
    run_ok sb split --shard-size=20K a
    nothing_is_left
    run_ok sb protect --update a
    run_ok sb protect --check a
    run_ok sb verify a
}

@test "links to shards of other archives are passed over" {
    make_archive
    run_ok sb merge-symlink a b
    run_ok sb protect -v b
    stderr_is 'shardbox protect: b-parity: written'
    run_ok sb protect --check b*
    [[ $(echo b*-parity) == b-parity ]]
}

@test "writers that remove no shard leave parity files alone" {
    make_archive
    mkdir before
    cp -p ./*-parity before
    run_ok sb rm a 3
    run_ok sb mv a 4 7
    run_ok sb pack --append a foreign
    run_ok sb upgrade a
    for parity in *-parity; do
        cmp "$parity" "before/$parity"
    done
}

@test "a parity file of a new index is kept by the writer after one that was killed" {
    every_third_day
    need_shim
    make_archive
    local n
    cp -a . ../start
    for ((n = 1; n < 200; n++)); do
        run --separate-stderr env FAULT_CALLS=rename,unlink FAULT_AT="$n" FAULT_HOW=kill \
            LD_PRELOAD="$FAULT_SHIM" "$SHARDBOX" pack --force --shard-size=200K a foreign
        ((status != 0)) || break
        run_ok sb verify a
        run_ok sb protect --update a
        run_ok sb rm -f a nothing
        nothing_is_left
        find . -mindepth 1 -delete
        cp -a ../start/. .
    done
    ((n > 5 && n < 200)) || fail "$n"
}

# is_current ARCHIVE: all of its files have parity, which is current.
is_current() {
    run_ok sb protect --check "$1"
    stderr_is ""
}

# bats test_tags=threads
@test "--protect makes parity files for what a command writes, and brings them up to date" {
    every_third_day
    mkdir tree
    seq 6000 >tree/1
    seq 7000 >tree/2
    run_ok sb pack --protect a.barecat -C tree .
    output_is ""
    stderr_is ""
    is_current a.barecat
    seq 10 >3
    run_ok sb pack --append --protect -v a.barecat 3
    stderr_has 'a.barecat-parity: written'
    is_current a.barecat
    run_ok sb mv --protect a.barecat 3 4
    is_current a.barecat
    run_ok sb rm --protect a.barecat 1
    is_current a.barecat
    run_ok sb defrag --protect a.barecat
    is_current a.barecat
    run_ok sb split --shard-size=20K --protect a.barecat
    is_current a.barecat
    run_ok sb upgrade --protect a.barecat
    is_current a.barecat
    seq 20 >tree/5
    run_ok sb sync --delete --protect tree a.barecat
    is_current a.barecat
    run_ok sb merge --protect a.barecat b.barecat
    is_current b.barecat
    run_ok sb split --parts=2 -o 'p{}.barecat' --protect a.barecat
    is_current p0.barecat
    is_current p1.barecat
    run_ok sb merge-symlink --protect a.barecat l.barecat
    is_current l.barecat
    [[ $(echo l.barecat*-parity) == l.barecat-parity ]]
}

@test "--protect of other containers than archives" {
    every_third_day
    mkdir tree
    seq 6000 >tree/1
    seq 7000 >tree/2
    for name in a.tar a.tar.gz a.zip a.bagz; do
        run_ok sb convert --protect=10% tree "$name"
        stderr_is ""
        is_current "$name"
    done
    run_ok sb convert --force --protect tree a.tar
    is_current a.tar
    run_ok sb convert --protect tree b@2.bagz
    is_current b-00000-of-00002.bagz
    is_current b-00001-of-00002.bagz
    run_ok sb convert --protect --limits=separate tree c.bagz
    is_current c.bagz
    is_current limits.c.bagz
}

@test "--protect=PERCENT says how much; without it stays what it was" {
    head -c 1000000 /dev/urandom >r
    run_ok sb pack --protect=50% a r
    (($(stat -c %s a-shard-00000-parity) > 500000)) || fail 'half'
    echo more >m
    run_ok sb pack --append --protect a m
    (($(stat -c %s a-shard-00000-parity) > 500000)) || fail 'half again'
    is_current a
}

@test "--protect with a pipe, a directory or a wrong number is refused, and dry runs protect nothing" {
    seq 100 >f
    run_ok sb pack a.barecat f
    run_fail 2 sb convert --protect --to=tar a.barecat -
    stderr_has '--protect is for an archive, or a file: not for a pipe, a directory or a cache'
    run_fail 2 sb convert --protect a.barecat dir/
    stderr_has '--protect is for an archive, or a file'
    run_fail 2 sb sync --protect a.barecat dir/
    stderr_has 'dir/: is a directory, and --protect is for an archive'
    run_fail 2 sb rm --protect=x a.barecat f
    stderr_has "--protect: 'x' is not like 5% or 0.5%, from 0.1% to 1000%"
    run_ok sb rm -n --protect a.barecat f
    [[ ! -e a.barecat-parity ]]
}

@test "what cannot be protected is named, and the archive is written" {
    seq 100 >f
    echo foreign >a-parity
    run_fail 1 sb pack --protect a f
    stderr_is "shardbox pack: a-parity: is no parity file, or nothing of its superblocks is left; move it away
shardbox pack: a: is written, but not all of its parity is current; run 'shardbox protect --update' on it"
    run_ok sb verify a
    run_ok sb protect --check a-shard-00000
    [[ $(<a-parity) == foreign ]]
}
