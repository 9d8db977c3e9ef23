#!/usr/bin/env bats
# pyarrow 26.0.1 writes segments of caches, and we read every value; it reads those that we write.

load ../bats/helper

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    [[ -e $PEERS/pyarrow-26.0.1/ready ]] || skip "no pyarrow here"
}

# arrow COMMAND...: what pyarrow is to do (arrow.py).
arrow() {
    "$PEERS/pyarrow-26.0.1/bin/python" "$PROJECT/tests/peers/arrow.py" "$@"
}

@test "every type, shapes with and without values, and blobs: as pyarrow wrote them" {
    arrow write theirs
    for name in plain version4 sliced empty; do
        run_ok sh -c '"$0" cat --npy --frame=u32 -T "$1.keys" "$1" >got' "$SHARDBOX" "theirs/$name"
        cmp got "theirs/$name.frames"
    done
}

@test "segments that are not of the kind that caches have are named, and for what they are" {
    arrow odd odd
    while read -r name text; do
        run_fail 2 sb ls "odd/$name"
        stderr_is "shardbox ls: odd/$name/segments/segment_000000.arrow: $text; left out
shardbox ls: odd/$name: no segment of this cache can be read"
    done <<'EOF_TEXTS'
zstd its batch is compressed
lz4 its batch is compressed
large column 'key' is of a type that is not read here
dictionary column 'key' is of a type that is not read here
nulls a list of column 'data' has nulls
stream is not an Arrow file
none has no record batch
several has 2 record batches, and is read where it has one alone
EOF_TEXTS
}

@test "pyarrow finds our segments valid, and every value in them" {
    arrow tree tree
    run_ok sb convert --to=cache tree set
    run_ok arrow check set
}

@test "so it does where there are many small segments, and where pyarrow's are written anew" {
    arrow tree tree
    run_ok sb convert --to=cache --segment-size=1000 tree set
    (($(find set/segments -name '*.arrow' | wc -l) > 10))
    run_ok arrow check set
    arrow write theirs
    run_ok sb convert --compact theirs/plain again
    run_ok arrow check again
}
