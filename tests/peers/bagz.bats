#!/usr/bin/env bats
# Bagz 0.3.8 reads the bags that we write, and we read those that it writes: what its own tests try,
# each way round.

load bagz

theirs_reads() {
    reads_as theirs/records "theirs/$2" "${@:3}" || return
    reads_as theirs/records "theirs/$2" "${@:3}" --limits=auto
}

ours_is_written() {
    writes theirs/records "ours/$2" "${@:3}"
}

ours_reads() {
    reads_as theirs/records "ours/$2" "${@:3}"
}

@test "every suffix, placement and compression: each reads what the other wrote" {
    bagz write theirs
    run_ok bagz check theirs
    each_combination theirs_reads
    each_combination ours_is_written
    each_combination ours_reads
    run_ok bagz check ours
}

same_bytes() {
    case $1 in
    *.none | bag.*.default | bag.*.auto) diff -r "theirs/$1" "ours/$1" ;;
    esac
}

@test "uncompressed files are the same, byte for byte, limits beside them as well" {
    bagz write theirs
    each_combination ours_is_written
    each_combination same_bytes
}

@test "every slice of 20 records with steps of 1 to 3 and -1 to -3" {
    bagz write theirs
    for bag in theirs/bagz.tail.zstd/data.bagz theirs/bag.separate.none/data.bag; do
        bagz slices theirs/bagz.tail.zstd/data.bagz slices >expected
        (($(wc -l <slices) == 1260))
        reads_as expected "$bag" -T slices
    done
}

@test "every slice of Python with bounds from -25 to 25 of 20 records" {
    bagz write theirs
    bagz python-slices theirs/bagz.tail.zstd/data.bagz slices >expected
    reads_as expected theirs/bagz.tail.zstd/data.bagz -T slices
}

@test "slices as operands, one after the other" {
    bagz write theirs
    bagz python-slices theirs/bagz.tail.zstd/data.bagz slices >expected
    mapfile -t slices < <(head -n 2000 slices)
    sb cat --frame=u32 theirs/bagz.tail.zstd/data.bagz -- "${slices[@]}" >got
    cmp -n "$(stat -c %s got)" got expected
    [[ -s got ]]
}

@test "repeated and shuffled record numbers" {
    bagz write theirs
    bagz indices theirs/bagz.tail.zstd/data.bagz numbers >expected
    reads_as expected theirs/bagz.tail.zstd/data.bagz -T numbers
    reads_as expected theirs/bag.separate.none/data.bag -T numbers
}

@test "a record number out of range is named, and the others are given out" {
    bagz write theirs
    printf '%s\n' 3 25 4 -21 >numbers
    run_fail 1 sb cat --frame=line theirs/bagz.tail.zstd/data.bagz -T numbers
    output_is $'Record_003\nRecord_004'
    stderr_has 'record 25'
    stderr_has 'record -21'
    stderr_has '20'
}

@test "empty records, large ones, and none at all" {
    make_records
    : >nothing
    printf '\0\0\0\0' >one-empty
    for frames in records nothing one-empty; do
        for name in "$frames".{bag,bagz}; do
            bagz write-one "theirs.$name" <"$frames"
            reads_as "$frames" "theirs.$name"
            writes "$frames" "ours.$name"
            reads_as "$frames" "ours.$name"
            bagz read "ours.$name" | cmp - "$frames"
        done
        cmp "theirs.$frames.bag" "ours.$frames.bag"
    done
    for bag in ours theirs; do
        run_ok sb verify "$bag.records.bagz"
    done
}

@test "sets: by number, by '@*', as a list, as a glob, with 'fs:' before it" {
    make_records
    bagz make set@4.bagz <records
    bagz make set@4.bag <records
    local list
    list=$(printf '%s,' set-0000[0-3]-of-00004.bagz)
    for spec in set@4.bagz 'set@*.bagz' "${list%,}" "$list," 'set-*-of-00004.bagz' fs:set@4.bagz \
        'fs:set@*.bag' "$PWD/set@4.bag" "fs:$PWD/set@4.bag"; do
        reads_as records "$spec"
    done
    cat records records >twice
    reads_as twice set@4.bag,set@4.bagz
    bagz read set@4.bagz,set@4.bagz | cmp - twice
}

@test "sets that we write, evenly, interleaved and with limits apart, are read by Bagz" {
    make_records
    for suffix in bag bagz; do
        writes records "even@4.$suffix"
        bagz read "even@4.$suffix" | cmp - records
        bagz read "even@*.$suffix" | cmp - records
        writes records "inter@5.$suffix" --layout=interleaved
        bagz read "inter@5.$suffix" interleaved | cmp - records
        writes records "apart@3.$suffix" --limits=separate
        bagz read "apart@3.$suffix" separate | cmp - records
        writes records "counted@*.$suffix" --count=10
        [[ -e counted-00004-of-00005.$suffix ]]
        bagz read "counted@*.$suffix" | cmp - records
        writes records "sized@*.$suffix" --shard-size=4k
        bagz read "sized@*.$suffix" | cmp - records
    done
}

@test "uncompressed sets are the same, byte for byte" {
    make_records
    mkdir theirs ours
    for words in '' interleaved separate 'interleaved separate'; do
        rm -f theirs/* ours/*
        local options=()
        [[ $words != *interleaved* ]] || options+=(--layout=interleaved)
        [[ $words != *separate* ]] || options+=(--limits=separate)
        # shellcheck disable=SC2086 # words
        (cd theirs && bagz make set@4.bag $words) <records
        writes records ours/set@4.bag "${options[@]}"
        diff -r theirs ours
    done
}

@test "interleaved sets that Bagz wrote, with their limits at either place" {
    make_records
    bagz make inter@4.bagz interleaved <records
    reads_as records inter@4.bagz --layout=interleaved
    bagz make apart@4.bagz interleaved separate <records
    reads_as records apart@4.bagz --layout=interleaved
    reads_as records 'apart@*.bagz' --layout=interleaved --limits=separate
}

@test "Index and MultiIndex: the first, and all numbers of each record" {
    make_records
    bagz write-one theirs.bagz <records
    writes records ours.bagz
    bagz find ours.bagz <records >expected
    cmp expected <(bagz find theirs.bagz <records)
    python3 - theirs.bagz <<'EOF_PYTHON'
import subprocess, os, sys
# Keys are lines: those records that can be one.
box = os.environ["SHARDBOX"]
data, at, keys = open("records", "rb").read(), 0, []
while at < len(data):
    size = int.from_bytes(data[at:at + 4], "little")
    keys.append(data[at + 4:at + 4 + size])
    at += 4 + size
keys = [(key, row.split()) for key, row in zip(keys, open("expected"))
        if key and b"\n" not in key and b"\0" not in key and len(key) < 100000]
keys.append((b"not there", None))
for bag in "ours.bagz", "theirs.bagz":
    for key, row in keys[::7] + keys[-6:]:
        for option, wanted in ("--find=", row and row[:1]), ("--find-all=", row and row[1:]):
            run = subprocess.run([box.encode(), b"ls", option.encode() + key, bag.encode()],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            assert run.returncode == (0 if row else 1), (bag, key, run)
            numbers = [line.split()[0].decode() for line in run.stdout.splitlines()]
            assert numbers == (wanted or []), (bag, key, run)
EOF_PYTHON
}

@test "a dictionary of raw content" {
    make_records
    printf 'lemma shard offset record frame gap %.0s' {1..30} >words.dict
    bagz write-one theirs.bagz dictionary=words.dict <records
    reads_as records theirs.bagz --dictionary=words.dict
    writes records ours.bagz --dictionary=words.dict
    bagz read ours.bagz dictionary=words.dict | cmp - records
    run_fail 1 sb cat theirs.bagz
}

@test "records that we append are read by Bagz" {
    make_records
    cat records records >twice
    for suffix in bag bagz; do
        for words in '' separate; do
            rm -f ./*."$suffix"
            # shellcheck disable=SC2086 # words
            bagz write-one "both.$suffix" $words <records
            run_ok sb convert --append --frame=u32 - "both.$suffix" <records
            # shellcheck disable=SC2086 # words
            bagz read "both.$suffix" $words | cmp - twice
        done
    done
}
