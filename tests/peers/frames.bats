#!/usr/bin/env bats
# Framed records as the rules of their formats have them, in Python; jq and GNU tar besides.

load ../bats/helper

FRAMINGS="tfrecord varint u32 u64 jsonl"

python_peer() {
    python3 "$PROJECT/tests/peers/frames.py" "$@"
}

# Records of many lengths: leaves them in records/, called by number.
make_records() {
    mkdir records
    python3 - <<'PYTHON'
import random
random.seed(17)
for number, size in enumerate([0, 1, 2, 3, 127, 128, 129, 16383, 16384, 0, 70000, 262144, 3000000, 5]):
    with open(f"records/{number:08}", "wb") as file:
        file.write(random.randbytes(size))
PYTHON
}

@test "what we frame, its peers read" {
    local framing
    make_records
    sb pack a.barecat -C records .
    for framing in $FRAMINGS; do
        run_ok sb convert --frame="$framing" a.barecat "$framing.records"
        run_ok python_peer check "$framing" "$framing.records" records
        (cd records && printf '%s\n' *) | sb cat --frame="$framing" -T - a.barecat >"$framing.cat"
        run_ok python_peer check "$framing" "$framing.cat" records
    done
}

@test "what its peers frame, we read" {
    local framing
    make_records
    for framing in $FRAMINGS; do
        run_ok python_peer write "$framing" records "$framing.records"
        run_ok sb convert --frame="$framing" "$framing.records" "$framing.barecat"
        run_ok sb unpack -C "$framing" "$framing.barecat"
        diff -r records "$framing"
    done
}

@test "a bag in between" {
    local framing suffix
    make_records
    for framing in $FRAMINGS; do
        for suffix in bag bagz; do
            python_peer write "$framing" records all
            run_ok sb convert --force --frame="$framing" all "a.$suffix"
            run_ok sb convert --force --frame="$framing" "a.$suffix" back
            sb cat --frame="$framing" "a.$suffix" >given
            # Without --keys a record has no key.
            [[ $framing == jsonl ]] && sed -i 's/"key":"[0-9]*",//' back
            cmp back given
            sb convert --frame=u64 "a.$suffix" - >u64
            run_ok python_peer check u64 u64 records
        done
        rm a.bag a.bagz
    done
}

@test "jq reads our lines, and we read what it writes" {
    make_records
    sb pack a.barecat -C records .
    sb convert --frame=jsonl a.barecat lines
    [[ $(jq -r .key lines) == "$(ls records)" ]]
    jq -r 'select(.index == 12).data' lines | base64 -d | cmp - records/00000012
    jq -c '{key, data}' lines | sb convert --frame=jsonl - b.barecat
    run_ok sb unpack -C back b.barecat
    diff -r records back
}

@test "GNU tar reads records as members, and its tars are records" {
    make_records
    sb pack a.barecat -C records .
    mkdir back
    (cd records && printf '%s\n' *) | sb cat --frame=tar -T - a.barecat | tar -x -C back -f -
    diff -r records back
    (cd records && tar -cf - -- *) | sb convert --frame=tar - b.barecat
    rm -r back
    run_ok sb unpack -C back b.barecat
    diff -r records back
}
