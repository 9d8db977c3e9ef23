#!/usr/bin/env bats
# What a header declares sets neither work nor memory: every number of every container at its
# largest. tests/tools/hostile-numbers makes them, and runs verify, ls, cat and convert on each.

load helper
load syrah
load cache

# All in the release build, whose time and memory count; a part, another one each day, under the sanitizers.
numbers() {
    local tool=$PROJECT/tests/tools/hostile-numbers
    run_ok env SHARDBOX="$RELEASE_SHARDBOX" "$tool" "$@"
    [[ $SHARDBOX == "$RELEASE_SHARDBOX" ]] || run_ok "$tool" -s 10 -o $((TODAY / 2)) "$@"
}

@test "of a tar, and of each form of sparse members" {
    every_third_day
    numbers tar
}

@test "of a cpio, in each of its forms" {
    numbers cpio
}

@test "of a zip, and of a zip64" {
    every_third_day
    numbers zip
}

@test "of a bag" {
    every_third_day
    mkdir t
    for i in 1 2 3; do seq $i$i >t/$i; done
    sb convert -q t a.bag
    numbers bag a.bag
    sb convert -q t a.bagz
    numbers bag a.bagz
}

@test "of a Syrah file" {
    make_syrah a.syr "{'x': ('float32', [1, 2], [3, 4]), 's': ('str', 'ab', 'cd')}"
    numbers syrah a.syr
}

@test "of a cache" {
    every_third_day
    printf '%s\n' 'tree/k1/emb.npy float32 [2,2] 1 2 3 4' 'tree/k2/emb.npy float32 [2,2] 5 6 7 8' | make_npy
    make_cache tree c
    numbers cache c
}

@test "of the rows of an index" {
    every_third_day
    mkdir t
    for i in 1 2 3; do seq $i$i >t/$i; done
    sb pack a.barecat t
    numbers index a.barecat
}
