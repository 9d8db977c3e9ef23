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
