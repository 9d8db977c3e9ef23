#!/usr/bin/env bats
# Shards of another size, in place, under archives that Barecat 0.3.1 has packed and changed; Barecat
# reads every state on the way, and goes on with the result.

load ../bats/helper

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    [[ -e $PEERS/barecat-0.3.1/ready ]] || skip "no Barecat here"
    NEW=$PEERS/barecat-0.3.1/bin
    make_tree tree
    find tree -type l -delete
    mkdir tree/wide
    (cd tree/wide && seq 300 | split -l 1 -a 4 -d)
}

peer() {
    "$NEW/python" "$PROJECT/tests/peers/peer.py" "$@"
}

barecat_made() {
    (cd tree && find . -mindepth 1 -printf '%P\0') >names
    "$NEW/barecat" create "$@" -C tree -0 -T "$PWD/names" "$PWD/a.barecat"
}

remember() {
    rm -rf before
    mkdir before
    peer dump a.barecat before
}

# Barecat reads from it what it read before, and finds no defect.
same_as_before() {
    rm -rf after
    mkdir after
    peer dump a.barecat after
    diff -r before after
    "$NEW/barecat" verify a.barecat
}

@test "Barecat reads the result, changes it and goes on with it" {
    barecat_made -s 400K
    for size in 50K 41K 1G; do
        peer change a.barecat
        remember
        run_ok sb split --shard-size=$size a.barecat
        run_ok sb verify --strict a.barecat
        same_as_before
    done
    run_ok sb split --shard-size=40K a.barecat
    "$NEW/barecat" defrag a.barecat
    same_as_before
    "$NEW/barecat" reshard -s 500K a.barecat
    run_ok sb split --shard-size=30K a.barecat
    same_as_before
}

@test "Barecat's reshard makes the same shards" {
    mkdir plain
    (cd plain && seq 60000 | split -l 1000 -a 4 -d)
    sb pack a.barecat -C plain .
    for size in 100000 7000 30000; do
        rm -f b.barecat*
        for file in a.barecat*; do cp "$file" "b${file#a}"; done
        run_ok sb split --shard-size=$size a.barecat
        "$NEW/barecat" reshard -s $size b.barecat
        for file in a.barecat-shard-*; do cmp "$file" "b${file#a}"; done
        [[ $(ls a.barecat-shard-* | wc -l) == $(ls b.barecat-shard-* | wc -l) ]]
    done
}

@test "Barecat reads every state that a killed run leaves" {
    [[ -e $FAULT_SHIM ]] || skip "the shim is not built"
    sb pack --shard-size=150K a.barecat -C tree .
    peer change a.barecat
    remember
    mkdir kept
    cp -p a.barecat* kept
    for ((at = 1;; at += 11)); do
        rm -f a.barecat* mark
        cp -p kept/* .
        LD_PRELOAD=$FAULT_SHIM FAULT_CALLS=write,sync,rename,truncate,create,unlink FAULT_AT=$at \
            FAULT_HOW=kill FAULT_MARK=mark "$SHARDBOX" split --shard-size=40K a.barecat || true
        [[ -e mark ]] || break
        # A journal is rolled back, which Barecat, opening to read only, cannot do.
        sb du a.barecat >sizes
        same_as_before
    done
    ((at > 60))
}
