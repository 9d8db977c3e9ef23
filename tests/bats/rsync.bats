# An archive that is copied by rsync every night, and what its receiver sees meanwhile.

load helper

# Files of one night, a day apart from those before.
make_night() {
    mkdir -p "night-$1"
    for i in {1..40}; do
        yes "night $1, file $i" | head -c 5000 >"night-$1/of-$1-$i"
    done
}

# What is written gets the date of its night: rsync looks at sizes and whole seconds.
pack_night() {
    local how=(--append --seal)
    (($1 > 1)) || how=(--shard-size=60k)
    make_night "$1"
    touch -d '1 hour ago' packed
    sb pack -q "${how[@]}" here/set.barecat -C "night-$1" .
    find here -type f -newer packed -exec touch -d "2020-01-0$1 02:00" {} +
}

# copy ARGS...: runs rsync; $sent is the bytes of files that travelled.
copy() {
    rsync -a --stats "$@" >stats
    sent=$(sed -n 's/^Literal data: \([0-9,]*\) bytes$/\1/p' stats | tr -d ,)
}

copy_shards() {
    sb ls --shards -0 here/set.barecat >list
    copy --from0 --files-from=list here/ there/
}

@test "three nights: shards that were sealed are not sent again, and what arrives is whole" {
    mkdir here there
    for night in 1 2 3; do
        pack_night $night
        copy_shards
        [[ $sent == 200000 ]] || fail "night $night sent $sent bytes of shards"
        copy here/set.barecat there/
        [[ $sent == "$(stat -c %s here/set.barecat)" ]] || fail "night $night sent $sent of the index"
        run_ok sb verify -q there/set.barecat
        [[ $(sb find there/set.barecat | wc -l) == $((night * 40)) ]] || fail "night $night: files"
        copy_shards
        [[ $sent == 0 ]] || fail "night $night sent $sent bytes for nothing"
    done
    sb unpack -C out there/set.barecat
    cat night-*/* | cmp - <(cd out && cat of-1-* of-2-* of-3-*)
}

@test "an append that seals changes neither bytes nor times of the shards before it" {
    mkdir here
    pack_night 1
    (cd here && stat -c '%n %s %.Y %i' ./*-shard-*) >before
    (cd here && cat ./*-shard-*) >bytes
    pack_night 2
    (cd here && stat -c '%n %s %.Y %i' ./*-shard-0000[0-3]) | cmp before -
    (cd here && cat ./*-shard-0000[0-3]) | cmp bytes -
}

@test "shards have arrived, the index not yet: the receiver still has yesterday's archive" {
    mkdir here there
    pack_night 1
    copy here/ there/
    pack_night 2
    copy_shards
    run_ok sb verify -q there/set.barecat
    [[ $(sb find there/set.barecat | wc -l) == 40 ]]
    cmp <(sb cat there/set.barecat of-1-7) night-1/of-1-7
}

@test "the index is there, shards are not: each is named once, and commands do what can be done" {
    mkdir here there
    pack_night 1
    pack_night 2
    copy here/ there/
    mkdir all
    cp night-*/* all
    rm there/set.barecat-shard-00001
    truncate -s 5000 there/set.barecat-shard-00004
    run_fail 1 sb verify --quick there/set.barecat
    [[ ${#lines[@]} == 2 ]] || fail 'two lines'
    [[ ${lines[0]} == "missing: $PWD/there/set.barecat-shard-00001: has not arrived (60000 bytes)" ]]
    [[ ${lines[1]} == "missing: $PWD/there/set.barecat-shard-00004: only 5000 of 60000 bytes have arrived" ]]
    stderr_has 'fetch the missing shards'
    run_fail 1 sb verify --present there/set.barecat
    output_lacks 'checksum'

    run_ok sb ls there/set.barecat
    ((${#lines[@]} == 80))
    run_ok sb ls -l there/set.barecat
    run_ok sb find --size=+1 there/set.barecat
    ((${#lines[@]} == 80))
    run_ok sb du -s there/set.barecat
    run_fail 1 sb du --gaps there/set.barecat
    run_ok sb ls --shards there/set.barecat
    output_has missing

    present=$(sb find --json here/set.barecat | jq -r 'select(.shard != 1 and .shard != 4) | .path')
    absent=$(sb find --json here/set.barecat | jq -r 'select(.shard == 1) | .path' | head -n 1)
    sb cat -T <(printf '%s\n' "$present") there/set.barecat | cmp - <(cd all && xargs cat <<<"$present")
    run_fail 1 sb cat there/set.barecat "$absent"
    stderr_has "$absent: "
    run_fail 1 sb unpack -C out there/set.barecat
    # 12 files of shard 1, and 11 of the 12 of shard 4
    [[ $(find out -type f | wc -l) == 57 ]]
    copy here/ there/
    run_ok sb verify -q there/set.barecat
}

@test "--shards -0 names the shards, --rsync-list the index behind them" {
    mkdir here
    pack_night 1
    run_ok sb ls --rsync-list here/set.barecat
    output_is 'set.barecat-shard-00000
set.barecat-shard-00001
set.barecat-shard-00002
set.barecat-shard-00003
set.barecat'
    sb ls --rsync-list -0 here/set.barecat | tr '\0' '\n' | cmp - <(printf '%s\n' "$output")
    sb ls --shards -0 here/set.barecat | tr '\0' '\n' | cmp - <(head -n 4 <<<"$output")
    # Those in use: a shard that is not there is among them, a stray file is not.
    mv here/set.barecat-shard-00002 away
    cp away here/set.barecat-shard-00007
    run_ok sb ls --rsync-list here/set.barecat
    ((${#lines[@]} == 5))
    output_lacks 00007
}

@test "the list is of the directory that the index is in" {
    mkdir here
    pack_night 1
    mkdir links
    ln -s ../here/set.barecat links/other-name
    run_ok sb ls --rsync-list links/other-name
    [[ ${lines[4]} == set.barecat ]]
    for name in "${lines[@]}"; do
        [[ -e here/$name ]] || fail "$name"
    done
}

@test "a shard that is a link is named like any other" {
    mkdir here
    pack_night 1
    mv here/set.barecat-shard-00001 elsewhere
    ln -s ../elsewhere here/set.barecat-shard-00001
    run_ok sb ls --rsync-list here/set.barecat
    output_has 'set.barecat-shard-00001'
    mkdir there
    printf '%s\n' "${lines[@]}" >list
    copy -L --files-from=list here/ there/
    run_ok sb verify -q there/set.barecat
}

@test "what these lists do not go with" {
    mkdir here
    pack_night 1
    run_fail 2 sb ls -0 --tree here/set.barecat
    stderr_has '--tree and --at have no -0'
    run_fail 2 sb ls --rsync-list --shards here/set.barecat
    run_fail 2 sb ls --rsync-list here/set.barecat of-1-1
    run_fail 2 sb ls --rsync-list --json here/set.barecat
    tar cf a.tar night-1
    run_fail 2 sb ls --rsync-list a.tar
    stderr_has 'is no archive'
}
