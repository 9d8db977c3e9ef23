#!/usr/bin/env bats
# Shards of another size, in place, under archives that Barecat 0.3.1 has packed and changed; Barecat
# reads every state on the way, and goes on with the result.

load barecat

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_barecat
    make_wide_tree 300
    find tree -type l -delete
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
    barecat verify a.barecat
}

@test "Barecat reads the result, changes it and goes on with it" {
    barecat_made a.barecat tree -s 400K
    for size in 50K 41K 1G; do
        peer change a.barecat
        remember
        run_ok sb split --shard-size=$size a.barecat
        run_ok sb verify --strict a.barecat
        same_as_before
    done
    run_ok sb split --shard-size=40K a.barecat
    barecat defrag a.barecat
    same_as_before
    barecat reshard -s 500K a.barecat
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
        barecat reshard -s $size b.barecat
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
