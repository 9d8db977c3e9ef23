#!/usr/bin/env bats
# The same bytes, read by Barecat as an archive and by Bagz as a bag.

load barecat
load bagz

setup() {
    cd "$BATS_TEST_TMPDIR" || return
    need_barecat
    need_bagz
    make_records
}

# records_as_tree DIR: each record as a file, called by its number.
records_as_tree() {
    mkdir "$1"
    python3 - "$1" <<'EOF_PYTHON'
import sys
data, at, number = open("records", "rb").read(), 0, 0
while at < len(data):
    size = int.from_bytes(data[at:at + 4], "little")
    with open(f"{sys.argv[1]}/{number:08d}", "wb") as file:
        file.write(data[at + 4:at + 4 + size])
    at += 4 + size
    number += 1
EOF_PYTHON
}

@test "Barecat reads an archive that we make of a bag of Bagz, which comes back the same" {
    records_as_tree tree
    for bag in data.bag data.bagz; do
        bagz write-one "$bag" <records
        run_ok sb convert --force "$bag" a.barecat
        peer check a.barecat tree
        run_ok sb convert --force a.barecat back.bagz
        bagz read back.bagz | cmp - records
    done
}

@test "Barecat reads an archive over bags of Bagz, their limits at either place" {
    records_as_tree tree
    for words in '' separate; do
        rm -f set-* limits.* a.barecat*
        # shellcheck disable=SC2086 # words
        bagz make set@3.bag $words <records
        run_ok sb convert --wrap 'set@*.bag' a.barecat
        peer check a.barecat tree
        run_ok sb verify --strict a.barecat
        run_ok sb convert --force a.barecat back.bag
        bagz read back.bag | cmp - records
    done
}

# The bytes of each file, framed, in the order of the keys.
keyed_files() {
    bagz read "$1" >keys
    python3 - "$2" <<'EOF_PYTHON'
import os, sys
data, at = open("keys", "rb").read(), 0
while at < len(data):
    size = int.from_bytes(data[at:at + 4], "little")
    path = os.path.join(sys.argv[1].encode(), data[at + 4:at + 4 + size])
    record = os.readlink(path) if os.path.islink(path) else open(path, "rb").read()
    sys.stdout.buffer.write(len(record).to_bytes(4, "little") + record)
    at += 4 + size
EOF_PYTHON
}

# shards_are_bags ARCHIVE TREE: Bagz reads each file of the tree from the archive's shards.
shards_are_bags() {
    local shard
    run_ok sb convert --limits-only --force --keys=keys.bag "$1"
    keyed_files keys.bag "$2" >expected
    # One by one: of a list it takes the limits of one file for those of another.
    for shard in "$1"-shard-?????; do
        bagz read "$shard" separate none
    done >theirs
    cmp theirs expected
    (($(find "$2" ! -type d -printf x | wc -c) == $(sb ls --count keys.bag)))
    sb cat --from=bag --frame=u32 "$1-shard-*" | cmp - expected
}

@test "Bagz reads the shards of our archive, with the limits that we write" {
    make_tree tree
    sb pack --shard-size=100k a.barecat -C tree .
    shards_are_bags a.barecat tree
}

@test "Bagz reads the shards of an archive that Barecat made, and Barecat reads it still" {
    make_tree tree
    find tree -type l -delete
    barecat_made a.barecat tree
    shards_are_bags a.barecat tree
    peer check a.barecat tree
}
